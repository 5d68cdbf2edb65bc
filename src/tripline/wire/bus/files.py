"""Bus messages in a file, one JSON document per line: the message itself, or `{"topic": ..., "value": ...}` as written
by tools that copy topics.
"""

from collections.abc import Iterator
from typing import IO, NamedTuple

import msgspec

from tripline.wire.device import body as device_body


class Unwrapped(NamedTuple):
    """A message, and its topic when the line names one."""

    topic: str | None
    body: bytes


def lines(file: IO[bytes], *, longest: int) -> Iterator[bytes]:
    """The lines without their ends; a longer one is cut one byte past `longest`."""
    while line := file.readline(longest + 2):
        if not line.endswith(b"\n") and len(line) > longest + 1:
            while (rest := file.readline(longest)) and not rest.endswith(b"\n"):
                pass
            yield line[: longest + 1]
        else:
            yield line.rstrip(b"\r\n")


def message(line: bytes) -> Unwrapped:
    """The message in a line."""
    if b'"value"' not in line:
        return Unwrapped(None, line)
    read = device_body.json_value(line, strict=False)
    if isinstance(read, str) or not isinstance(read.value, dict) or read.value.get("value") is None:
        return Unwrapped(None, line)
    around = read.value
    if not around.keys().isdisjoint({"data", "payload", "pld", "msgType"}):
        return Unwrapped(None, line)
    topic, value = around.get("topic"), around["value"]
    body = value.encode() if isinstance(value, str) else msgspec.json.encode(value)
    return Unwrapped(topic if isinstance(topic, str) else None, body)

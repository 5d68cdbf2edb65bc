"""Bus messages in a file, one JSON document in each line: the message itself, or `{"topic": ..., "value": ...}` as
tools that copy topics write it.

Not here: what a message says (`reader.py`).
"""

from collections.abc import Iterator
from typing import IO

import msgspec

from tripline.wire.device import body as device_body


def lines(file: IO[bytes], *, longest: int) -> Iterator[bytes]:
    """The lines without their ends; of one that is longer the beginning, one byte longer than the longest."""
    while line := file.readline(longest + 2):
        if not line.endswith(b"\n") and len(line) > longest + 1:
            while (rest := file.readline(longest)) and not rest.endswith(b"\n"):
                pass
            yield line[: longest + 1]
        else:
            yield line.rstrip(b"\r\n")


def message(line: bytes) -> tuple[str | None, bytes]:
    """The topic, when the line names one, and the message."""
    if b'"value"' not in line:
        return None, line
    read = device_body.json_value(line, strict=False)
    if isinstance(read, str) or not isinstance(read[0], dict) or read[0].get("value") is None:
        return None, line
    around = read[0]
    if not around.keys().isdisjoint({"data", "payload", "pld", "msgType"}):
        return None, line
    topic, value = around.get("topic"), around["value"]
    body = value.encode() if isinstance(value, str) else msgspec.json.encode(value)
    return topic if isinstance(topic, str) else None, body

"""Heads of requests and answers as httptools and uvicorn hold them: their size, framing and sender.

Not here: decisions based on them (`connection.py`).
"""

from collections.abc import Iterable
from typing import Any, TypeAlias

from tripline.wire import addresses

Headers: TypeAlias = list[tuple[bytes, bytes]]
"""Names in lower case."""


def size_of(parser: Any, url: bytes, headers: Headers) -> int:
    """Bytes of the head that the parser has read: request line and headers."""
    line = len(parser.get_method()) + len(url) + len(parser.get_http_version()) + 11
    return line + sum(len(name) + len(value) + 4 for name, value in headers)


def without_offer(parser: Any, url: bytes, headers: Headers) -> bytes:
    """The head that the parser has read, without `Upgrade`."""
    line = b"%b %b HTTP/%b" % (parser.get_method(), url, parser.get_http_version().encode())
    lines = [b"%b: %b" % header for header in headers if header[0] != b"upgrade"]
    return b"\r\n".join([line, *lines, b"", b""])


def forwarded_for(headers: Headers) -> str | None:
    """The address that the proxy names as the sender of the request."""
    for name, value in reversed(headers):
        if name == addresses.FORWARDED.encode():
            return addresses.forwarded(value.decode("latin-1"))
    return None


def length_of(headers: Iterable[tuple[bytes, bytes]]) -> int:
    """The announced length of a body; 0 without one."""
    return next((int(value) for name, value in headers if name == b"content-length"), 0)

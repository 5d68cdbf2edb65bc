"""Answers to requests that never reach the application."""

from typing import Any, Final

import msgspec

from tripline.wire.rest.base import ErrorBody

BAD_REQUEST: Final = 31
"""errorCode of bytes that are not HTTP (spec/rest 3.3: malformed)."""
GENERAL: Final = 2
NOT_HTTP: Final = "This is no valid HTTP request; in an address all but ASCII must be percent-encoded."
"""The most frequent cause is an unencoded vehicle number in the address."""
TOO_LONG: Final = "The request line, headers and trailers are too long."
MANY_HEADERS: Final = "The request has too many headers."
SMALL_CHUNKS: Final = "The body comes in too many small chunks; send chunks of 64 bytes or more."
BUSY: Final = "Too much is open from this address or in all; end connections and requests, or try again later."
RETRY_S: Final = 1
_PHRASES: Final = {400: b"Bad Request", 503: b"Service Unavailable"}


class Refusal(msgspec.Struct, frozen=True):
    """The answer to a peer that met a bound."""

    status: int
    message: str

    def answer(self, now_ms: int) -> bytes:
        """Its head and body, which has the form of every error; the connection closes."""
        head, headers, body = self._parts(now_ms)
        return b"".join([head, *(b"%b: %b\r\n" % each for each in headers), b"connection: close\r\n\r\n", body])

    async def send(self, send: Any, now_ms: int) -> None:
        _, headers, body = self._parts(now_ms)
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _parts(self, now_ms: int) -> tuple[bytes, list[tuple[bytes, bytes]], bytes]:
        code = BAD_REQUEST if self.status == 400 else GENERAL
        body = msgspec.json.encode(ErrorBody(self.status, self.message, code, now_ms))
        headers = [
            (b"content-type", b"application/json;charset=UTF-8"),
            (b"x-content-type-options", b"nosniff"),
            (b"cache-control", b"no-store"),
            *([(b"retry-after", b"%d" % RETRY_S)] if self.status == 503 else []),
            (b"content-length", b"%d" % len(body)),
        ]
        return b"HTTP/1.1 %d %b\r\n" % (self.status, _PHRASES[self.status]), headers, body


TOO_BUSY: Final = Refusal(503, BUSY)

"""Answers to requests that never reach the application."""

from typing import Any, Final

import msgspec

from tripline.wire.rest.base import ErrorBody

BAD_REQUEST: Final = 31
"""errorCode of what is no HTTP (spec/rest 3.3: malformed)."""
GENERAL: Final = 2
NOT_HTTP: Final = "This is no valid HTTP request; in an address all but ASCII must be percent-encoded."
"""What a person most often does wrong is a vehicle's number in the address as it is written."""
TOO_LONG: Final = "The request line, headers and trailers are too long."
MANY_HEADERS: Final = "The request has too many headers."
BUSY: Final = "Too much is open from this address or in all; end connections and requests, or try again later."
RETRY_S: Final = 1
_PHRASES: Final = {400: b"Bad Request", 503: b"Service Unavailable"}


def refusal(status: int, message: str, now_ms: int, *, code: int) -> list[bytes]:
    """Head and body of an answer for what never reaches the application, with the body that every error has."""
    body = msgspec.json.encode(ErrorBody(status, message, code, now_ms))
    retry = b"retry-after: %d\r\n" % RETRY_S if status == 503 else b""
    head = (
        b"HTTP/1.1 %d %b\r\ncontent-type: application/json;charset=UTF-8\r\n"
        b"x-content-type-options: nosniff\r\ncache-control: no-store\r\n%b"
        b"content-length: %d\r\nconnection: close\r\n\r\n" % (status, _PHRASES[status], retry, len(body))
    )
    return [head, body]


async def send_busy(send: Any, now_ms: int) -> None:
    """Answer in place of the application."""
    head, body = refusal(503, BUSY, now_ms, code=GENERAL)
    lines = (line.partition(b": ") for line in head.split(b"\r\n")[1:-2])
    headers = [(name, value) for name, _, value in lines if name != b"connection"]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})

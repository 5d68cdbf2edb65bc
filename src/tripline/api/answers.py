"""Successful answers: HTTP 200 with a JSON body, as an ASGI application small enough for the hot pages."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

import msgspec
from litestar.types import ASGIApp, Receive, Scope, Send

_TYPE: Final = (b"content-type", b"application/json;charset=UTF-8")
_JSON: Final = msgspec.json.Encoder()
_LONG_BYTES: Final = 2**15

T = TypeVar("T")


class _Answer:
    """Sends one body."""

    __slots__ = ("_body",)

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        length = b"%d" % len(self._body)
        headers = [_TYPE, (b"content-length", length)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self._body, "more_body": False})


def ok(record: Any) -> ASGIApp:
    """200 with the record (a struct, dict or page) as JSON."""
    return _Answer(_JSON.encode(record))


async def made(make: Callable[[], T], *, of: Iterable[bytes | None]) -> T:
    """What is made of bodies that devices sent; of long ones on a thread, for they may hold very many values."""
    if sum(len(body) for body in of if body is not None) > _LONG_BYTES:
        return await asyncio.to_thread(make)
    return make()

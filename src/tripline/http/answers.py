"""Answers as ASGI applications small enough for the hot pages; with a JSON body: HTTP 200, and errors."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

import msgspec
from litestar.response import Response
from litestar.types import ASGIApp, Receive, Scope, Send

from tripline.http import languages
from tripline.http.context import Call, process_of
from tripline.http.errors import Trouble
from tripline.language.catalogue import Language
from tripline.wire.rest.base import ErrorBody

_MEDIA_TYPE: Final = "application/json;charset=UTF-8"
_TYPE: Final = _MEDIA_TYPE.encode()
_JSON: Final = msgspec.json.Encoder()
_LONG_BYTES: Final = 2**15

T = TypeVar("T")


class Answer:
    """Sends one body."""

    __slots__ = ("_body", "_headers", "_status")

    def __init__(self, status: int, headers: Mapping[bytes, bytes], body: bytes = b"") -> None:
        self._status = status
        self._headers = [*headers.items()]
        self._body = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self._status, "headers": self._headers})
        await send({"type": "http.response.body", "body": self._body, "more_body": False})


class Made(Response[bytes]):
    """A response that an application sends."""

    def __init__(self, answer: ASGIApp) -> None:
        super().__init__(b"")
        self._answer = answer

    def to_asgi_response(self, *args: Any, **named: Any) -> Any:
        return self._answer


def ok(record: Any, *, language: Language | None = None) -> ASGIApp:
    """200 with the record (a struct, dict or page) as JSON; `language`: the language of its sentences, if it
    has any."""
    body = _JSON.encode(record)
    headers = {b"content-type": _TYPE, b"content-length": b"%d" % len(body)}
    if language is not None:
        headers |= {name.encode(): value.encode() for name, value in languages.headers(language).items()}
    return Answer(200, headers, body)


def error(request: Call, trouble: Trouble) -> Response[bytes]:
    """The body that every error has."""
    body = ErrorBody(trouble.status, trouble.message, trouble.code, process_of(request).clock())
    return Response(
        _JSON.encode(body),
        status_code=trouble.status,
        media_type=_MEDIA_TYPE,
        headers={**languages.headers(trouble.language), **trouble.headers},
    )


async def made(make: Callable[[], T], *, of: Iterable[bytes | None]) -> T:
    """Build a record of bodies that devices sent; long ones on a thread, because they may hold very many values."""
    if sum(len(body) for body in of if body is not None) > _LONG_BYTES:
        return await asyncio.to_thread(make)
    return make()

"""Surrounds every request, found or not: answers HEAD as GET without its body, forbids guessing the type and caching
unless the answer allows it, counts requests, and admits scripts of permitted origins (CORS).

The metric knows routes by their template, so no id and no query value ever becomes a label.

Credentials in the sense of CORS (https://fetch.spec.whatwg.org/#http-cors-protocol) do not exist here: a token comes in
a header of its own. So no answer allows them, and an origin is repeated only when it was named. Health, metrics and
pages stay closed. Not here: which origins are well formed (`config/files.py`).
"""

import functools
import time
from collections.abc import Collection, Iterable
from typing import Any, Final, cast

from litestar.enums import HttpMethod
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from tripline import metrics
from tripline.http import authentication
from tripline.http.request_store import HOLDER

_NOT_GUESSED: Final = (b"x-content-type-options", b"nosniff")
"""Answers contain foreign data: browsers must not guess that it is a page."""
_NOT_KEPT: Final = (b"cache-control", b"no-store")
"""Answers hold people and where they drove: no browser and no proxy keeps them."""
_HTTPS_FOR_GOOD: Final = (b"strict-transport-security", b"max-age=31536000")
"""For a year, browsers use HTTPS alone for this host (RFC 6797)."""
UNMATCHED: Final = "unmatched"

METHODS: Final = ("GET", "HEAD", "POST", "PUT", "DELETE")
REQUEST_HEADERS: Final = ("X-Authorization", "Content-Type", "If-None-Match", "toCompanyId")
"""Request headers of the interface, in addition to those always allowed for scripts."""
ANSWER_HEADERS: Final = ("Retry-After", "Content-Disposition", "ETag", "Allow")
"""Response headers readable by scripts, in addition to those always readable."""
MAX_AGE_S: Final = 600
"""How long a browser may keep the answer to a preflight: two hours is the most that browsers keep, and an origin that
is taken away should be gone soon."""
_INTERFACE: Final = "/api/"
_VARY: Final = (b"vary", b"Origin")
_PREFLIGHT: Final = [
    (b"access-control-allow-methods", ", ".join(METHODS).encode()),
    (b"access-control-allow-headers", ", ".join(REQUEST_HEADERS).encode()),
    (b"access-control-max-age", b"%d" % MAX_AGE_S),
]
_EXPOSED: Final = (b"access-control-expose-headers", ", ".join(ANSWER_HEADERS).encode())


def surrounded(app: ASGIApp, *, promises_https: bool = False) -> ASGIApp:
    """The application with HEAD for every GET, counted and timed."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        headless = scope.get("method") == HttpMethod.HEAD
        if headless:
            scope = cast(Scope, {**scope, "method": HttpMethod.GET.value})
        strict = promises_https and scope["scheme"] == "https"
        started = time.perf_counter()
        status = 0

        async def observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = _guarded(message["headers"])
                if strict:
                    headers.append(_HTTPS_FOR_GOOD)
                message["headers"] = headers
            elif headless and message["type"] == "http.response.body":
                message["body"] = b""
            await send(message)

        holding = HOLDER.set(functools.partial(authentication.holder_of, scope))
        try:
            await app(scope, receive, observed)
        finally:
            HOLDER.reset(holding)
            route = scope.get("path_template", UNMATCHED)
            _seconds(route, status).observe(time.perf_counter() - started)

    return serve


@functools.cache
def _seconds(route: str, status: int) -> Any:
    return metrics.REQUEST_SECONDS.labels(route, status)


def _guarded(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    guarded = [*headers, _NOT_GUESSED]
    for name, _ in guarded:
        if name == b"cache-control":
            return guarded
    guarded.append(_NOT_KEPT)
    return guarded


def allowing(app: ASGIApp, origins: Collection[str]) -> ASGIApp:
    """The application, its interface open to scripts of these origins; without any, as it is."""
    if not origins:
        return app
    allowed = frozenset(origin.encode() for origin in origins)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if not scope.get("path", "").startswith(_INTERFACE):
            await app(scope, receive, send)
            return
        headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
        found = [value for name, value in headers if name == b"origin"]
        added = [_VARY]
        if len(found) == 1 and found[0] in allowed:
            added.append((b"access-control-allow-origin", found[0]))
            if scope.get("method") == "OPTIONS" and any(
                name == b"access-control-request-method" for name, _ in headers
            ):
                await send({"type": "http.response.start", "status": 204, "headers": [*added, *_PREFLIGHT]})
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                return
            added.append(_EXPOSED)

        async def opened(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *added]
            await send(message)

        await app(scope, receive, opened)

    return serve

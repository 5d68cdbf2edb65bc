"""Surrounds every request, found or not: answers HEAD as GET without its body, forbids guessing the type and caching
unless the answer allows it, and counts requests.

The metric knows routes by their template, so no id and no query value ever becomes a label.
"""

import functools
import time
from collections.abc import Iterable
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
"""Route label of a request that no route took."""


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
    """The timer of requests to the route that were answered with the status."""
    return metrics.REQUEST_SECONDS.labels(route, status)


def _guarded(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The answer's headers with the ones common to all answers."""
    guarded = [*headers, _NOT_GUESSED]
    for name, _ in guarded:
        if name == b"cache-control":
            return guarded
    guarded.append(_NOT_KEPT)
    return guarded

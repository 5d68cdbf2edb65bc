"""Cross-origin requests (CORS, https://fetch.spec.whatwg.org/#http-cors-protocol): scripts of the named origins may
call the REST interface from a browser.

Credentials in the sense of that protocol (cookies, client certificates) do not exist here: a token comes in a header of
its own. So no answer allows them, and an origin is repeated only when it was named. Health, metrics and pages stay
closed.

Not here: which origins are well formed (`config/files.py`).
"""

from collections.abc import Collection, Iterable
from typing import Final

from litestar.types import ASGIApp, Message, Receive, Scope, Send

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

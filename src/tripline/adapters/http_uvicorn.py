"""HTTP doors: uvicorn serving one application on sockets of ours, without its signal handlers and log lines.

uvicorn with httptools bounds neither the bytes of a request's head nor how slowly a request may arrive, so that one
stranger could fill the memory or hold connections for ever. Both are bounded here.
A body is bounded by the application.
"""

import asyncio
import contextlib
import functools
import logging
import socket
import ssl
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tripline import observe
from tripline.wire.rest import CAME_WHOLE, ErrorBody

DRAIN_S: Final = 5
"""How long requests under way may take after a stop was asked for."""
HANDSHAKE_S: Final = 15
GOODBYE_S: Final = 0.5
"""An idle client reads our TLS goodbye only at its next request, so we do not wait for its answer."""

BAD_REQUEST: Final = 31
"""errorCode of what is no HTTP (client-surface 3.3: malformed)."""
NOT_HTTP: Final = "This is no valid HTTP request; in an address all but ASCII must be percent-encoded."
"""What a person most often does wrong is a vehicle's number in the address as it is written."""
TOO_LONG: Final = "The request line and headers are too long."
_WHOLE: Final[dict[str, dict[object, object]]] = {CAME_WHOLE: {}}


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a peer may take before it has said who it is."""

    head_bytes: int = 65_536
    """Of a request line and its headers; counted in whole chunks, so a single read may go beyond it."""
    request_s: float = 60
    """From the first byte of a request, or from the connection, to the last byte of the body."""


class _Connection(HttpToolsProtocol):
    """One peer. A request that comes whole in one chunk, as nearly all do, costs no timer."""

    def __init__(self, *args: Any, door: str, bounds: Bounds, clock: Callable[[], int], **more: Any) -> None:
        super().__init__(*args, **more)
        self._open = observe.CONNECTIONS.labels(door)
        self._bounds = bounds
        self._clock = clock
        self._head_bytes = 0
        self._in_head = False
        self._head_came = False
        """Whether the head of the latest request ended in the piece that is read now."""
        self._waiting = True
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A peer connected; its first request is awaited."""
        super().connection_made(transport)
        self._open.inc()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """The peer is gone."""
        self._open.dec()
        self._waiting = False
        self._watch()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feed the parser, then see what is still missing of the request."""
        self._head_came = False
        super().data_received(data)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > self._bounds.head_bytes:
                self._refuse(TOO_LONG)
        if self._waiting is (self._deadline is None):
            self._watch()

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._waiting = self._in_head = True
        self._head_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is there."""
        self._in_head = False
        self._head_came = True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The whole request is there."""
        self._waiting = False
        if self._head_came:
            self.scope["extensions"] = _WHOLE
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """What the parser cannot read; its own words say less than ours."""
        self._refuse(NOT_HTTP)

    def _refuse(self, message: str) -> None:
        """Answer what never reaches the application with the body that every error has, and close."""
        self._waiting = self._in_head = False
        body = msgspec.json.encode(ErrorBody(400, message, BAD_REQUEST, self._clock()))
        self.transport.write(
            b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json;charset=UTF-8\r\n"
            b"x-content-type-options: nosniff\r\ncache-control: no-store\r\n"
            b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(body), body)
        )
        self.transport.close()

    def _watch(self) -> None:
        """Start or end the deadline, as a request is awaited or not."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if self._waiting:
            self._deadline = self.loop.call_later(self._bounds.request_s, self.transport.close)


class _Server(uvicorn.Server):
    """A uvicorn server that leaves the process's signals to the program and says when it is open."""

    def __init__(
        self, config: uvicorn.Config, doors: Mapping[str, socket.socket], *, bounds: Bounds, clock: Callable[[], int]
    ) -> None:
        super().__init__(config)
        self._doors = doors
        self.opened = asyncio.Event()
        self._connection = functools.partial(_Connection, bounds=bounds, clock=clock)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Signals are the program's own business."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen on the doors, as uvicorn does, but with bounds on how long a TLS peer may keep us waiting."""
        await self.lifespan.startup()
        protocol = functools.partial(
            self._connection,
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )
        bounds: dict[str, Any] = {}
        if self.config.ssl:
            bounds = {"ssl_handshake_timeout": HANDSHAKE_S, "ssl_shutdown_timeout": GOODBYE_S}
        loop = asyncio.get_running_loop()
        bounds |= {"ssl": self.config.ssl, "backlog": self.config.backlog}
        self.servers = [
            await loop.create_server(functools.partial(protocol, door=name), sock=door, **bounds)
            for name, door in self._doors.items()
        ]
        self.started = True
        self.opened.set()


class HttpDoors:
    """The application on several sockets, by the names of their doors.

    `run` in a task of the owner; `opened` once it serves; then `stop`.
    """

    def __init__(
        self,
        app: Any,
        doors: Mapping[str, socket.socket],
        *,
        tls: ssl.SSLContext | None,
        clock: Callable[[], int],
        bounds: Bounds = Bounds(),
    ) -> None:
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
        config = uvicorn.Config(
            app,
            loop="none",
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=DRAIN_S,
            timeout_keep_alive=75,
            backlog=1024,
        )
        config.load()
        config.ssl = tls
        self._server = _Server(config, doors, bounds=bounds, clock=clock)
        self._sockets = list(doors.values())

    async def run(self) -> None:
        """Serve until `stop`; returns when requests under way are answered, at the latest after `DRAIN_S`."""
        await self._server.serve(sockets=self._sockets)

    async def opened(self) -> None:
        """Return once every socket is served."""
        await self._server.opened.wait()

    def stop(self) -> None:
        """Stop accepting and finish what is under way."""
        self._server.should_exit = True

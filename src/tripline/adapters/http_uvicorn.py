"""HTTP doors: uvicorn serving one application on sockets of ours, without its signal handlers and log lines."""

import asyncio
import contextlib
import functools
import logging
import socket
import ssl
from collections.abc import Generator, Sequence
from typing import Any, Final

import uvicorn

DRAIN_S: Final = 5
"""How long requests under way may take after a stop was asked for."""
HANDSHAKE_S: Final = 15
GOODBYE_S: Final = 0.5
"""An idle client reads our TLS goodbye only at its next request, so we do not wait for its answer."""


class _Server(uvicorn.Server):
    """A uvicorn server that leaves the process's signals to the program and says when it is open."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.opened = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Signals are the program's own business."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen on the sockets, as uvicorn does, but with bounds on how long a TLS peer may keep us waiting."""
        await self.lifespan.startup()
        http_protocol: Any = self.config.http_protocol_class
        protocol = functools.partial(
            http_protocol,
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )
        bounds: dict[str, Any] = {}
        if self.config.ssl:
            bounds = {"ssl_handshake_timeout": HANDSHAKE_S, "ssl_shutdown_timeout": GOODBYE_S}
        loop = asyncio.get_running_loop()
        self.servers = [
            await loop.create_server(protocol, sock=door, ssl=self.config.ssl, backlog=self.config.backlog, **bounds)
            for door in sockets or []
        ]
        self.started = True
        self.opened.set()


class HttpDoors:
    """The application on several sockets. `run` in a task of the owner; `opened` once it serves; then `stop`."""

    def __init__(self, app: Any, sockets: Sequence[socket.socket], *, tls: ssl.SSLContext | None) -> None:
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
        self._server = _Server(config)
        self._sockets = list(sockets)

    async def run(self) -> None:
        """Serve until `stop`; returns when requests under way are answered, at the latest after `DRAIN_S`."""
        await self._server.serve(sockets=self._sockets)

    async def opened(self) -> None:
        """Return once every socket is served."""
        await self._server.opened.wait()

    def stop(self) -> None:
        """Stop accepting and finish what is under way."""
        self._server.should_exit = True

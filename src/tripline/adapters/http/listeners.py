"""HTTP listeners: uvicorn serving one application on sockets of ours, without its signal handlers and log lines.

uvicorn with httptools bounds neither the bytes around a body, nor connections, nor unread answers: one client could
fill the memory or hold connections for ever. This module combines the parts that bound them: the entrance
(`entrance.py`), the connection (`connection.py`) and the outlet (`outlet.py`).
"""

import asyncio
import contextlib
import functools
import logging
import socket
from collections.abc import Callable, Generator, Mapping
from typing import Any, Final, TypeAlias

import uvicorn

from tripline.adapters.http import entrance as http_entrance
from tripline.adapters.http import refusals
from tripline.adapters.http.bounds import Bounds, met
from tripline.adapters.http.connection import Connection, Shared
from tripline.adapters.http.entrance import Entrance, Listener
from tripline.adapters.http.outlet import Outlet
from tripline.adapters.http.places import Places
from tripline.adapters.http.turns import Turns

DRAIN_S: Final = 5
"""How long running requests may take after a stop."""
SENT_AHEAD: Final = 262_144
"""Bytes of an answer that the system may take before its peer reads them."""
_MANY: Final = 1 << 62
_BOUNDS: Final = Bounds()

Make: TypeAlias = Callable[[], asyncio.Protocol]
Shell: TypeAlias = Callable[[Make], Make]
"""Wraps protocols in TLS, given their factory."""


class HttpListeners(uvicorn.Server):
    """The application on several sockets, by the names of their listeners. Signals are the program's.

    `serve` in a task of the owner; it returns when requests under way are answered, at the latest after `DRAIN_S`.
    """

    def __init__(
        self,
        app: Any,
        listeners: Mapping[str, socket.socket],
        *,
        tls: Shell | None,
        clock: Callable[[], int],
        bounds: Bounds = _BOUNDS,
        is_known: Callable[[str], bool] = lambda address: False,
    ) -> None:
        """`is_known`: true for an address, in the form for counting, whose requests precede those from unknown
        addresses."""
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
            backlog=1024,
        )
        config.load()
        super().__init__(config)
        self._is_known = is_known
        self.servers = []
        self._sockets = listeners
        self._bounds = bounds
        self._clock = clock
        self._tls = tls
        self._listeners: list[Listener] = []
        self._unread: dict[Outlet, None] = {}
        self.opened = asyncio.Event()
        """Set once every socket is served."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self.lifespan.startup()
        loop, bounds = asyncio.get_running_loop(), self._bounds
        shared = Shared(
            bounds=bounds,
            clock=self._clock,
            bodies=Places("bodies", bounds.bodies, bounds.address_bodies),
            answers=Places("answers", bounds.answers, bounds.address_answers),
            requests=Places("connections", _MANY, bounds.address_connections),
            unread=self._unread,
            turns=Turns(loop, bounds.turn_s, self._is_known),
            scheme="http" if self._tls is None else "https",
        )
        of_address = Places("connections", _MANY, bounds.address_connections)
        busy = (lambda: refusals.TOO_BUSY.answer(self._clock())) if self._tls is None else None
        for name, listening in self._sockets.items():
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SENT_AHEAD)
            # Short pieces for a peer that the network lost stay in the system's queue: only the system sees that.
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1_000 * bounds.stall_s))
            listener = Listener(
                name=name,
                bounds=bounds,
                of_address=of_address,
                places=Places("connections", bounds.connections, _MANY),
                lobby=Places("lobby", http_entrance.LOBBY, _MANY),
                make=self._inside(shared),
                turned_away=busy,
            )
            self._listeners.append(listener)
            entrances = functools.partial(Entrance, listener)
            self.servers.append(await loop.create_server(entrances, sock=listening, backlog=self.config.backlog))
        self._looking = loop.call_later(bounds.look_s, self._look)
        self.started = True
        self.opened.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(list(self._sockets.values()))
        self._looking.cancel()
        for listener in self._listeners:
            for entrance in list(listener.open):
                entrance.abort()

    def stop(self) -> None:
        """Stop accepting and finish running requests."""
        self.should_exit = True

    def _inside(self, shared: Shared) -> Make:
        make: Make = functools.partial(
            Connection, config=self.config, server_state=self.server_state, app_state=self.lifespan.state, shared=shared
        )
        return make if self._tls is None else self._tls(make)

    def _look(self) -> None:
        """End answers that make no progress."""
        loop = asyncio.get_running_loop()
        self._looking = loop.call_later(self._bounds.look_s, self._look)
        for outlet in list(self._unread):
            if outlet.look(loop.time(), self._bounds):
                met("stalled_answer", limit=int(self._bounds.stall_s), address=outlet.address)
                outlet.abort()

"""The device listener: listening sockets, admission, the one timer for all connections, and an orderly shutdown.

Use it as an async context manager: its tasks live inside, and leaving it closes all open connections.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeAlias

from tripline import metrics
from tripline.config import Devices
from tripline.domain.ids import SensorId, TimeIds
from tripline.gateway.connection import Connection, Crowd, Surroundings
from tripline.gateway.newcomers import Newcomers
from tripline.gateway.roster import Roster
from tripline.gateway.tls import TlsListener, TlsShell
from tripline.gateway.turns import Line, Turns
from tripline.gateway.wrong_tokens import WrongTokens
from tripline.mqtt.packets import ConnectCode
from tripline.mqtt.session import Rules
from tripline.ports.clocks import Clock
from tripline.ports.devices import Intake, Presence
from tripline.ports.outages import Outage
from tripline.wire import topics

Admit: TypeAlias = Callable[[str], Awaitable[SensorId | None]]
"""Returns the sensor whose credential is this user name, or None. May raise `ports.outages.Outage`."""

SWEEP_S: Final = 1.0
"""How often we check for silent and late connections."""
LOOKS: Final = 1_000
"""Connections checked in one go before the loop serves others."""
ADMISSIONS: Final = 64
"""Concurrent look-ups of credentials; further CONNECTs wait in line."""
BACKLOG: Final = 4_096
"""Connections the kernel queues: a whole fleet reconnects at once after a restart."""
TLS_SHUTDOWN_S: Final = 2.0
PEER_IDLE_S: Final = 60
PEER_PROBES: Final = 5
PEER_PROBE_S: Final = 15
"""The system probes a peer after a minute of silence, and drops it after five unanswered probes. This finds dead
connections of devices without keep-alive; MQTT's own check is faster for all others."""
_DRAIN_LOOK_S: Final = 0.005
STOPPED: Final = "server_stopping"


class DeviceListener:
    """Every device connection of this process. Make it on the running event loop."""

    def __init__(
        self, *, config: Devices, intake: Intake, presence: Presence, admit: Admit, ids: TimeIds, clock: Clock
    ) -> None:
        self._config = config
        self._admit = admit
        self._loop = asyncio.get_running_loop()
        self._tasks = asyncio.TaskGroup()
        self._servers: list[asyncio.Server] = []
        self._listeners: list[TlsListener] = []
        self._turns = Turns(self._loop)
        self._wrong_tokens = WrongTokens(longest_s=config.connect_timeout_s / 3)
        self._admissions = Line()
        """CONNECTs waiting for a look-up."""
        self._admitting = 0
        self._stopped = False
        self._connections: set[Connection] = set()
        self.roster = Roster()
        self.newcomers = Newcomers()
        self._around = Surroundings(
            config=config,
            rules=Rules(max_body=config.max_packet, may_subscribe=may_subscribe),
            intake=intake,
            clock=clock,
            crowd=Crowd(intake, self._loop),
            newcomers=self.newcomers,
            roster=self.roster,
            presence=presence,
            number_session=lambda: ids.take(1, now_ms=clock()),
            opened=self._opened,
            asked=self._asked,
            closed=self._connections.discard,
        )

    @property
    def connections(self) -> int:
        """Open connections, admitted or not, including unfinished TLS handshakes."""
        return len(self._connections) + sum(len(listener.unfinished) for listener in self._listeners)

    async def __aenter__(self) -> "DeviceListener":
        await self._tasks.__aenter__()
        metrics.CONNECTIONS.labels("device").set_function(lambda: self.connections)
        self._sweeping = self._tasks.create_task(self._sweep_forever())
        return self

    async def __aexit__(self, *exc: Any) -> None:
        await self.drain(0)
        self._stopped = True
        self._sweeping.cancel()
        await self._tasks.__aexit__(None, None, None)
        metrics.CONNECTIONS.labels("device").set_function(lambda: 0)

    async def start_on(self, bound: socket.socket, ssl_context: ssl.SSLContext | None) -> tuple[str, int]:
        """Open a listener on a bound socket; return the address. Without a context it is plain: the caller ensures
        that its address is a loopback one."""
        made: Callable[[], asyncio.Protocol] = self._connection
        if ssl_context is not None:
            times: dict[str, Any] = {"handshake_s": self._config.connect_timeout_s, "shutdown_s": TLS_SHUTDOWN_S}
            shells = TlsListener(
                ssl_context, self._connection, self._turns, opened=self._count, gone=self.newcomers.forget, **times
            )
            self._listeners.append(shells)
            made = partial(TlsShell, shells)
        server = await self._loop.create_server(made, backlog=BACKLOG, sock=bound)
        for opened in server.sockets:
            _watch_for_dead_peers(opened)
        self._servers.append(server)
        host, port = server.sockets[0].getsockname()[:2]
        return host, port

    async def drain(self, timeout_s: float) -> None:
        """Stop accepting and reading, wait until offered frames are acknowledged, close every connection.

        Frames that are not settled after `timeout_s` stay unacknowledged: their devices resend them.
        """
        for server in self._servers:
            server.close()
        for listener in self._listeners:
            listener.abort()
        for connection in self._connections:
            connection.stop_reading()
        await self._until(lambda: not any(each.under_way for each in self._connections), timeout_s)
        for connection in list(self._connections):
            connection.close(STOPPED)
        await self._until(lambda: not self._connections, min(timeout_s, TLS_SHUTDOWN_S))
        for connection in list(self._connections):
            connection.end(STOPPED)
        self._servers.clear()

    async def sweep(self, now: float) -> None:
        """Close late and silent connections at `now` (seconds of the loop's clock)."""
        everyone = list(self._connections)
        for start in range(0, len(everyone), LOOKS):
            for connection in everyone[start : start + LOOKS]:
                connection.look(now)
            await asyncio.sleep(0)

    def _connection(self) -> Connection:
        return Connection(self._around)

    def _opened(self, connection: Connection, transport: asyncio.Transport) -> None:
        self._connections.add(connection)
        if not isinstance(transport, TlsShell):
            self._count(transport)

    def _count(self, transport: asyncio.Transport) -> None:
        """Count an opened socket, and make room for it."""
        self.newcomers.add(transport)
        if self.connections > self._config.max_connections:
            self.newcomers.make_room()

    def _asked(self, connection: Connection, user_name: str) -> None:
        self._turns.wait(partial(self._begin_answer, connection, user_name), address=connection.address, begun=True)

    def _begin_answer(self, connection: Connection, user_name: str) -> None:
        wait_s = self._wrong_tokens.wait_s(connection.address, user_name, now_s=self._loop.time())
        if wait_s:
            self._loop.call_later(wait_s, self._look_up, connection, user_name)
        else:
            self._look_up(connection, user_name)

    def _look_up(self, connection: Connection, user_name: str) -> None:
        if not self._stopped and connection.is_open:
            self._admissions.add(partial(self._answer_soon, connection, user_name), connection.address)
            self._admit_some()

    def _admit_some(self) -> None:
        while self._admitting < ADMISSIONS and self._admissions and not self._stopped:
            self._admissions.take()()

    def _answer_soon(self, connection: Connection, user_name: str) -> None:
        self._admitting += 1
        self._tasks.create_task(self._answer(connection, user_name))

    async def _answer(self, connection: Connection, user_name: str) -> None:
        try:
            await self._say_admitted(connection, user_name)
        finally:
            self._admitting -= 1
            self._admit_some()

    async def _say_admitted(self, connection: Connection, user_name: str) -> None:
        if self._around.intake.away:
            connection.refused(ConnectCode.SERVER_UNAVAILABLE)
            return
        address = connection.address
        try:
            async with asyncio.timeout(self._config.connect_timeout_s):
                sensor_id = await self.roster.admitted(lambda: self._admit(user_name))
        except (Outage, TimeoutError):
            connection.refused(ConnectCode.SERVER_UNAVAILABLE)
        except Exception as error:  # noqa: BLE001  a bug costs this connection, never the process
            connection.fail(error)
        else:
            now_s = self._loop.time()
            if sensor_id is None:
                self._wrong_tokens.refused(address, user_name, now_s=now_s)
                connection.refused(ConnectCode.NOT_AUTHORISED)
            else:
                self._wrong_tokens.admitted(address, user_name, now_s=now_s)
                connection.admitted(sensor_id)

    async def _until(self, done: Callable[[], bool], timeout_s: float) -> None:
        deadline = self._loop.time() + timeout_s
        while not done() and self._loop.time() < deadline:  # noqa: ASYNC110  only at the end of the process
            await asyncio.sleep(_DRAIN_LOOK_S)

    async def _sweep_forever(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            await self.sweep(self._loop.time())


def _watch_for_dead_peers(listening: socket.socket) -> None:
    """Have the system find dead peers; accepted sockets inherit it."""
    for level, option, value in (
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, PEER_IDLE_S),
        (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, PEER_PROBE_S),
        (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, PEER_PROBES),
        (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1_000 * (PEER_IDLE_S + PEER_PROBES * PEER_PROBE_S)),
    ):
        listening.setsockopt(level, option, value)


def may_subscribe(wanted: str) -> bool:
    """True for the request filter and for one exact topic under it (spec/interface, Device channel)."""
    request_id = wanted.removeprefix(topics.RPC_REQUEST)
    if request_id in (wanted, ""):
        return False
    return request_id == "+" or not set(request_id) & set("+#/")

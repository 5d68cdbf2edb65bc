"""A device listener with an intake that keeps nothing, and a plain socket client to try it with."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from tests.support import waits
from tripline.config import Devices
from tripline.domain.ids import RowNo, SensorId, TimeIds
from tripline.gateway.listener import DeviceListener
from tripline.mqtt import decode, encode, packets
from tripline.ports.devices import Source

SENSORS = {
    "A" * 20: SensorId("11111111-1111-11f0-8000-0123456789ab"),
    "B" * 20: SensorId("22222222-1111-11f0-8000-0123456789ab"),
}
USER = "A" * 20
OTHER_USER = "B" * 20
NOW_MS = 1_735_689_600_000
WAIT_S = 10


@dataclass
class MemoryIntake:
    """Keeps what is offered in lists; settles on the loop's next turn, unless told to wait."""

    settles: bool = True
    crowded: bool = False
    away: bool = False
    frames: list[tuple[SensorId, str, bytes]] = field(default_factory=list)
    refused: list[tuple[SensorId, str, bytes, str, int]] = field(default_factory=list)
    waiting: list[tuple[Source, int]] = field(default_factory=list)

    def offer(self, source: Source, topic: str, body: bytes, received_ms: int, token: int) -> None:
        assert received_ms == NOW_MS
        self.frames.append((source.sensor_id, topic, body))
        self._queue(source, token)

    def refuse(
        self, source: Source, topic: str, head: bytes, received_ms: int, token: int, reason: str, size: int
    ) -> None:
        assert received_ms == NOW_MS
        self.refused.append((source.sensor_id, topic, head, reason, size))
        self._queue(source, token)

    def settle(self) -> None:
        """Call every frame offered so far durable."""
        tokens: dict[Source, list[int]] = {}
        for source, token in self.waiting:
            if token:
                tokens.setdefault(source, []).append(token)
        self.waiting.clear()
        for source, of_source in tokens.items():
            source.settled(of_source)

    def abandon(self) -> None:
        """Say that nothing is kept."""
        sources = {source for source, _ in self.waiting}
        self.waiting.clear()
        for source in sources:
            source.abandoned()

    async def until(self, count: int) -> None:
        """Wait for that many frames and refusals."""
        await waits.until(lambda: len(self.frames) + len(self.refused) >= count)

    def _queue(self, source: Source, token: int) -> None:
        self.waiting.append((source, token))
        if self.settles and len(self.waiting) == 1:
            asyncio.get_running_loop().call_soon(self.settle)


@dataclass
class MemoryPresence:
    """Notes what it is told, in order."""

    told: list[tuple[str, SensorId, RowNo]] = field(default_factory=list)
    holds: bool = False
    """Whether sessions can be called only once `store` is called."""
    waiting: list[Callable[[], None]] = field(default_factory=list)

    def connected(self, sensor_id: SensorId, session_no: RowNo, at_ms: int, callable_now: Callable[[], None]) -> None:
        self.told.append(("connected", sensor_id, session_no))
        self.waiting.append(callable_now)
        if not self.holds:
            self.store()

    def store(self) -> None:
        """Say of every session that it can be called."""
        waiting, self.waiting = self.waiting, []
        for callable_now in waiting:
            callable_now()

    def lost(self, sensor_id: SensorId, session_no: RowNo, at_ms: int, *, seen_ms: int, reason: str) -> None:
        self.told.append((reason, sensor_id, session_no))


class Listener(DeviceListener):
    """A device listener that binds its sockets itself."""

    async def start(self, host: str, port: int, ssl_context: ssl.SSLContext | None) -> tuple[str, int]:
        """Listen there (port 0 picks one); the address."""
        bound = socket.socket()
        bound.bind((host, port))
        return await self.start_on(bound, ssl_context)

    async def start_plain(self, host: str, port: int) -> tuple[str, int]:
        """As `start`, without TLS."""
        return await self.start(host, port, None)


async def admit(user_name: str) -> SensorId | None:
    """Who is admitted here."""
    return SENSORS.get(user_name)


@contextlib.asynccontextmanager
async def listening(
    intake: MemoryIntake,
    config: Devices | None = None,
    admit=admit,
    presence: MemoryPresence | None = None,
    made: type[Listener] = Listener,
) -> AsyncIterator[Listener]:
    """A listener that does not listen yet; closed on leaving."""
    async with made(
        config=config or Devices(),
        intake=intake,
        presence=presence or MemoryPresence(),
        admit=admit,
        ids=TimeIds(node=1),
        clock=lambda: NOW_MS,
    ) as listener:
        yield listener


class Client:
    """One connection, spoken to in packets or raw bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._packets = decode.PacketReader()
        self._ready: list[packets.Packet] = []

    @classmethod
    async def open(
        cls, address: tuple[str, int], context: ssl.SSLContext | None = None, *, local: str = "127.0.0.1"
    ) -> "Client":
        """A connection that has said nothing yet, from an address of this machine."""
        return cls(*await asyncio.open_connection(*address, ssl=context, local_addr=(local, 0)))

    @classmethod
    async def connected(
        cls, address: tuple[str, int], context: ssl.SSLContext | None = None, *, user_name: str = USER, **more: object
    ) -> "Client":
        """A connection with a live session."""
        client = await cls.open(address, context)
        client.send(packets.Connect("a box", user_name=user_name, **more))
        assert await client.next() == packets.Connack(0)
        return client

    def send(self, *sent: packets.Packet) -> None:
        """Send packets in one write."""
        self.writer.write(b"".join(map(encode.packet, sent)))

    async def next(self) -> packets.Packet | None:
        """The next packet of the server; None when it closed the connection."""
        async with asyncio.timeout(WAIT_S):
            while not self._ready:
                try:
                    data = await self.reader.read(65_536)
                except (ConnectionResetError, ssl.SSLError):
                    return None
                if not data:
                    return None
                self._ready = self._packets.receive(data)
        return self._ready.pop(0)

    async def take(self, count: int) -> list[packets.Packet | None]:
        """The next packets."""
        return [await self.next() for _ in range(count)]

    async def close(self) -> None:
        """Hang up."""
        self.writer.close()
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await self.writer.wait_closed()

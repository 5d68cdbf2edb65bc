"""Load that goes on whatever fails: devices over MQTTS that drive real drives again and again, and remember what they
sent and what was acknowledged.

A device sends in order, keeps what was not acknowledged and sends it again, first of all, on its next connection, at
the next of its gateways. What it never does is send again what was acknowledged: what is lost then, is lost.
"""

import asyncio
import contextlib
import json
import random
import ssl
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.device import connect_packet, hang_up, publish_packet
from tests.support.fleet import Registered
from tripline.simulator import recordings
from tripline.wire import topics

FIRST_TRIP_MS = 1_735_689_600_000
TRIP_EVERY_MS = 7_200_000
"""Trips of one device begin so far apart; the longest drive is shorter."""
DRIVES = ("drive_04.csv", "drive_17.csv", "drive_13.csv", "drive_01.csv")
"""The third is too short to be scored."""
TOGETHER = 5
"""Samples in one microtrip."""
WINDOW = 20
PUBACK_S = 10
"""A box that has no acknowledgement for so long tries another connection."""
CONNECT_S = 8
CALM = 1.0
"""Messages of a device a second while there is nothing to be hit."""
HURRY_S = 0.005
"""Between two messages once a load comes to its end: what there was to be hit has been."""
BAD_TOKEN = 5
LOST = (OSError, EOFError, ssl.SSLError, TimeoutError)
"""How a connection ends that is tried again."""
Address = tuple[str, int]


@dataclass(frozen=True)
class Drive:
    """A recorded drive."""

    name: str
    points: Sequence[recordings.Point]

    def bodies(self, trip: int, *, together: int = TOGETHER) -> list[dict[str, Any]]:
        """The messages of the drive as the n-th trip of a device: microtrips, then the trip message."""
        shift_ms = FIRST_TRIP_MS + trip * TRIP_EVERY_MS - self.points[0].time_ms
        samples = [
            {
                "tid": trip + 1,
                "lat": point.lat,
                "lon": point.lon,
                "sp": point.speed_kmh,
                "clt": point.time_ms + shift_ms,
            }
            for point in self.points
        ]
        cut = [samples[first : first + together] for first in range(0, len(samples), together)]
        messages: list[dict[str, Any]] = [{"ty": 2, "ts": items[-1]["clt"], "pld": items} for items in cut]
        times = {"stt": samples[0]["clt"], "edt": samples[-1]["clt"]}
        return [*messages, {"ty": 1, "ts": samples[-1]["clt"], "pld": {"tid": trip + 1, **times}}]


def drives() -> list[Drive]:
    """The drives that are driven."""
    return [Drive(name, recordings.read(recordings.FOLDER / name).points) for name in DRIVES]


@dataclass
class Box:
    """A device under load: what it sent, in order, and how many of these were acknowledged."""

    registered: Registered
    gateways: Sequence[Address]
    tls: ssl.SSLContext
    drives: Sequence[Drive]
    rate: float
    sent: list[dict[str, Any]] = field(default_factory=list)
    driven: list[str] = field(default_factory=list)
    """Name of the drive of each trip that was begun."""
    acknowledged: int = 0
    resent: int = 0
    connections: int = 0
    longest_silence_s: float = 0.0
    """The longest time without an acknowledgement."""
    _waiting: deque[tuple[int, bytes]] = field(default_factory=deque)
    _heard_s: float = 0.0
    _upcoming: Iterator[dict[str, Any]] = field(init=False)
    _finishing: Callable[[], bool] = field(init=False)

    @property
    def _pause_s(self) -> float:
        return HURRY_S if self._finishing() else 1 / self.rate

    async def run(self, finishing: Callable[[], bool]) -> None:
        """Drive until there is to be an end and the trip under way is acknowledged to its last message."""
        turn = random.randrange(len(self.gateways))
        pause_s = 0.05
        self._finishing = finishing
        self._upcoming = self._messages(finishing)
        while True:
            address = self.gateways[turn % len(self.gateways)]
            turn += 1
            before = self.acknowledged
            with contextlib.suppress(*LOST):
                if await self._connected(address):
                    return
            pause_s = 0.05 if self.acknowledged > before else min(pause_s * 2, 1.0)
            await asyncio.sleep(pause_s * random.uniform(0.5, 1.5))

    def _messages(self, finishing: Callable[[], bool]) -> Iterator[dict[str, Any]]:
        while not (self.driven and finishing()):
            trip = len(self.driven)
            drive = self.drives[(trip + hash_of(self.registered.sensor_id)) % len(self.drives)]
            self.driven.append(drive.name)
            yield from drive.bodies(trip)

    async def _connected(self, address: Address) -> bool:
        """One connection; whether everything is sent and acknowledged at its end."""
        reader, writer = await asyncio.wait_for(
            asyncio.open_connection(*address, ssl=self.tls, server_hostname="localhost"), CONNECT_S
        )
        try:
            writer.write(connect_packet(self.registered.token, client_id=self.registered.sensor_id))
            connack = await asyncio.wait_for(reader.readexactly(4), CONNECT_S)
            assert connack[3] != BAD_TOKEN, "a good token was refused"
            if connack[3]:
                return False
            self.connections += 1
            self._heard_s = self._heard_s or time.monotonic()
            for number, body in self._waiting:
                self.resent += 1
                writer.write(publish_packet(topics.TRE, body, number % 60_000 + 1, duplicate=True))
            async with asyncio.TaskGroup() as both:
                hearing = both.create_task(self._hear(reader))
                await self._send(writer)
                hearing.cancel()
        except ExceptionGroup as group:
            if group.split(LOST)[1] is not None:
                raise
            return False
        else:
            return True
        finally:
            await hang_up(writer)

    async def _send(self, writer: asyncio.StreamWriter) -> None:
        """Send what is new, at the rate of the device; return when there is nothing more and all is acknowledged."""
        while True:
            await self._until_fewer_than(WINDOW)
            message = next(self._upcoming, None)
            if message is None:
                break
            body = json.dumps(message).encode()
            self._waiting.append((len(self.sent), body))
            self.sent.append(message)
            writer.write(publish_packet(topics.TRE, body, (len(self.sent) - 1) % 60_000 + 1))
            await writer.drain()
            await asyncio.sleep(self._pause_s)
        await self._until_fewer_than(1)

    async def _until_fewer_than(self, most: int) -> None:
        while len(self._waiting) >= most:  # noqa: ASYNC110  at its rate it looks often enough
            await asyncio.sleep(self._pause_s)

    async def _hear(self, reader: asyncio.StreamReader) -> None:
        while True:
            puback = await asyncio.wait_for(reader.readexactly(4), PUBACK_S)
            assert puback[:2] == b"\x40\x02", puback
            number, _ = self._waiting.popleft()
            assert struct.unpack(">H", puback[2:])[0] == number % 60_000 + 1, "acknowledged out of order"
            self.acknowledged += 1
            now_s = time.monotonic()
            self.longest_silence_s = max(self.longest_silence_s, now_s - self._heard_s)
            self._heard_s = now_s


def hash_of(text: str) -> int:
    """A number that is the same in every process."""
    return sum(text.encode())


class Load:
    """Devices that drive, on a thread of their own, until they are told to come to an end."""

    def __init__(
        self, registered: Sequence[Registered], gateways: Sequence[Address], tls: ssl.SSLContext, *, rate: float = 20.0
    ) -> None:
        known = drives()
        self.boxes = [Box(each, gateways, tls, known, rate) for each in registered]
        self._finishing = threading.Event()
        self._trouble: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name="load")

    def start(self) -> "Load":
        """Begin to drive."""
        self._thread.start()
        return self

    @property
    def acknowledged(self) -> int:
        """How many messages were acknowledged so far."""
        return sum(box.acknowledged for box in self.boxes)

    @property
    def resent(self) -> int:
        """How many messages were sent once more so far."""
        return sum(box.resent for box in self.boxes)

    def flows(self, count: int = 200, *, within_s: float = 60.0) -> None:
        """Wait until so many more messages are acknowledged."""
        self.reaches(self.acknowledged + count, within_s=within_s)

    def reaches(self, goal: int, *, within_s: float) -> None:
        """Wait until so many messages are acknowledged altogether."""
        until = time.monotonic() + within_s
        while self.acknowledged < goal:
            assert self._thread.is_alive(), self._trouble
            assert time.monotonic() < until, f"{goal - self.acknowledged} messages not acknowledged in {within_s} s"
            time.sleep(0.02)

    def pace(self, rate: float) -> None:
        """Have each device send so many messages a second from now on."""
        for box in self.boxes:
            box.rate = rate

    @contextlib.contextmanager
    def calm(self) -> Iterator[None]:
        """Few messages while the block runs: a process starts, which takes seconds in which nothing is to be hit."""
        rate = self.boxes[0].rate
        self.pace(CALM)
        yield
        self.pace(rate)

    def finish(self, *, within_s: float = 90.0) -> None:
        """Let every device end its trip; return when everything that was ever sent is acknowledged."""
        self._finishing.set()
        self._thread.join(within_s)
        assert not self._thread.is_alive(), f"after {within_s} s messages are not acknowledged"
        if self._trouble is not None:
            raise self._trouble

    def abandon(self) -> None:
        """Hang up, whatever is not acknowledged."""
        if self._loop is not None and self._task is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(20)

    def _run(self) -> None:
        async def all_of_them() -> None:
            self._task = asyncio.current_task()
            async with asyncio.TaskGroup() as tasks:
                for box in self.boxes:
                    tasks.create_task(box.run(self._finishing.is_set))

        try:
            with asyncio.Runner() as runner:
                self._loop = runner.get_loop()
                runner.run(all_of_them())
        except BaseException as trouble:  # shown by the thread of the test
            self._trouble = trouble


@contextlib.contextmanager
def driving(
    registered: Sequence[Registered], gateways: Sequence[Address], tls: ssl.SSLContext, *, rate: float = 20.0
) -> Iterator[Load]:
    """Devices that drive while the block runs; at its end everything they sent is acknowledged."""
    load = Load(registered, gateways, tls, rate=rate).start()
    try:
        yield load
        load.finish()
    except BaseException:
        load.abandon()
        raise

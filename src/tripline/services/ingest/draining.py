"""Taking in what gateways wrote to the bus: batches of frames, each stored once, of each sensor in its order.

How far a partition is stored is written in the transaction that stores it, so a frame that the bus delivers again, to
this process or another, is left out; whoever lost a partition and does not know it yet stores nothing of it any more.
While the store is away the batch waits, and the bus keeps the rest.

Not here: writing frames (`buffering.py`), placing them (`pipeline.py`), reading the bus (`adapters/`).
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from tripline import observe
from tripline.domain.ids import SensorId
from tripline.ports import BusBatch, BusLog, BusMessage, BusReader, Clock, Outage
from tripline.services.ingest import cutting
from tripline.services.ingest.intake import BATCH_BYTES, IngestDoor
from tripline.services.ingest.pipeline import Frame
from tripline.store import bus_positions
from tripline.store.bus_positions import MovedError
from tripline.store.transactions import Store, WriteTx
from tripline.wire import frames
from tripline.wire.readings import Rejected

_PAUSES_S: Final = (0.1, 0.2, 0.5, 1.0, 2.0)
"""How long to wait after the first, second, ... outage in a row."""
NOT_A_FRAME: Final = "not_a_frame"
_log = observe.logger("ingest")


class Place:
    """Where a frame stood on the bus: its source, as the pipeline sees it. Its token is the offset."""

    __slots__ = ("part", "sensor_id")

    def __init__(self, sensor_id: SensorId, part: int) -> None:
        self.sensor_id = sensor_id
        self.part = part

    def settled(self, tokens: list[int]) -> None:
        """Stored; the batch as a whole is told to the bus."""

    def abandoned(self) -> None:
        """Not stored; the batch waits."""


class Progress:
    """How far a log is stored: the positions in the store, against what the bus says of its ends."""

    def __init__(self, *, log: BusLog, store: Store) -> None:
        self._bus_log = log
        self._store = store
        self._name = ""
        """Of the log, once the bus has told it."""
        self._asked: tuple[int, dict[int, int]] | None = None
        """An instant, and where every partition ended then."""

    async def stored_until(self, now_ms: int) -> int | None:
        """An instant until which everything that gateways acknowledged is stored; None: not known yet.

        Asked again and again it goes on; with nothing left behind it is about the time of asking. Raises `Outage`.
        """
        await self.learn()
        if self._asked is None:
            self._asked = now_ms, await self._bus_log.ends()
        stored = await self._positions()
        at_ms, ends = self._asked
        if any(stored.get(part, 0) < end for part, end in ends.items()):
            return None
        self._asked = None
        return at_ms

    async def learn(self) -> None:
        """Ask which log it is, unless that is known. Raises `Outage`."""
        if not self._name:
            self._name = await self._bus_log.identity()

    async def left_of(self, messages: Sequence[BusMessage]) -> list[BusMessage]:
        """Those that are not stored. Raises `Outage`."""
        stored = await self._positions()
        return [message for message in messages if message.offset >= stored.get(message.partition, 0)]

    def begin(self, tx: WriteTx, together: Sequence[Frame]) -> None:
        """This transaction stores these frames. Raises `MovedError` when some of them are stored."""
        moves: dict[int, tuple[int, int]] = {}
        for source, _, _, _, offset, _ in together:
            assert isinstance(source, Place)
            first, behind = moves.get(source.part, (offset, 0))
            moves[source.part] = (min(first, offset), max(behind, offset + 1))
        bus_positions.advance(tx, self._name, moves)

    async def _positions(self) -> dict[int, int]:
        return await self._store.read(lambda tx: bus_positions.positions(tx, self._name))


class Drain:
    """Reads frames and has them taken in, until it is cancelled."""

    def __init__(self, *, reader: BusReader, progress: Progress, door: IngestDoor, clock: Clock) -> None:
        self._reader = reader
        self._progress = progress
        self._door = door
        self._clock = clock

    async def run(self) -> None:
        """Take in what comes."""
        while True:
            batch = await self._reader.read()
            await self._store(batch)
            self._reader.done(batch)

    async def _store(self, batch: BusBatch) -> None:
        """Try until the batch is stored, or is another member's."""
        outages = 0
        doubtful = False
        while True:
            messages = self._reader.kept(batch).messages
            try:
                await self._progress.learn()
                return await self._take_in(await self._progress.left_of(messages) if doubtful else messages)
            except MovedError:
                doubtful = True
            except Outage as outage:
                _log.warning("ingest.outage", reason=str(outage), frames=len(messages), sources=0)
                await asyncio.sleep(_PAUSES_S[min(outages, len(_PAUSES_S) - 1)])
                outages += 1
                doubtful = True

    async def _take_in(self, messages: Sequence[BusMessage]) -> None:
        """In parts that go through together, one after the other."""
        left = [_frame(message, self._clock()) for message in messages]
        while left:
            together = cutting.beginning(left, BATCH_BYTES)
            await self._door.take_in(together, begin=self._progress.begin)
            left = left[len(together) :]


def _frame(message: BusMessage, now_ms: int) -> Frame:
    """The message as the pipeline takes it; what is none goes to the rejected-message log."""
    source = Place(SensorId((message.key or b"").decode(errors="replace")), message.partition)
    try:
        frame = frames.unpacked(message.value)
    except frames.FrameError as error:
        refused = Rejected(reason=NOT_A_FRAME, detail=str(error), body=message.value)
        return source, message.topic, message.value, message.timestamp_ms or now_ms, message.offset, refused
    refusal = None
    if frame.reason is not None:
        refusal = Rejected(reason=frame.reason, detail=frame.detail or "", body=frame.body)
    return source, frame.topic, frame.body, frame.received_ms, message.offset, refusal

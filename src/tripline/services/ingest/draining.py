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


class Drain:
    """Reads frames and has them taken in, until it is cancelled."""

    def __init__(self, *, reader: BusReader, log: BusLog, door: IngestDoor, store: Store, clock: Clock) -> None:
        self._reader = reader
        self._bus_log = log
        self._door = door
        self._store = store
        self._clock = clock
        self._name = ""
        """Of the log, once the bus has told it."""
        self._asked: tuple[int, dict[int, int]] | None = None
        """An instant, and where every partition ended then."""

    async def run(self) -> None:
        """Take in what comes."""
        while True:
            batch = await self._reader.read()
            await self._stored(batch)

    async def stored_until(self, now_ms: int) -> int | None:
        """An instant until which everything that gateways acknowledged is stored; None: not known yet.

        Asked again and again it goes on; with nothing left behind it is about the time of asking.
        """
        if not await self._named():
            return None
        if self._asked is None:
            self._asked = now_ms, await self._bus_log.ends()
        stored = await self._store.read(lambda tx: bus_positions.positions(tx, self._name))
        at_ms, ends = self._asked
        if any(stored.get(part, 0) < end for part, end in ends.items()):
            return None
        self._asked = None
        return at_ms

    async def _stored(self, batch: BusBatch) -> None:
        """Try until the batch is stored, or is another member's."""
        tries = 0
        while True:
            left = self._reader.kept(batch)
            try:
                if await self._named():
                    await self._take_in(await self._not_stored(left.messages) if tries else left.messages)
                    break
            except MovedError:
                tries += 1
                continue
            except Outage as outage:
                _log.warning("ingest.outage", reason=str(outage), frames=len(left.messages), sources=0)
            await asyncio.sleep(_PAUSES_S[min(tries, len(_PAUSES_S) - 1)])
            tries += 1
        self._reader.done(batch)

    async def _named(self) -> bool:
        """Whether the bus has told which log this is."""
        if not self._name:
            try:
                self._name = await self._bus_log.identity()
            except Outage as outage:
                _log.warning("ingest.outage", reason=str(outage), frames=0, sources=0)
        return bool(self._name)

    async def _not_stored(self, messages: Sequence[BusMessage]) -> list[BusMessage]:
        """Those behind the positions."""
        stored = await self._store.read(lambda tx: bus_positions.positions(tx, self._name))
        return [message for message in messages if message.offset >= stored.get(message.partition, 0)]

    async def _take_in(self, messages: Sequence[BusMessage]) -> None:
        """In parts that go through together, one after the other."""
        left = [_frame(message, self._clock()) for message in messages]
        while left:
            together = cutting.beginning(left, BATCH_BYTES)
            await self._door.take_in(together, begin=self._begin)
            left = left[len(together) :]

    def _begin(self, tx: WriteTx, together: Sequence[Frame]) -> None:
        moves: dict[int, tuple[int, int]] = {}
        for source, _, _, _, offset, _ in together:
            assert isinstance(source, Place)
            first, behind = moves.get(source.part, (offset, 0))
            moves[source.part] = (min(first, offset), max(behind, offset + 1))
        bus_positions.advance(tx, self._name, moves)


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

"""Store the frames that gateways wrote to the bus: in batches, each frame once, in the order of each sensor.

The transaction that stores frames also advances the partition's offset, so a frame that the bus delivers again, to this
process or another, is skipped; a process that lost a partition without noticing stores nothing more of it. While the
store is down, the batch waits and the bus retains later frames.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from tripline import observe
from tripline.domain.ids import SensorId
from tripline.ports.bus import BusBatch, BusLog, BusMessage, BusReader
from tripline.ports.clocks import Clock
from tripline.ports.outages import Outage
from tripline.services import batch_tries
from tripline.services.device_frames import Frame
from tripline.services.ingest import batch_splits
from tripline.services.ingest.intake import BATCH_BYTES, Intake
from tripline.services.ingest.pace import Pace
from tripline.store.bus import offsets as bus_offsets
from tripline.store.bus.offsets import Move, MovedError
from tripline.store.transactions import Store, WriteTx
from tripline.wire import frames
from tripline.wire.readings import Rejected

LONGEST_PAUSE_S: Final = 2.0
"""Longest pause between tries while the store is down."""
NOT_A_FRAME: Final = "not_a_frame"
BUFFER: Final = "buffer"
"""Origin of a batch, for the log."""
OUTAGE: Final = "outage"
"""State of the drain while the store or the bus is down or gave up."""
_log = observe.logger("ingest")


class BusSource(msgspec.Struct, eq=False):
    """The source of frames from the bus, as the pipeline sees it."""

    sensor_id: SensorId

    def settled(self, tokens: list[int]) -> None:
        """Do nothing: the bus is informed about the whole batch."""

    def abandoned(self) -> None:
        """Do nothing: the batch waits."""


class _Place(BusSource):
    """The partition that a frame came from. Its token is the offset."""

    partition: int


class Progress:
    """Progress of storing a log: offsets in the store, compared with the ends on the bus."""

    def __init__(self, *, log: BusLog, store: Store) -> None:
        self._bus_log = log
        self._store = store
        self._name = ""
        """Identity of the log, once learned from the bus."""
        self._ends: tuple[int, dict[int, int]] | None = None
        """An instant, and the partitions' end offsets then: to be reached before the next instant is queried."""

    async def stored_until(self, now_ms: int) -> int | None:
        """Return an instant before which every acknowledged frame is stored; None: not known yet.

        Repeated calls advance it; without a backlog it is close to the time of the call. Raises `Outage`.
        """
        await self.learn()
        if self._ends is None:
            self._ends = now_ms, await self._bus_log.ends()
        (at_ms, ends), stored = self._ends, await self.positions()
        if any(stored.get(partition, 0) < end for partition, end in ends.items()):
            return None
        self._ends = None
        return at_ms

    async def learn(self) -> None:
        """Ask the bus for the identity of the log, unless it is cached. Raises `Outage`."""
        if not self._name:
            self._name = await self._bus_log.identity()

    async def positions(self) -> dict[int, int]:
        """Partition -> its first unstored offset. Raises `Outage`."""
        await self.learn()
        return await self._store.read(lambda tx: bus_offsets.positions(tx, self._name))

    def begin(self, tx: WriteTx, together: Sequence[Frame]) -> None:
        """Advance the offsets past these frames in their transaction. Raises `MovedError` if any were stored
        already."""
        offsets: dict[int, list[int]] = {}
        for frame in together:
            assert isinstance(frame.source, _Place)
            offsets.setdefault(frame.source.partition, []).append(frame.token)
        moves = {partition: Move(min(each), max(each) + 1) for partition, each in offsets.items()}
        bus_offsets.advance(tx, self._name, moves)


class Drain:
    """Reads frames and passes them to the intake, until cancelled."""

    def __init__(self, *, reader: BusReader, progress: Progress, intake: Intake, clock: Clock, batch: int) -> None:
        """`batch`: most frames per transaction."""
        self._reader = reader
        self._progress = progress
        self._intake = intake
        self._clock = clock
        self._pace = Pace(most=batch)
        self._away = False
        reader.explain(self._doing)

    async def run(self) -> None:
        while True:
            batch = await self._reader.read(self._pace.size)
            await self._store(batch)
            self._reader.done(batch)

    async def _store(self, batch: BusBatch) -> None:
        """Try until the batch is stored, or belongs to another member."""
        outages = 0
        # The previous owner of a partition may have stored more of it than it committed to the bus.
        doubtful = batch.came
        while (batch := self._reader.kept(batch)).messages:
            try:
                if doubtful:
                    batch = await self._unstored(batch)
                    doubtful = False
                else:
                    batch = await self._beginning_stored(batch)
                    outages = 0
            # Another process stored some of these meanwhile; before the next try, look up which.
            except MovedError:
                doubtful = True
            except Outage as outage:
                _log.warning("ingest.outage", reason=str(outage), frames=len(batch.messages), sources=0)
                self._pace.failed()
                self._away = True
                outages += 1
                await asyncio.sleep(batch_tries.pause_s(outages, longest_s=LONGEST_PAUSE_S))
                self._away = False
                # The commit may have gone through although its answer did not arrive.
                doubtful = True

    async def _unstored(self, batch: BusBatch) -> BusBatch:
        """Frames not yet stored by the partition's previous owner, or by a commit with an unknown outcome.

        Makes the reader skip stored frames. Raises `Outage`.
        """
        stored = await self._progress.positions()
        behind = {
            each: stored.get(each.partition, 0)
            for each, mark in batch.marks.items()
            if stored.get(each.partition, 0) > mark.behind
        }
        if behind:
            self._reader.skip(behind)
        return replace(
            batch, messages=[each for each in batch.messages if each.offset >= stored.get(each.partition, 0)]
        )

    async def _beginning_stored(self, batch: BusBatch) -> BusBatch:
        """Store the first frames, as many as take about a second; return the rest. Raises `Outage`."""
        await self._progress.learn()
        now_ms = self._clock()
        frames_ = [_frame(message, now_ms) for message in batch.messages[: self._pace.size]]
        together = batch_splits.beginning(frames_, BATCH_BYTES)
        await self._intake.take_in(together, begin=self._progress.begin, kind=BUFFER)
        self._pace.took(len(together), self._intake.steps.worked_s)
        return replace(batch, messages=batch.messages[len(together) :])

    def _doing(self) -> str:
        return OUTAGE if self._away else self._intake.steps.doing


def _frame(message: BusMessage, now_ms: int) -> Frame:
    """Convert a message to a frame; anything else becomes a refusal for the rejected-message log."""
    # A key that is not valid text must not block the partition.
    source = _Place(SensorId((message.key or b"").decode(errors="replace")), message.partition)
    try:
        frame = frames.unpacked(message.value)
    except frames.FrameError as error:
        refused = Rejected(reason=NOT_A_FRAME, detail=str(error), body=message.value)
        received_ms = message.timestamp_ms or now_ms
        return Frame(source, message.topic, message.value, received_ms, message.offset, refused)
    refusal = None
    if frame.reason is not None:
        refusal = Rejected(reason=frame.reason, detail=frame.detail or "", body=frame.body)
    return Frame(source, frame.topic, frame.body, frame.received_ms, message.offset, refusal)

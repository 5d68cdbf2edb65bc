"""The drain: what is stored already is skipped, a slow store gets smaller batches, a partition that went is left."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.ingest_rig import NOW, SENSOR, TOPIC, Rig, microtrip

from tripline.ports.bus import BusBatch, BusMark, BusMessage, BusPartition
from tripline.ports.outages import Outage
from tripline.services import batch_tries
from tripline.services.ingest.drain import Drain, Progress
from tripline.services.ingest.intake import Intake
from tripline.store import tables
from tripline.wire import frames

BUS = "devices"


class Log:
    """Knows the topic's name."""

    async def identity(self) -> str:
        return BUS

    async def ends(self) -> dict[int, int]:
        return {}


@dataclass
class Reader:
    """Gives batches that a test made, then nothing; notes what it is told. Its contract is in `tests/contract`."""

    batches: list[BusBatch]
    finished: list[int] = field(default_factory=list)
    skipped: dict[BusPartition, int] = field(default_factory=dict)
    lost: set[int] = field(default_factory=set)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self, most: int | None = None) -> BusBatch:
        if not self.batches:
            self.ended.set()
            await asyncio.Event().wait()
        return self.batches.pop(0)

    def kept(self, batch: BusBatch) -> BusBatch:
        marks = {part: mark for part, mark in batch.marks.items() if part.partition not in self.lost}
        return replace(
            batch, marks=marks, messages=[each for each in batch.messages if each.partition not in self.lost]
        )

    def done(self, batch: BusBatch) -> None:
        self.finished.append(batch.number)

    def skip(self, offsets: Mapping[BusPartition, int]) -> None:
        self.skipped |= offsets

    def explain(self, doing: Callable[[], str]) -> None:
        self.doing = doing


class Intake(Intake):
    """Notes how many frames it is given at once, and does before what a test wants."""

    before: Callable[[int], None] = staticmethod(lambda _: None)  # type: ignore[assignment]

    async def take_in(self, taken: Sequence[Any], **more: Any) -> Any:
        self.given = [*getattr(self, "given", []), len(taken)]
        self.before(len(taken))
        return await super().take_in(taken, **more)


def batch(numbers: Sequence[int], *, partition: int = 0, came: bool = False) -> BusBatch:
    """Frames with these offsets, each with a sample of its own."""
    messages = []
    for number in numbers:
        body = json.dumps(microtrip(NOW + number * 1_000 + partition)).encode()
        frame = frames.packed(TOPIC, NOW, body)
        messages.append(BusMessage(BUS, partition, number, SENSOR.encode(), frame, NOW))
    return BusBatch(messages, numbers[0], {BusPartition(BUS, partition): BusMark(1, numbers[-1] + 1)}, came)


def drained(rig: Rig, reader: Reader, *, most: int = 1_000, before: Callable[[int], None] = lambda _: None) -> Intake:
    """Have a new worker drain what the reader gives."""

    async def work() -> Intake:
        intake = rig.intake(Intake)
        intake.before = before
        progress = Progress(log=Log(), store=rig.store)
        drain = Drain(reader=reader, progress=progress, intake=intake, clock=lambda: rig.now_ms, batch=most)
        running = asyncio.get_running_loop().create_task(drain.run())
        async with asyncio.timeout(20):
            await reader.ended.wait()
        running.cancel()
        return intake

    intake: Intake = rig.run(work())
    return intake


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outages cost no time here."""
    monkeypatch.setattr(batch_tries, "PAUSES_S", (0.0,))


def stored(rig: Rig) -> list[int]:
    return [(ts - NOW) // 1_000 for ts in rig.rows(tables.microtrip, "ts")]


def test_partition_that_came_is_drained_behind_what_is_stored_without_looking_for_it(rig: Rig) -> None:
    drained(rig, Reader([batch(range(50))]))
    taking_over = Reader([batch(range(20), came=True), batch(range(20, 60), came=True), batch(range(60, 70))])

    intake = drained(rig, taking_over)

    assert intake.given == [10, 10]
    assert stored(rig) == list(range(70))
    assert taking_over.finished == [0, 20, 60]


def test_reader_goes_on_behind_what_is_stored_when_it_starts_far_before(rig: Rig) -> None:
    drained(rig, Reader([batch(range(50))]))
    taking_over = Reader([batch(range(20), came=True)])
    up_to_date = Reader([batch(range(40, 50), came=True)])

    drained(rig, taking_over)
    drained(rig, up_to_date)

    assert taking_over.skipped == {(BUS, 0): 50}
    assert up_to_date.skipped == {}


def test_partition_that_others_stored_unnoticed_costs_one_try(rig: Rig) -> None:
    drained(rig, Reader([batch(range(50))]))

    intake = drained(rig, Reader([batch(range(40, 60))]))

    assert intake.given == [20, 10]
    assert stored(rig) == list(range(60))


def test_batch_that_the_store_gives_up_is_stored_in_smaller_ones(rig: Rig) -> None:
    """Else it would be tried, given up, and tried again for ever."""

    def gives_up(number: int) -> None:
        if number > 20:
            raise Outage("The batch took too long.")

    reader = Reader([batch(range(100))])

    intake = drained(rig, reader, most=100, before=gives_up)

    assert intake.given[:4] == [100, 50, 25, 12]
    assert stored(rig) == list(range(100))
    assert reader.finished == [0]


def test_frames_of_a_partition_that_went_during_a_batch_are_not_stored(rig: Rig) -> None:
    reader = Reader([])

    def goes(_: int) -> None:
        reader.lost.add(0)

    both = batch(range(4))
    other = batch(range(4), partition=1)
    reader.batches.append(BusBatch([*both.messages, *other.messages], 0, {**both.marks, **other.marks}))

    intake = drained(rig, reader, most=2, before=goes)

    assert intake.given == [2, 2, 2]
    assert len(stored(rig)) == 2 + 4


def test_drain_says_what_it_is_at(rig: Rig) -> None:
    reader = Reader([batch(range(2))])
    said = []

    def away(_: int) -> None:
        if not said:
            said.append(reader.doing())
            raise Outage("away")

    drained(rig, reader, before=away)

    assert said == ["idle"]
    assert stored(rig) == [0, 1]

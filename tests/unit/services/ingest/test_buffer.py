"""The intake whose frames go to the bus: order, acknowledgement, and who is abandoned when the bus takes nothing."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from tests.support import waits
from tests.support.ingest_rig import NOW, SENSOR, FakeSource

from tripline.ports.bus import BusMessageRefusedError, BusNote, Receipts
from tripline.ports.outages import Outage
from tripline.services.ingest import buffer
from tripline.services.ingest.buffer import BufferIntake
from tripline.wire import frames

PATIENCE_S = 0.05


class HeldWriter:
    """Keeps what is sent until the test settles it; takes at most `room` messages of at most `longest` bytes."""

    def __init__(self, *, room: int = 100, longest: int = 10_000) -> None:
        self.room = room
        self.longest = longest
        self.sent: list[tuple[BusNote, Receipts, Any]] = []
        self.crowded = False
        self.away = False

    def send(self, note: BusNote, told: Receipts, ticket: Any) -> None:
        if len(note.value) > self.longest:
            raise BusMessageRefusedError("too long")
        if len(self.sent) >= self.room:
            raise Outage("full")
        self.sent.append((note, told, ticket))

    async def deliver(self, notes: Sequence[BusNote]) -> None:
        raise AssertionError("frames are not waited for")

    def settle(self, number: int) -> None:
        """Every replica has the first so many that wait."""
        settled, self.sent = self.sent[:number], self.sent[number:]
        settled[0][1].delivered([ticket for _, _, ticket in settled])

    @property
    def bodies(self) -> list[bytes]:
        return [frames.unpacked(note.value).body for note, _, _ in self.sent]


@contextlib.asynccontextmanager
async def running(writer: HeldWriter, *, patience_s: float = 60) -> AsyncIterator[BufferIntake]:
    """An intake over this writer, stopped at the end."""
    intake = BufferIntake(writer, topic="frames", patience_s=patience_s)
    async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
        tasks.create_task(intake.run())
        yield intake
        intake.stop()


def offer(intake: BufferIntake, source: FakeSource, *tokens: int) -> None:
    for token in tokens:
        intake.offer(source, "the/topic", b"%d" % token, NOW, token)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffer, "LOOK_S", 0.01)


async def test_frame_is_written_with_its_sensor_as_key_and_acknowledged_when_delivered() -> None:
    writer, source = HeldWriter(), FakeSource()

    async with running(writer) as intake:
        offer(intake, source, 7, 8)
        assert source.settlements == []
        writer_had = [note for note, _, _ in writer.sent]
        writer.settle(1)
        assert source.settlements == [[7]]
        writer.settle(1)
        assert [(note.topic, note.key) for note in writer_had] == [("frames", SENSOR.encode())] * 2
        assert frames.unpacked(writer_had[0].value) == frames.Frame(1, "the/topic", NOW, b"7")

    assert source.settlements == [[7], [8]]
    assert source.abandonments == 0


async def test_frame_without_a_token_is_written_and_not_acknowledged() -> None:
    writer, source = HeldWriter(), FakeSource()

    async with running(writer) as intake:
        offer(intake, source, 0, 5)
        writer.settle(2)

    assert source.settlements == [[5]]


async def test_publish_that_the_gateway_refused_is_written_with_its_reason() -> None:
    writer, source = HeldWriter(), FakeSource()

    async with running(writer) as intake:
        intake.refuse(source, "the/topic", b"head", NOW, 3, "too_large", 70_000)

    frame = frames.unpacked(writer.sent[0][0].value)
    assert (frame.body, frame.reason, frame.detail) == (b"head", "too_large", "70000 bytes")


async def test_frame_too_long_for_the_bus_is_written_as_a_refusal_with_its_beginning() -> None:
    writer, source = HeldWriter(longest=2_000), FakeSource()

    async with running(writer) as intake:
        intake.offer(source, "the/topic", bytes(3_000), NOW, 3)

    frame = frames.unpacked(writer.sent[0][0].value)
    assert (frame.body, frame.reason) == (bytes(buffer.REFUSED_BYTES), "too_large")


async def test_no_room_abandons_the_source_and_nothing_behind_it_is_written_although_room_comes() -> None:
    """The frames of one chunk: the first found no room, the second would have."""
    writer, source, other = HeldWriter(room=1), FakeSource(), FakeSource()

    async with running(writer) as intake:
        offer(intake, other, 1)
        offer(intake, source, 2)
        writer.settle(1)
        offer(intake, source, 3)

    assert writer.bodies == []
    assert (source.settlements, source.abandonments) == ([], 1)
    assert (other.settlements, other.abandonments) == ([[1]], 0)


@pytest.mark.usefixtures("quick")
async def test_source_that_waits_too_long_is_abandoned_once_and_its_frames_go_on_before_what_it_sends_again() -> None:
    writer, first, again = HeldWriter(), FakeSource(), FakeSource()

    async with running(writer, patience_s=PATIENCE_S) as intake:
        offer(intake, first, 1, 2)
        await waits.until(lambda: first.abandonments > 0)
        assert intake.away
        offer(intake, again, 1, 2, 3)
        assert writer.bodies == [b"1", b"2", b"1", b"2", b"3"]
        writer.settle(5)
        assert not intake.away

    assert (first.settlements, first.abandonments) == ([], 1)
    assert (again.settlements, again.abandonments) == ([[1, 2, 3]], 0)


@pytest.mark.usefixtures("quick")
async def test_source_whose_frames_are_delivered_one_by_one_is_not_late() -> None:
    writer, source = HeldWriter(), FakeSource()

    async with running(writer, patience_s=PATIENCE_S) as intake:
        offer(intake, source, *range(1, 13))
        for _ in range(12):
            await asyncio.sleep(PATIENCE_S / 5)
            writer.settle(1)

    assert source.settlements == [[token] for token in range(1, 13)]
    assert source.abandonments == 0


async def test_refusal_shuts_the_intake_for_a_moment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffer, "TRIAL_S", 0.02)
    writer, source = HeldWriter(room=0), FakeSource()

    async with running(writer) as intake:
        assert not intake.away
        offer(intake, source, 1)
        assert intake.away
        await waits.until(lambda: not intake.away)

    assert source.abandonments == 1


async def test_messages_that_failed_abandon_each_source_once() -> None:
    writer, one, other = HeldWriter(), FakeSource(), FakeSource()

    async with running(writer) as intake:
        offer(intake, one, 1, 2)
        offer(intake, other, 1)
        intake.failed([ticket for _, _, ticket in writer.sent])

    assert (one.abandonments, other.abandonments) == (1, 1)

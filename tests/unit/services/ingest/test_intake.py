"""The intake: batches, order, draining, outages, sweeps."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs
from tests.support import waits
from tests.support.ingest_rig import (
    MINUTE,
    NOW,
    OTHER_VEHICLE,
    SENSOR,
    TOPIC,
    VEHICLE,
    FakeSource,
    Rig,
    frame,
    microtrip,
)

from tripline import observe
from tripline.config import Ingest
from tripline.domain.ids import SensorId
from tripline.services.ingest import steps
from tripline.services.ingest.intake import BACKLOG_BYTES, BATCH_BYTES, Intake
from tripline.services.ingest.tracks import Tracks
from tripline.store import tables
from tripline.store.ingest import rejected


def body(at: int, **more: Any) -> bytes:
    return json.dumps(microtrip(at, **more)).encode()


def through(rig: Rig, talk: Callable[[Intake], Awaitable[None]]) -> None:
    """Run an intake while `talk` uses it, then stop it."""

    async def work() -> None:
        intake = rig.intake()
        async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
            tasks.create_task(intake.run())
            await talk(intake)
            intake.stop()

    rig.run(work())


def test_offered_frame_is_stored_and_settled(rig):
    source = FakeSource()

    async def talk(intake: Intake) -> None:
        intake.offer(source, TOPIC, body(NOW), NOW, 7)
        await waits.until(lambda: source.settlements != [])

    through(rig, talk)

    assert source.settlements == [[7]]
    assert rig.rows(tables.microtrip, "ts") == [NOW]


def test_stop_takes_in_everything_offered(rig):
    source = FakeSource()
    rig.settings = replace(rig.settings, commit_ms=60_000.0, batch=3)

    async def talk(intake: Intake) -> None:
        for at in range(8):
            intake.offer(source, TOPIC, body(NOW + at), NOW, at + 1)

    through(rig, talk)

    assert source.settlements == [[1, 2, 3], [4, 5, 6], [7, 8]]


@pytest.mark.parametrize(("offered", "settled"), [(2, 0), (3, 3), (4, 3)], ids=["below", "at", "above"])
def test_full_batch_does_not_wait_for_the_timer(rig, offered, settled):
    source = FakeSource()
    rig.settings = replace(rig.settings, commit_ms=600_000.0, batch=3)
    seen: list[int] = []

    async def talk(intake: Intake) -> None:
        await waits.until(lambda: intake.swept)
        for at in range(offered):
            intake.offer(source, TOPIC, body(NOW + at), NOW, at + 1)
        if settled:
            await waits.until(lambda: source.settlements != [])
        seen.append(len(source.settlements[0]) if source.settlements else 0)

    through(rig, talk)

    assert seen == [settled]
    assert sum(map(len, source.settlements)) == offered


def test_long_bodies_go_through_a_few_at_a_time(rig):
    """A batch of two thousand of the longest would be half a gigabyte, and nobody else's turn for a long time."""
    source = FakeSource()
    rig.settings = replace(rig.settings, commit_ms=600_000.0, batch=6)
    long = BATCH_BYTES // 2

    async def talk(intake: Intake) -> None:
        sizes = (10, long - 10, long, 1, BATCH_BYTES + 1, 5)
        for place, size in enumerate(sizes):
            intake.offer(source, TOPIC, b"x" * size, NOW, place + 1)
        await waits.until(lambda: sum(map(len, source.settlements)) == len(sizes))

    through(rig, talk)

    assert source.settlements == [[1, 2], [3, 4], [5], [6]]


@pytest.mark.parametrize(("size", "crowded"), [(-1, False), (0, True), (1, True)])
def test_sources_wait_while_too_many_bytes_do(rig, size, crowded):
    source = FakeSource()
    seen: list[bool] = []

    async def talk(intake: Intake) -> None:
        await waits.until(lambda: intake.swept)
        intake.offer(source, TOPIC, b"x" * (BACKLOG_BYTES // 2), NOW, 1)
        intake.offer(source, TOPIC, b"x" * (BACKLOG_BYTES // 2 + size), NOW, 2)
        seen.append(intake.crowded)
        await waits.until(lambda: sum(map(len, source.settlements)) == 2)
        seen.append(intake.crowded)

    through(rig, talk)

    assert seen == [crowded, False]


def test_messages_of_a_quarter_of_a_million_values_are_settled_together(rig):
    """They are rejected before they are decoded: test_msgpack.py has the time."""
    source = FakeSource()
    packed = b"\x81\xa1a\xdd\x00\x01\x54\x00" + b"\x81\xa0\x90" * 0x15400

    async def talk(intake: Intake) -> None:
        await waits.until(lambda: intake.swept)
        for place in range(4):
            intake.offer(source, TOPIC, packed, NOW, place + 1)
        await waits.until(lambda: bool(source.settlements))

    through(rig, talk)

    assert source.settlements == [[1, 2, 3, 4]]


def test_refused_frame_is_settled_in_its_turn(rig):
    source = FakeSource()

    async def talk(intake: Intake) -> None:
        intake.offer(source, TOPIC, body(NOW), NOW, 1)
        intake.refuse(source, TOPIC, b"head", NOW, 2, "too_large", 300_000)
        intake.offer(source, TOPIC, body(NOW + 1), NOW, 3)

    through(rig, talk)

    assert source.settlements == [[1, 2, 3]]
    assert rig.rows(tables.rejected_message, "reason", "detail", "body") == [("too_large", "300000 bytes", b"head")]


@pytest.mark.parametrize(("queued", "crowded"), [(2, False), (3, True), (4, True)], ids=["below", "at", "above"])
def test_crowded_when_the_backlog_is_reached(rig, queued, crowded):
    rig.settings = replace(rig.settings, backlog=3)

    async def work() -> bool:
        intake = rig.intake()
        for at in range(queued):
            intake.offer(FakeSource(), TOPIC, body(NOW + at), NOW, 1)
        return intake.crowded

    assert rig.run(work()) is crowded


def test_outage_abandons_every_source_once_and_the_intake_opens_again(rig):
    first, queued, later = FakeSource(), FakeSource(), FakeSource()
    rig.settings = replace(rig.settings, batch=2)
    crowded: list[bool] = []

    async def talk(intake: Intake) -> None:
        rig.store.away = True
        for at, source in enumerate((first, first, queued)):
            intake.offer(source, TOPIC, body(NOW + at), NOW, at + 1)
        await waits.until(lambda: first.abandonments > 0)
        crowded.append(intake.crowded)
        rig.store.away = False
        intake.offer(later, TOPIC, body(NOW), NOW, 1)
        await waits.until(lambda: later.settlements != [])
        crowded.append(intake.crowded)

    through(rig, talk)

    assert (first.abandonments, queued.abandonments, later.abandonments) == (1, 1, 0)
    assert first.settlements == queued.settlements == []
    assert rig.rows(tables.microtrip, "ts") == [NOW]
    assert crowded == [True, False]


def test_outage_that_is_over_lets_sources_be_read_again_although_no_frame_waits(rig):
    source = FakeSource()

    async def talk(intake: Intake) -> None:
        rig.store.away = True
        intake.offer(source, TOPIC, body(NOW), NOW, 1)
        await waits.until(lambda: source.abandonments > 0)
        rig.store.away = False
        await waits.until(lambda: not intake.crowded)

    through(rig, talk)

    assert (source.abandonments, source.settlements) == (1, [])


def test_h8_trip_left_open_by_an_earlier_process_ends_at_the_first_sweep(rig):
    rig.send(microtrip(NOW))
    rig.restart()
    rig.now_ms = NOW + 31 * MINUTE

    async def talk(intake: Intake) -> None:
        await waits.until(lambda: rig.signals.told != [])

    through(rig, talk)

    assert rig.rows(tables.trip, "state") == ["LAPSED"]
    assert len(rig.rows(tables.scoring_job)) == 1


def test_changed_sensor_is_looked_at_without_waiting_for_a_message(rig):
    source = FakeSource()

    async def talk(intake: Intake) -> None:
        intake.offer(source, TOPIC, body(NOW), NOW, 1)
        await waits.until(lambda: source.settlements != [])
        await rig.store.write(
            lambda tx: tx.run(
                tables.sensor.update().where(tables.sensor.c.id == SENSOR).values(vehicle_id=OTHER_VEHICLE)
            )
        )
        rig.signals.notify(observe.SIGNAL_SENSOR_CHANGED, SENSOR)
        await waits.until(lambda: (observe.SIGNAL_SCORING_DUE, "") in rig.signals.told)

    through(rig, talk)

    assert rig.rows(tables.trip, "vehicle_id", "state") == [(VEHICLE, "LAPSED")]


def test_sweep_that_hangs_delays_no_batch(rig):
    source = FakeSource()
    is_hanging = asyncio.Event()

    async def never(_: int) -> int:
        is_hanging.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def work() -> None:
        intake = rig.intake(stored_until=never)
        async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
            tasks.create_task(intake.run())
            await is_hanging.wait()
            intake.offer(source, TOPIC, body(NOW), NOW, 1)
            await waits.until(lambda: source.settlements != [])
            intake.stop()

    rig.run(work())

    assert source.settlements == [[1]]
    assert rig.rows(tables.microtrip, "ts") == [NOW]


def test_trip_that_goes_on_while_the_sweep_finds_it_silent_stays_open(rig):
    """The sweep waits for no batch, so one may store something between its finding and the ending."""
    source = FakeSource()
    rig.send(microtrip(NOW))
    later = NOW + 60 * MINUTE
    rig.now_ms = later

    async def talk(intake: Intake) -> None:
        await waits.until(lambda: intake.swept)

    async def found(*_: object, **__: object) -> list[SensorId]:
        # What the rows said before this message came.
        await rig.pipeline.take_in([frame(source, microtrip(later), later)], now_ms=later)
        return [SENSOR]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tracks, "silent", found)
        through(rig, talk)

    assert rig.rows(tables.trip, "state") == ["LAPSED", "OPEN"]


@pytest.mark.sqlite("PostgreSQL drops whole weeks")
def test_old_rejected_messages_are_dropped_by_the_sweep(rig):
    day = 24 * 60 * MINUTE
    rig.send(b"old", at=NOW)
    rig.send(b"new", at=NOW + 1)
    rig.now_ms = NOW + 30 * day + 1

    async def talk(intake: Intake) -> None:
        await waits.until(lambda: intake.swept)

    through(rig, talk)

    assert rig.rows(tables.rejected_message, "body") == [b"new"]


def test_sweep_brings_a_log_that_is_too_long_down_to_three_quarters_oldest_first(tmp_path):
    settings = Ingest(rejected_kept=100_000, rejected_per_hour=100_000)
    sent = rejected.PURGED_AT_ONCE + 500
    with Rig.fresh(tmp_path, settings=settings) as rig:
        rig.send(*(b"no json %d" % number for number in range(sent)))
        rig.settings = Ingest(rejected_kept=400)

        async def talk(intake: Intake) -> None:
            await waits.until(lambda: intake.swept)

        through(rig, talk)

        assert rig.rows(tables.rejected_message, "body") == [b"no json %d" % number for number in range(sent)][-300:]


def test_rejected_messages_from_before_the_clock_was_set_back_do_not_keep_the_sweep_busy(tmp_path):
    with Rig.fresh(tmp_path, settings=Ingest(rejected_kept=100)) as rig:
        rig.send(*[b"no json"] * 90, at=NOW + 3 * 24 * 60 * MINUTE)
        rig.now_ms = NOW

        async def talk(intake: Intake) -> None:
            await waits.until(lambda: intake.swept)

        through(rig, talk)

        assert len(rig.rows(tables.rejected_message, "body")) == 75


def test_intake_that_stops_writes_how_many_messages_were_only_counted(tmp_path):
    with Rig.fresh(tmp_path, settings=Ingest(rejected_per_hour=2)) as rig:
        source = FakeSource()

        async def talk(intake: Intake) -> None:
            for token in range(1, 6):
                intake.offer(source, TOPIC, b"no json", NOW, token)
            await waits.until(lambda: sum(map(len, source.settlements)) == 5)

        through(rig, talk)

        assert rig.rows(tables.rejected_message, "messages") == [1, 1, 3]


def test_intake_stopped_before_it_ran_still_takes_in_what_was_offered(rig):
    source = FakeSource()

    async def work() -> None:
        intake = rig.intake()
        intake.offer(source, TOPIC, body(NOW), NOW, 1)
        intake.stop()
        await intake.run()
        idle = rig.intake()
        idle.stop()
        await idle.run()

    rig.run(work())

    assert source.settlements == [[1]]


@pytest.mark.parametrize(("slow", "reason"), [("read", "redelivery"), ("write", "commit")])
def test_slow_batch_is_logged_once_with_the_step_that_took_the_time(rig, monkeypatch, slow, reason):
    again = [body(NOW + at) for at in range(150)]
    rig.send(*again)
    source, as_it_is = FakeSource(), getattr(rig.store, slow)

    async def slowly(work: Any, **more: Any) -> Any:
        await asyncio.sleep(0.5)
        return await as_it_is(work, **more)

    async def talk(intake: Intake) -> None:
        known = FakeSource()
        intake.offer(known, TOPIC, body(NOW + 1_000), NOW, 1)
        await waits.until(lambda: known.settlements != [] and intake.steps.doing == steps.IDLE)
        monkeypatch.setattr(steps, "SLOW_S", 0.1)  # on a busy machine the batch that is through may have taken as long
        setattr(rig.store, slow, slowly)
        for number, each in enumerate(again, 1):
            intake.offer(source, TOPIC, each, NOW, number)
        await waits.until(lambda: source.settlements != [])

    with capture_logs() as logged:
        through(rig, talk)

    (line,) = [each for each in logged if each["event"] == "ingest.slow"]
    assert (line["kind"], line["reason"], line["messages"]) == ("devices", reason, len(again))
    assert line["bytes"] == sum(map(len, again))

"""Several processes take in the same sensors' data on one PostgreSQL database: claims (docs/locks.md)."""

import asyncio
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import delete
from tests.properties.test_ingest_rows import RECEIVED, Message, messages
from tests.properties.test_ingest_rows import rows as rows_of
from tests.support.ingest_nodes import Node, nodes
from tests.support.ingest_rig import (
    DRIVER,
    MINUTE,
    NOW,
    OTHER_VEHICLE,
    SENSOR,
    UNMAPPED,
    VEHICLE,
    FakeSource,
    Rig,
    frame,
    microtrip,
    trip_message,
)

from tripline.domain.ids import SensorId
from tripline.services.eraser import Eraser
from tripline.services.fleet import removal
from tripline.store import tables
from tripline.store.erasure import erasures


@pytest.fixture
def pair() -> Iterator[list[Node]]:
    with nodes(2) as both:
        yield both


def trips(rig: Rig) -> list[Any]:
    return rig.rows(tables.trip, "tid", "state", "vehicle_id", "user_id", "sensor_id")


def by_trip(rig: Rig) -> list[int]:
    """Number of microtrips of each trip."""
    of = rig.rows(tables.microtrip, "trip_no")
    return [of.count(no) for no in rig.rows(tables.trip, "no")]


def sweep(node: Node, at: int) -> list[SensorId]:
    node.now_ms = at
    silent: list[SensorId] = node.run(node.pipeline.tracks.silent(now_ms=at))
    node.take_in([], silent=silent)
    return silent


def together(first: Node, second: Node, *batches: list[Any]) -> None:
    """Both nodes take one batch in, at the same time."""

    async def both() -> None:
        async with asyncio.TaskGroup() as tasks:
            for node, frames in zip((first, second), batches, strict=True):
                tasks.create_task(node.pipeline.take_in(frames, now_ms=node.now_ms))

    first.run(both())


def test_claims_sensor_that_alternates_between_processes_keeps_one_trip(pair: list[Node]) -> None:
    for step in range(6):
        pair[step % 2].send(microtrip(NOW + step * 1000), at=NOW + step * 1000)

    assert trips(pair[0]) == [(41, "OPEN", VEHICLE, DRIVER, SENSOR)]
    assert by_trip(pair[0]) == [6]


def test_claims_trip_that_another_process_ended_is_not_written_on(pair: list[Node]) -> None:
    first, second = pair
    first.send(microtrip(NOW), at=NOW)
    second.send(trip_message(NOW, NOW + 1), at=NOW + 2)

    first.send(microtrip(NOW + 63_000), at=NOW + 63_000)

    assert [row[:2] for row in trips(first)] == [(41, "COMPLETE"), (41, "OPEN")]
    assert by_trip(first) == [1, 1]


def test_claims_sensor_taken_between_reading_and_writing_is_read_again(pair: list[Node]) -> None:
    first, second = pair
    first.send(microtrip(NOW), at=NOW)
    first.meanwhile(lambda: second.send(trip_message(NOW, NOW + 1), at=NOW + 2))

    source = first.send(microtrip(NOW + 63_000), at=NOW + 63_000)

    assert source.settlements == [[1]]
    assert [row[:2] for row in trips(first)] == [(41, "COMPLETE"), (41, "OPEN")]


@pytest.mark.parametrize("times", [1, 3])
def test_claims_sensor_taken_again_and_again_is_written_on_in_the_end(pair: list[Node], times: int) -> None:
    first, second = pair
    steps = itertools.count(1)

    def take() -> None:
        at = NOW + next(steps) * 1000
        second.send(microtrip(at), at=at)

    first.meanwhile(take, times=times)

    first.send(microtrip(NOW), at=NOW)

    assert [row[1] for row in trips(first)] == ["OPEN"]
    assert by_trip(first) == [times + 1]


def test_claims_other_sensors_of_a_stale_batch_are_written_once(pair: list[Node]) -> None:
    first, second = pair
    first.send(microtrip(NOW), at=NOW)
    first.meanwhile(lambda: second.send(microtrip(NOW + 1000), at=NOW + 1000))

    sources = FakeSource(SENSOR), FakeSource(UNMAPPED)
    first.take_in([frame(source, microtrip(NOW + 2000), NOW + 2000) for source in sources])

    assert [(row[1], row[4]) for row in trips(first)] == [("OPEN", SENSOR), ("OPEN", UNMAPPED)]
    assert by_trip(first) == [3, 1]
    assert [source.settlements for source in sources] == [[[1]], [[1]]]


def test_claims_batches_of_one_sensor_at_the_same_time_share_a_trip(pair: list[Node]) -> None:
    first, second = pair
    for step in range(5):
        batches = [
            [frame(FakeSource(SENSOR), microtrip(NOW + step * 1000 + of), NOW + step * 1000 + of)] for of in (0, 500)
        ]
        together(first, second, *batches)

    assert [row[1] for row in trips(first)] == ["OPEN"]
    assert by_trip(first) == [10]


@pytest.mark.parametrize("silently", [False, True], ids=["before", "between"])
def test_claims_remapped_sensor_begins_a_trip_on_the_other_vehicle(pair: list[Node], silently: bool) -> None:
    first, second = pair
    first.send(microtrip(NOW), at=NOW)

    def remap() -> None:
        second.change(tables.sensor, SENSOR, vehicle_id=OTHER_VEHICLE)

    first.meanwhile(remap) if silently else remap()
    first.send(microtrip(NOW + 1000), at=NOW + 1000)

    assert [row[1:4] for row in trips(first)] == [("LAPSED", VEHICLE, DRIVER), ("OPEN", OTHER_VEHICLE, None)]
    assert by_trip(first) == [1, 1]


@pytest.mark.parametrize("silently", [False, True], ids=["before", "between"])
def test_claims_new_driver_is_the_one_of_the_next_trip(pair: list[Node], silently: bool) -> None:
    first, second = pair
    first.send(microtrip(NOW), at=NOW)

    def release() -> None:
        second.change(tables.vehicle, VEHICLE, current_driver_id=None)

    first.meanwhile(release) if silently else release()
    first.send(microtrip(NOW + 1000, tid=42), at=NOW + 1000)

    assert [row[:4] for row in trips(first)] == [(41, "LAPSED", VEHICLE, DRIVER), (42, "OPEN", VEHICLE, None)]


@pytest.mark.parametrize("silently", [False, True], ids=["before", "between"])
def test_claims_deleted_sensor_gets_no_rows_any_more(pair: list[Node], silently: bool) -> None:
    first, second = pair
    first.send(microtrip(NOW), at=NOW)

    def remove() -> None:
        second.run(second.store.write(lambda tx: removal.forget_sensor(tx, SENSOR, ids=second.ids, now_ms=NOW + 1)))

    first.meanwhile(remove) if silently else remove()
    source = first.send(microtrip(NOW + 1000), at=NOW + 1000)

    assert source.settlements == [[1]]
    assert [row[1] for row in trips(first)] == ["LAPSED"]
    assert by_trip(first) == [1]
    assert first.rows(tables.rejected_message, "reason") == ["unknown_sensor"]


def test_claims_type_of_a_sensor_changed_elsewhere_counts_at_once(pair: list[Node]) -> None:
    first, second = pair
    first.send(microtrip(NOW), at=NOW)
    second.change(tables.sensor, SENSOR, type="OBD")

    first.send({"pld": {"tid": 41, "lat": 1.0, "lon": 2.0, "clt": NOW + 9}}, at=NOW + 10)

    assert first.pipeline.tracks.get(SENSOR).sensor_type == "OBD"  # type: ignore[union-attr]


def test_claims_redelivery_to_another_process_changes_nothing(pair: list[Node]) -> None:
    first, second = pair
    sent = [
        microtrip(NOW),
        microtrip(NOW + 1000),
        {"ty": 113, "ts": NOW + 1100, "pld": {"tid": 41, "wbv": 11.5}},
        trip_message(NOW, NOW + 1000, ts=NOW + 1200),
    ]
    first.send(*sent, at=NOW + 2000)
    before = rows_of(first)

    source = second.send(*sent, at=NOW + 2500)

    assert source.settlements == [[1, 2, 3, 4]]
    assert rows_of(first) == before


def test_claims_redelivery_committed_between_look_up_and_write_is_found(pair: list[Node]) -> None:
    first, second = pair
    sent = [trip_message(NOW, NOW + 1000, ts=NOW + 1200), {"ty": 113, "ts": NOW, "pld": {"tid": 41, "wbv": 11.5}}]
    first.meanwhile(lambda: second.send(*sent, at=NOW + 2000))

    first.send(*sent, at=NOW + 2000)

    assert len(first.rows(tables.trip)) == 1
    assert len(first.rows(tables.device_event)) == 1


def test_i1_silence_is_ended_once_by_the_process_that_keeps_track(pair: list[Node]) -> None:
    first, second = pair
    first.send(microtrip(NOW), at=NOW)
    late = NOW + 30 * MINUTE + 1

    assert (sweep(second, late), sweep(first, late)) == ([], [SENSOR])
    assert [row[1] for row in trips(first)] == ["LAPSED"]
    assert len(first.rows(tables.scoring_job)) == 1


@pytest.mark.parametrize(("passed_ms", "found"), [(14_000, []), (16_001, [SENSOR])])
def test_i1_silence_is_ended_by_another_process_after_a_while(
    pair: list[Node], passed_ms: int, found: list[SensorId]
) -> None:
    first, second = pair
    first.send(microtrip(NOW), at=NOW)

    assert sweep(second, NOW + 30 * MINUTE + passed_ms) == found


def test_i1_sensor_that_sends_to_another_process_is_not_silent(pair: list[Node]) -> None:
    first, second = pair
    first.send(microtrip(NOW), at=NOW)
    late = NOW + 30 * MINUTE + 1
    # Received after the look for silent sensors, with a sample in time.
    second.send(microtrip(NOW + 29 * MINUTE), at=late)

    first.now_ms = late
    first.take_in([], silent=[SENSOR])

    assert [row[1] for row in trips(first)] == ["OPEN"]
    assert by_trip(first) == [2]


def test_i1_silence_found_by_both_at_once_ends_the_trip_once(pair: list[Node]) -> None:
    first = pair[0]
    first.send(microtrip(NOW), at=NOW)
    late = NOW + 31 * MINUTE

    async def both() -> None:
        async with asyncio.TaskGroup() as tasks:
            for node in pair:
                tasks.create_task(node.pipeline.take_in([], now_ms=late, silent=[SENSOR]))

    first.run(both())

    assert [row[1] for row in trips(first)] == ["LAPSED"]
    assert len(first.rows(tables.scoring_job)) == 1


def test_claims_deleted_vehicle_is_let_go_of_by_every_process(pair: list[Node]) -> None:
    first, second = pair
    first.send(microtrip(NOW), at=NOW)
    second.change(tables.sensor, SENSOR, vehicle_id=None)
    first.send(microtrip(NOW + 1000), at=NOW + 1000)
    assert [row[1] for row in trips(first)] == ["LAPSED", "OPEN"]

    async def erase() -> None:
        intake = second.intake()
        await second.store.write(lambda tx: tx.run(delete(tables.vehicle).where(tables.vehicle.c.id == VEHICLE)))
        await second.store.write(lambda tx: erasures.begin(tx, VEHICLE, now_ms=NOW + 2000))
        eraser = Eraser(store=second.store, signals=second.signals, let_go=intake.let_go_of, stopwatch=lambda: 0.0)
        await eraser.erase_pending()

    second.now_ms = NOW + 2000
    second.run(erase())
    first.send(trip_message(NOW, NOW + 1, ts=NOW + 3000), at=NOW + 3000)

    assert [row[1:3] for row in trips(first)] == [("COMPLETE", None)]
    assert first.rows(tables.scoring_job) == []


def test_letting_go_waits_for_batches_under_way(pair: list[Node]) -> None:
    first, second = pair
    first.send(microtrip(NOW), at=NOW)
    seen: list[str] = []

    async def work() -> None:
        inside, go_on = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()
        check = first.pipeline.tracks.check

        def slow(*args: Any) -> None:
            check(*args)
            loop.call_soon_threadsafe(inside.set)
            asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(10)

        first.pipeline.tracks.check = slow  # type: ignore[method-assign]

        async def batch() -> None:
            frames = [frame(FakeSource(), microtrip(NOW + 1000), NOW + 1000)]
            await first.pipeline.take_in(frames, now_ms=NOW + 1000)
            seen.append("batch")

        async def letting_go() -> None:
            await second.intake().let_go_of([VEHICLE])
            seen.append("let go")

        async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
            tasks.create_task(batch())
            await inside.wait()
            tasks.create_task(letting_go())
            await asyncio.sleep(0.1)
            assert seen == []
            go_on.set()

    first.run(work())

    assert seen == ["batch", "let go"]


def test_claims_restarted_process_goes_on_where_it_was(pair: list[Node]) -> None:
    first = pair[0]
    first.send(*(microtrip(NOW + at * 1000) for at in range(30)), at=NOW + 30_000)
    first.restart()

    first.send(microtrip(NOW + 20_500), microtrip(NOW + 31_000), at=NOW + 31_000)
    first.send(trip_message(None, None, ts=NOW + 32_000), at=NOW + 32_000)

    assert first.rows(tables.trip, "state", "start_ms", "end_ms") == [("COMPLETE", NOW, NOW + 31_000)]
    assert by_trip(first) == [32]


def _take_in(rig: Rig, message: Any, at: int) -> None:
    sensor, body = message
    rig.now_ms = at
    source = FakeSource(sensor)
    rig.take_in([frame(source, body, RECEIVED)])
    assert source.settlements == [[1]]


@settings(max_examples=15)
@given(
    sent=messages,
    plan=st.lists(st.tuples(st.integers(0, 1), st.sampled_from(["alone", "interrupted", "restart", "again"]))),
)
def test_whatever_processes_do_in_turn_gives_the_rows_of_one(sent: list[Message], plan: list[tuple[int, str]]) -> None:
    """Each message goes to a process of its own choosing; some between the reading and the writing of another's, some
    after a restart, some twice."""
    with tempfile.TemporaryDirectory() as folder, Rig.fresh(Path(folder)) as alone:
        for at, message in enumerate(sent, RECEIVED):
            _take_in(alone, message, at)
        expected = rows_of(alone)

    with nodes(2) as pair:
        steps = itertools.zip_longest(sent, plan[: len(sent)], fillvalue=(0, "alone"))
        for at, (message, (which, how)) in enumerate(steps, RECEIVED):
            _deliver(pair[which], pair[1 - which], message, at, how)

        assert rows_of(pair[0]) == expected


def _deliver(node: Node, other: Node, message: Any, at: int, how: str) -> None:
    if how == "restart":
        node.restart()
    if how == "interrupted":
        node.meanwhile(lambda: _take_in(other, message, at))
    _take_in(node, message, at)
    if how == "again":
        _take_in(other, message, at)

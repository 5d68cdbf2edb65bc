"""Positions as a pipeline notes them and a keeper writes them, on the store itself."""

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import ingest_rig as support
from tests.support import waits
from tests.support.ingest_rig import (
    MINUTE,
    NOW,
    OTHER_VEHICLE,
    SENSOR,
    UNMAPPED,
    VEHICLE,
    Rig,
    aggregate,
    item,
    microtrip,
)

from tripline import observe
from tripline.ports.outages import Outage
from tripline.services.live import position_keeper
from tripline.store import positions, tables


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with Rig.fresh(tmp_path) as rig:
        yield rig


def kept(rig: Rig, *columns: str) -> list:
    return rig.rows(tables.vehicle_position, *(columns or ("vehicle_id", "time_ms", "lat")))


def write(rig: Rig) -> None:
    rig.run(rig.positions.write_down())


def moved(rig: Rig) -> list[str]:
    return [detail for subject, detail in rig.signals.told if subject == observe.SIGNAL_VEHICLES_MOVED]


def test_newest_sample_is_the_vehicle_s_position_once_it_is_written(rig: Rig) -> None:
    rig.send(microtrip(NOW, lat=35.0), microtrip(NOW + 1000, lat=35.1))
    before = kept(rig)

    write(rig)

    assert (before, kept(rig)) == ([], [(VEHICLE, NOW + 1000, 35.1)])
    assert kept(rig, "company_id", "lon", "speed_kmh", "heading_deg", "parking") == [
        (support.COMPANY, 129.0591, 38.0, 0.0, False)
    ]
    assert moved(rig) == [VEHICLE]


def test_vehicle_is_driving_while_its_newest_sample_is_younger_than_the_gap(rig: Rig) -> None:
    def driving() -> list:
        rig.run(rig.positions.note_idle())
        return kept(rig, "driving")

    rig.send(microtrip(NOW - 31 * MINUTE), at=NOW)
    write(rig)
    old = driving()
    rig.send(microtrip(NOW - 29 * MINUTE), at=NOW)
    write(rig)
    young = driving()
    rig.now_ms += MINUTE
    rig.restart()

    assert [old, young, driving()] == [[None], [True], [None]]


def test_vehicle_that_is_watched_while_parked_is_not_driving(rig: Rig) -> None:
    rig.send(microtrip(NOW, ty=8, **{"try": 2}))
    write(rig)

    assert kept(rig, "parking", "driving") == [(True, None)]


def test_late_message_does_not_move_a_vehicle_back(rig: Rig) -> None:
    rig.send(microtrip(NOW + 5000, lat=35.5))
    write(rig)

    rig.send(microtrip(NOW, lat=35.0), at=NOW + 6000)
    write(rig)

    assert kept(rig) == [(VEHICLE, NOW + 5000, 35.5)]
    assert moved(rig) == [VEHICLE]


def test_late_message_does_not_move_a_vehicle_back_after_a_restart(rig: Rig) -> None:
    rig.send(microtrip(NOW + 5000, lat=35.5))
    write(rig)
    rig.restart()

    rig.send(microtrip(NOW, lat=35.0), at=NOW + 6000)
    write(rig)

    assert kept(rig) == [(VEHICLE, NOW + 5000, 35.5)]


def test_redelivery_changes_nothing(rig: Rig) -> None:
    rig.send(microtrip(NOW))
    write(rig)
    before = kept(rig, *tables.vehicle_position.c.keys())

    rig.send(microtrip(NOW), at=NOW + 100)
    write(rig)
    rig.restart()
    rig.send(microtrip(NOW), at=NOW + 200)
    write(rig)

    assert kept(rig, *tables.vehicle_position.c.keys()) == before
    assert moved(rig) == [VEHICLE]


@pytest.mark.parametrize(
    "refused",
    [
        {"lat": 91.0},
        {"lat": 0, "lon": 0},
        {"lat": None},
    ],
)
def test_refused_position_does_not_count(rig: Rig, refused) -> None:
    rig.send(microtrip(NOW, lat=35.0), microtrip(NOW + 1000, **refused))
    write(rig)

    assert kept(rig) == [(VEHICLE, NOW, 35.0)]


def test_sample_of_the_future_does_not_carry_its_time(rig: Rig) -> None:
    """T2: the header's time stands in for it."""
    rig.send({"ty": 2, "ts": NOW, "pld": item(NOW + 10**9)}, at=NOW + 50)
    write(rig)

    assert kept(rig, "time_ms") == [NOW]


def test_aggregate_counts_its_newest_sample_in_any_order(rig: Rig) -> None:
    rig.send(aggregate([NOW + 3000, NOW + 9000, NOW + 1000, NOW + 2000, NOW]), at=NOW + 10_000)
    write(rig)

    assert kept(rig, "time_ms") == [NOW + 9000]


def test_aggregate_without_times_of_its_own_counts_its_last_sample(rig: Rig) -> None:
    samples = [{key: value for key, value in item(NOW, lat=35 + at / 10).items() if key != "clt"} for at in range(4)]
    rig.send({"ty": 2, "ts": NOW, "pld": samples})
    write(rig)

    assert kept(rig) == [(VEHICLE, NOW, 35.3)]


def test_sensor_on_no_vehicle_moves_none(rig: Rig) -> None:
    rig.send(microtrip(NOW), sensor=UNMAPPED)
    write(rig)

    assert kept(rig) == []


def test_of_two_sensors_on_a_vehicle_the_newest_sample_wins_whoever_is_written_first(rig: Rig) -> None:
    rig.change(tables.sensor, UNMAPPED, vehicle_id=VEHICLE)
    rig.run(_again(rig))
    rig.send(microtrip(NOW + 2000, lat=35.2))
    rig.send(microtrip(NOW + 1000, lat=35.1), sensor=UNMAPPED)
    write(rig)
    first = kept(rig)
    rig.send(microtrip(NOW + 3000, lat=35.3), sensor=UNMAPPED)
    write(rig)

    assert first == [(VEHICLE, NOW + 2000, 35.2)]
    assert kept(rig) == [(VEHICLE, NOW + 3000, 35.3)]


def test_sensor_that_moved_to_another_vehicle_leaves_the_old_position(rig: Rig) -> None:
    rig.send(microtrip(NOW, lat=35.0))
    rig.change(tables.sensor, SENSOR, vehicle_id=OTHER_VEHICLE)
    rig.run(_again(rig))
    rig.send(microtrip(NOW + 1000, lat=35.1))
    write(rig)

    assert kept(rig) == [(VEHICLE, NOW, 35.0), (OTHER_VEHICLE, NOW + 1000, 35.1)]


async def _again(rig: Rig) -> None:
    await rig.pipeline.take_in([], now_ms=rig.now_ms, again=[SENSOR, UNMAPPED])


def test_what_an_outage_kept_from_being_written_is_written_afterwards(rig: Rig) -> None:
    rig.send(microtrip(NOW))
    rig.store.away = True
    with pytest.raises(Outage):
        write(rig)
    rig.store.away = False

    rig.run(rig.positions.finish())

    assert kept(rig, "time_ms") == [NOW]


def test_finish_does_not_wait_for_ever(rig: Rig) -> None:
    rig.send(microtrip(NOW))
    rig.store.away = True

    rig.run(rig.positions.finish(timeout_s=0.01))

    rig.store.away = False
    assert kept(rig) == []


def test_position_of_a_deleted_vehicle_or_sensor_is_not_written(rig: Rig) -> None:
    rig.send(microtrip(NOW))
    rig.run(rig.store.write(lambda tx: positions.forget_of_sensor(tx, SENSOR)))
    rig.run(rig.store.write(lambda tx: tx.run(tables.sensor.delete().where(tables.sensor.c.id == SENSOR))))
    write(rig)

    assert kept(rig) == []


def test_vehicle_is_written_once_however_many_messages_it_sends_in_a_second(rig: Rig) -> None:
    for step in range(20):
        rig.send(microtrip(NOW + step * 50))
    write(rig)
    write(rig)

    assert kept(rig, "change_no") == [1]
    assert moved(rig) == [VEHICLE]


def test_last_position_of_a_burst_is_written_by_itself(rig: Rig, monkeypatch) -> None:
    monkeypatch.setattr(position_keeper, "EVERY_S", 0.001)
    rig.send(*(microtrip(NOW + step * 50) for step in range(20)))

    async def until_written() -> None:
        async with asyncio.timeout(20):
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(rig.positions.run())
                await waits.until(lambda: moved(rig) == [VEHICLE])
                running.cancel()

    rig.run(until_written())

    assert kept(rig, "time_ms") == [NOW + 950]


@pytest.mark.parametrize(
    ("count", "took_s", "pause_s"),
    [(1, 0.0, 1.0), (2_000, 0.2, 1.0), (3_000, 0.3, 1.0), (10_000, 1.1, 2.2333), (50_000, 3.5, 1.0)],
)
def test_pause_after_a_round_bounds_the_vehicles_written_in_a_second(count, took_s, pause_s) -> None:
    assert position_keeper.pause_s(count, took_s=took_s) == pytest.approx(pause_s, abs=1e-4)


def two_moved(rig: Rig, monkeypatch) -> None:
    """Two vehicles moved, and a transaction takes one of them."""
    monkeypatch.setattr(position_keeper, "AT_ONCE", 1)
    rig.change(tables.sensor, UNMAPPED, vehicle_id=OTHER_VEHICLE)
    rig.run(_again(rig))
    rig.send(microtrip(NOW))
    rig.send(microtrip(NOW), sensor=UNMAPPED)


async def cancelled_after(rig: Rig, *vehicle_ids: str) -> None:
    """Write with a minute between two transactions, until these were told."""
    async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
        writing = tasks.create_task(rig.positions.write_down(apart_s=60))
        await waits.until(lambda: moved(rig) == [*vehicle_ids])
        for _ in range(5):  # were there no pause, the next would be written now
            await rig.store.read(lambda _: None)
        writing.cancel()


def test_transactions_are_apart_so_that_what_devices_send_comes_between(rig: Rig, monkeypatch) -> None:
    two_moved(rig, monkeypatch)

    rig.run(cancelled_after(rig, VEHICLE))
    first = kept(rig, "vehicle_id")
    rig.run(rig.positions.finish())

    assert first == [VEHICLE]
    assert kept(rig, "vehicle_id") == [VEHICLE, OTHER_VEHICLE]


def test_round_does_not_rest_longer_however_many_move(rig: Rig, monkeypatch) -> None:
    monkeypatch.setattr(position_keeper, "ROUND_S", 0.001)
    two_moved(rig, monkeypatch)

    rig.run(cancelled_after(rig, VEHICLE, OTHER_VEHICLE))

    assert kept(rig, "vehicle_id") == [VEHICLE, OTHER_VEHICLE]


def test_what_moves_while_it_waits_its_turn_is_written_at_its_newest(rig: Rig, monkeypatch) -> None:
    two_moved(rig, monkeypatch)
    rig.run(cancelled_after(rig, VEHICLE))
    rig.send(microtrip(NOW + 1000), sensor=UNMAPPED)
    write(rig)
    write(rig)

    assert kept(rig, "vehicle_id", "time_ms") == [(VEHICLE, NOW), (OTHER_VEHICLE, NOW + 1000)]
    assert moved(rig) == [VEHICLE, OTHER_VEHICLE]


def test_hints_fit_into_a_notification(rig: Rig) -> None:
    """PostgreSQL carries 8,000 bytes; a longer hint would become a resync."""
    ids = [f"00000000-0000-11ef-8000-{number:012x}" for number in range(position_keeper.TOLD_AT_ONCE)]

    assert len(" ".join(ids)) < 7_800


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::5])
def test_any_order_of_messages_gives_the_same_position(rig: Rig, order) -> None:
    for step in order:
        rig.send(microtrip(NOW + step * 1000, lat=35 + step / 1000, sp=[50, 51, None, 53][step]), at=NOW + 5000)
    write(rig)

    assert kept(rig, "time_ms", "lat", "speed_kmh", "heading_deg") == [(NOW + 3000, 35.003, 53.0, 0.0)]

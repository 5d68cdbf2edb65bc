"""Vehicle and driver of a trip are those at its start, whatever the sensor is mounted on now (device-messages 4.7, gaps
H9, H16)."""

from typing import Any

import pytest
from tests.support.ingest_rig import (
    DRIVER,
    MINUTE,
    NOW,
    OTHER_VEHICLE,
    SENSOR,
    VEHICLE,
    Rig,
    aggregate,
    item,
    microtrip,
    trip_message,
)

from tripline.domain.history import Event
from tripline.domain.ids import VehicleId
from tripline.store import tables
from tripline.store.erasure import erasures, remains

M = NOW + 60 * MINUTE
"""When the sensor was mounted on the other vehicle."""


def trips(rig: Rig) -> list[Any]:
    return rig.rows(tables.trip, "vehicle_id", "user_id", "state", "start_ms", "end_ms")


@pytest.mark.parametrize("onto", [OTHER_VEHICLE, None])
def test_backlog_of_the_old_vehicle_goes_to_it_and_its_driver(rig: Rig, onto: str | None) -> None:
    rig.remount(M, onto)
    rig.send(microtrip(M + 2 * MINUTE), at=M + 2 * MINUTE)
    rig.send(microtrip(NOW), microtrip(NOW + 1000), {"ty": 113, "ts": NOW, "pld": {"tid": 41}}, at=M + 3 * MINUTE)

    assert trips(rig) == [(onto, None, "OPEN", M + 2 * MINUTE, None), (VEHICLE, DRIVER, "LAPSED", NOW, NOW + 1000)]
    assert rig.rows(tables.device_event, "vehicle_id", "user_id") == [(VEHICLE, DRIVER)]
    assert rig.rows(tables.scoring_job, "trip_no") == [rig.rows(tables.trip, "no")[1]]


def test_samples_up_to_the_remounting_join_the_old_vehicle_s_trip_and_later_ones_do_not(rig: Rig) -> None:
    rig.send(microtrip(M - 10_000), at=M - 9_000)
    rig.remount(M)
    rig.send(microtrip(M + 5000), microtrip(M - 5000), microtrip(M + 6000), microtrip(M - 1), at=M + 7000)

    assert trips(rig) == [(VEHICLE, DRIVER, "LAPSED", M - 10_000, M - 1), (OTHER_VEHICLE, None, "OPEN", M + 5000, None)]


@pytest.mark.parametrize("restarted", [False, True])
def test_remounting_in_the_middle_of_a_drive_makes_a_trip_on_each_vehicle(rig: Rig, restarted: bool) -> None:
    rig.send(microtrip(M - 3 * MINUTE), at=M - 3 * MINUTE)
    rig.remount(M)
    rig.send(microtrip(M + 3 * MINUTE), at=M + 3 * MINUTE)
    if restarted:
        rig.restart()
    rig.send(
        *(microtrip(M + minute * MINUTE) for minute in (2, -2, 4, -1)),
        *({"ty": 113, "ts": at, "pld": {"tid": 41}} for at in (M - 90_000, M + 90_000)),
        trip_message(M - 4 * MINUTE, M + 5 * MINUTE, dis=9_000),
        at=M + 5 * MINUTE,
    )

    assert trips(rig) == [
        (VEHICLE, DRIVER, "LAPSED", M - 4 * MINUTE, M - MINUTE),
        (OTHER_VEHICLE, None, "COMPLETE", M + 2 * MINUTE, M + 5 * MINUTE),
    ]
    numbers, ids = rig.rows(tables.trip, "no"), rig.rows(tables.trip, "id")
    assert rig.rows(tables.microtrip, "trip_no") == [numbers[at] for at in (0, 1, 1, 0, 1, 0)]
    assert rig.rows(tables.device_event, "trip_id", "vehicle_id") == [(ids[0], VEHICLE), (ids[1], OTHER_VEHICLE)]
    assert rig.rows(tables.trip, "distance_m") == [None, 9_000]
    assert sorted(rig.rows(tables.scoring_job, "trip_no")) == numbers


def test_message_over_the_remounting_goes_by_its_first_sample(rig: Rig) -> None:
    rig.remount(M)
    rig.send(aggregate([M - 2000, M - 1000, M + 1000]), aggregate([M + 2000, M + 3000]), at=M + 4000)

    assert [(row[0], *row[3:]) for row in trips(rig)] == [
        (VEHICLE, M - 2000, M + 1000),
        (OTHER_VEHICLE, M + 2000, None),
    ]


def test_trip_that_ended_before_the_remounting_gets_no_sample_of_the_new_vehicle(rig: Rig) -> None:
    rig.send(microtrip(M - 5000), microtrip(M - 3000, tid=42), at=M - 3000)
    rig.remount(M)
    rig.send(microtrip(M + 1000), at=M + 1000)

    assert [(row[0], row[3]) for row in trips(rig)] == [
        (VEHICLE, M - 5000),
        (VEHICLE, M - 3000),
        (OTHER_VEHICLE, M + 1000),
    ]


def test_known_trip_of_a_time_before_all_changes_keeps_its_samples(rig: Rig) -> None:
    rig.send(microtrip(NOW), at=M - 2000)
    rig.note(Event.MOUNTED, M - 1000, sensor_id=SENSOR, vehicle_id=VEHICLE)
    rig.remount(M)
    rig.send(microtrip(NOW + 1000), trip_message(NOW, NOW + 2000), at=M + 1000)

    assert trips(rig) == [(VEHICLE, DRIVER, "COMPLETE", NOW, NOW + 2000)]


def test_driver_is_the_one_at_the_start(rig: Rig) -> None:
    rig.note(Event.DRIVER_SET, NOW - 1000, vehicle_id=VEHICLE, user_id=DRIVER)
    rig.note(Event.DRIVER_UNSET, M, vehicle_id=VEHICLE, user_id=DRIVER)
    rig.change(tables.vehicle, VEHICLE, current_driver_id=None)
    rig.take_in([], again={SENSOR})
    rig.send(microtrip(M + 1), microtrip(NOW), trip_message(NOW + 31 * MINUTE, NOW + 32 * MINUTE, tid=3), at=M + 1)

    assert [(row[1], row[3]) for row in trips(rig)] == [(None, M + 1), (DRIVER, NOW), (DRIVER, NOW + 31 * MINUTE)]


def test_late_samples_of_a_deleted_vehicle_make_a_trip_on_no_vehicle(rig: Rig) -> None:
    rig.send(microtrip(NOW), at=NOW)
    rig.remount(M)
    rig.run(rig.store.write(lambda tx: erasures.begin(tx, VEHICLE, now_ms=M)))
    rig.run(rig.store.write(lambda tx: tx.run(tables.vehicle.delete().where(tables.vehicle.c.id == VEHICLE))))
    rig.take_in([], again={SENSOR})
    rig.send(microtrip(NOW + 1000), microtrip(M + 1000), at=M + 2000)

    assert trips(rig)[1:] == [
        (None, None, "LAPSED", NOW + 1000, NOW + 1000),
        (OTHER_VEHICLE, None, "OPEN", M + 1000, None),
    ]
    assert rig.rows(tables.trip, "not_scored")[1] == "unmapped"


def test_backlog_moves_the_old_vehicle_and_not_the_new_one(rig: Rig) -> None:
    rig.remount(M)
    rig.send(microtrip(NOW), at=M + 1000)
    rig.run(rig.positions.write_down())

    assert rig.rows(tables.vehicle_position, "vehicle_id", "time_ms") == [(VEHICLE, NOW)]


@pytest.mark.parametrize("how", ["before erasing", "erased"])
@pytest.mark.parametrize("days", [9, 11])
def test_resends_of_a_deleted_vehicle_are_recognised_for_ten_days(rig: Rig, how: str, days: int) -> None:
    sent = [
        microtrip(NOW),
        microtrip(NOW) | {"pld": {"lat": 1.0, "lon": 1.0, "clt": NOW}},
        {"ty": 2, "pld": item(NOW + 1)},
    ]
    rig.send(*sent, at=NOW + 5000)
    rig.now_ms = NOW + days * 24 * 60 * MINUTE
    rig.remount(rig.now_ms)
    rig.run(rig.store.write(lambda tx: erasures.begin(tx, VEHICLE, now_ms=rig.now_ms)))
    if how == "erased":
        while rig.run(rig.store.write(lambda tx: remains.erase_some_of_vehicle(tx, VehicleId(VEHICLE), limit=2))):
            pass
        assert rig.rows(tables.microtrip) == []
    rig.restart()

    before = len(rig.rows(tables.microtrip))
    rig.send(*sent, microtrip(NOW + 1000), at=rig.now_ms)

    # After that, only those whose entry always had a hash.
    assert len(rig.rows(tables.microtrip)) - before == (2 if (how, days) == ("erased", 11) else 1)

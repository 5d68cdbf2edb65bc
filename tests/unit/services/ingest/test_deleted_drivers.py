"""The pipeline's memory never brings a deleted driver back into the rows."""

import pytest
from tests.support import dangling
from tests.support.ingest_rig import DRIVER, NOW, SENSOR, VEHICLE, Rig, microtrip, trip_message

from tripline.domain.ids import UserId
from tripline.services.eraser import Eraser
from tripline.services.fleet import removal
from tripline.store import tables

EVENT = {"ty": 130, "pld": {"a": 1}}
OTHER = UserId("00000000-0000-11ef-8000-000000000099")


def delete_driver(rig: Rig) -> set[str]:
    """The driver's account is deleted and committed; the pipeline has not been told yet."""
    return set(rig.run(rig.store.write(lambda tx: removal.person(tx, UserId(DRIVER), now_ms=rig.now_ms))))


def erase(rig: Rig) -> dict[str, int]:
    """What still names the driver when the eraser, which lets go of the pipeline as the program does, is through."""

    async def work() -> dict[str, int]:
        intake = rig.intake()
        intake._pipeline = rig.pipeline
        eraser = Eraser(store=rig.store, signals=rig.signals, let_go=intake.let_go_of, stopwatch=lambda: 0.0)
        while await eraser.erase_pending():
            pass
        return await rig.store.read_short(lambda tx: dangling.references(tx, DRIVER))

    found: dict[str, int] = rig.run(work())
    return found


def test_open_trip_of_a_deleted_driver_goes_on_without_one(rig: Rig) -> None:
    rig.send(microtrip(NOW))
    changed = delete_driver(rig)
    rig.send(microtrip(NOW + 1000), EVENT)
    left = erase(rig)
    rig.send(EVENT | {"pld": {"a": 2}}, trip_message(NOW, NOW + 2000))

    assert changed == {SENSOR}
    assert rig.rows(tables.trip, "vehicle_id", "user_id", "state") == [(VEHICLE, None, "COMPLETE")]
    assert rig.rows(tables.device_event, "vehicle_id", "user_id") == [(VEHICLE, None)] * 2
    assert left == erase(rig) == {}


def test_rows_placed_before_the_eraser_came_and_after_it_name_no_driver(rig: Rig) -> None:
    rig.send(EVENT)
    delete_driver(rig)
    rig.send(microtrip(NOW), EVENT | {"pld": {"a": 2}}, trip_message(NOW, NOW + 500, tid=7))
    left = erase(rig)
    rig.send(microtrip(NOW + 1000, tid=42), EVENT | {"pld": {"a": 3}})

    assert rig.rows(tables.trip, "user_id") == [None] * 3
    assert rig.rows(tables.device_event, "user_id") == [None] * 3
    assert left == erase(rig) == {}


def test_told_pipeline_reads_the_trip_without_its_driver(rig: Rig) -> None:
    rig.send(microtrip(NOW))
    again = delete_driver(rig)
    left = erase(rig)
    rig.take_in([], again=again)

    track = rig.pipeline.tracks.get(SENSOR)
    assert track is not None and track.trip is not None
    assert (track.driver_id, track.trip.user_id) == (None, None)
    assert left == {}


@pytest.mark.parametrize("drives", [True, False])
def test_other_drivers_stay_when_one_is_deleted(rig: Rig, drives: bool) -> None:
    rig.change(tables.vehicle, VEHICLE, current_driver_id=OTHER if drives else None)
    rig.send(microtrip(NOW))
    changed = delete_driver(rig)
    left = erase(rig)
    rig.send(EVENT)

    driver = OTHER if drives else None
    assert (changed, left) == (set(), {})
    assert rig.rows(tables.trip, "user_id") == rig.rows(tables.device_event, "user_id") == [driver]

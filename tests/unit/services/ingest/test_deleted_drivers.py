"""What the pipeline remembers of a driver never brings a deleted one back into the rows."""

from tests.support import dangling
from tests.support.ingest_rig import DRIVER, NOW, SENSOR, VEHICLE, Rig, microtrip, trip_message

from tripline.domain.ids import UserId
from tripline.services.fleet import removal
from tripline.store import tables

EVENT = {"ty": 130, "pld": {"a": 1}}


def delete_driver(rig: Rig) -> set[str]:
    """The driver's account is deleted and committed; the pipeline has not been told yet."""
    return set(rig.run(rig.store.write(lambda tx: removal.person(tx, UserId(DRIVER)))))


def dangling_in(rig: Rig) -> dict[str, int]:
    found: dict[str, int] = rig.run(rig.store.read_short(lambda tx: dangling.references(tx, DRIVER)))
    return found


def test_open_trip_of_a_deleted_driver_goes_on_without_one(rig: Rig) -> None:
    rig.send(microtrip(NOW))
    changed = delete_driver(rig)
    rig.send(microtrip(NOW + 1000), EVENT)
    rig.send(trip_message(NOW, NOW + 2000))

    assert changed == {SENSOR}
    assert rig.rows(tables.trip, "vehicle_id", "user_id", "state") == [(VEHICLE, None, "COMPLETE")]
    assert rig.rows(tables.device_event, "vehicle_id", "user_id") == [(VEHICLE, None)]
    assert dangling_in(rig) == {}


def test_new_trip_and_event_before_the_pipeline_was_told_name_no_driver(rig: Rig) -> None:
    rig.send(EVENT)
    changed = delete_driver(rig)
    rig.send(microtrip(NOW), EVENT | {"pld": {"a": 2}}, trip_message(NOW, NOW + 500, tid=7))

    assert changed == {SENSOR}
    assert rig.rows(tables.trip, "user_id") == [None, None]
    assert rig.rows(tables.device_event, "user_id") == [None, None]
    assert dangling_in(rig) == {}


def test_told_pipeline_reads_the_trip_without_its_driver(rig: Rig) -> None:
    rig.send(microtrip(NOW))
    rig.take_in([], again=delete_driver(rig))
    rig.send(EVENT, microtrip(NOW + 1000, tid=42))

    track = rig.pipeline.tracks.get(SENSOR)
    assert track is not None and track.trip is not None
    assert (track.driver_id, track.trip.user_id) == (None, None)
    assert rig.rows(tables.trip, "user_id") == [None, None]
    assert dangling_in(rig) == {}


def test_other_drivers_stay_when_one_is_deleted(rig: Rig) -> None:
    other = UserId("00000000-0000-11ef-8000-000000000099")
    rig.change(tables.vehicle, VEHICLE, current_driver_id=other)
    columns = {column.name: None for column in tables.account.columns}
    account = {**columns, "id": other, "created_ms": 0, "authority": "DRIVER", "name": "Lee", "email": "l@x.example"}
    account |= {"login": "l@x.example", "password_hash": "", "password_updated_ms": 0, "enabled": True}
    rig.run(rig.store.write(lambda tx: tx.run(tables.account.insert(), account)))
    rig.send(microtrip(NOW))
    changed = delete_driver(rig)
    rig.send(EVENT)

    assert changed == set()
    assert rig.rows(tables.trip, "user_id") == rig.rows(tables.device_event, "user_id") == [other]

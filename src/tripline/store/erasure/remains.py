"""Erase the remains of deleted vehicles, sensors and people, some rows at a time; `erasures.py` lists and hides them.

Of a vehicle, rows that are listed by driver go first, the newest first, so that pages soon need not skip them. Trips go
last, one by one, because their microtrips and scoring jobs are found through them.

Of a sensor, its id goes from vehicles' trips and events; data without a vehicle, which only its company could see, is
deleted. The rejected-message log keeps the sources of its entries (`store/ingest/rejected.py`).

Of a person, the id goes from stored data and history; the data itself remains, without a driver.

Takes no scope: the rows belong to what was deleted. Not here: the current driver of a vehicle
(`vehicles.release_driver`).
"""

from collections.abc import Iterable
from typing import Final

from sqlalchemy import Column, ColumnElement, Delete, Update, bindparam, delete, literal_column, select, update

from tripline.domain import bus, trips
from tripline.domain.ids import SensorId, UserId, VehicleId
from tripline.store.erasure import erasures
from tripline.store.fleet import history
from tripline.store.ingest import deliveries
from tripline.store.scores import standings, sums
from tripline.store.tables import (
    account,
    device_event,
    dispute,
    driving_score,
    gps_event,
    microtrip,
    rescoring,
    rpc_call,
    score_rank,
    score_sum,
    scoring_job,
    trip,
    trip_cover,
    trip_findings,
    vehicle_score,
)
from tripline.store.transactions import ReadTx, WriteTx


def _some(key: Column[int], owner: ColumnElement[str] | ColumnElement[int], *order: ColumnElement[int]) -> Delete:
    """Delete some rows of an owner, by the index that begins with it; with an order the greatest."""
    chosen = select(key).where(owner == bindparam("of_owner"))
    return delete(key.table).where(key.in_(chosen.order_by(*(each.desc() for each in order)).limit(bindparam("most"))))


def _detach(key: Column[int] | Column[str], column: str, *more: ColumnElement[bool]) -> Update:
    """Take an owner out of some rows, by the index that begins with it."""
    table = key.table
    owned = select(key).where(table.c[column] == bindparam("of_owner"), *more).limit(bindparam("most"))
    return update(table).where(key.in_(owned)).values({column: None})


def _first(tx: WriteTx, statements: Iterable[Delete | Update], owner_id: str, limit: int) -> int:
    """Run the statements up to the first one that touches rows; how many."""
    values = {"of_owner": owner_id, "most": limit}
    return next(filter(None, (tx.run(each, values) for each in statements)), 0)


_OF_VEHICLE: Final = (
    # Calls to devices that were on the vehicle stay with their sensors.
    _detach(rpc_call.c.no, "vehicle_id"),
    _some(gps_event.c.no, gps_event.c.vehicle_id, gps_event.c.created_ms, gps_event.c.event_ms, gps_event.c.no),
    _some(device_event.c.no, device_event.c.vehicle_id, device_event.c.no),
    # Deleted with the vehicle; another process may have been about to write it.
    delete(vehicle_score).where(vehicle_score.c.vehicle_id == bindparam("of_owner")),
)
_MICROTRIPS: Final = _some(microtrip.c.no, microtrip.c.trip_no, microtrip.c.no)


def erase_some_of_vehicle(tx: WriteTx, vehicle_id: VehicleId, *, limit: int) -> int:
    """Erase up to some `limit` rows of the vehicle; how many there were. 0: nothing is left."""
    return (
        _some_scores(tx, vehicle_id, limit)
        or _first(tx, _OF_VEHICLE, vehicle_id, limit)
        or _some_of_newest_trip(tx, vehicle_id, limit)
    )


def _some_scores(tx: WriteTx, vehicle_id: VehicleId, limit: int) -> int:
    """Delete the newest scores and subtract them from the vehicle's sums; the sums of drivers and company remain."""
    newest = driving_score.c.created_ms.desc(), driving_score.c.trip_no.desc()
    of_vehicle = select(driving_score.c.trip_no).where(driving_score.c.vehicle_id == vehicle_id)
    trip_nos = [row.trip_no for row in tx.all(of_vehicle.order_by(*newest).limit(limit))]
    if trip_nos:
        before = sums.held(tx, trip_nos)
        tx.run(delete(driving_score).where(driving_score.c.trip_no.in_(trip_nos)))
        sums.move(tx, before, {})
    return len(trip_nos)


def _some_of_newest_trip(tx: WriteTx, vehicle_id: VehicleId, limit: int) -> int:
    """Microtrips of the vehicle's newest trip; with the last of them the trip itself.

    A driver's latest trip goes back by one with each, for the next trip may be erased as well: `store/fleet/people.py`
    shows none of those meanwhile.
    """
    newest = trip.c.created_ms.desc(), trip.c.no.desc()
    columns = trip.c.no, trip.c.id, trip.c.user_id, trip.c.sensor_id, trip.c.source
    found = tx.one(select(*columns).where(trip.c.vehicle_id == vehicle_id).order_by(*newest).limit(1))
    if found is None:
        return 0
    if found.sensor_id is not None and found.source != bus.SOURCE:
        deleted_ms = erasures.deleted_ms(tx, vehicle_id)
        deliveries.keep_hashes(tx, found.sensor_id, found.no, deleted_ms=deleted_ms, limit=limit)
    erased = tx.run(_MICROTRIPS, {"of_owner": found.no, "most": limit})
    if erased < limit:
        driven = select(trip.c.id).where(trip.c.user_id == found.user_id, trip.c.id != found.id)
        of_driver = account.c.id == found.user_id, account.c.latest_trip_id == found.id
        before = driven.order_by(*newest).limit(1).scalar_subquery()
        tx.run(update(account).where(*of_driver).values(latest_trip_id=before))
        erased += _erase_trip(tx, found.no)
    return erased


def _erase_trip(tx: WriteTx, trip_no: int) -> int:
    """Erase a trip without microtrips; how many rows of `trip`."""
    for table in (scoring_job, dispute, trip_cover, trip_findings):
        tx.run(delete(table).where(table.c.trip_no == trip_no))
    return tx.run(delete(trip).where(trip.c.no == trip_no))


_DRIVEN: Final = (
    *(_detach(key, "user_id") for key in (trip.c.no, device_event.c.no, gps_event.c.no, driving_score.c.trip_no)),
    *(_detach(key, "user_id") for key in (vehicle_score.c.vehicle_id, rpc_call.c.no)),
    _detach(trip.c.no, "recorded_user_id"),
)
"""Trips first: a score judged for a different driver would be discarded. The accumulated score after the scores that
supply its driver."""


_ABOUT: Final = (
    # After scores, which add nothing to sums any more.
    delete(score_sum).where(score_sum.c.subject == bindparam("of_owner")),
    delete(score_rank).where(score_rank.c.subject == bindparam("of_owner")),
    _detach(dispute.c.no, "opened_by"),
    _detach(dispute.c.no, "decided_by"),
    _detach(rescoring.c.no, "requested_by"),
)


def sensors_with_open_trips(tx: ReadTx, user_id: UserId) -> list[SensorId]:
    """The sensors whose open trip the person drives: the pipeline holds it in memory."""
    is_open = trip.c.state == literal_column(f"'{trips.State.OPEN}'")
    of_person = select(trip.c.sensor_id).distinct().where(trip.c.user_id == user_id, is_open)
    return [SensorId(row.sensor_id) for row in tx.all(of_person.where(trip.c.sensor_id.is_not(None)))]


def erase_some_of_person(tx: WriteTx, user_id: UserId, *, limit: int) -> int:
    """Let up to `limit` rows that the deleted person drove name no driver; how many. 0: nothing names it any more."""
    touched = _first(tx, _DRIVEN, user_id, limit)
    if not touched:
        standings.note_subject(tx, user_id)
    return touched or _first(tx, _ABOUT, user_id, limit) or history.erase_person_some(tx, user_id, limit=limit)


_OF_SENSOR: Final = (
    _detach(trip.c.no, "sensor_id", trip.c.vehicle_id.is_not(None)),
    _detach(device_event.c.no, "sensor_id", device_event.c.vehicle_id.is_not(None)),
    _some(device_event.c.no, device_event.c.sensor_id),
)


def erase_some_of_sensor(tx: WriteTx, sensor_id: SensorId, *, limit: int) -> int:
    """Change or delete up to some `limit` rows of the sensor; how many. 0: nothing names it any more."""
    return _first(tx, _OF_SENSOR, sensor_id, limit) or _some_of_a_trip(tx, sensor_id, limit)


def _some_of_a_trip(tx: WriteTx, sensor_id: SensorId, limit: int) -> int:
    """Microtrips of a trip without a vehicle; with the last of them the trip itself."""
    found = tx.one(select(trip.c.no).where(trip.c.sensor_id == sensor_id).limit(1))
    if found is None:
        return 0
    erased = tx.run(_MICROTRIPS, {"of_owner": found.no, "most": limit})
    return erased + _erase_trip(tx, found.no) if erased < limit else erased

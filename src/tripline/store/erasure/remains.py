"""Erase the remains of deleted vehicles, sensors and people, some rows at a time; `erasures.py` lists and hides them.

Of a vehicle, rows that are listed by driver go first, the newest first, so that pages soon need not skip them. Trips go
last, one by one, because their microtrips and scoring jobs are found through them.

Of a sensor, its id goes from vehicles' trips and events; data without a vehicle, which only its company could see, is
deleted. The rejected-message log keeps the sources of its entries (`store/ingest/rejected.py`).

Of a person, the id goes from stored data and history; the data itself remains, without a driver.

Takes no scope: the rows belong to what was deleted. Not here: the current driver of a vehicle
(`vehicles.release_driver`).
"""

from typing import Final

from sqlalchemy import (
    Column,
    ColumnElement,
    Delete,
    Integer,
    Table,
    Update,
    bindparam,
    delete,
    literal_column,
    select,
    update,
)

from tripline.domain import bus, trips
from tripline.domain.ids import SensorId, UserId, VehicleId
from tripline.store.erasure import erasures
from tripline.store.fleet import history
from tripline.store.ingest import deliveries
from tripline.store.scores import scores, standings, sums
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
    vehicle_score,
)
from tripline.store.transactions import Hot, ReadTx, WriteTx


def _some(table: Table, key: ColumnElement[int], owner: ColumnElement[str], *order: ColumnElement[int]) -> Delete:
    """Delete the newest rows of an owner, by the index that begins with it."""
    chosen = select(key).where(owner == bindparam("of_owner"))
    newest = chosen.order_by(*(column.desc() for column in order)).limit(bindparam("most"))
    return delete(table).where(key.in_(newest))


_OF_VEHICLE: Final = (
    _some(
        gps_event, gps_event.c.no, gps_event.c.vehicle_id, gps_event.c.created_ms, gps_event.c.event_ms, gps_event.c.no
    ),
    _some(device_event, device_event.c.no, device_event.c.vehicle_id, device_event.c.no),
    # Deleted with the vehicle; another process may have been about to write it.
    delete(vehicle_score).where(vehicle_score.c.vehicle_id == bindparam("of_owner")),
)
_SCORED: Final = Hot(
    select(driving_score.c.trip_no)
    .where(driving_score.c.vehicle_id == bindparam("of_owner"))
    .order_by(driving_score.c.created_ms.desc(), driving_score.c.trip_no.desc())
    .limit(bindparam("most", type_=Integer)),
    "of_owner",
    "most",
)
_SCORES: Final = delete(driving_score).where(driving_score.c.trip_no.in_(bindparam("nos", expanding=True)))
_CALLS: Final = (
    update(rpc_call)
    .where(
        rpc_call.c.no.in_(
            select(rpc_call.c.no).where(rpc_call.c.vehicle_id == bindparam("of_owner")).limit(bindparam("most"))
        )
    )
    .values(vehicle_id=None)
)
"""Calls to devices that were on the vehicle stay with their sensors, and name no vehicle from then on."""
_MICROTRIPS: Final = _some(microtrip, microtrip.c.no, microtrip.c.trip_no, microtrip.c.no)
_NEWEST_TRIP: Final = Hot(
    select(trip.c.no, trip.c.id, trip.c.user_id, trip.c.sensor_id, trip.c.source)
    .where(trip.c.vehicle_id == bindparam("of_owner"))
    .order_by(trip.c.created_ms.desc(), trip.c.no.desc())
    .limit(1),
    "of_owner",
)
_JOB: Final = delete(scoring_job).where(scoring_job.c.trip_no == bindparam("of_trip"))
_DISPUTES: Final = delete(dispute).where(dispute.c.trip_no == bindparam("of_trip"))
_COVER: Final = delete(trip_cover).where(trip_cover.c.trip_no == bindparam("of_trip"))
_TRIP: Final = delete(trip).where(trip.c.no == bindparam("of_trip"))
_DROVE_BEFORE: Final = (
    select(trip.c.id)
    .where(trip.c.user_id == bindparam("of_user"), trip.c.id != bindparam("trip_id"))
    .order_by(trip.c.created_ms.desc(), trip.c.no.desc())
    .limit(1)
    .scalar_subquery()
)
_TELL_DRIVER: Final = (
    update(account)
    .where(account.c.id == bindparam("of_user"), account.c.latest_trip_id == bindparam("trip_id"))
    .values(latest_trip_id=_DROVE_BEFORE)
)


def erase_some_of_vehicle(tx: WriteTx, vehicle_id: VehicleId, *, limit: int) -> int:
    """Erase up to some `limit` rows of the vehicle; how many there were. 0: nothing is left."""
    erased = _some_scores(tx, vehicle_id, limit)
    if erased:
        return erased
    for statement in (_CALLS, *_OF_VEHICLE):
        erased = tx.run(statement, {"of_owner": vehicle_id, "most": limit})
        if erased:
            return erased
    return _some_of_newest_trip(tx, vehicle_id, limit)


def _some_scores(tx: WriteTx, vehicle_id: VehicleId, limit: int) -> int:
    """Delete the newest scores and subtract them from the vehicle's sums; the sums of drivers and company remain."""
    trip_nos = [row[0] for row in tx.hot(_SCORED, vehicle_id, limit)]
    if trip_nos:
        before = sums.held(tx, trip_nos)
        tx.run(_SCORES, {"nos": trip_nos})
        sums.move(tx, before, {})
    return len(trip_nos)


def _some_of_newest_trip(tx: WriteTx, vehicle_id: VehicleId, limit: int) -> int:
    """Microtrips of the vehicle's newest trip; with the last of them the trip itself.

    A driver's latest trip goes back by one with each, for the next trip may be erased as well: `store/fleet/people.py`
    shows none of those meanwhile.
    """
    found = tx.hot(_NEWEST_TRIP, vehicle_id)
    if not found:
        return 0
    trip_no, trip_id, driver_id, sensor_id, source = found[0]
    if sensor_id is not None and source != bus.SOURCE:
        deleted_ms = erasures.deleted_ms(tx, vehicle_id)
        deliveries.keep_hashes(tx, sensor_id, trip_no, deleted_ms=deleted_ms, limit=limit)
    erased = tx.run(_MICROTRIPS, {"of_owner": trip_no, "most": limit})
    if erased < limit:
        tx.run(_JOB, {"of_trip": trip_no})
        tx.run(_DISPUTES, {"of_trip": trip_no})
        tx.run(_COVER, {"of_trip": trip_no})
        tx.run(scores.FORGET, {"of_trip": trip_no})
        tx.run(_TELL_DRIVER, {"of_user": driver_id, "trip_id": trip_id})
        tx.run(_TRIP, {"of_trip": trip_no})
        erased += 1
    return erased


_DRIVING: Final = Hot(
    select(trip.c.sensor_id)
    .distinct()
    .where(
        trip.c.user_id == bindparam("of_user"),
        trip.c.state == literal_column(f"'{trips.State.OPEN}'"),
        trip.c.sensor_id.is_not(None),
    ),
    "of_user",
)


def _detach_person(key: Column[int] | Column[str], column: str = "user_id") -> Update:
    """Take the driver out of some rows, by the index that begins with it."""
    table = key.table
    driven = select(key).where(table.c[column] == bindparam("of_user")).limit(bindparam("most"))
    return update(table).where(key.in_(driven)).values({column: None})


_SUMS: Final = delete(score_sum).where(score_sum.c.subject == bindparam("of_user"))
_OF_PERSON: Final = (
    *(
        _detach_person(key)
        for key in (
            *(trip.c.no, device_event.c.no, gps_event.c.no, driving_score.c.trip_no, vehicle_score.c.vehicle_id),
            rpc_call.c.no,
        )
    ),
    _detach_person(trip.c.no, "recorded_user_id"),
    # After scores, which add nothing to it any more.
    _SUMS,
    delete(score_rank).where(score_rank.c.subject == bindparam("of_user")),
    _detach_person(dispute.c.no, "opened_by"),
    _detach_person(dispute.c.no, "decided_by"),
    _detach_person(rescoring.c.no, "requested_by"),
)
"""Trips first: a score judged for a different driver would be discarded. Accumulated scores after scores, which supply
their driver. Calls to devices, disputes and rescorings also remain, without the person's id."""


def sensors_with_open_trips(tx: ReadTx, user_id: UserId) -> list[SensorId]:
    """The sensors whose open trip the person drives: the pipeline holds it in memory."""
    return [SensorId(sensor_id) for (sensor_id,) in tx.hot(_DRIVING, user_id)]


def erase_some_of_person(tx: WriteTx, user_id: UserId, *, limit: int) -> int:
    """Let up to `limit` rows that the deleted person drove name no driver; how many. 0: nothing names it any more."""
    for statement in _OF_PERSON:
        if statement is _SUMS:
            standings.note_subject(tx, user_id)
        touched = tx.run(statement, {"of_user": user_id, "most": limit})
        if touched:
            return touched
    return history.erase_person_some(tx, user_id, limit=limit)


def _detach_sensor(table: Table) -> Update:
    """Take the sensor out of some rows of vehicles, by the index that begins with it."""
    mapped = select(table.c.no).where(table.c.sensor_id == bindparam("of_sensor"), table.c.vehicle_id.is_not(None))
    return update(table).where(table.c.no.in_(mapped.limit(bindparam("most")))).values(sensor_id=None)


def _some_of_sensor(table: Table) -> Delete:
    chosen = select(table.c.no).where(table.c.sensor_id == bindparam("of_sensor")).limit(bindparam("most"))
    return delete(table).where(table.c.no.in_(chosen))


_OF_SENSOR: Final = (_detach_sensor(trip), _detach_sensor(device_event), _some_of_sensor(device_event))
_TRIP_OF_SENSOR: Final = Hot(select(trip.c.no).where(trip.c.sensor_id == bindparam("of_sensor")).limit(1), "of_sensor")
_MICROTRIPS_OF_TRIP: Final = delete(microtrip).where(
    microtrip.c.no.in_(
        select(microtrip.c.no).where(microtrip.c.trip_no == bindparam("of_trip")).limit(bindparam("most"))
    )
)
_FORGET_JOB: Final = delete(scoring_job).where(scoring_job.c.trip_no == bindparam("of_trip"))
_FORGET_TRIP: Final = delete(trip).where(trip.c.no == bindparam("of_trip"))


def erase_some_of_sensor(tx: WriteTx, sensor_id: SensorId, *, limit: int) -> int:
    """Change or delete up to some `limit` rows of the sensor; how many. 0: nothing names it any more."""
    for statement in _OF_SENSOR:
        touched = tx.run(statement, {"of_sensor": sensor_id, "most": limit})
        if touched:
            return touched
    return _some_of_a_trip(tx, sensor_id, limit)


def _some_of_a_trip(tx: WriteTx, sensor_id: SensorId, limit: int) -> int:
    """Microtrips of a trip without a vehicle; with the last of them the trip itself."""
    found = tx.hot(_TRIP_OF_SENSOR, sensor_id)
    if not found:
        return 0
    trip_no = found[0][0]
    erased = tx.run(_MICROTRIPS_OF_TRIP, {"of_trip": trip_no, "most": limit})
    if erased < limit:
        tx.run(_FORGET_JOB, {"of_trip": trip_no})
        tx.run(scores.FORGET, {"of_trip": trip_no})
        tx.run(_FORGET_TRIP, {"of_trip": trip_no})
        erased += 1
    return erased

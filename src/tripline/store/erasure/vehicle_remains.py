"""Erase the remains of a deleted vehicle, some rows at a time.

Rows that are listed by driver go first, the newest first, so that pages soon need not skip them. Trips go last, one by
one, because their microtrips and scoring jobs are found through them.

Takes no scope: the rows belong to deleted vehicles. Not here: the list of such vehicles (`erasures.py`).
"""

from typing import Final

from sqlalchemy import ColumnElement, Delete, Integer, Table, bindparam, delete, select, update

from tripline.domain import bus
from tripline.domain.ids import VehicleId
from tripline.store.erasure import erasures
from tripline.store.ingest import deliveries
from tripline.store.scores import scores, sums
from tripline.store.tables import (
    account,
    device_event,
    dispute,
    driving_score,
    gps_event,
    microtrip,
    rpc_call,
    scoring_job,
    trip,
    trip_cover,
    vehicle_score,
)
from tripline.store.transactions import Hot, WriteTx


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


def erase_some(tx: WriteTx, vehicle_id: VehicleId, *, limit: int) -> int:
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

"""Erases the remains of a deleted sensor: its id in vehicles' trips and events, and data without a vehicle, which only
its company could see.

Takes no scope: the rows belong to deleted sensors. Not here: the list of such sensors (`erasures.py`), the
rejected-message log, which keeps the sources of its entries (`store/ingest/rejected.py`).
"""

from typing import Final

from sqlalchemy import Delete, Table, Update, bindparam, delete, select, update

from tripline.domain.ids import SensorId
from tripline.store.scores import scores
from tripline.store.tables import device_event, microtrip, scoring_job, trip
from tripline.store.transactions import Hot, WriteTx


def _detach(table: Table) -> Update:
    """Take the sensor out of some rows of vehicles, by the index that begins with it."""
    mapped = select(table.c.no).where(table.c.sensor_id == bindparam("of_sensor"), table.c.vehicle_id.is_not(None))
    return update(table).where(table.c.no.in_(mapped.limit(bindparam("most")))).values(sensor_id=None)


def _some(table: Table) -> Delete:
    chosen = select(table.c.no).where(table.c.sensor_id == bindparam("of_sensor")).limit(bindparam("most"))
    return delete(table).where(table.c.no.in_(chosen))


_IN_TURN: Final = (_detach(trip), _detach(device_event), _some(device_event))
_TRIP: Final = Hot(select(trip.c.no).where(trip.c.sensor_id == bindparam("of_sensor")).limit(1), "of_sensor")
_MICROTRIPS: Final = delete(microtrip).where(
    microtrip.c.no.in_(
        select(microtrip.c.no).where(microtrip.c.trip_no == bindparam("of_trip")).limit(bindparam("most"))
    )
)
_FORGET_JOB: Final = delete(scoring_job).where(scoring_job.c.trip_no == bindparam("of_trip"))
_FORGET_TRIP: Final = delete(trip).where(trip.c.no == bindparam("of_trip"))


def erase_some(tx: WriteTx, sensor_id: SensorId, *, limit: int) -> int:
    """Change or delete up to some `limit` rows of the sensor; how many. 0: nothing names it any more."""
    for statement in _IN_TURN:
        touched = tx.run(statement, {"of_sensor": sensor_id, "most": limit})
        if touched:
            return touched
    return _some_of_a_trip(tx, sensor_id, limit)


def _some_of_a_trip(tx: WriteTx, sensor_id: SensorId, limit: int) -> int:
    """Microtrips of a trip without a vehicle; with the last of them the trip itself."""
    found = tx.hot(_TRIP, sensor_id)
    if not found:
        return 0
    trip_no = found[0][0]
    erased = tx.run(_MICROTRIPS, {"of_trip": trip_no, "most": limit})
    if erased < limit:
        tx.run(_FORGET_JOB, {"of_trip": trip_no})
        tx.run(scores.FORGET, {"of_trip": trip_no})
        tx.run(_FORGET_TRIP, {"of_trip": trip_no})
        erased += 1
    return erased

"""Removes deleted drivers from stored data and history; the data itself remains, without a driver.

The rows are too many to change in the transaction that deletes the person. It puts the person on the eraser's list
(`erasures.begin_person`), which hides the id at once (`erasures.mentioned`); the eraser then removes it.

Takes no scope: the rows belong to deleted people. Not here: reading trips (`store/trips/trips.py`), the current driver
of a vehicle (`vehicles.release_driver`).
"""

from typing import Final

from sqlalchemy import Column, Update, bindparam, delete, literal_column, select, update

from tripline.domain import trips
from tripline.domain.ids import SensorId, UserId
from tripline.store.fleet import history
from tripline.store.scores import standings
from tripline.store.tables import (
    device_event,
    dispute,
    driving_score,
    gps_event,
    rescoring,
    rpc_call,
    score_rank,
    score_sum,
    trip,
    vehicle_score,
)
from tripline.store.transactions import Hot, ReadTx, WriteTx

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


def _detach(key: Column[int] | Column[str], column: str = "user_id") -> Update:
    """Take the driver out of some rows, by the index that begins with it."""
    table = key.table
    driven = select(key).where(table.c[column] == bindparam("of_user")).limit(bindparam("most"))
    return update(table).where(key.in_(driven)).values({column: None})


_SUMS: Final = delete(score_sum).where(score_sum.c.subject == bindparam("of_user"))
_IN_TURN: Final = (
    *(
        _detach(key)
        for key in (
            *(trip.c.no, device_event.c.no, gps_event.c.no, driving_score.c.trip_no, vehicle_score.c.vehicle_id),
            rpc_call.c.no,
        )
    ),
    _detach(trip.c.no, "recorded_user_id"),
    # After scores, which add nothing to it any more.
    _SUMS,
    delete(score_rank).where(score_rank.c.subject == bindparam("of_user")),
    _detach(dispute.c.no, "opened_by"),
    _detach(dispute.c.no, "decided_by"),
    _detach(rescoring.c.no, "requested_by"),
)
"""Trips first: a score judged for a different driver would be discarded. Accumulated scores after scores, which supply
their driver. Calls to devices, disputes and rescorings also remain, without the person's id."""


def sensors_with_open_trips(tx: ReadTx, user_id: UserId) -> list[SensorId]:
    """The sensors whose open trip the person drives: the pipeline holds it in memory."""
    return [SensorId(sensor_id) for (sensor_id,) in tx.hot(_DRIVING, user_id)]


def erase_some(tx: WriteTx, user_id: UserId, *, limit: int) -> int:
    """Let up to `limit` rows that the deleted person drove name no driver; how many. 0: nothing names it any more."""
    for statement in _IN_TURN:
        if statement is _SUMS:
            standings.note_subject(tx, user_id)
        touched = tx.run(statement, {"of_user": user_id, "most": limit})
        if touched:
            return touched
    return history.erase_person_some(tx, user_id, limit=limit)

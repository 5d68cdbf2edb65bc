"""The list of deleted vehicles and sensors whose driving data the eraser still has to erase.

A vehicle's trips, microtrips, scores and events are too many to delete together with it. The deleting transaction puts
the vehicle on this list, which hides the rows at once: every statement that does not find such rows by their vehicle
uses `kept`. The list likewise hides a deleted sensor or person named in trips, events and scores, and a deleted
sensor's trips without a vehicle.

Not here: erasing the rows (`remains.py`), the caller (`services/eraser.py`).
"""

from enum import StrEnum
from typing import Final

from sqlalchemy import ColumnElement, bindparam, case, delete, exists, insert, select

from tripline.store.tables import erasure
from tripline.store.transactions import Hot, ReadTx, WriteTx


class Kind(StrEnum):
    """What was deleted."""

    VEHICLE = "vehicle"
    SENSOR = "sensor"
    PERSON = "person"


_ANY: Final = Hot(select(erasure.c.id).limit(1))
_OF: Final = erasure.c.id == bindparam("owner")
_HOLD: Final = Hot(select(erasure.c.id).where(_OF).with_for_update(skip_locked=True), "owner")
_DELETED_MS: Final = Hot(select(erasure.c.created_ms).where(_OF), "owner")


def kept(owner_id: ColumnElement[str]) -> ColumnElement[bool]:
    """Condition for driving data whose vehicle or sensor, if any, is not waiting to be erased."""
    return ~exists().where(erasure.c.id == owner_id)


def mentioned(owner_id: ColumnElement[str]) -> ColumnElement[str]:
    """The sensor or person that a row of driving data names; null from the moment in which it is deleted."""
    return case((kept(owner_id), owner_id))


def begin(tx: WriteTx, owner_id: str, kind: Kind = Kind.VEHICLE, *, now_ms: int) -> None:
    """Hide the driving data of a vehicle, or the id of a sensor or person in it, and list it for erasure."""
    tx.run(insert(erasure), {"id": owner_id, "kind": kind.value, "created_ms": now_ms})


def pending(tx: ReadTx, *, limit: int, kind: Kind = Kind.VEHICLE) -> list[str]:
    """Deleted vehicles, or sensors or persons, whose driving data waits to be erased, the longest waiting first."""
    waiting = select(erasure.c.id).where(erasure.c.kind == kind.value).order_by(erasure.c.created_ms, erasure.c.id)
    return [row.id for row in tx.all(waiting.limit(limit))]


def hold(tx: WriteTx, owner_id: str) -> bool:
    """Lock an entry of the list until the transaction ends; False if it is erased or locked by another process."""
    return bool(tx.hot(_HOLD, owner_id))


def any_pending(tx: ReadTx) -> bool:
    """True if the list has entries, so that reads may have to skip many hidden rows."""
    return bool(tx.hot(_ANY))


def deleted_ms(tx: ReadTx, owner_id: str) -> int:
    """The time of deletion of a list entry."""
    return tx.number(_DELETED_MS, owner_id)


def finish(tx: WriteTx, owner_id: str) -> None:
    """Nothing is left of the vehicle, sensor or person."""
    tx.run(delete(erasure).where(erasure.c.id == owner_id))

"""What was deleted while its driving data is still to be erased: the list that the eraser works through.

A vehicle's trips, microtrips, scores and events are too many to go in the transaction that deletes it. That
transaction puts the vehicle on this list, and from then on they are not there for anybody: every statement that finds
such rows by something else than their vehicle asks `kept`.

Not here: erasing the rows (`remains.py`), who asks for it (`services/erasing.py`).
"""

from enum import StrEnum
from typing import Final

from sqlalchemy import ColumnElement, bindparam, delete, exists, insert, select

from tripline.domain.ids import VehicleId
from tripline.store.tables import erasure
from tripline.store.transactions import Hot, ReadTx, WriteTx


class Kind(StrEnum):
    """What was deleted."""

    VEHICLE = "vehicle"


_PENDING: Final = Hot(
    select(erasure.c.id)
    .where(erasure.c.kind == bindparam("of_kind"))
    .order_by(erasure.c.created_ms, erasure.c.id)
    .limit(bindparam("most")),
    *("of_kind", "most"),
)


def kept(vehicle_id: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether a row of driving data with this vehicle (or none) was not left behind by a deleted one."""
    return ~exists().where(erasure.c.id == vehicle_id)


def begin(tx: WriteTx, vehicle_id: VehicleId, *, now_ms: int) -> None:
    """What the vehicle drove is not there any more, and waits to be erased."""
    tx.run(insert(erasure).values(id=vehicle_id, kind=Kind.VEHICLE.value, created_ms=now_ms))


def pending(tx: ReadTx, *, limit: int) -> list[VehicleId]:
    """Deleted vehicles whose driving data waits to be erased, the longest waiting first."""
    return [VehicleId(row[0]) for row in tx.hot(_PENDING, Kind.VEHICLE.value, limit)]


def finish(tx: WriteTx, vehicle_id: VehicleId) -> None:
    """Nothing is left of the vehicle."""
    tx.run(delete(erasure).where(erasure.c.id == vehicle_id))

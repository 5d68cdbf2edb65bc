"""Device events as they are read back: pages of a vehicle by key, newest first or oldest first.

The caller has asked before whether the vehicle is inside the scope (`vehicles.inside`).
"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import bindparam, select

from tripline.domain import ids
from tripline.domain.ids import RowNo, VehicleId
from tripline.domain.stored_trips import StoredEvent
from tripline.store import lists
from tripline.store.erasure import erasures
from tripline.store.lists import Span, UnknownOffset
from tripline.store.tables import device_event
from tripline.store.transactions import ReadTx

_COLUMNS: Final = [
    erasures.mentioned(device_event.c[name]) if name in ("sensor_id", "user_id") else device_event.c[name]
    for name in StoredEvent.__struct_fields__
]
_OF_VEHICLE: Final = lists.ByNumber(
    select(*_COLUMNS).where(device_event.c.vehicle_id == bindparam("vehicle_id")), device_event.c.no, "vehicle_id"
)


def of_vehicle(tx: ReadTx, vehicle_id: VehicleId, span: Span) -> Sequence[StoredEvent]:
    """Device events of the vehicle, by creation. Raises `UnknownOffset`."""
    place = None if span.after is None else _no_of(tx, vehicle_id, span.after)
    return [StoredEvent(*row) for row in _OF_VEHICLE.page(tx, span, place, vehicle_id)]


def _no_of(tx: ReadTx, vehicle_id: VehicleId, event_id: str) -> RowNo:
    """The row number of one of the vehicle's events: contained in our ids, looked up for a customer's."""
    row = device_event.c
    named = select(row.no).where(row.id == event_id, row.vehicle_id == vehicle_id)
    found = tx.one(named.where(row.no == ids.no_of(event_id)))
    found = found or tx.one(named.where(row.bus_key.is_not(None)).order_by(row.no).limit(1))
    if found is None:
        raise UnknownOffset.of_list()
    return RowNo(found.no)

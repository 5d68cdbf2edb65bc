"""Device events as they are read back: pages of a vehicle by key, newest first or oldest first.

The caller has asked before whether the vehicle is inside the scope (`vehicles.inside`).

Not here: writing them (`store/trips/batch_rows.py`), the newest of each attribute (`latest_values.py`).
"""

from collections.abc import Sequence
from functools import cache
from typing import Final

from sqlalchemy import bindparam, select

from tripline.domain import ids
from tripline.domain.ids import RowNo, VehicleId
from tripline.domain.stored_trips import StoredEvent
from tripline.store import lists
from tripline.store.erasure import erasures
from tripline.store.lists import Span, UnknownOffset
from tripline.store.tables import device_event
from tripline.store.transactions import Hot, ReadTx

_COLUMNS: Final = [
    erasures.mentioned(device_event.c[name]) if name in ("sensor_id", "user_id") else device_event.c[name]
    for name in StoredEvent.__struct_fields__
]
_IS_EVENT: Final = Hot(
    select(device_event.c.no).where(
        device_event.c.no == bindparam("no"),
        device_event.c.id == bindparam("id"),
        device_event.c.vehicle_id == bindparam("vehicle"),
    ),
    *("no", "id", "vehicle"),
)
_OF_CUSTOMER: Final = Hot(
    select(device_event.c.no)
    .where(
        device_event.c.bus_key.is_not(None),
        device_event.c.id == bindparam("id"),
        device_event.c.vehicle_id == bindparam("vehicle"),
    )
    .order_by(device_event.c.no)
    .limit(1),
    "id",
    "vehicle",
)


def of_vehicle(tx: ReadTx, vehicle_id: VehicleId, span: Span) -> Sequence[StoredEvent]:
    """Device events of the vehicle, by creation. Raises `UnknownOffset`."""
    bounds = lists.numbers(span, None if span.after is None else _no_of(tx, vehicle_id, span.after))
    return [StoredEvent(*row) for row in tx.hot(_page(span.ascending), vehicle_id, *bounds, span.limit)]


def _no_of(tx: ReadTx, vehicle_id: VehicleId, event_id: str) -> RowNo:
    """The row number of one of the vehicle's events: contained in our ids, looked up for a customer's."""
    no = ids.no_of(event_id)
    if tx.hot(_IS_EVENT, no, event_id, vehicle_id):
        return no
    named = tx.hot(_OF_CUSTOMER, event_id, vehicle_id)
    if not named:
        raise UnknownOffset.of_list()
    return RowNo(named[0][0])


@cache
def _page(ascending: bool) -> Hot:
    no = device_event.c.no
    statement = (
        select(*_COLUMNS)
        .where(device_event.c.vehicle_id == bindparam("vehicle"), no >= bindparam("first"), no < bindparam("end"))
        .order_by(no if ascending else no.desc())
        .limit(bindparam("limit"))
    )
    return Hot(statement, "vehicle", "first", "end", "limit")

"""Microtrips as they are read back: pages of a trip by key, and the newest of a sensor or vehicle.

The caller has asked before whether the trip or vehicle
is inside the scope (`trips.trip_inside`, `vehicles.inside`).
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, bindparam, select

from tripline.domain import bus, ids
from tripline.domain.access import Scope
from tripline.domain.ids import RowNo, SensorId, TripId, VehicleId
from tripline.domain.stored_trips import StoredMicrotrip
from tripline.store import lists, scopes
from tripline.store.lists import Span, UnknownOffset
from tripline.store.tables import microtrip, trip
from tripline.store.transactions import ReadTx
from tripline.store.trips.trips import IS_THERE, column


def of_trip(tx: ReadTx, trip_id: TripId, span: Span) -> Sequence[StoredMicrotrip]:
    """Microtrips of the trip, by creation. Raises `UnknownOffset`."""
    place = None if span.after is None else _no_of(tx, trip_id, span.after)
    return [StoredMicrotrip(*row) for row in _OF_TRIP.page(tx, span, place, trip_id)]


def latest_of_sensor(tx: ReadTx, scope: Scope, sensor_id: SensorId) -> StoredMicrotrip | None:
    """The newest microtrip of the sensor's newest trip that has one; None when that trip is outside the scope."""
    found = _microtrips(and_(scopes.trips(scope.reaches), IS_THERE)).where(trip.c.sensor_id == sensor_id)
    row = tx.one(found.order_by(trip.c.no.desc(), microtrip.c.no.desc()).limit(1), scopes.values(scope))
    return StoredMicrotrip(*row[:-1]) if row and row[-1] else None


def latest_of_vehicle(tx: ReadTx, vehicle_id: VehicleId) -> StoredMicrotrip | None:
    """The newest microtrip of the vehicle's newest trip that has one."""
    newest = trip.c.created_ms.desc(), trip.c.no.desc(), microtrip.c.no.desc()
    row = tx.one(_microtrips().where(trip.c.vehicle_id == vehicle_id).order_by(*newest).limit(1))
    return None if row is None else StoredMicrotrip(*row)


def _no_of(tx: ReadTx, trip_id: TripId, microtrip_id: str) -> RowNo:
    """The row number of one of the trip's microtrips: contained in our ids, looked up for a customer's."""
    named = select(microtrip.c.no).join(trip, trip.c.no == microtrip.c.trip_no)
    named = named.where(microtrip.c.id == microtrip_id, trip.c.id == trip_id)
    found = tx.one(named.where(microtrip.c.no == ids.no_of(microtrip_id)))
    found = found or tx.one(named.where(microtrip.c.bus_key == bus.record_key(trip_id, microtrip_id)).limit(1))
    if found is None:
        raise UnknownOffset.of_list()
    return RowNo(found.no)


_OF_MICROTRIP: Final = ("no", "id", "ts", "ty", "payload")
_MICROTRIP: Final = [
    *(microtrip.c[name] for name in _OF_MICROTRIP),
    trip.c.id.label("trip_id"),
    *(column(name) for name in StoredMicrotrip.__struct_fields__[len(_OF_MICROTRIP) + 1 :]),
]


def _microtrips(*more: ColumnElement[Any]) -> Select[Any]:
    return select(*_MICROTRIP, *more).join_from(trip, microtrip, microtrip.c.trip_no == trip.c.no)


_OF_TRIP: Final = lists.ByNumber(_microtrips().where(trip.c.id == bindparam("trip_id")), microtrip.c.no, "trip_id")


def samples(tx: ReadTx, vehicle_id: VehicleId, *, since_ms: int, limit: int) -> list[bytes]:
    """Samples of the vehicle's trips that opened since then, newest message first; of at most `limit` messages."""
    packed = select(microtrip.c.samples).join_from(trip, microtrip, microtrip.c.trip_no == trip.c.no)
    lately = packed.where(trip.c.vehicle_id == vehicle_id, trip.c.created_ms >= since_ms, IS_THERE)
    newest = lately.order_by(trip.c.created_ms.desc(), trip.c.no.desc(), microtrip.c.no.desc())
    return [row.samples for row in tx.all(newest.limit(limit))]

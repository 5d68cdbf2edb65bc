"""Microtrips as they are read back: pages of a trip by key, and the newest of a sensor or vehicle.

A page is one statement, compiled once for each of its shapes. The caller has asked before whether the trip or vehicle
is inside the scope (`trips.trip_inside`, `vehicles.inside`).

Not here: trips (`trips.py`), writing both (`batch_rows.py`).
"""

from collections.abc import Sequence
from functools import cache
from typing import Final

from sqlalchemy import and_, bindparam, select

from tripline.domain import bus, ids
from tripline.domain.access import Scope
from tripline.domain.ids import RowNo, SensorId, TripId, VehicleId
from tripline.domain.stored_trips import StoredMicrotrip
from tripline.store import lists, scopes
from tripline.store.lists import Span, UnknownOffset
from tripline.store.tables import microtrip, trip
from tripline.store.transactions import Hot, ReadTx
from tripline.store.trips.trips import IS_THERE, column


def of_trip(tx: ReadTx, trip_id: TripId, span: Span) -> Sequence[StoredMicrotrip]:
    """Microtrips of the trip, by creation. Raises `UnknownOffset`."""
    bounds = lists.numbers(span, None if span.after is None else _no_of(tx, trip_id, span.after))
    return [StoredMicrotrip(*row) for row in tx.hot(_page(span.ascending), trip_id, *bounds, span.limit)]


def latest_of_sensor(tx: ReadTx, scope: Scope, sensor_id: SensorId) -> StoredMicrotrip | None:
    """The newest microtrip of the sensor's newest trip that has one; None when that trip is outside the scope."""
    rows = tx.hot(_latest_of_sensor(scope.reaches), sensor_id, scope.user_id, scope.company_id)
    return StoredMicrotrip(*rows[0][:-1]) if rows and rows[0][-1] else None


def latest_of_vehicle(tx: ReadTx, vehicle_id: VehicleId) -> StoredMicrotrip | None:
    """The newest microtrip of the vehicle's newest trip that has one."""
    rows = tx.hot(_LATEST_OF_VEHICLE, vehicle_id)
    return StoredMicrotrip(*rows[0]) if rows else None


def _no_of(tx: ReadTx, trip_id: TripId, microtrip_id: str) -> RowNo:
    """The row number of one of the trip's microtrips: contained in our ids, looked up for a customer's."""
    no = ids.no_of(microtrip_id)
    if tx.hot(_IS_MICROTRIP, no, microtrip_id, trip_id):
        return no
    named = tx.hot(_OF_CUSTOMER, bus.record_key(trip_id, microtrip_id), microtrip_id, trip_id)
    if not named:
        raise UnknownOffset.of_list()
    return RowNo(named[0][0])


_OF_MICROTRIP: Final = ("no", "id", "ts", "ty", "payload")
_MICROTRIP: Final = [
    *(microtrip.c[name] for name in _OF_MICROTRIP),
    trip.c.id.label("trip_id"),
    *(column(name) for name in StoredMicrotrip.__struct_fields__[len(_OF_MICROTRIP) + 1 :]),
]
_JOINED: Final = trip.join(microtrip, microtrip.c.trip_no == trip.c.no)

_IS_MICROTRIP: Final = Hot(
    select(microtrip.c.no)
    .select_from(_JOINED)
    .where(microtrip.c.no == bindparam("no"), microtrip.c.id == bindparam("id"), trip.c.id == bindparam("trip")),
    "no",
    "id",
    "trip",
)
_OF_CUSTOMER: Final = Hot(
    select(microtrip.c.no)
    .select_from(_JOINED)
    .where(microtrip.c.bus_key == bindparam("key"), microtrip.c.id == bindparam("id"), trip.c.id == bindparam("trip"))
    .limit(1),
    *("key", "id", "trip"),
)
_LATEST_OF_VEHICLE: Final = Hot(
    select(*_MICROTRIP)
    .select_from(_JOINED)
    .where(trip.c.vehicle_id == bindparam("vehicle"))
    .order_by(trip.c.created_ms.desc(), trip.c.no.desc(), microtrip.c.no.desc())
    .limit(1),
    "vehicle",
)


@cache
def _latest_of_sensor(reaches: scopes.Reaches) -> Hot:
    statement = (
        select(*_MICROTRIP, and_(scopes.trips(reaches), IS_THERE))
        .select_from(_JOINED)
        .where(trip.c.sensor_id == bindparam("sensor"))
        .order_by(trip.c.no.desc(), microtrip.c.no.desc())
        .limit(1)
    )
    return Hot(statement, "sensor", scopes.USER, scopes.COMPANY)


@cache
def _page(ascending: bool) -> Hot:
    order = microtrip.c.no if ascending else microtrip.c.no.desc()
    statement = (
        select(*_MICROTRIP)
        .select_from(_JOINED)
        .where(trip.c.id == bindparam("trip"), microtrip.c.no >= bindparam("first"), microtrip.c.no < bindparam("end"))
        .order_by(order)
        .limit(bindparam("limit"))
    )
    return Hot(statement, "trip", "first", "end", "limit")


def samples(tx: ReadTx, vehicle_id: VehicleId, *, since_ms: int, limit: int) -> list[bytes]:
    """Samples of the vehicle's trips that opened since then, newest message first; of at most `limit` messages."""
    return [row[0] for row in tx.hot(_SAMPLES, vehicle_id, since_ms, limit)]


_SAMPLES: Final = Hot(
    select(microtrip.c.samples)
    .join_from(trip, microtrip, microtrip.c.trip_no == trip.c.no)
    .where(trip.c.vehicle_id == bindparam("of_vehicle"), trip.c.created_ms >= bindparam("since_ms"), IS_THERE)
    .order_by(trip.c.created_ms.desc(), trip.c.no.desc(), microtrip.c.no.desc())
    .limit(bindparam("most")),
    "of_vehicle",
    "since_ms",
    "most",
)

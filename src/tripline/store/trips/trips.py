"""Trips as they are read back: pages by key, newest first or oldest first, and counts up to a bound.

The caller has asked before whether the vehicle or person is inside the scope (`vehicles.inside`, `accounts.inside`).
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, bindparam, func, literal_column, or_, select

from tripline.domain.ids import SensorId, TripId, UserId, VehicleId
from tripline.domain.stored_trips import JudgedTrip, StoredTrip
from tripline.domain.trips import State
from tripline.store import lists, scopes
from tripline.store.erasure import erasures
from tripline.store.lists import Span
from tripline.store.tables import trip
from tripline.store.transactions import Hot, ReadTx

COUNTED_MAX: Final = 10_000
"""Counting these takes 1 ms."""


def trips_of_vehicle(tx: ReadTx, vehicle_id: VehicleId, span: Span) -> Sequence[StoredTrip]:
    """Trips of the vehicle, by creation. Raises `UnknownOffset`."""
    return [StoredTrip(*row) for row in _OF_VEHICLE.page(tx, span, vehicle_id)]


def trips_of_person(tx: ReadTx, user_id: UserId, span: Span) -> Sequence[StoredTrip]:
    """Trips that the person drove on vehicles that still exist, by creation. Raises `UnknownOffset`."""
    return [StoredTrip(*row) for row in _OF_PERSON.page(tx, span, user_id)]


def trip_of(tx: ReadTx, trip_id: TripId) -> JudgedTrip:
    """The trip, which `trip_inside` has found."""
    return JudgedTrip(*tx.hot(_JUDGED, trip_id)[0])


def column(name: str) -> ColumnElement[Any]:
    """The column of a trip, without the id of a sensor or person that was deleted since."""
    return erasures.mentioned(trip.c[name]) if name in ("sensor_id", "user_id") else trip.c[name]


_TRIP: Final = [column(name) for name in StoredTrip.__struct_fields__]
IS_THERE: Final = and_(
    erasures.kept(trip.c.vehicle_id), or_(trip.c.vehicle_id.is_not(None), erasures.kept(trip.c.sensor_id))
)
"""Condition for a trip whose vehicle, or sensor if it has no vehicle, is not waiting to be erased."""
_JUDGED: Final = Hot(select(*_TRIP, trip.c.quality).where(trip.c.id == bindparam("id")), "id")
_OF_VEHICLE: Final = lists.ByCreation(
    select(*_TRIP), trip, trip.c.vehicle_id == bindparam("vehicle_id"), key="no", names=["vehicle_id"]
)
_OF_PERSON: Final = lists.ByCreation(
    *(select(*_TRIP), trip, trip.c.user_id == bindparam("user_id"), erasures.kept(trip.c.vehicle_id)),
    key="no",
    names=["user_id"],
)
trip_inside: Final = scopes.Inside(trip.c.id, scopes.trips, IS_THERE)


def count_of_vehicle(tx: ReadTx, vehicle_id: VehicleId) -> int:
    """How many the vehicle drove, `COUNTED_MAX` for more."""
    return tx.number(_COUNT_OF_VEHICLE, vehicle_id)


def count_of_sensor(tx: ReadTx, sensor_id: SensorId) -> int:
    """How many the sensor sent, `COUNTED_MAX` for more."""
    return tx.number(_COUNT_OF_SENSOR, sensor_id)


def count_open_of_sensor(tx: ReadTx, sensor_id: SensorId) -> int:
    """Count the open trips that the sensor sent on a vehicle."""
    return tx.number(_COUNT_OPEN, sensor_id)


def count_of_person(tx: ReadTx, user_id: UserId) -> int:
    """How many the person drove, `COUNTED_MAX` for more."""
    return tx.number(_COUNT_OF_PERSON, user_id)


def _counting(column: ColumnElement[str], *more: ColumnElement[bool]) -> Hot:
    some = select(trip.c.no).where(column == bindparam("of"), *more).limit(literal_column(str(COUNTED_MAX)))
    return Hot(select(func.count()).select_from(some.subquery()), "of")


_COUNT_OF_VEHICLE: Final = _counting(trip.c.vehicle_id)
_COUNT_OF_SENSOR: Final = _counting(trip.c.sensor_id)
_COUNT_OF_PERSON: Final = _counting(trip.c.user_id)
_COUNT_OPEN: Final = _counting(
    trip.c.sensor_id,
    # By `ix_trip_ended`: an open trip is one that was never closed.
    trip.c.closed_ms.is_(None),
    trip.c.state == State.OPEN.value,
    trip.c.vehicle_id.is_not(None),
    erasures.kept(trip.c.vehicle_id),
)

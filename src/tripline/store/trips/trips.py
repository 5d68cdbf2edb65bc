"""Trips as they are read back: pages by key, newest first or oldest first, and counts up to a bound.

A page of a vehicle's or person's trips is one statement, compiled once for each of its shapes. The caller has asked
before whether the vehicle or person is inside the scope (`vehicles.inside`, `accounts.inside`).

Not here: microtrips (`microtrips.py`), writing both (`batch_rows.py`), who may see which trip (`domain/access.py`).
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, Select, and_, bindparam, func, or_, select, tuple_

from tripline.domain.ids import SensorId, TripId, UserId, VehicleId
from tripline.domain.stored_trips import JudgedTrip, StoredTrip
from tripline.domain.trips import State
from tripline.store import scopes
from tripline.store.erasure import erasures
from tripline.store.lists import Span, UnknownOffset
from tripline.store.tables import trip
from tripline.store.transactions import Hot, ReadTx

COUNTED_MAX: Final = 10_000
"""Counting these takes 1 ms."""


def trips_of_vehicle(tx: ReadTx, vehicle_id: VehicleId, span: Span) -> Sequence[StoredTrip]:
    """Trips of the vehicle, by creation. Raises `UnknownOffset`."""
    return _trips(tx, _OF_VEHICLE, vehicle_id, span)


def trips_of_person(tx: ReadTx, user_id: UserId, span: Span) -> Sequence[StoredTrip]:
    """Trips that the person drove, by creation. Raises `UnknownOffset`."""
    return _trips(tx, _OF_PERSON, user_id, span)


def trip_of(tx: ReadTx, trip_id: TripId) -> JudgedTrip:
    """The trip, which `trip_inside` has found."""
    return JudgedTrip(*tx.hot(_ONE_TRIP, trip_id)[0])


_OF_VEHICLE: Final = "vehicle_id"
_OF_PERSON: Final = "user_id"


def column(name: str) -> ColumnElement[Any]:
    """The column of a trip, without the id of a sensor or person that was deleted since."""
    return erasures.mentioned(trip.c[name]) if name in ("sensor_id", "user_id") else trip.c[name]


_TRIP: Final = [column(name) for name in StoredTrip.__struct_fields__]
IS_THERE: Final = and_(
    erasures.kept(trip.c.vehicle_id), or_(trip.c.vehicle_id.is_not(None), erasures.kept(trip.c.sensor_id))
)
"""Condition for a trip whose vehicle, or sensor if it has no vehicle, is not waiting to be erased."""
trip_inside: Final = scopes.Inside(trip.c.id, scopes.trips, IS_THERE)
_ONE_TRIP: Final = Hot(select(*_TRIP, trip.c.quality).where(trip.c.id == bindparam("id")), "id")


def _trips(tx: ReadTx, owner: str, owner_id: str, span: Span) -> Sequence[StoredTrip]:
    place: tuple[int, ...] = (0, 0)
    if span.after is not None:
        found = tx.hot(_trip_place(owner), span.after, owner_id)
        if not found:
            raise UnknownOffset.of_list()
        place = found[0]
    statement = _trip_page(owner, span.ascending, span.after is not None)
    rows = tx.hot(statement, owner_id, span.first_ms, span.last_ms, *place, span.limit)
    return [StoredTrip(*row) for row in rows]


@cache
def _trip_place(owner: str) -> Hot:
    statement = _of_owner(select(trip.c.created_ms, trip.c.no), owner).where(trip.c.id == bindparam("id"))
    return Hot(statement, "id", "owner")


@cache
def _trip_page(owner: str, ascending: bool, continued: bool) -> Hot:
    statement = _of_owner(select(*_TRIP), owner).where(
        trip.c.created_ms >= bindparam("first_ms"), trip.c.created_ms <= bindparam("last_ms")
    )
    if continued:
        here, place = tuple_(trip.c.created_ms, trip.c.no), tuple_(bindparam("after_ms"), bindparam("after_no"))
        statement = statement.where(here > place if ascending else here < place)
    order = (trip.c.created_ms, trip.c.no) if ascending else (trip.c.created_ms.desc(), trip.c.no.desc())
    return Hot(
        statement.order_by(*order).limit(bindparam("limit")),
        "owner",
        "first_ms",
        "last_ms",
        "after_ms",
        "after_no",
        "limit",
    )


def _of_owner(statement: Select[Any], owner: str) -> Select[Any]:
    """Trips whose column `owner` equals the parameter, excluding trips of deleted vehicles."""
    found = statement.where(trip.c[owner] == bindparam("owner"))
    return found if owner == _OF_VEHICLE else found.where(erasures.kept(trip.c.vehicle_id))


def count_of_vehicle(tx: ReadTx, vehicle_id: VehicleId) -> int:
    """How many the vehicle drove, `MAX` for more."""
    return _count(tx, _COUNT_OF_VEHICLE, vehicle_id)


def count_of_sensor(tx: ReadTx, sensor_id: SensorId) -> int:
    """How many the sensor sent, `MAX` for more."""
    return _count(tx, _OF_SENSOR, sensor_id)


def count_open_of_sensor(tx: ReadTx, sensor_id: SensorId) -> int:
    """Count the open trips that the sensor sent on a vehicle."""
    return tx.number(_OPEN_OF_SENSOR, sensor_id)


def count_of_person(tx: ReadTx, user_id: UserId) -> int:
    """How many the person drove, `MAX` for more."""
    return _count(tx, _COUNT_OF_PERSON, user_id)


def _counting(owner: Column[str]) -> Hot:
    some = select(trip.c.no).where(owner == bindparam("owner")).limit(bindparam("most")).subquery()
    return Hot(select(func.count()).select_from(some), "owner", "most")


_COUNT_OF_VEHICLE: Final = _counting(trip.c.vehicle_id)
_OF_SENSOR: Final = _counting(trip.c.sensor_id)
_COUNT_OF_PERSON: Final = _counting(trip.c.user_id)
_OPEN_OF_SENSOR: Final = Hot(
    # By `ix_trip_ended`: an open trip is one that was never closed.
    select(func.count())
    .select_from(trip)
    .where(
        trip.c.sensor_id == bindparam("owner"),
        trip.c.closed_ms.is_(None),
        trip.c.state == State.OPEN.value,
        trip.c.vehicle_id.is_not(None),
        erasures.kept(trip.c.vehicle_id),
    ),
    "owner",
)


def _count(tx: ReadTx, statement: Hot, owner: str) -> int:
    return tx.number(statement, owner, COUNTED_MAX)

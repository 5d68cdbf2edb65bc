"""Trips and microtrips as they are read back: pages by key, newest first or oldest first.

A page of a vehicle's or person's trips or of a trip's microtrips is one statement, compiled once for each of its
shapes. The caller has asked before whether the vehicle, person or trip is inside the scope (`vehicles.inside`,
`accounts.inside`, `trip_inside`).

Not here: writing them (`store/driving.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, bindparam, or_, select, tuple_

from tripline.domain import bus, ids
from tripline.domain.access import Scope
from tripline.domain.ids import RowNo, SensorId, TripId, UserId, VehicleId
from tripline.domain.journeys import StoredMicrotrip, StoredTrip
from tripline.store import erasures, scopes
from tripline.store.listing import UnknownOffset
from tripline.store.tables import microtrip, trip
from tripline.store.transactions import Hot, ReadTx

_EVER_MS: Final = 253_402_300_800_000
"""The year 10000: later than any instant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Which part of a time-ordered list is asked for: `limit` rows, created within the bounds (inclusive)."""

    limit: int
    ascending: bool = False
    start_ms: int | None = None
    end_ms: int | None = None
    after: str | None = None
    """Id of the last row of the page before; the page starts behind it."""

    @property
    def first_ms(self) -> int:
        """The lower bound, or one before everything."""
        return 0 if self.start_ms is None else max(self.start_ms, 0)

    @property
    def last_ms(self) -> int:
        """The upper bound, or one after everything."""
        return _EVER_MS if self.end_ms is None else min(max(self.end_ms, -1), _EVER_MS)


def trip_inside(tx: ReadTx, scope: Scope, trip_id: TripId) -> bool | None:
    """Whether the trip is inside the scope, or None when there is none with this id."""
    rows = tx.hot(_trip_inside(scope.reaches), trip_id, scope.user_id, scope.company_id)
    return bool(rows[0][0]) if rows else None


def trips_of_vehicle(tx: ReadTx, vehicle_id: VehicleId, span: Span) -> Sequence[StoredTrip]:
    """Trips of the vehicle, by creation. Raises `UnknownOffset`."""
    return _trips(tx, _OF_VEHICLE, vehicle_id, span)


def trips_of_person(tx: ReadTx, user_id: UserId, span: Span) -> Sequence[StoredTrip]:
    """Trips that the person drove, by creation. Raises `UnknownOffset`."""
    return _trips(tx, _OF_PERSON, user_id, span)


def microtrips_of_trip(tx: ReadTx, trip_id: TripId, span: Span) -> Sequence[StoredMicrotrip]:
    """Microtrips of the trip, by creation. Raises `UnknownOffset`."""
    place = None if span.after is None else _microtrip_no(tx, trip_id, span.after)
    first, end = ids.first_no(span.first_ms), ids.first_no(span.last_ms + 1)
    if place is not None and span.ascending:
        first = max(first, ids.RowNo(place + 1))
    elif place is not None:
        end = min(end, place)
    rows = tx.hot(_microtrip_page(span.ascending), trip_id, first, end, span.limit)
    return [StoredMicrotrip(*row) for row in rows]


def _microtrip_no(tx: ReadTx, trip_id: TripId, microtrip_id: str) -> RowNo:
    """The row number of one of the trip's microtrips: it is in an id of ours; a customer's is looked up."""
    no = ids.no_of(microtrip_id)
    if tx.hot(_IS_MICROTRIP, no, microtrip_id, trip_id):
        return no
    named = tx.hot(_OF_CUSTOMER, bus.record_key(trip_id, microtrip_id), microtrip_id, trip_id)
    if not named:
        raise UnknownOffset.of_list()
    return RowNo(named[0][0])


def trip_of(tx: ReadTx, trip_id: TripId) -> StoredTrip:
    """The trip, which `trip_inside` has found."""
    return StoredTrip(*tx.hot(_ONE_TRIP, trip_id)[0])


def latest_microtrip_of_sensor(tx: ReadTx, scope: Scope, sensor_id: SensorId) -> StoredMicrotrip | None:
    """The newest microtrip of the sensor's newest trip that has one; None when that trip is outside the scope."""
    rows = tx.hot(_latest_of_sensor(scope.reaches), sensor_id, scope.user_id, scope.company_id)
    return StoredMicrotrip(*rows[0][:-1]) if rows and rows[0][-1] else None


def latest_microtrip(tx: ReadTx, vehicle_id: VehicleId) -> StoredMicrotrip | None:
    """The newest microtrip of the vehicle's newest trip that has one."""
    rows = tx.hot(_LATEST_MICROTRIP, vehicle_id)
    return StoredMicrotrip(*rows[0]) if rows else None


_OF_VEHICLE: Final = "vehicle_id"
_OF_PERSON: Final = "user_id"


def _column(name: str) -> ColumnElement[Any]:
    return erasures.mentioned(trip.c[name]) if name in ("sensor_id", "user_id") else trip.c[name]


_TRIP: Final = [_column(field.name) for field in fields(StoredTrip)]
_OF_MICROTRIP: Final = ("no", "id", "ts", "ty", "payload")
_MICROTRIP: Final = [
    *(microtrip.c[name] for name in _OF_MICROTRIP),
    trip.c.id.label("trip_id"),
    *(_column(field.name) for field in fields(StoredMicrotrip)[len(_OF_MICROTRIP) + 1 :]),
]
_IS_THERE: Final = and_(
    erasures.kept(trip.c.vehicle_id), or_(trip.c.vehicle_id.is_not(None), erasures.kept(trip.c.sensor_id))
)
"""Whether a trip was not left behind by its deleted vehicle, or when it has none by its deleted sensor."""
_JOINED: Final = trip.join(microtrip, microtrip.c.trip_no == trip.c.no)

_IS_MICROTRIP: Final = Hot(
    select(microtrip.c.no)
    .select_from(_JOINED)
    .where(
        microtrip.c.no == bindparam("no"),
        microtrip.c.id == bindparam("id"),
        trip.c.id == bindparam("trip"),
    ),
    "no",
    "id",
    "trip",
)
_OF_CUSTOMER: Final = Hot(
    select(microtrip.c.no)
    .select_from(_JOINED)
    .where(
        microtrip.c.bus_key == bindparam("key"),
        microtrip.c.id == bindparam("id"),
        trip.c.id == bindparam("trip"),
    )
    .limit(1),
    *("key", "id", "trip"),
)
_LATEST_MICROTRIP: Final = Hot(
    select(*_MICROTRIP)
    .select_from(_JOINED)
    .where(trip.c.vehicle_id == bindparam("vehicle"))
    .order_by(trip.c.created_ms.desc(), trip.c.no.desc(), microtrip.c.no.desc())
    .limit(1),
    "vehicle",
)


_ONE_TRIP: Final = Hot(select(*_TRIP).where(trip.c.id == bindparam("id")), "id")


@cache
def _latest_of_sensor(reaches: scopes.Reaches) -> Hot:
    statement = (
        select(*_MICROTRIP, and_(scopes.trips(reaches), _IS_THERE))
        .select_from(_JOINED)
        .where(trip.c.sensor_id == bindparam("sensor"))
        .order_by(trip.c.no.desc(), microtrip.c.no.desc())
        .limit(1)
    )
    return Hot(statement, "sensor", scopes.USER, scopes.COMPANY)


@cache
def _trip_inside(reaches: scopes.Reaches) -> Hot:
    statement = select(scopes.trips(reaches)).where(trip.c.id == bindparam("id"), _IS_THERE)
    return Hot(statement, "id", scopes.USER, scopes.COMPANY)


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
    """Trips whose column `owner` names the one that is asked for, without those of deleted vehicles."""
    found = statement.where(trip.c[owner] == bindparam("owner"))
    return found if owner == _OF_VEHICLE else found.where(erasures.kept(trip.c.vehicle_id))


@cache
def _microtrip_page(ascending: bool) -> Hot:
    order = microtrip.c.no if ascending else microtrip.c.no.desc()
    statement = (
        select(*_MICROTRIP)
        .select_from(_JOINED)
        .where(
            trip.c.id == bindparam("trip"),
            microtrip.c.no >= bindparam("first"),
            microtrip.c.no < bindparam("end"),
        )
        .order_by(order)
        .limit(bindparam("limit"))
    )
    return Hot(statement, "trip", "first", "end", "limit")

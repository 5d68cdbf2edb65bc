"""Analytics: scores and GPS events of vehicles and drivers, one trip's score, a vehicle's accumulated score.

Paths carry the version of their family (interface specification, Versioning). A page is answered on the event loop:
its statement walks an index and takes less than a thread hop; only very long pages go to a reader thread.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeVar

from litestar import get
from litestar.types import ASGIApp

from tripline.api import answers, guards, pages, parameters
from tripline.api.rim import Call, rim_of
from tripline.domain import access
from tripline.domain.access import Action, Scope
from tripline.services import analytics as reading
from tripline.store import analytics
from tripline.store.analytics import Owner
from tripline.store.journeys import Span
from tripline.store.transactions import ReadTx
from tripline.wire.rest import Id, Page, id_or_unset
from tripline.wire.rest_analytics import AccumulatedScore, DrivingScore, GpsEvent, number

T = TypeVar("T")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

INLINE_MAX: Final = 100
"""Longest page that is read on the event loop."""


class _Read(Protocol[R_co]):
    """Reads the rows of a page."""

    def __call__(self, tx: ReadTx, owner: Owner, owner_id: str, span: Span, /) -> Sequence[R_co]: ...


@get("/api/tre/v1_3/vehicle/{vehicleId:str}/analytics/drivingScore")
async def vehicle_scores(request: Call) -> ASGIApp:
    """Page of the vehicle's scores."""
    vehicle_id = await _admitted(request, "vehicleId", _to_vehicle)
    return answers.ok(await _page(request, Owner.VEHICLE, vehicle_id, analytics.scores, _score))


@get("/api/tre/v1_2/driver/{driverId:str}/analytics/drivingScore")
async def driver_scores(request: Call) -> ASGIApp:
    """Page of the scores of trips that the person drove."""
    user_id = await _admitted(request, "driverId", _to_driver)
    return answers.ok(await _page(request, Owner.DRIVER, user_id, analytics.scores, _score))


@get("/api/tre/v1_3/vehicle/{vehicleId:str}/analytics/gpsEvent")
async def vehicle_events(request: Call) -> ASGIApp:
    """Page of the vehicle's GPS events."""
    vehicle_id = await _admitted(request, "vehicleId", _to_vehicle)
    return answers.ok(await _page(request, Owner.VEHICLE, vehicle_id, analytics.events, _event))


@get("/api/tre/v1_2/driver/{driverId:str}/analytics/gpsEvent")
async def driver_events(request: Call) -> ASGIApp:
    """Page of the GPS events of trips that the person drove."""
    user_id = await _admitted(request, "driverId", _to_driver)
    return answers.ok(await _page(request, Owner.DRIVER, user_id, analytics.events, _event))


@get("/api/tre/v1_3/vehicle/{vehicleId:str}/analytics/drivingScore/stat")
async def vehicle_stat(request: Call) -> ASGIApp:
    """The vehicle's accumulated score."""
    total = await _admitted(request, "vehicleId", _total)
    return answers.ok(
        AccumulatedScore(
            Id(total.vehicle_id),
            total.created_ms,
            id_or_unset(total.user_id),
            total.trips,
            total.score,
            number(total.distance_m),
        )
    )


@get("/api/tre/v1_3/trip/{tripId:str}/analytics/drivingScore")
async def trip_score(request: Call) -> ASGIApp:
    """The trip's score."""
    return answers.ok(_score(await _admitted(request, "tripId", _trip)))


def _to_vehicle(tx: ReadTx, scope: Scope, vehicle_id: str) -> str:
    reading.admit_to_vehicle(tx, scope=scope, vehicle_id=vehicle_id)
    return vehicle_id


def _to_driver(tx: ReadTx, scope: Scope, user_id: str) -> str:
    reading.admit_to_driver(tx, scope=scope, user_id=user_id)
    return user_id


def _total(tx: ReadTx, scope: Scope, vehicle_id: str) -> analytics.Total:
    return reading.vehicle_total(tx, scope=scope, vehicle_id=vehicle_id)


def _trip(tx: ReadTx, scope: Scope, trip_id: str) -> analytics.Score:
    return reading.trip_score(tx, scope=scope, trip_id=trip_id)


async def _admitted(request: Call, name: str, admit: Callable[[ReadTx, Scope, str], T]) -> T:
    """What `admit` gives for the id in the path, after token and role; refusals in the order of client-surface 3.3."""
    rim = rim_of(request)

    def work(tx: ReadTx) -> T:
        scope = access.scope_of(guards.actor_in(tx, rim, request), Action.DRIVING_READ)
        return admit(tx, scope, parameters.path_id(request, name))

    return await rim.store.read_short(work)


async def _page(request: Call, owner: Owner, owner_id: str, read: _Read[R], record: Callable[[R], Any]) -> Page:
    page = pages.time_page(request)
    span = Span(
        limit=page.limit + 1,
        ascending=page.ascending,
        start_ms=page.start_ms,
        end_ms=page.end_ms,
        after=page.after_id,
    )
    store = rim_of(request).store
    reader = store.read_short if page.limit <= INLINE_MAX else store.read
    rows = await reader(lambda tx: read(tx, owner, owner_id, span))
    return pages.time_answer(page, rows, record=record, id_of=_first_field)


def _first_field(row: Any) -> str:
    """The id of a score or an event."""
    known: str = row[0]
    return known


def _score(row: analytics.Score) -> DrivingScore:
    trip_id, created_ms, vehicle_id, user_id, score, accel, de_accel, distance_m, over_speed = row
    return DrivingScore(
        Id(trip_id),
        created_ms,
        Id(vehicle_id),
        id_or_unset(user_id),
        score,
        accel,
        de_accel,
        number(distance_m),
        over_speed,
    )


def _event(row: analytics.Event) -> GpsEvent:
    return GpsEvent(
        Id(row.id),
        row.created_ms,
        Id(row.vehicle_id),
        Id(row.trip_id),
        row.event_ms,
        row.event_type,
        row.info,
        row.device_type,
        None,
        number(row.speed_mh),
        id_or_unset(row.user_id),
        row.lat,
        row.lon,
    )


handlers: Final[list[Any]] = [vehicle_scores, driver_scores, vehicle_events, driver_events, vehicle_stat, trip_score]

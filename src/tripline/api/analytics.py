"""Analytics: scores and GPS events of vehicles and drivers, one trip's score, a vehicle's accumulated score.

Paths carry the version of their family (interface specification, Versioning).
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeVar

from litestar.types import ASGIApp
from msgspec import UNSET

from tripline.api import answers, guards, pages, parameters, reading
from tripline.api.operations import PageOf, operation
from tripline.api.rim import Call, rim_of
from tripline.domain.access import Action, Actor
from tripline.services import analytics as service
from tripline.store import analytics
from tripline.store.analytics import By, Owner
from tripline.store.journeys import Span
from tripline.store.transactions import ReadTx
from tripline.wire.rest import Id, Page, id_or_unset
from tripline.wire.rest_analytics import AccumulatedScore, DrivingScore, GpsEvent, number

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class _Find(Protocol[R_co]):
    """Finds what belongs to a vehicle or trip."""

    def __call__(self, tx: ReadTx, /, *, actor: Actor, of: str) -> R_co: ...


class _Read(Protocol[R_co]):
    """Reads the rows of a page."""

    def __call__(self, tx: ReadTx, owner: Owner, owner_id: str, span: Span, by: By, /) -> Sequence[R_co]: ...


_OWNERS: Final[dict[Owner, tuple[str, _Find[None]]]] = {
    Owner.VEHICLE: ("vehicleId", service.admit_to_vehicle),
    Owner.DRIVER: ("driverId", service.admit_to_driver),
}
"""The name of an owner's id in the path, and who lets pass."""


@operation(
    "GET",
    "/api/tre/v1_3/vehicle/{vehicleId}/analytics/drivingScore",
    access=Action.DRIVING_READ,
    answer=PageOf(record=DrivingScore, timed=True),
    query=(*pages.TIME_PAGE, pages.BY),
)
async def vehicle_scores(request: Call) -> ASGIApp:
    """Page of the vehicle's scores."""
    return answers.ok(await _page(request, Owner.VEHICLE, analytics.scores, _score))


@operation(
    "GET",
    "/api/tre/v1_2/driver/{driverId}/analytics/drivingScore",
    access=Action.DRIVING_READ,
    answer=PageOf(record=DrivingScore, timed=True),
    query=(*pages.TIME_PAGE, pages.BY),
)
async def driver_scores(request: Call) -> ASGIApp:
    """Page of the scores of trips that the person drove."""
    return answers.ok(await _page(request, Owner.DRIVER, analytics.scores, _score))


@operation(
    "GET",
    "/api/tre/v1_3/vehicle/{vehicleId}/analytics/gpsEvent",
    access=Action.DRIVING_READ,
    answer=PageOf(record=GpsEvent, timed=True),
    query=(*pages.TIME_PAGE, pages.BY),
)
async def vehicle_events(request: Call) -> ASGIApp:
    """Page of the vehicle's GPS events."""
    return answers.ok(await _page(request, Owner.VEHICLE, analytics.events, _event))


@operation(
    "GET",
    "/api/tre/v1_2/driver/{driverId}/analytics/gpsEvent",
    access=Action.DRIVING_READ,
    answer=PageOf(record=GpsEvent, timed=True),
    query=(*pages.TIME_PAGE, pages.BY),
)
async def driver_events(request: Call) -> ASGIApp:
    """Page of the GPS events of trips that the person drove."""
    return answers.ok(await _page(request, Owner.DRIVER, analytics.events, _event))


@operation(
    "GET",
    "/api/tre/v1_3/vehicle/{vehicleId}/analytics/drivingScore/stat",
    access=Action.DRIVING_READ,
    answer=AccumulatedScore,
)
async def vehicle_stat(request: Call) -> ASGIApp:
    """The vehicle's accumulated score."""
    total = await _one(request, "vehicleId", service.vehicle_total)
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


@operation(
    "GET",
    "/api/tre/v1_3/trip/{tripId}/analytics/drivingScore",
    access=Action.DRIVING_READ,
    answer=DrivingScore,
    refuses=(service.NoScoreYet,),
)
async def trip_score(request: Call) -> ASGIApp:
    """The trip's score."""
    return answers.ok(_score(await _one(request, "tripId", service.trip_score)))


async def _one(request: Call, name: str, find: _Find[R_co]) -> R_co:
    """What belongs to the id in the path; refusals in the order of client-surface 3.3."""

    def work(tx: ReadTx) -> R_co:
        actor = guards.permitted_in(tx, request)
        return find(tx, actor=actor, of=parameters.path_id(request, name))

    return await rim_of(request).store.read_short(work)


async def _page(request: Call, owner: Owner, read: _Read[R], record: Callable[[R], Any]) -> Page:
    """The page of the owner in the path; refusals in the order of client-surface 3.3."""
    name, admit = _OWNERS[owner]

    def work(tx: ReadTx) -> Page:
        actor = guards.permitted_in(tx, request)
        owner_id = parameters.path_id(request, name)
        admit(tx, actor=actor, of=owner_id)
        by_event = pages.by_event(request)
        by = By.EVENT if by_event else By.ANALYSIS
        return reading.by_time(
            request,
            lambda span: read(tx, owner, owner_id, span, by),
            record=record,
            id_of=_first_field,
            by=pages.BY_EVENT if by_event else UNSET,
        )

    return await (reading.of_person if owner is Owner.DRIVER else reading.page)(request, work)


def _first_field(row: Any) -> str:
    """The id of a score or an event."""
    known: str = row[0]
    return known


def _score(row: analytics.ScoreRow) -> DrivingScore:
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

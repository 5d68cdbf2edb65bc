"""Analytics: scores and GPS events of vehicles and drivers, one trip's score, a vehicle's accumulated score.

Paths carry the version of their family (spec/interface, Versioning).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import msgspec
from litestar.types import ASGIApp
from msgspec import UNSET, UnsetType

from tripline.domain import access
from tripline.domain.access import Action, Actor, Thing
from tripline.http import answers, pages, parameters, permission, reads
from tripline.http.context import Call
from tripline.http.operations import operation
from tripline.services import admission
from tripline.services.scores import reads as service
from tripline.store.accounts.accounts import Known
from tripline.store.lists import Span
from tripline.store.scores import reads as score_reads
from tripline.store.scores.reads import By, Owner, Row, WholePage
from tripline.store.transactions import ReadTx
from tripline.wire.rest.base import Id, Page, id_or_unset
from tripline.wire.rest.scores import AccumulatedScore, DrivingScore, GpsEvent, number


class _Kind(msgspec.Struct, frozen=True):
    """How to read pages of one kind of record."""

    read: Callable[[ReadTx, Owner, str, Span, By], Sequence[Row]]
    whole: Callable[..., WholePage]
    """Builds the statement that reads the rows of a page."""
    record: Callable[[Row], Any]


_OWNERS: Final = {Owner.VEHICLE: ("vehicleId", Thing.VEHICLE), Owner.DRIVER: ("driverId", Thing.DRIVER)}
"""The name of an owner's id in the path, and its kind."""

_scored: Final = partial(
    operation, "GET", access=Action.DRIVING_READ, answer=pages.timed(DrivingScore), query=(pages.BY,)
)


@_scored("/api/tre/v1_3/vehicle/{vehicleId}/analytics/drivingScore")
async def vehicle_scores(request: Call) -> ASGIApp:
    """Page of the vehicle's scores."""
    return answers.ok(await _page(request, Owner.VEHICLE, _SCORES))


@_scored("/api/tre/v1_2/driver/{driverId}/analytics/drivingScore")
async def driver_scores(request: Call) -> ASGIApp:
    """Page of the scores of trips that the person drove."""
    return answers.ok(await _page(request, Owner.DRIVER, _SCORES))


_reported: Final = partial(
    operation, "GET", access=Action.DRIVING_READ, answer=pages.timed(GpsEvent), query=(pages.BY,)
)


@_reported("/api/tre/v1_3/vehicle/{vehicleId}/analytics/gpsEvent")
async def vehicle_events(request: Call) -> ASGIApp:
    """Page of the vehicle's GPS events."""
    return answers.ok(await _page(request, Owner.VEHICLE, _EVENTS))


@_reported("/api/tre/v1_2/driver/{driverId}/analytics/gpsEvent")
async def driver_events(request: Call) -> ASGIApp:
    """Page of the GPS events of trips that the person drove."""
    return answers.ok(await _page(request, Owner.DRIVER, _EVENTS))


@operation(
    "GET",
    "/api/tre/v1_3/vehicle/{vehicleId}/analytics/drivingScore/stat",
    access=Action.DRIVING_READ,
    answer=AccumulatedScore,
)
async def vehicle_stat(request: Call) -> ASGIApp:
    """The vehicle's accumulated score."""

    def work(tx: ReadTx, actor: Actor) -> AccumulatedScore:
        total = service.vehicle_total(tx, actor=actor, of=parameters.path_id(request, "vehicleId"))
        driver, distance_m = id_or_unset(total.user_id), number(total.distance_m)
        return AccumulatedScore(Id(total.vehicle_id), total.created_ms, driver, total.trips, total.score, distance_m)

    return await reads.one(request, work)


@operation(
    "GET",
    "/api/tre/v1_3/trip/{tripId}/analytics/drivingScore",
    access=Action.DRIVING_READ,
    answer=DrivingScore,
    refuses=(service.NoScoreYet,),
)
async def trip_score(request: Call) -> ASGIApp:
    """The trip's score."""

    def work(tx: ReadTx, actor: Actor) -> DrivingScore:
        return _score(service.trip_score(tx, actor=actor, of=parameters.path_id(request, "tripId")))

    return await reads.one(request, work)


async def _page(request: Call, owner: Owner, what: _Kind) -> Page:
    """The page of the owner in the path; refusals in the order of spec/rest 3.3."""
    name, thing = _OWNERS[owner]

    def at_once(known: Known, span: Span) -> reads.Whole:
        scope = access.scope_of(known.actor, Action.DRIVING_READ)
        owner_id, by = parameters.path_id(request, name), _by(request)
        return reads.Whole(*what.whole(owner, owner_id, span, by, known=known, scope=scope), _told(by))

    def work(tx: ReadTx) -> Page:
        actor = permission.permitted_in(tx, request)
        owner_id = parameters.path_id(request, name)
        admission.admit(tx, actor, Action.DRIVING_READ, thing, owner_id)
        by = _by(request)
        return reads.by_time(
            request,
            lambda span: what.read(tx, owner, owner_id, span, by),
            record=what.record,
            id_of=_first_field,
            by=_told(by),
        )

    found = await reads.by_time_at_once(request, at_once, record=what.record, id_of=_first_field)
    if found is not None:
        return found
    return await (reads.of_person if owner is Owner.DRIVER else reads.page)(request, work)


def _by(request: Call) -> By:
    return By.EVENT if pages.by_event(request) else By.ANALYSIS


def _told(by: By) -> str | UnsetType:
    """The order of a page, if its link to the next page must repeat it."""
    return pages.BY_EVENT if by is By.EVENT else UNSET


def _first_field(row: Row) -> str:
    """The id of a score or an event."""
    return str(row[0])


def _score(row: Row) -> DrivingScore:
    trip_id, created_ms, vehicle_id, user_id, score, distance_m, accel, de_accel, *counts = row
    return DrivingScore(
        Id(trip_id),
        created_ms,
        Id(vehicle_id),
        id_or_unset(user_id),
        score,
        accel,
        de_accel,
        number(distance_m),
        *counts,
    )


def _event(row: Row) -> GpsEvent:
    event_id, created_ms, vehicle_id, trip_id, event_ms, ty, info, device_type, speed_mh, user_id, lat, lon = row
    return GpsEvent(
        Id(event_id),
        created_ms,
        Id(vehicle_id),
        Id(trip_id),
        event_ms,
        ty,
        info,
        device_type,
        None,
        number(speed_mh),
        id_or_unset(user_id),
        lat,
        lon,
    )


_SCORES: Final = _Kind(score_reads.scores, score_reads.whole_scores, _score)
_EVENTS: Final = _Kind(score_reads.events, score_reads.whole_events, _event)

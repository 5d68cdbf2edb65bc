"""Trips by start of a company, a vehicle or a driver, and a vehicle's day (spec/rest 10.8)."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final, Literal, NamedTuple

import msgspec
from litestar.response import Response
from litestar.types import ASGIApp
from msgspec import Meta

from tripline.api import tracks
from tripline.domain import fields
from tripline.domain.access import Action, Actor, Thing
from tripline.domain.ids import CompanyId, UserId, VehicleId
from tripline.domain.instants import DAY_MS
from tripline.domain.listed_trips import REASONS, Filters, ListedTrip, State, TripSums
from tripline.domain.refusals import BadParameter
from tripline.domain.vehicle_days import Ends, Point, VehicleDay
from tripline.http import answers, languages, pages, parameters, permission
from tripline.http.context import Call, context_of, maps_of
from tripline.http.operations import Value, operation
from tripline.http.parameters import Query
from tripline.later import Later
from tripline.services import admission, places
from tripline.services.fleet import trip_lists, vehicle_days
from tripline.services.fleet.vehicle_days import DaySamples
from tripline.services.scores.reads import TooLong
from tripline.store.listing.pages import Page, PageRequest, Place
from tripline.store.lists import Span, UnknownOffset
from tripline.store.transactions import ReadTx
from tripline.store.trips import trip_ends, trip_list
from tripline.store.trips.trip_list import TripQuery
from tripline.wire.rest import listed_trips as rest
from tripline.wire.rest.listed_trips import (
    ListedTrips,
    ListedTripsLink,
    TripSumsRecord,
    VehicleDayRecord,
    VehicleDayTrack,
)
from tripline.wire.rest.tracks import NoFix, Samples

if TYPE_CHECKING:
    from tripline.services.scores import track
else:
    # It imports numpy, which is loaded on first use.
    track = Later("tripline.services.scores.track")

_DATE: Final = Value("date", str, "the day, YYYY-MM-DD", "2025-01-01", required=True)
_PERIOD: Final = (
    Value("startTime", float, "started from this time on; 7 days before `endTime` when absent", 1735084800000),
    Value("endTime", float, "started up to this time; now when absent", 1735689600000),
)
_FILTERS: Final = (
    Value(
        "state",
        Literal["open", "ended", "scored", "unscored"],
        "only trips in this state; `ended`: they wait for their score",
        "scored",
    ),
    Value("notScored", str, "only trips without a score for this reason", "too_short"),
    Value("minScore", Annotated[float, Meta(ge=0, le=100)], "from this score on", 0),
    Value("maxScore", Annotated[float, Meta(ge=0, le=100)], "up to this score", 75),
    Value("disputed", bool, "true: with an open dispute; false: without", True),
    Value("overLimit", bool, "true: with samples over the limit; false: scored without", True),
)
_ORDER: Final = Value("ascOrder", bool, "true: oldest first; else newest first", False)
_QUERY: Final = (pages.LIMIT, pages.ID_OFFSET, *_PERIOD, _ORDER, *_FILTERS)

_listing: Final = partial(operation, "GET", access=Action.DRIVING_READ, answer=ListedTrips, query=_QUERY)


@_listing("/api/tre/v1_3/company/{companyId}/trips")
async def list_of_company(request: Call) -> ASGIApp:
    """Trips of the company's vehicles by start, as far as the caller may read them; of the own company: all of them."""
    return await _list(request, company="companyId")


@_listing("/api/tre/v1_3/vehicle/{vehicleId}/trips")
async def list_of_vehicle(request: Call) -> ASGIApp:
    """Trips of the vehicle by start, also those without a score."""
    return await _list(request, vehicle="vehicleId")


@_listing("/api/tre/v1_3/driver/{driverId}/trips")
async def list_of_driver(request: Call) -> ASGIApp:
    """Trips that the person drove, by start, also those without a score."""
    return await _list(request, driver="driverId")


_summing: Final = partial(
    operation, "GET", access=Action.DRIVING_READ, answer=TripSumsRecord, query=(*_PERIOD, *_FILTERS), refuses=(TooLong,)
)


@_summing("/api/tre/v1_3/company/{companyId}/trips/sums")
async def sums_of_company(request: Call) -> ASGIApp:
    """Trips, distance, driving time and score of the company's trips by start."""
    return await _sums(request, company="companyId")


@_summing("/api/tre/v1_3/vehicle/{vehicleId}/trips/sums")
async def sums_of_vehicle(request: Call) -> ASGIApp:
    """Trips, distance, driving time and score of the vehicle's trips by start."""
    return await _sums(request, vehicle="vehicleId")


@_summing("/api/tre/v1_3/driver/{driverId}/trips/sums")
async def sums_of_driver(request: Call) -> ASGIApp:
    """Trips, distance, driving time and score of the person's trips by start."""
    return await _sums(request, driver="driverId")


@operation(
    "GET",
    "/api/tre/v1_3/vehicle/{vehicleId}/days/{date}",
    access=Action.DRIVING_READ,
    answer=VehicleDayRecord,
    in_path=(_DATE,),
)
async def read_day(request: Call) -> ASGIApp:
    """The drives and stops of the vehicle on one day, in the service's time zone."""
    context = context_of(request)
    now_ms, zone = context.clock(), context.time_zone

    def work(tx: ReadTx) -> VehicleDay:
        actor = permission.permitted_in(tx, request)
        vehicle_id, day = _of_day(tx, request, actor)
        return vehicle_days.read(tx, actor=actor, vehicle_id=vehicle_id, day=day, zone=zone, now_ms=now_ms)

    found = await context.store.read(work)
    return answers.ok(rest.vehicle_day_record(found, await _named(request, found.points)))


@operation(
    "GET",
    "/api/tre/v1_3/vehicle/{vehicleId}/days/{date}/track",
    access=Action.DRIVING_READ,
    answer=VehicleDayTrack,
    in_path=(_DATE,),
    refuses=(TooLong,),
)
async def read_day_track(request: Call) -> Response[bytes]:
    """Where the vehicle went on one day, and how fast; compressed on request."""
    context = context_of(request)
    now_ms, zone = context.clock(), context.time_zone

    def work(tx: ReadTx) -> DaySamples:
        actor = permission.permitted_in(tx, request)
        vehicle_id, day = _of_day(tx, request, actor)
        return vehicle_days.read_samples(tx, actor=actor, vehicle_id=vehicle_id, day=day, zone=zone, now_ms=now_ms)

    found = await context.store.read(work)

    def make() -> VehicleDayTrack:
        way = track.of_day(found.packed, begin_ms=found.begin_ms, end_ms=found.end_ms)
        shown = Samples(way.time_ms, way.lat, way.lon, way.speed_kmh)
        return VehicleDayTrack(way.samples, shown, [NoFix(*each) for each in way.no_fix])

    return await tracks.sent(request, make)


def _of_day(tx: ReadTx, request: Call, actor: Actor) -> tuple[VehicleId, int]:
    """The vehicle and the day of a path. Raises `NotFound`, `Forbidden`, `BadParameter`."""
    vehicle_id = parameters.vehicle_id(request)
    admission.admit(tx, actor, Action.DRIVING_READ, Thing.VEHICLE, vehicle_id)
    return vehicle_id, fields.day("date", request.path_params["date"])


async def _named(request: Call, points: Sequence[Point]) -> Mapping[Point, str]:
    """The words for points, in the language of the request."""
    names, language = maps_of(request).places, languages.asked_of(request)
    return await asyncio.to_thread(places.named, names, points, language=language)


async def _list(request: Call, **subject: str) -> ASGIApp:
    context = context_of(request)
    now_ms = context.clock()

    def work(tx: ReadTx) -> _Found:
        actor, query = _admitted(tx, request, now_ms, subject)
        asked = pages.time_page(request)
        query = _within(query, request, now_ms)
        place = None if asked.after is None else trip_list.place_of(tx, asked.after, query)
        if asked.after is not None and place is None:
            raise UnknownOffset.of_list()
        turn = PageRequest(limit=asked.limit, by=trip_list.START, descending=not asked.ascending, place=place)
        found = trip_lists.page(tx, actor=actor, query=query, page_request=turn)
        ends = trip_ends.ends_of(tx, [each.no for each in found.rows])
        return _Found(found.rows, ends, _link(asked, query, found))

    rows, ends, link = await context.store.read(work)
    names = await _named(request, [point for pair in ends.values() for point in pair if point is not None])
    records = [rest.listed_trip_record(each, ends.get(each.no), names) for each in rows]
    return answers.ok(ListedTrips(records, link, link is not None))


async def _sums(request: Call, **subject: str) -> ASGIApp:
    context = context_of(request)
    now_ms = context.clock()

    def work(tx: ReadTx) -> TripSums:
        actor, query = _admitted(tx, request, now_ms, subject)
        return trip_lists.sums(tx, actor=actor, query=_within(query, request, now_ms))

    return answers.ok(rest.sums_record(await context.store.read(work)))


def _admitted(tx: ReadTx, request: Call, now_ms: int, subject: Mapping[str, str]) -> tuple[Actor, TripQuery]:
    """The query for all trips of the company, vehicle or driver in the path; refusals in the order of spec/rest 3.3."""
    actor = permission.permitted_in(tx, request)
    ids = {name: parameters.path_id(request, parameter) for name, parameter in subject.items()}
    query = trip_lists.query_of(
        tx,
        actor=actor,
        first_ms=0,
        last_ms=now_ms,
        vehicle_id=VehicleId(ids["vehicle"]) if "vehicle" in ids else None,
        user_id=UserId(ids["driver"]) if "driver" in ids else None,
        company_id=CompanyId(ids["company"]) if "company" in ids else None,
        filters=Filters(),
    )
    return actor, query


def _within(query: TripQuery, request: Call, now_ms: int) -> TripQuery:
    """The query with the period and filters of the request. Raises `BadParameter`."""
    start_ms, end_ms = (pages.time_asked(request.query_params, each.name) for each in _PERIOD)
    last_ms = now_ms if end_ms is None else min(end_ms, now_ms + DAY_MS)
    first_ms = last_ms - trip_lists.USUAL_MS if start_ms is None else start_ms
    filters = _filters(request.query_params)
    return msgspec.structs.replace(query, first_ms=max(first_ms, 0), last_ms=last_ms, filters=filters)


class _Found(NamedTuple):
    rows: Sequence[ListedTrip]
    ends: Mapping[int, Ends]
    link: ListedTripsLink | None


def _filters(query: Query) -> Filters:
    """Raises `BadParameter` and `NotAllowed`."""
    state = fields.one_of("state", parameters.query_text(query, "state"), [each.value for each in State])
    return Filters(
        state=None if state is None else State(state),
        not_scored=fields.one_of("notScored", parameters.query_text(query, "notScored"), REASONS),
        min_score=_score(query, "minScore"),
        max_score=_score(query, "maxScore"),
        disputed=parameters.query_flag(query, "disputed"),
        over_limit=parameters.query_flag(query, "overLimit"),
    )


def _score(query: Query, name: str) -> float | None:
    text = parameters.query_text(query, name)
    if text is None:
        return None
    try:
        return fields.amount(name, float(text), 100)
    except ValueError as error:
        raise BadParameter("integer", field=name) from error


def _link(asked: Span, query: TripQuery, found: Page[ListedTrip]) -> ListedTripsLink | None:
    """The next page: behind the last trip of this one, or where the walk ended."""
    if not found.more_behind or found.last is None:
        return None
    first_ms, last_ms, offset = query.first_ms, query.last_ms, None
    if found.rows and found.last == Place(found.rows[-1].start_ms, str(found.rows[-1].no)):
        offset = found.rows[-1].id
    elif asked.ascending:
        first_ms = int(found.last.value) + 1
    else:
        last_ms = int(found.last.value) - 1
    filters = query.filters
    return ListedTripsLink(
        limit=asked.limit,
        start_time=first_ms,
        end_time=last_ms,
        asc_order=asked.ascending,
        id_offset=offset,
        state=None if filters.state is None else filters.state.value,
        not_scored=filters.not_scored,
        min_score=filters.min_score,
        max_score=filters.max_score,
        disputed=filters.disputed,
        over_limit=filters.over_limit,
    )

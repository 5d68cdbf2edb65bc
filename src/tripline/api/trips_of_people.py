"""The trips that a director or driver drove, and the latest of them (spec/rest 7.2)."""

from functools import partial
from typing import Final

from litestar.types import ASGIApp

from tripline.api.users import ID_IN_PATH
from tripline.domain.access import Action, Authority
from tripline.domain.ids import UserId
from tripline.domain.refusals import NotFound
from tripline.domain.stored_trips import StoredTrip
from tripline.http import answers, pages, parameters, permission, reads
from tripline.http.context import Call, context_of
from tripline.http.operations import operation
from tripline.services.fleet import people
from tripline.store.lists import Span
from tripline.store.transactions import ReadTx
from tripline.store.trips import trips
from tripline.wire.rest import trips as rest_trips
from tripline.wire.rest.base import Page

_listing: Final = partial(operation, "GET", access=Action.DRIVING_READ, answer=pages.timed(rest_trips.TripRecord))


@_listing("/api/tre/v1/director/{directorId}/trips")
async def list_of_director(request: Call) -> ASGIApp:
    """The trips that the director drove, newest first by default."""
    return await _list(request, Authority.DIRECTOR)


@_listing("/api/tre/v1/driver/{driverId}/trips")
async def list_of_driver(request: Call) -> ASGIApp:
    """The trips that the driver, or a director, drove, newest first by default."""
    return await _list(request, Authority.DRIVER)


@operation(
    "GET", "/api/tre/v1/director/{directorId}/trip/latest", access=Action.DRIVING_READ, answer=rest_trips.TripRecord
)
async def read_latest_of_director(request: Call) -> ASGIApp:
    """The trip that the director drove last."""
    return await _read_latest(request, Authority.DIRECTOR)


@operation("GET", "/api/tre/v1/driver/{driverId}/trip/latest", access=Action.DRIVING_READ, answer=rest_trips.TripRecord)
async def read_latest_of_driver(request: Call) -> ASGIApp:
    """The trip that the driver, or a director, drove last."""
    return await _read_latest(request, Authority.DRIVER)


async def _list(request: Call, role: Authority) -> ASGIApp:
    zone = context_of(request).time_zone

    def work(tx: ReadTx) -> Page:
        user_id = _admitted(tx, request, role)
        return reads.by_time(
            request,
            lambda span: trips.trips_of_person(tx, user_id, span),
            record=lambda trip: rest_trips.trip_record(trip, zone),
            id_of=lambda trip: trip.id,
            weight=lambda trip: len(trip.payload or b""),
        )

    return answers.ok(await reads.of_person(request, work))


async def _read_latest(request: Call, role: Authority) -> ASGIApp:
    def work(tx: ReadTx) -> StoredTrip:
        found = trips.trips_of_person(tx, _admitted(tx, request, role), Span(limit=1))
        if not found:
            raise NotFound("trip_of_person", thing=people.THINGS[role])
        return found[0]

    found = await reads.of_person(request, work)
    return answers.ok(rest_trips.trip_record(found, context_of(request).time_zone))


def _admitted(tx: ReadTx, request: Call, role: Authority) -> UserId:
    """The person in the path, whose driving the caller may read. Raises `NotFound`, `Forbidden`."""
    actor = permission.permitted_in(tx, request)
    user_id = UserId(parameters.path_id(request, ID_IN_PATH[role]))
    people.find(tx, actor=actor, action=Action.DRIVING_READ, role=role, user_id=user_id)
    return user_id

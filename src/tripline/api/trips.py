"""Stored trips, microtrips and device events of a vehicle, a trip and its microtrips (spec/rest 7.3, 7.5)."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from litestar.types import ASGIApp

from tripline.domain.access import Action, Actor, Thing
from tripline.domain.ids import VehicleId
from tripline.domain.stored_trips import StoredEvent, StoredTrip
from tripline.http import pages, parameters, reads
from tripline.http.context import Call, context_of
from tripline.http.operations import operation
from tripline.services import admission
from tripline.services.fleet import trip_lists
from tripline.store.devices import events as device_events
from tripline.store.lists import Span
from tripline.store.transactions import ReadTx
from tripline.store.trips import microtrips
from tripline.store.trips import trips as rows
from tripline.wire.rest import events as rest_events
from tripline.wire.rest import trips as rest_trips
from tripline.wire.rest.base import Page

S = TypeVar("S", StoredTrip, StoredEvent)


@operation(
    "GET",
    "/api/tre/v1/vehicle/{vehicleId}/trips",
    access=Action.DRIVING_READ,
    answer=pages.timed(rest_trips.TripRecord),
)
async def list_trips(request: Call) -> ASGIApp:
    """The vehicle's trips, newest first by default."""
    zone = context_of(request).time_zone
    return await _page_of_vehicle(request, rows.trips_of_vehicle, lambda trip: rest_trips.trip_record(trip, zone))


@operation(
    "GET", "/api/tre/v1/vehicle/{vehicleId}/trip/latest", access=Action.DRIVING_READ, answer=rest_trips.TripRecord
)
async def read_latest_trip(request: Call) -> ASGIApp:
    """The vehicle's newest trip."""

    def work(tx: ReadTx, actor: Actor) -> rest_trips.TripRecord:
        found = trip_lists.latest_trip(tx, actor=actor, vehicle_id=parameters.vehicle_id(request))
        return rest_trips.trip_record(found, context_of(request).time_zone)

    return await reads.one(request, work)


@operation(
    "GET",
    "/api/tre/v1/vehicle/{vehicleId}/microtrip/latest",
    access=Action.DRIVING_READ,
    answer=rest_trips.MicrotripRecord,
)
async def read_latest_microtrip(request: Call) -> ASGIApp:
    """The vehicle's newest microtrip."""

    def work(tx: ReadTx, actor: Actor) -> rest_trips.MicrotripRecord:
        vehicle_id = parameters.vehicle_id(request)
        return rest_trips.microtrip_record(trip_lists.latest_microtrip(tx, actor=actor, vehicle_id=vehicle_id))

    return await reads.one(request, work)


@operation(
    "GET",
    "/api/tre/v1/vehicle/{vehicleId}/events",
    access=Action.DRIVING_READ,
    answer=pages.timed(rest_events.DeviceEventRecord),
)
async def list_events(request: Call) -> ASGIApp:
    """Single reports of the vehicle's devices: faults, shocks, warnings; newest first by default."""
    zone = context_of(request).time_zone
    return await _page_of_vehicle(
        request, device_events.of_vehicle, lambda event: rest_events.device_event_record(event, zone)
    )


@operation("GET", "/api/tre/v1/trip/{tripId}", access=Action.DRIVING_READ, answer=rest_trips.JudgedTripRecord)
async def read(request: Call) -> ASGIApp:
    """A trip."""

    def work(tx: ReadTx, actor: Actor) -> rest_trips.JudgedTripRecord:
        found = trip_lists.read_trip(tx, actor=actor, trip_id=parameters.trip_id(request))
        return rest_trips.judged_trip_record(found, context_of(request).time_zone)

    return await reads.one(request, work)


@operation(
    "GET",
    "/api/tre/v1/trip/{tripId}/microtrips",
    access=Action.DRIVING_READ,
    answer=pages.timed(rest_trips.MicrotripRecord),
)
async def list_microtrips(request: Call) -> ASGIApp:
    """The trip's microtrips, newest first by default."""

    def work(tx: ReadTx, actor: Actor) -> Page:
        trip_id = parameters.trip_id(request)
        admission.admit(tx, actor, Action.DRIVING_READ, Thing.TRIP, trip_id)
        return reads.by_time(
            request,
            lambda span: microtrips.of_trip(tx, trip_id, span),
            record=rest_trips.microtrip_record,
            id_of=lambda microtrip: microtrip.id,
            weight=lambda microtrip: len(microtrip.payload),
        )

    return await reads.answer(request, work)


async def _page_of_vehicle(
    request: Call, read_rows: Callable[[ReadTx, VehicleId, Span], Sequence[S]], record: Callable[[S], Any]
) -> ASGIApp:
    """A page of the vehicle's records by time; refusals in the order of spec/rest 3.3."""

    def work(tx: ReadTx, actor: Actor) -> Page:
        vehicle_id = parameters.vehicle_id(request)
        admission.admit(tx, actor, Action.DRIVING_READ, Thing.VEHICLE, vehicle_id)
        return reads.by_time(
            request,
            lambda span: read_rows(tx, vehicle_id, span),
            record=record,
            id_of=lambda item: item.id,
            weight=lambda item: len(item.payload or b""),
        )

    return await reads.answer(request, work)

"""Stored trips, microtrips and device events of a vehicle, a trip and its microtrips (client-surface 7.3, 7.5)."""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from litestar.types import ASGIApp

from tripline.api import answers, guards, pages, parameters, reading
from tripline.api.operations import PageOf, operation
from tripline.api.rim import Call, rim_of
from tripline.domain.access import Action
from tripline.domain.ids import TripId, VehicleId
from tripline.domain.journeys import StoredEvent, StoredMicrotrip, StoredTrip
from tripline.services.fleet import journeys
from tripline.store import device_events
from tripline.store import journeys as rows
from tripline.store.journeys import Span
from tripline.store.transactions import ReadTx
from tripline.wire import rest_events, rest_trips
from tripline.wire.rest import Page

S = TypeVar("S", StoredTrip, StoredEvent)


@operation(
    "GET",
    "/api/tre/v1/vehicle/{vehicleId}/trips",
    access=Action.DRIVING_READ,
    answer=PageOf(record=rest_trips.TripRecord, timed=True),
    query=pages.TIME_PAGE,
)
async def list_trips(request: Call) -> ASGIApp:
    """The vehicle's trips, newest first unless asked otherwise."""
    zone = rim_of(request).time_zone
    return await _page_of_vehicle(request, rows.trips_of_vehicle, lambda trip: rest_trips.trip_record(trip, zone))


@operation(
    "GET", "/api/tre/v1/vehicle/{vehicleId}/trip/latest", access=Action.DRIVING_READ, answer=rest_trips.TripRecord
)
async def read_latest_trip(request: Call) -> ASGIApp:
    """The vehicle's newest trip."""
    rim = rim_of(request)

    def work(tx: ReadTx) -> StoredTrip:
        actor = guards.permitted_in(tx, request)
        return journeys.latest_trip(tx, actor=actor, vehicle_id=VehicleId(parameters.path_id(request, "vehicleId")))

    return answers.ok(rest_trips.trip_record(await rim.store.read_short(work), rim.time_zone))


@operation(
    "GET",
    "/api/tre/v1/vehicle/{vehicleId}/microtrip/latest",
    access=Action.DRIVING_READ,
    answer=rest_trips.MicrotripRecord,
)
async def read_latest_microtrip(request: Call) -> ASGIApp:
    """The vehicle's newest microtrip."""

    def work(tx: ReadTx) -> StoredMicrotrip:
        actor = guards.permitted_in(tx, request)
        return journeys.latest_microtrip(
            tx, actor=actor, vehicle_id=VehicleId(parameters.path_id(request, "vehicleId"))
        )

    return answers.ok(rest_trips.microtrip_record(await rim_of(request).store.read_short(work)))


@operation(
    "GET",
    "/api/tre/v1/vehicle/{vehicleId}/events",
    access=Action.DRIVING_READ,
    answer=PageOf(record=rest_events.DeviceEventRecord, timed=True),
    query=pages.TIME_PAGE,
)
async def list_events(request: Call) -> ASGIApp:
    """What devices on the vehicle reported once: faults, shocks, warnings; newest first unless asked otherwise."""
    zone = rim_of(request).time_zone
    return await _page_of_vehicle(
        request, device_events.of_vehicle, lambda event: rest_events.device_event_record(event, zone)
    )


@operation("GET", "/api/tre/v1/trip/{tripId}", access=Action.DRIVING_READ, answer=rest_trips.TripRecord)
async def read(request: Call) -> ASGIApp:
    """A trip."""
    rim = rim_of(request)

    def work(tx: ReadTx) -> StoredTrip:
        actor = guards.permitted_in(tx, request)
        return journeys.read_trip(tx, actor=actor, trip_id=TripId(parameters.path_id(request, "tripId")))

    return answers.ok(rest_trips.trip_record(await rim.store.read_short(work), rim.time_zone))


@operation(
    "GET",
    "/api/tre/v1/trip/{tripId}/microtrips",
    access=Action.DRIVING_READ,
    answer=PageOf(record=rest_trips.MicrotripRecord, timed=True),
    query=pages.TIME_PAGE,
)
async def list_microtrips(request: Call) -> ASGIApp:
    """The trip's microtrips, newest first unless asked otherwise."""

    def work(tx: ReadTx) -> Page:
        actor = guards.permitted_in(tx, request)
        trip_id = TripId(parameters.path_id(request, "tripId"))
        journeys.admit_to_trip(tx, actor=actor, trip_id=trip_id)
        return reading.by_time(
            request,
            lambda span: rows.microtrips_of_trip(tx, trip_id, span),
            record=rest_trips.microtrip_record,
            id_of=lambda microtrip: microtrip.id,
            weight=lambda microtrip: len(microtrip.payload),
        )

    return answers.ok(await reading.page(request, work))


async def _page_of_vehicle(
    request: Call, read_rows: Callable[[ReadTx, VehicleId, Span], Sequence[S]], record: Callable[[S], Any]
) -> ASGIApp:
    """A page of what the vehicle in the path left behind, by time; refusals in the order of client-surface 3.3."""

    def work(tx: ReadTx) -> Page:
        actor = guards.permitted_in(tx, request)
        vehicle_id = VehicleId(parameters.path_id(request, "vehicleId"))
        journeys.admit_to_vehicle(tx, actor=actor, vehicle_id=vehicle_id)
        return reading.by_time(
            request,
            lambda span: read_rows(tx, vehicle_id, span),
            record=record,
            id_of=lambda item: item.id,
            weight=lambda item: len(item.payload or b""),
        )

    return answers.ok(await reading.page(request, work))


handlers: Final[list[Any]] = [list_trips, read_latest_trip, read_latest_microtrip, list_events, read, list_microtrips]

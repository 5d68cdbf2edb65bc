"""Stored trips and microtrips of a vehicle, microtrips of a trip (client-surface 7.3, 7.5)."""

from typing import Any, Final

from litestar import get
from litestar.types import ASGIApp

from tripline.api import answers, guards, pages, parameters, reading
from tripline.api.rim import Call, rim_of
from tripline.domain.access import Action
from tripline.domain.ids import TripId, VehicleId
from tripline.services.fleet import journeys
from tripline.wire import rest_trips


@get("/api/tre/v1/vehicle/{vehicleId:str}/trips")
async def list_trips(request: Call) -> ASGIApp:
    """The vehicle's trips, newest first unless asked otherwise."""
    rim = rim_of(request)
    actor = await guards.permitted(request, Action.DRIVING_READ)
    vehicle_id = VehicleId(parameters.path_id(request, "vehicleId"))
    page = pages.time_page(request)
    found = await reading.page(
        rim,
        page,
        lambda tx: journeys.trips_of_vehicle(tx, actor=actor, vehicle_id=vehicle_id, span=reading.span(page)),
    )
    return answers.ok(
        pages.time_answer(
            page, found, record=lambda trip: rest_trips.trip_record(trip, rim.time_zone), id_of=lambda trip: trip.id
        )
    )


@get("/api/tre/v1/vehicle/{vehicleId:str}/trip/latest")
async def read_latest_trip(request: Call) -> ASGIApp:
    """The vehicle's newest trip."""
    rim = rim_of(request)
    actor = await guards.permitted(request, Action.DRIVING_READ)
    vehicle_id = VehicleId(parameters.path_id(request, "vehicleId"))
    found = await rim.store.read_short(lambda tx: journeys.latest_trip(tx, actor=actor, vehicle_id=vehicle_id))
    return answers.ok(rest_trips.trip_record(found, rim.time_zone))


@get("/api/tre/v1/vehicle/{vehicleId:str}/microtrip/latest")
async def read_latest_microtrip(request: Call) -> ASGIApp:
    """The vehicle's newest microtrip."""
    actor = await guards.permitted(request, Action.DRIVING_READ)
    vehicle_id = VehicleId(parameters.path_id(request, "vehicleId"))
    found = await rim_of(request).store.read_short(
        lambda tx: journeys.latest_microtrip(tx, actor=actor, vehicle_id=vehicle_id)
    )
    return answers.ok(rest_trips.microtrip_record(found))


@get("/api/tre/v1/trip/{tripId:str}/microtrips")
async def list_microtrips(request: Call) -> ASGIApp:
    """The trip's microtrips, newest first unless asked otherwise."""
    actor = await guards.permitted(request, Action.DRIVING_READ)
    trip_id = TripId(parameters.path_id(request, "tripId"))
    page = pages.time_page(request)
    found = await reading.page(
        rim_of(request),
        page,
        lambda tx: journeys.microtrips_of_trip(tx, actor=actor, trip_id=trip_id, span=reading.span(page)),
    )
    return answers.ok(
        pages.time_answer(page, found, record=rest_trips.microtrip_record, id_of=lambda microtrip: microtrip.id)
    )


handlers: Final[list[Any]] = [list_trips, read_latest_trip, read_latest_microtrip, list_microtrips]

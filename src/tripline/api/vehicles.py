"""Registering, reading, changing, activating, deleting and counting vehicles (spec/rest 7.3)."""

from typing import Final

import msgspec
from litestar.types import ASGIApp

from tripline.api import counts
from tripline.domain import access, vehicles
from tripline.domain.access import Action, Actor, Thing
from tripline.domain.refusals import BadParameter
from tripline.http import answers, changes, parameters, permission, reads
from tripline.http.context import Call, context_of
from tripline.http.operations import Value, operation
from tripline.services import notifications
from tripline.services.fleet import vehicles as service
from tripline.store.listing.vehicles import Filters
from tripline.store.transactions import ReadTx, WriteTx
from tripline.wire.rest import bodies as rest_bodies
from tripline.wire.rest import read_only as rest_read_only
from tripline.wire.rest import vehicles as rest_vehicles
from tripline.wire.rest.base import Count

_NUMBER: Final = Value(
    "vehicleNo",
    str,
    "registration number, in full; blanks, letter case and invisible characters do not matter",
    "12가3456",
    required=True,
)
_COUNTED: Final = (
    *counts.OF_WHOM,
    Value("sensor", bool, "true: only those with a sensor, false: only those without", False),
    Value("driving", bool, "true: only those driving now, false: only the others", True),
)


@operation(
    "POST",
    "/api/tre/v1/vehicle",
    access=Action.VEHICLE_CREATE,
    request=rest_vehicles.VehicleRequest,
    required=("vehicleNo", "mileage"),
    answer=rest_vehicles.VehicleRecord,
    refuses=(vehicles.NumberTaken,),
)
async def register(request: Call) -> ASGIApp:
    """A vehicle of the caller's company."""
    actor = await permission.permitted(request)
    access.company_of(actor)
    body = await parameters.json_object(request)
    registration = vehicles.registration(**msgspec.structs.asdict(rest_bodies.read(body, rest_vehicles.VehicleRequest)))

    def work(tx: WriteTx) -> rest_vehicles.VehicleRecord:
        new = service.register(tx, **changes.by(request, actor), registration=registration)
        return rest_read_only.registered(body, rest_vehicles.VehicleRequest, rest_vehicles.vehicle_record(new))

    return answers.ok(await context_of(request).store.write(work))


@operation(
    "GET", "/api/tre/v1/vehicle", access=Action.VEHICLE_READ, answer=rest_vehicles.VehicleRecord, query=(_NUMBER,)
)
async def find(request: Call) -> ASGIApp:
    """The vehicle with this number in the caller's service type."""

    def work(tx: ReadTx, actor: Actor) -> rest_vehicles.VehicleRecord:
        number = parameters.query_text(request.query_params, "vehicleNo")
        if number is None:
            raise BadParameter.missing("vehicleNo")
        return rest_vehicles.vehicle_record(service.read_by_number(tx, actor=actor, vehicle_no=number))

    return await reads.one(request, work)


@operation("GET", "/api/tre/v1/vehicle/{vehicleId}", access=Action.VEHICLE_READ, answer=rest_vehicles.VehicleRecord)
async def read(request: Call) -> ASGIApp:
    """A vehicle."""
    actor = await permission.permitted(request)
    vehicle_id = parameters.vehicle_id(request)
    found = await context_of(request).store.read_short(lambda tx: service.read(tx, actor=actor, vehicle_id=vehicle_id))
    return answers.ok(rest_vehicles.vehicle_record(found))


@operation(
    "PUT",
    "/api/tre/v1/vehicle/{vehicleId}",
    access=Action.VEHICLE_MODIFY,
    request=rest_vehicles.VehicleRequest,
    answer=rest_vehicles.VehicleRecord,
    refuses=(vehicles.NumberTaken,),
)
async def modify(request: Call) -> ASGIApp:
    """Change the fields that are sent; null clears one. Companies it is delegated to may do so too."""
    actor, vehicle_id = await permission.admitted_to(request, Thing.VEHICLE, parameters.vehicle_id)
    body = await parameters.json_object(request)
    named = rest_bodies.read_partial(body, rest_vehicles.VehicleRequest)

    def work(tx: WriteTx) -> rest_vehicles.VehicleRecord:
        changed = service.modify(tx, **changes.by(request, actor), vehicle_id=vehicle_id, named=named)
        return rest_read_only.changed(body, rest_vehicles.VehicleRequest, rest_vehicles.vehicle_record(changed))

    return answers.ok(await context_of(request).store.write(work))


@operation("DELETE", "/api/tre/v1/vehicle/{vehicleId}", access=Action.VEHICLE_DELETE, answer=None)
async def delete(request: Call) -> ASGIApp:
    """Delete the vehicle with its trips, delegations and rights. Its sensors are unmounted and stay."""
    pending = await changes.made(
        request, lambda tx, by: service.delete(tx, **by, vehicle_id=parameters.vehicle_id(request))
    )
    notifications.send(context_of(request).signals, pending)
    return answers.ok({})


@operation(
    "POST",
    "/api/tre/v1/vehicle/{vehicleId}/activate",
    access=Action.VEHICLE_ACTIVATE,
    answer=rest_vehicles.VehicleRecord,
)
async def activate(request: Call) -> ASGIApp:
    """Let drivers drive the vehicle; one that is activated stays so."""
    return await _moved(request, vehicles.VehicleEvent.ACTIVATE)


@operation(
    "POST",
    "/api/tre/v1/vehicle/{vehicleId}/deactivate",
    access=Action.VEHICLE_ACTIVATE,
    answer=rest_vehicles.VehicleRecord,
)
async def deactivate(request: Call) -> ASGIApp:
    """Let no further driver take the vehicle; who drives it now is not logged out."""
    return await _moved(request, vehicles.VehicleEvent.DEACTIVATE)


@operation("GET", "/api/tre/v1/vehicles/count", access=Action.VEHICLE_READ, answer=Count, query=_COUNTED)
async def count(request: Call) -> ASGIApp:
    """The number of vehicles that a company owns, or that the service type has, limited to the caller's view.

    A vehicle is driving while its newest position is younger than the gap between trips (30 minutes) and no parking
    record, and no trip message has ended its latest trip.
    """

    def which() -> Filters:
        query = request.query_params
        return Filters(
            with_sensor=parameters.query_flag(query, "sensor"), driving=parameters.query_flag(query, "driving")
        )

    return await counts.of_whom_asked(
        request,
        owned=lambda tx, actor, company_id: service.count_owned(tx, actor=actor, company_id=company_id, which=which()),
        within=lambda tx, actor, service_type: service.count_in_service_type(
            tx, actor=actor, service_type=service_type, which=which()
        ),
    )


async def _moved(request: Call, event: vehicles.VehicleEvent) -> ASGIApp:
    """The vehicle in the state that the event leads to."""
    moved = await changes.made(
        request, lambda tx, by: service.move(tx, **by, vehicle_id=parameters.vehicle_id(request), event=event)
    )
    return answers.ok(rest_vehicles.vehicle_record(moved.vehicle))

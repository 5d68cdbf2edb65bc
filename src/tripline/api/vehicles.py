"""Registering and reading vehicles (client-surface 7.3). Their trips: `trips.py`; a company's list: `companies.py`."""

from typing import Any, Final

import msgspec
from litestar.types import ASGIApp

from tripline.api import answers, guards, parameters
from tripline.api.operations import operation
from tripline.api.rim import Call, rim_of
from tripline.domain import access, vehicles
from tripline.domain.access import Action
from tripline.domain.ids import VehicleId
from tripline.services.fleet import vehicles as service
from tripline.wire import rest_reading, rest_vehicles


@operation(
    "POST",
    "/api/tre/v1/vehicle",
    access=Action.VEHICLE_CREATE,
    request=rest_vehicles.VehicleRequest,
    answer=rest_vehicles.VehicleRecord,
    refuses=(vehicles.NumberTaken,),
)
async def register(request: Call) -> ASGIApp:
    """A vehicle of the caller's company."""
    rim = rim_of(request)
    actor = await guards.permitted(request)
    access.company_of(actor)
    sent = rest_reading.read(await parameters.json_object(request), rest_vehicles.VehicleRequest)
    registration = vehicles.registration(**msgspec.structs.asdict(sent))
    now_ms = rim.clock()
    new = await rim.store.write(
        lambda tx: service.register(tx, actor=actor, registration=registration, ids=rim.ids, now_ms=now_ms)
    )
    return answers.ok(rest_vehicles.vehicle_record(new))


@operation("GET", "/api/tre/v1/vehicle/{vehicleId}", access=Action.VEHICLE_READ, answer=rest_vehicles.VehicleRecord)
async def read(request: Call) -> ASGIApp:
    """A vehicle."""
    actor = await guards.permitted(request)
    vehicle_id = VehicleId(parameters.path_id(request, "vehicleId"))
    found = await rim_of(request).store.read_short(lambda tx: service.read(tx, actor=actor, vehicle_id=vehicle_id))
    return answers.ok(rest_vehicles.vehicle_record(found))


handlers: Final[list[Any]] = [register, read]

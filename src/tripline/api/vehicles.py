"""Registering and reading vehicles (client-surface 7.3). Their trips: `trips.py`; a company's list: `companies.py`."""

from typing import Any, Final

import msgspec
from litestar import get, post
from litestar.types import ASGIApp

from tripline.api import answers, guards, parameters
from tripline.api.rim import Call, rim_of
from tripline.domain import access, vehicles
from tripline.domain.access import Action
from tripline.domain.ids import VehicleId
from tripline.services.fleet import vehicles as service
from tripline.wire import rest_fleet


@post("/api/tre/v1/vehicle")
async def register(request: Call) -> ASGIApp:
    """A vehicle of the caller's company."""
    rim = rim_of(request)
    actor = await guards.permitted(request, Action.VEHICLE_CREATE)
    access.company_of(actor)
    sent = rest_fleet.read(await parameters.json_object(request), rest_fleet.VehicleRequest)
    registration = vehicles.registration(**msgspec.structs.asdict(sent))
    now_ms = rim.clock()
    new = await rim.store.write(
        lambda tx: service.register(tx, actor=actor, registration=registration, ids=rim.ids, now_ms=now_ms)
    )
    return answers.ok(rest_fleet.vehicle_record(new))


@get("/api/tre/v1/vehicle/{vehicleId:str}")
async def read(request: Call) -> ASGIApp:
    """A vehicle."""
    actor = await guards.permitted(request, Action.VEHICLE_READ)
    vehicle_id = VehicleId(parameters.path_id(request, "vehicleId"))
    found = await rim_of(request).store.read_short(lambda tx: service.read(tx, actor=actor, vehicle_id=vehicle_id))
    return answers.ok(rest_fleet.vehicle_record(found))


handlers: Final[list[Any]] = [register, read]

"""Setting and unsetting a vehicle's managing director and its driver (spec/rest 7.3)."""

from collections.abc import Callable
from typing import TypeAlias

from litestar.types import ASGIApp

from tripline.domain import vehicles
from tripline.domain.access import Action
from tripline.domain.ids import SensorId
from tripline.domain.vehicles import Vehicle
from tripline.http import answers, changes, parameters
from tripline.http.context import Call, context_of
from tripline.http.operations import operation
from tripline.services import notifications
from tripline.services.fleet import assignments as service
from tripline.wire.rest import vehicles as rest_vehicles

_Directed: TypeAlias = Callable[..., Vehicle]
_Driven: TypeAlias = Callable[..., tuple[Vehicle, list[SensorId]]]


@operation(
    "POST",
    "/api/tre/v1/vehicle/{vehicleId}/director/{directorId}",
    access=Action.VEHICLE_ASSIGN_DIRECTOR,
    answer=rest_vehicles.VehicleRecord,
)
async def set_director(request: Call) -> ASGIApp:
    """Make a director of the vehicle's company its managing director, in place of who was."""
    return await _directed(request, service.set_director)


@operation(
    "DELETE",
    "/api/tre/v1/vehicle/{vehicleId}/director/{directorId}",
    access=Action.VEHICLE_ASSIGN_DIRECTOR,
    answer=rest_vehicles.VehicleRecord,
    refuses=(vehicles.OtherDirector,),
)
async def unset_director(request: Call) -> ASGIApp:
    """Leave the vehicle without its managing director."""
    return await _directed(request, service.unset_director)


@operation(
    "POST",
    "/api/tre/v1/vehicle/{vehicleId}/driver/{driverId}",
    access=Action.VEHICLE_ASSIGN_DRIVER,
    answer=rest_vehicles.VehicleRecord,
    refuses=(vehicles.NotActivated, vehicles.Occupied),
)
async def set_driver(request: Call) -> ASGIApp:
    """Set the current driver of the vehicle; the next trip is stored under this driver.

    Administrators and directors set a driver or director of their company, or a person with a right on the vehicle, and
    replace the previous driver. A driver can only set himself, on an activated vehicle without another driver. The
    person is removed from any other vehicle.
    """
    return await _driven(request, service.set_driver)


@operation(
    "DELETE",
    "/api/tre/v1/vehicle/{vehicleId}/driver/{driverId}",
    access=Action.VEHICLE_ASSIGN_DRIVER,
    answer=rest_vehicles.VehicleRecord,
    refuses=(vehicles.OtherDriver,),
)
async def unset_driver(request: Call) -> ASGIApp:
    """Remove the driver of the vehicle; a driver can only remove himself."""
    return await _driven(request, service.unset_driver)


async def _directed(request: Call, work: _Directed) -> ASGIApp:
    """The vehicle after its managing director changed."""
    vehicle = await changes.made(request, lambda tx, by: work(tx, **by, **_ids(request, "director")))
    return answers.ok(rest_vehicles.vehicle_record(vehicle))


async def _driven(request: Call, work: _Driven) -> ASGIApp:
    """The vehicle after its driver changed. Notifications at the change, for the pipeline."""
    vehicle, sensors = await changes.made(request, lambda tx, by: work(tx, **by, **_ids(request, "driver")))
    notifications.send(context_of(request).signals, notifications.sensors_changed(sensors))
    return answers.ok(rest_vehicles.vehicle_record(vehicle))


def _ids(request: Call, role: str) -> dict[str, str]:
    person_id = parameters.path_id(request, f"{role}Id")
    return {"vehicle_id": parameters.vehicle_id(request), f"{role}_id": person_id}

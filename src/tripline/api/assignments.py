"""Setting and unsetting a vehicle's managing director and its driver (spec/rest 7.3)."""

from collections.abc import Callable
from typing import TypeAlias

from litestar.types import ASGIApp

from tripline.domain import vehicles
from tripline.domain.access import Action
from tripline.domain.ids import SensorId, UserId
from tripline.domain.vehicles import Vehicle
from tripline.http import answers, changes, parameters, permission
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
    actor = await permission.permitted(request)
    vehicle_id = parameters.vehicle_id(request)
    director_id = UserId(parameters.path_id(request, "directorId"))
    vehicle = await context_of(request).store.write(
        lambda tx: work(tx, **changes.by(request, actor), vehicle_id=vehicle_id, director_id=director_id)
    )
    return answers.ok(rest_vehicles.vehicle_record(vehicle))


async def _driven(request: Call, work: _Driven) -> ASGIApp:
    """The vehicle after its driver changed. Notifications at the change, for the pipeline."""
    context = context_of(request)
    actor = await permission.permitted(request)
    vehicle_id = parameters.vehicle_id(request)
    driver_id = UserId(parameters.path_id(request, "driverId"))
    vehicle, sensors = await context.store.write(
        lambda tx: work(tx, **changes.by(request, actor), vehicle_id=vehicle_id, driver_id=driver_id)
    )
    notifications.send(context.signals, notifications.sensors_changed(sensors))
    return answers.ok(rest_vehicles.vehicle_record(vehicle))

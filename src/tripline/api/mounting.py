"""Putting sensors on vehicles and taking them off (client-surface 7.4, rpc 6.2, gaps G8, G11, G12).

Not here: registering and reading sensors (`sensors.py`).
"""

from typing import Any, Final

from litestar.types import ASGIApp

from tripline.api import answers, guards, parameters
from tripline.api.operations import operation
from tripline.api.rim import Call, rim_of
from tripline.domain import sensors
from tripline.domain.access import Action
from tripline.domain.ids import SensorId, VehicleId
from tripline.services import hints
from tripline.services.fleet import sensors as service
from tripline.wire import rest_sensors


@operation(
    "POST",
    "/api/tre/v1/sensor/{sensorId}/vehicle/{vehicleId}",
    access=Action.SENSOR_MOUNT,
    answer=rest_sensors.SensorRecord,
    refuses=(sensors.AlreadyMounted, sensors.NeedsActivation),
)
async def mount(request: Call) -> ASGIApp:
    """Mount the sensor on the vehicle; any body is ignored."""
    rim = rim_of(request)
    actor = await guards.permitted(request)
    sensor_id = SensorId(parameters.path_id(request, "sensorId"))
    vehicle_id = VehicleId(parameters.path_id(request, "vehicleId"))
    mounted, changed = await rim.store.write(
        lambda tx: service.mount(tx, actor=actor, sensor_id=sensor_id, vehicle_id=vehicle_id)
    )
    if changed:
        hints.tell(rim.signals, hints.sensors_changed([sensor_id]))
    return answers.ok(rest_sensors.sensor_record(mounted))


@operation(
    "DELETE",
    "/api/tre/v1/sensor/{sensorId}/vehicle/{vehicleId}",
    aliases=("/api/tre/v1/sensor/{sensorId}/vehicle",),
    access=Action.SENSOR_MOUNT,
    answer=rest_sensors.SensorRecord,
    refuses=(sensors.NotMounted,),
)
async def unmount(request: Call) -> ASGIApp:
    """Take the sensor off the vehicle; its open trip ends. What it reported of the vehicle's state is forgotten.

    The path without a vehicle takes it off whichever it is on.
    """
    rim = rim_of(request)
    actor = await guards.permitted(request)
    sensor_id = SensorId(parameters.path_id(request, "sensorId"))
    named = "vehicleId" in request.path_params
    vehicle_id = VehicleId(parameters.path_id(request, "vehicleId")) if named else None
    unmounted = await rim.store.write(
        lambda tx: service.unmount(tx, actor=actor, sensor_id=sensor_id, vehicle_id=vehicle_id)
    )
    hints.tell(rim.signals, hints.sensors_changed([sensor_id]))
    return answers.ok(rest_sensors.sensor_record(unmounted))


handlers: Final[list[Any]] = [mount, unmount]

"""Putting sensors on vehicles and taking them off (spec/rest 7.4, spec/rpc 6.2, spec/gaps G8, G11, G12)."""

from litestar.types import ASGIApp

from tripline.domain import rpc, sensors
from tripline.domain.access import Action
from tripline.http import answers, authentication, changes, parameters, permission
from tripline.http.context import Call, context_of, rpc_of
from tripline.http.operations import operation
from tripline.services import notifications
from tripline.services.fleet import sensors as service
from tripline.wire.rest import rpc as rest_rpc
from tripline.wire.rest import sensors as rest_sensors


@operation(
    "POST",
    "/api/tre/v1/sensor/{sensorId}/vehicle/{vehicleId}",
    access=Action.SENSOR_MOUNT,
    answer=rest_rpc.MountedRecord,
    refuses=(
        sensors.AlreadyMounted,
        rpc.VehicleIncomplete,
        rpc.NotConnected,
        rpc.NotSubscribed,
        rpc.Congested,
        rpc.Cancelled,
        rpc.NoAck,
        rpc.ActivationRefused,
        rpc.TooManyCalls,
    ),
)
async def mount(request: Call) -> ASGIApp:
    """Mount the sensor on the vehicle; any body is ignored.

    The device of a sensor with `activationRequired` must activate itself first. The request sends it the vehicle's fuel
    and transmission: `fuelType` of the vehicle, `missionType` of the vehicle or else of the sensor. When the device
    acknowledges the request, the answer is the unchanged sensor, with `requestId` and `response`; it is mounted when
    the device reports success, which is sent to the customer's server. A further request replaces a waiting one.
    """
    actor = await permission.permitted(request)
    sensor_id = parameters.sensor_id(request)
    vehicle_id = parameters.vehicle_id(request)
    sensor, answered = await rpc_of(request).mounter.mount(actor=actor, sensor_id=sensor_id, vehicle_id=vehicle_id)
    if answered is None:
        return answers.ok(rest_sensors.sensor_record(sensor))
    await authentication.require_still(request)  # as for other calls: it took a while
    call_id, body = answered.call.id, answered.body
    return answers.ok(await answers.made(lambda: rest_rpc.mounted_record(sensor, call_id, body), of=[body]))


@operation(
    "DELETE",
    "/api/tre/v1/sensor/{sensorId}/vehicle/{vehicleId}",
    aliases=("/api/tre/v1/sensor/{sensorId}/vehicle",),
    access=Action.SENSOR_MOUNT,
    answer=rest_sensors.SensorRecord,
    refuses=(sensors.NotMounted,),
)
async def unmount(request: Call) -> ASGIApp:
    """Take the sensor off the vehicle; its open trip ends, and the vehicle state that it reported is deleted.

    For a sensor on no vehicle with a pending activation, the activation is cancelled.
    The path without a vehicle takes the sensor off its current vehicle.
    """
    context = context_of(request)
    actor = await permission.permitted(request)
    sensor_id = parameters.sensor_id(request)
    named = "vehicleId" in request.path_params
    vehicle_id = parameters.vehicle_id(request) if named else None
    unmounted, pending = await context.store.write(
        lambda tx: service.unmount(tx, **changes.by(request, actor), sensor_id=sensor_id, vehicle_id=vehicle_id)
    )
    notifications.send(context.signals, pending)
    return answers.ok(rest_sensors.sensor_record(unmounted))

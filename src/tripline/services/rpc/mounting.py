"""Mount a sensor, with the activation of its device if needed (spec/rpc 6).

 requested --sent--> awaits the result --2xxx--> mounted (in `answers.py`)
           --other, or refused, superseded, cancelled--> unchanged

Only the device's success mounts the sensor; the requester is answered when the device acknowledges.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

import msgspec

from tripline import config
from tripline.domain import access, rpc, sensors
from tripline.domain.access import Action, Actor
from tripline.domain.ids import SensorId, TimeIds, VehicleId
from tripline.domain.rpc import Call
from tripline.domain.sensors import Sensor
from tripline.domain.vehicles import Vehicle
from tripline.ports.clocks import Clock
from tripline.ports.signals import Signals
from tripline.services import notifications
from tripline.services.fleet import sensors as fleet_sensors
from tripline.services.fleet.sensors import Mounting
from tripline.services.rpc import activation, requests
from tripline.services.rpc.calls import Answered, Calls
from tripline.store.rpc import activations as rpc_activations
from tripline.store.transactions import ReadTx, Store, WriteTx
from tripline.wire import rpc as wire

Look: TypeAlias = Callable[[ReadTx], None]
"""Called before a write: raises if the sensor has changed since it was shown to the user."""
_METHOD: Final = msgspec.json.encode(rpc.ACTIVATION)


class Mounter:
    """Mounts sensors on vehicles."""

    def __init__(
        self, *, store: Store, calls: Calls, ids: TimeIds, signals: Signals, clock: Clock, settings: config.Rpc
    ) -> None:
        self._store = store
        self._calls = calls
        self._ids = ids
        self._signals = signals
        self._clock = clock
        self._upload_period_s = settings.upload_period_s

    async def mount(
        self, *, actor: Actor, sensor_id: SensorId, vehicle_id: VehicleId
    ) -> tuple[Sensor, Answered | None]:
        """Mount the sensor, or start its activation; return the sensor, with the acknowledgement of an activation.

        Raises `NotFound`, `Forbidden`, `sensors.AlreadyMounted`, `rpc.VehicleIncomplete`, `rpc.ActivationRefused`, and
        as `Calls.call`.
        """
        sensor, became = await self._mounted(actor, sensor_id, vehicle_id)
        if became is not Mounting.NEEDS_ACTIVATION:
            return sensor, None
        answered = await self._calls.through(
            actor, sensor_id, lambda tx, ack_ms: self._begin(tx, actor, sensor_id, vehicle_id, ack_ms)
        )
        if answered is not None:
            _require_willing(answered)
        find = partial(fleet_sensors.find, actor=actor, action=Action.SENSOR_MOUNT, sensor_id=sensor_id)
        return await self._store.read_short(find), answered

    async def start(
        self, *, actor: Actor, sensor_id: SensorId, vehicle_id: VehicleId, look: Look | None = None
    ) -> tuple[Sensor, Call | None]:
        """Like `mount`, for a caller that does not wait for the acknowledgement: return the call sent, if one is
        needed.

        `activation.py` reports its progress. Raises like `mount`, except for refusals by the device, and the
        errors of `look`.
        """
        sensor, became = await self._mounted(actor, sensor_id, vehicle_id, look)
        if became is not Mounting.NEEDS_ACTIVATION:
            return sensor, None

        def work(tx: WriteTx, ack_ms: int) -> tuple[Call, bytes] | None:
            if look is not None:
                look(tx)
            return self._begin(tx, actor, sensor_id, vehicle_id, ack_ms)

        return sensor, await self._calls.start(actor, sensor_id, work)

    async def _mounted(
        self, actor: Actor, sensor_id: SensorId, vehicle_id: VehicleId, look: Look | None = None
    ) -> tuple[Sensor, Mounting]:
        """Mount the sensor if it needs no activation."""
        now_ms = self._clock()

        def work(tx: WriteTx) -> tuple[Sensor, Mounting]:
            if look is not None:
                look(tx)
            return fleet_sensors.mount(
                tx, actor=actor, sensor_id=sensor_id, vehicle_id=vehicle_id, ids=self._ids, now_ms=now_ms
            )

        sensor, became = await self._store.write(work)
        if became is Mounting.DONE:
            notifications.send(self._signals, notifications.sensors_changed([sensor_id]))
        return sensor, became

    def _begin(
        self, tx: WriteTx, actor: Actor, sensor_id: SensorId, vehicle_id: VehicleId, ack_ms: int
    ) -> tuple[Call, bytes] | None:
        """Store an activation, and return it with its message; it supersedes a pending one.

        None if the sensor was mounted on the vehicle meanwhile. Raises `NotFound`, `Forbidden`,
        `sensors.AlreadyMounted` or `rpc.VehicleIncomplete`.
        """
        now_ms, scope = self._clock(), access.scope_of(actor, Action.SENSOR_MOUNT)
        sensor, vehicle = fleet_sensors.both(tx, scope, sensor_id, vehicle_id)
        if sensors.mounted_status(sensor, vehicle_id) is None:
            return None
        params = _params(sensor, vehicle, self._upload_period_s)
        call = requests.insert(
            tx,
            sensor_id=sensor_id,
            user_id=actor.user_id,
            method=rpc.ACTIVATION,
            params=params,
            ack_ms=ack_ms,
            ids=self._ids,
            now_ms=now_ms,
            activation_on=vehicle_id,
        )
        rpc_activations.put(tx, call, vehicle_id, now_ms=now_ms)
        return call, wire.message(_METHOD, params)


def _params(sensor: Sensor, vehicle: Vehicle, upload_period_s: int) -> bytes:
    fuel_type, mission_type = rpc.activation_fields(
        fuel_type=vehicle.fuel_type, mission_type=vehicle.mission_type or sensor.mission_type
    )
    return wire.activation_params(
        vehicle_no=vehicle.vehicle_no,
        upload_period_s=upload_period_s,
        displacement=vehicle.displacement,
        fuel_type=fuel_type,
        mission_type=mission_type,
    )


def _require_willing(answered: Answered) -> None:
    """Raise `rpc.ActivationRefused` if the device refused, or reported a failure (spec/rpc 6.2)."""
    code = wire.said(answered.body).code
    failed = not rpc.is_success(code) if answered.is_result else activation.refuses(code)
    if failed:
        if code is None:
            raise rpc.ActivationRefused("without_code")
        raise rpc.ActivationRefused("code", device_code=code)

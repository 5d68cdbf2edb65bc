"""Activation of a device: apply its answers to the pending call (spec/rpc 6.3), report the progress, and cancel calls
when their sensor is deleted or unmounted, or its vehicle deleted (code 5003).

Each function that writes returns the notifications for after the commit.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from tripline.domain import access, activations, rpc, sensors
from tripline.domain.access import Action, Actor, Thing
from tripline.domain.activations import Step
from tripline.domain.history import Event, Fact
from tripline.domain.ids import RequestId, SensorId, TimeIds, VehicleId, ms_of_no
from tripline.domain.refusals import NotFound
from tripline.domain.rpc import ACTIVATION, Call, CallEvent
from tripline.domain.sensors import Sensor
from tripline.services import admission
from tripline.services.fleet import sensors as fleet_sensors
from tripline.services.notifications import Notification
from tripline.services.rpc import requests
from tripline.store.fleet import history, vehicles
from tripline.store.rpc import activations as rpc_activations
from tripline.store.rpc import calls as rpc_calls
from tripline.store.transactions import ReadTx, WriteTx
from tripline.wire import rpc as wire


def acknowledged(tx: WriteTx, call: Call) -> None:
    """Handle an acknowledgement; a refused activation is no longer pending."""
    if refuses(call.response_code):
        rpc_activations.withdraw(tx, call)


def concluded(tx: WriteTx, call: Call, *, ids: TimeIds, now_ms: int) -> bool:
    """Handle the result of an activation: mount the sensor on success; true if it was mounted.

    A superseded or cancelled request mounts nothing, nor does one whose vehicle was deleted or changed its company.
    """
    if not rpc_activations.withdraw(tx, call):
        return False
    if not rpc.is_success(call.result_code) or call.vehicle_id is None:
        return False
    status = sensors.NEXT[sensors.Status.DEACTIVATED, sensors.SensorEvent.MOUNT]
    if not rpc_activations.mount(tx, call.sensor_id, call.vehicle_id, status):
        return False
    # The requester counts as the person who mounted it, however long the device took.
    fact = Fact(
        event=Event.MOUNTED,
        actor_id=call.user_id,
        company_id=call.company_id,
        sensor_id=call.sensor_id,
        vehicle_id=call.vehicle_id,
    )
    history.add(tx, fact, ids=ids, now_ms=now_ms)
    return True


def refuses(code: int | None) -> bool:
    """True if an acknowledgement's code refuses the activation; a missing code does not (spec/rpc 6.2)."""
    return code is not None and not rpc.is_success(code)


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """An activation."""

    request_id: RequestId
    sensor: Sensor
    vehicle_id: VehicleId | None
    """The vehicle to mount the sensor on if the device succeeds; None: the vehicle was deleted."""
    vehicle_no: str | None
    step: Step
    asked_ms: int
    acknowledged_ms: int | None
    ended_ms: int | None
    code: int | None
    """Code of the device's refusal or result."""
    info: str | None
    """The device's additional info, as JSON unless it is text."""

    @property
    def is_over(self) -> bool:
        """True if no further answers are expected."""
        return self.step not in activations.UNDER_WAY

    @property
    def is_mounted(self) -> bool:
        """True if the sensor is on the vehicle now."""
        return self.vehicle_id is not None and self.sensor.vehicle_id == self.vehicle_id


def awaited(tx: ReadTx, *, actor: Actor, sensor_id: SensorId) -> RequestId | None:
    """Id of the sensor's pending activation, if any. Raises `NotFound` or `Forbidden`."""
    admission.admit(tx, actor, Action.RPC_READ, Thing.SENSOR, sensor_id)
    found = rpc_activations.of_sensor(tx, sensor_id)
    return None if found is None else found[0]


def read(tx: ReadTx, *, actor: Actor, sensor_id: SensorId, request_id: RequestId) -> Progress:
    """Return the progress of an activation. Raises `NotFound` or `Forbidden`."""
    admission.admit(tx, actor, Action.RPC_READ, Thing.SENSOR, sensor_id)
    call = requests.read(tx, actor=actor, sensor_id=sensor_id, request_id=request_id)
    if call.method != ACTIVATION:
        raise NotFound("call")
    sensor = fleet_sensors.read(tx, actor=actor, sensor_id=sensor_id)
    counts = rpc_activations.of_sensor(tx, sensor_id)
    acknowledged = None if call.response is None else wire.said(call.response)
    result = None if call.result is None else wire.said(call.result)
    last = result or acknowledged
    return Progress(
        request_id=request_id,
        sensor=sensor,
        vehicle_id=call.vehicle_id,
        vehicle_no=vehicles.number_inside(tx, access.scope_of(actor, Action.VEHICLE_READ), call.vehicle_id),
        step=activations.step(
            call.state,
            acknowledged=None if acknowledged is None else acknowledged.code,
            result=call.result_code,
            counts=counts is not None and counts[0] == request_id,
        ),
        asked_ms=ms_of_no(call.no),
        acknowledged_ms=call.response_ms,
        ended_ms=call.result_ms,
        code=None if last is None else last.code,
        info=None if last is None else _text(last.info),
    )


def _text(info: object) -> str | None:
    if info is None or isinstance(info, str):
        return info
    return msgspec.json.encode(info).decode()


NEWEST: Final = 100
"""Most cancelled calls of a deleted sensor that are pushed; a box that never reports results has thousands."""


def of_sensor(tx: WriteTx, sensor_id: SensorId, *, ids: TimeIds, now_ms: int) -> tuple[Notification, ...]:
    """Cancel the pending calls of a sensor that is about to be deleted."""
    pending = activation(tx, sensor_id, ids=ids, now_ms=now_ms)
    return (*pending, *_end(tx, rpc_calls.without_end(tx, sensor_id, limit=NEWEST), ids=ids, now_ms=now_ms))


def activation(tx: WriteTx, sensor_id: SensorId, *, ids: TimeIds, now_ms: int) -> tuple[Notification, ...]:
    """Cancel the pending activation of a sensor, if any: a later result mounts nothing."""
    pending = rpc_activations.of_sensor(tx, sensor_id)
    if pending is None:
        return ()
    rpc_activations.forget(tx, sensor_id)
    call = rpc_calls.find(tx, pending[0])
    return () if call is None else _end(tx, [call], ids=ids, now_ms=now_ms)


def activations_for(tx: WriteTx, vehicle_id: VehicleId, *, ids: TimeIds, now_ms: int) -> tuple[Notification, ...]:
    """Cancel every activation that would put a sensor on a vehicle that is about to be deleted."""
    pending: tuple[Notification, ...] = ()
    for sensor_id in rpc_activations.for_vehicle(tx, vehicle_id):
        pending = (*pending, *activation(tx, sensor_id, ids=ids, now_ms=now_ms))
    return pending


def _end(tx: WriteTx, calls: Sequence[Call], *, ids: TimeIds, now_ms: int) -> tuple[Notification, ...]:
    return requests.end_all(tx, list(calls), event=CallEvent.CANCEL, ids=ids, now_ms=now_ms)

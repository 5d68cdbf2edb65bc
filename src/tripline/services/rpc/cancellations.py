"""Cancel calls because their sensor is deleted or unmounted, or its vehicle deleted (code 5003).

Each function returns the notifications for after the commit.
"""

from collections.abc import Sequence
from typing import Final

from tripline.domain.ids import SensorId, TimeIds, VehicleId
from tripline.domain.rpc import Call, CallEvent
from tripline.services.notifications import Notification
from tripline.services.rpc import requests
from tripline.store.rpc import activations as rpc_activations
from tripline.store.rpc import calls as rpc_calls
from tripline.store.transactions import WriteTx

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

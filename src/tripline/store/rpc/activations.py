"""Rows of activations: the current request to a sensor's device, and the vehicle to mount the sensor on if it succeeds.

A sensor has at most one. Callers check access to the sensor or vehicle, or process answers of devices.
"""

from typing import Final

from sqlalchemy import bindparam, delete, select, update

from tripline.domain.ids import RequestId, SensorId, VehicleId
from tripline.domain.rpc import Call
from tripline.domain.sensors import Status
from tripline.store import reach
from tripline.store.bulk import Bulk
from tripline.store.tables import activation, sensor, vehicle
from tripline.store.transactions import Hot, ReadTx, WriteTx

_PUT: Final = Bulk(
    activation,
    *("sensor_id", "call_id", "vehicle_id", "created_ms"),
    on_conflict="ON CONFLICT (sensor_id) DO UPDATE SET call_id = excluded.call_id,"
    " vehicle_id = excluded.vehicle_id, created_ms = excluded.created_ms",
)
_OF_SENSOR: Final = Hot(
    select(activation.c.call_id, activation.c.vehicle_id).where(activation.c.sensor_id == bindparam("key")), "key"
)
_OF_VEHICLE: Final = Hot(
    select(activation.c.sensor_id).where(activation.c.vehicle_id == bindparam("key")).order_by(activation.c.sensor_id),
    "key",
)
_FORGET: Final = delete(activation).where(activation.c.sensor_id == bindparam("key"))
_WITHDRAW: Final = _FORGET.where(activation.c.call_id == bindparam("request"))
_MOUNT: Final = (
    update(sensor)
    .where(
        sensor.c.id == bindparam("key"),
        sensor.c.vehicle_id.is_(None),
        select(vehicle.c.id)
        .where(vehicle.c.id == bindparam("onto"), vehicle.c.company_id == sensor.c.company_id)
        .exists(),
    )
    .values(vehicle_id=bindparam("onto"), status=bindparam("after"))
)


def put(tx: WriteTx, call: Call, vehicle_id: VehicleId, *, now_ms: int) -> None:
    """Let this request count for its sensor from now on: an older one is superseded."""
    _PUT.insert(tx, [call.sensor_id, call.id, vehicle_id, now_ms])


def of_sensor(tx: ReadTx, sensor_id: SensorId) -> tuple[RequestId, VehicleId] | None:
    """The request that counts for the sensor and the vehicle that it is for; None: nothing is awaited."""
    rows = tx.hot(_OF_SENSOR, sensor_id)
    return (rows[0][0], rows[0][1]) if rows else None


def for_vehicle(tx: ReadTx, vehicle_id: VehicleId) -> list[SensorId]:
    """The sensors that are to be mounted on the vehicle."""
    return [row[0] for row in tx.hot(_OF_VEHICLE, vehicle_id)]


def forget(tx: WriteTx, sensor_id: SensorId) -> None:
    """Nothing is awaited of the sensor any more: a result that comes maps nothing."""
    tx.run(_FORGET, {"key": sensor_id})


def withdraw(tx: WriteTx, call: Call) -> bool:
    """Stop awaiting this request; False when it did not count: another one took its place, or none is awaited."""
    return tx.run(_WITHDRAW, {"key": call.sensor_id, "request": call.id}) == 1


def mount(tx: WriteTx, sensor_id: SensorId, vehicle_id: VehicleId, status: Status) -> bool:
    """Mount the sensor on the vehicle if it is on none and both belong to one company; True if mounted."""
    mounted = tx.run(_MOUNT, {"key": sensor_id, "onto": vehicle_id, "after": status.value}) == 1
    if mounted:
        reach.meet(tx, vehicle_id)
        reach.refresh(tx, sensor_ids=[sensor_id])
    return mounted

"""Rows of activations: the current request to a sensor's device, and the vehicle to mount the sensor on if it succeeds.

A sensor has at most one. Callers check access to the sensor or vehicle, or process answers of devices.
"""

from typing import Final

from sqlalchemy import bindparam, delete, exists, select, update

from tripline.domain.ids import RequestId, SensorId, VehicleId
from tripline.domain.rpc import Call
from tripline.domain.sensors import Status
from tripline.store import reach
from tripline.store.bulk import Bulk
from tripline.store.tables import activation, sensor, vehicle
from tripline.store.transactions import Hot, ReadTx, WriteTx

_OF_SENSOR: Final = Hot(
    select(activation.c.call_id, activation.c.vehicle_id).where(activation.c.sensor_id == bindparam("sensor")), "sensor"
)
_PUT: Final = Bulk(activation, *("sensor_id", "call_id", "vehicle_id", "created_ms"), replaces=True)


def put(tx: WriteTx, call: Call, vehicle_id: VehicleId, *, now_ms: int) -> None:
    """Let this request count for its sensor from now on: an older one is superseded."""
    _PUT.insert(tx, [call.sensor_id, call.id, vehicle_id, now_ms])


def of_sensor(tx: ReadTx, sensor_id: SensorId) -> tuple[RequestId, VehicleId] | None:
    """The request that counts for the sensor and the vehicle that it is for; None: nothing is awaited."""
    rows = tx.hot(_OF_SENSOR, sensor_id)
    return (rows[0][0], rows[0][1]) if rows else None


def for_vehicle(tx: ReadTx, vehicle_id: VehicleId) -> list[SensorId]:
    """The sensors that are to be mounted on the vehicle."""
    awaited = select(activation.c.sensor_id).where(activation.c.vehicle_id == vehicle_id)
    return [row.sensor_id for row in tx.all(awaited.order_by(activation.c.sensor_id))]


def forget(tx: WriteTx, sensor_id: SensorId) -> None:
    """Nothing is awaited of the sensor any more: a result that comes maps nothing."""
    tx.run(delete(activation).where(activation.c.sensor_id == sensor_id))


def withdraw(tx: WriteTx, call: Call) -> bool:
    """Stop awaiting this request; False when it did not count: another one took its place, or none is awaited."""
    awaited = activation.c.sensor_id == call.sensor_id, activation.c.call_id == call.id
    return tx.run(delete(activation).where(*awaited)) == 1


def mount(tx: WriteTx, sensor_id: SensorId, vehicle_id: VehicleId, status: Status) -> bool:
    """Mount the sensor on the vehicle if it is on none and both belong to one company; True if mounted."""
    of_company = exists().where(vehicle.c.id == vehicle_id, vehicle.c.company_id == sensor.c.company_id)
    free = update(sensor).where(sensor.c.id == sensor_id, sensor.c.vehicle_id.is_(None), of_company)
    mounted = tx.run(free.values(vehicle_id=vehicle_id, status=status.value)) == 1
    if mounted:
        reach.meet(tx, vehicle_id)
        reach.refresh(tx, sensor_ids=[sensor_id])
    return mounted

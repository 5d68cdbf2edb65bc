"""Latest values of sensors: the newest payload of each attribute event, and the boxes' reports about themselves."""

from typing import Final

import msgspec
from sqlalchemy import delete, func, select

from tripline.domain.ids import SensorId
from tripline.store.tables import device_event, microtrip, sensor_attribute, trip
from tripline.store.transactions import ReadTx, WriteTx

CAPABILITIES: Final = "cm"
"""The one value that is about the box itself, not about the vehicle it is in."""
RPC_RESULT: Final = "rpc"
"""The newest result of a call to the device (spec/push 4.3)."""


class LatestValue(msgspec.Struct, frozen=True):
    """One attribute: the number of its event as text, `cm`, `latest` or `rpc`."""

    name: str
    updated_ms: int
    payload: bytes
    """JSON, as sent."""


def of_sensor(tx: ReadTx, sensor_id: SensorId) -> list[LatestValue]:
    """The sensor's latest values, by name; the caller was let pass."""
    columns = sensor_attribute.c.name, sensor_attribute.c.updated_ms, sensor_attribute.c.payload
    rows = tx.all(select(*columns).where(sensor_attribute.c.sensor_id == sensor_id).order_by(sensor_attribute.c.name))
    return [LatestValue(*row) for row in rows]


def newest_rows(tx: ReadTx, sensor_id: SensorId) -> list[int]:
    """Row numbers of the sensor's newest trip, microtrip and event, which contain their times."""
    last_trip = select(func.max(trip.c.no)).where(trip.c.sensor_id == sensor_id).scalar_subquery()
    microtrips = select(func.max(microtrip.c.no)).where(microtrip.c.trip_no == last_trip).scalar_subquery()
    events = select(func.max(device_event.c.no)).where(device_event.c.sensor_id == sensor_id).scalar_subquery()
    return [no for no in tx.all(select(last_trip, microtrips, events))[0] if no is not None]


def forget(tx: WriteTx, sensor_id: SensorId) -> None:
    """Forget every value of a sensor that is deleted."""
    tx.run(delete(sensor_attribute).where(sensor_attribute.c.sensor_id == sensor_id))


def forget_of_vehicle(tx: WriteTx, sensor_id: SensorId) -> None:
    """Delete the sensor's values about the vehicle it is removed from."""
    about = sensor_attribute.c.sensor_id == sensor_id, sensor_attribute.c.name != CAPABILITIES
    tx.run(delete(sensor_attribute).where(*about))

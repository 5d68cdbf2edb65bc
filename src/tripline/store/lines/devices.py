"""The effects of carrier actions on rows of sensors: move a mapping to another device, or clear the device.

The events happened outside, to a device that the carrier's account has access to; so the statements name the row alone.
Not here: a company's changes to its sensors (`store/fleet/sensors.py`), rows of lines (`lines.py`).
"""

from typing import Final

from sqlalchemy import bindparam, select, update

from tripline.domain.ids import CompanyId, SensorId
from tripline.domain.sensors import Sensor, Status
from tripline.store.tables import company, sensor
from tripline.store.transactions import Hot, ReadTx, WriteTx

_OPERATOR: Final = Hot(
    select(company.c.id).where(company.c.service_type == bindparam("type"), company.c.master), "type"
)
_RELEASED: Final = {"vehicle_id": None, "status": Status.DEACTIVATED.value}
_EMPTY: Final = {
    **_RELEASED,
    "credentials_id": None,
    "mission_type": None,
    "additional_info": None,
    "last_trip_msg_type": None,
}


def operator_of(tx: ReadTx, service_type: str) -> CompanyId | None:
    """The operator company of a service type."""
    rows = tx.hot(_OPERATOR, service_type)
    return CompanyId(rows[0][0]) if rows else None


def hand_over(tx: WriteTx, old: Sensor, to: SensorId) -> None:
    """Take the vehicle from one device and give it to another."""
    tx.run(update(sensor).where(sensor.c.id == old.id).values(_RELEASED))
    values = {"vehicle_id": old.vehicle_id, "status": old.status.value}
    tx.run(update(sensor).where(sensor.c.id == to).values(values))


def clear(tx: WriteTx, sensor_id: SensorId) -> None:
    """Keep a device's id, owner, serial number, vendor and type, and clear everything registered about it.

    Its data stays with the vehicle it was on.
    """
    tx.run(update(sensor).where(sensor.c.id == sensor_id).values(_EMPTY))

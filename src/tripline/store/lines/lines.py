"""Rows of carrier lines, one per device that has or had a line, the claim of a running carrier call,
and the changes of a line, newest first.

Lines are read with their devices, under a scope (`store/fleet/sensors.py`); callers of these functions check access
first. A carrier's actions on devices happened outside, to a device that its account has access to; so their statements
name the row alone.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import delete, func, insert, select, update

from tripline.domain.ids import CompanyId, RowNo, SensorId
from tripline.domain.lines import Change, Claim, Line, NwStatus
from tripline.domain.sensors import Sensor, Status
from tripline.store import reach
from tripline.store.tables import carrier_line, company, line_change, sensor
from tripline.store.transactions import ReadTx, WriteTx

_UNCLAIMED: Final[dict[str, Any]] = {"claimed_by": None, "claimed_until_ms": None}


_RELEASED: Final = {"vehicle_id": None, "status": Status.DEACTIVATED.value}
_EMPTY: Final = {
    **_RELEASED,
    "credentials_id": None,
    "mission_type": None,
    "additional_info": None,
    "last_trip_msg_type": None,
}


def put(tx: WriteTx, line: Line, *, now_ms: int) -> None:
    """Store the line as its device's, replacing the previous one. The caller has checked that the number is free.

    The claim of a carrier call on the line remains.
    """
    values = {
        "mdn": line.mdn,
        "nw_status": line.nw_status.value,
        "subscription": line.subscription,
        "imsi": line.imsi,
        "iccid": line.iccid,
        "updated_ms": now_ms,
    }
    if not tx.run(update(carrier_line).where(carrier_line.c.sensor_id == line.sensor_id).values(values)):
        tx.run(insert(carrier_line), {"sensor_id": line.sensor_id, **values})


def forget(tx: WriteTx, sensor_id: SensorId) -> None:
    """The device has no line any more, and no request to the carrier is pending."""
    tx.run(delete(carrier_line).where(carrier_line.c.sensor_id == sensor_id))


def claim_of(tx: ReadTx, sensor_id: SensorId) -> Claim | None:
    """The call to the carrier about the device's line that has not ended, or whose end is not known."""
    columns = (carrier_line.c.claimed_by, carrier_line.c.claimed_until_ms)
    row = tx.one(select(*columns).where(carrier_line.c.sensor_id == sensor_id))
    return None if row is None or row.claimed_by is None else Claim(row.claimed_by, row.claimed_until_ms)


def claim(tx: WriteTx, sensor_id: SensorId, claim: Claim | None) -> None:
    """Note the call about the device's line; None when it has ended."""
    values = {"claimed_by": claim.request_id, "claimed_until_ms": claim.until_ms} if claim else _UNCLAIMED
    tx.run(update(carrier_line).where(carrier_line.c.sensor_id == sensor_id).values(values))


def operator_of(tx: ReadTx, service_type: str) -> CompanyId | None:
    """The operator company of a service type."""
    row = tx.one(select(company.c.id).where(company.c.service_type == service_type, company.c.master))
    return None if row is None else CompanyId(row.id)


def hand_over(tx: WriteTx, old: Sensor, to: SensorId) -> None:
    """Take the vehicle from one device and give it to another."""
    tx.run(update(sensor).where(sensor.c.id == old.id).values(_RELEASED))
    values = {"vehicle_id": old.vehicle_id, "status": old.status.value}
    tx.run(update(sensor).where(sensor.c.id == to).values(values))
    reach.refresh(tx, sensor_ids=[old.id, to])


def clear(tx: WriteTx, sensor_id: SensorId) -> None:
    """Keep a device's id, owner, serial number, vendor and type, and clear everything registered about it.

    Its data stays with the vehicle it was on.
    """
    tx.run(update(sensor).where(sensor.c.id == sensor_id).values(_EMPTY))
    reach.refresh(tx, sensor_ids=[sensor_id])


_ROW: Final = line_change.c
_FIELDS: Final = list(Change.__struct_fields__)


def add(tx: WriteTx, sensor_id: SensorId, change: Change) -> None:
    """Store a change of the device's line after all existing ones: its number gives its place by our clock.

    Another program on this database may have used the same number for this line, or numbers ahead of our clock.
    """
    newest = tx.all(select(func.coalesce(func.max(_ROW.no), 0)).where(_ROW.sensor_id == sensor_id))[0][0]
    values = {name: getattr(change, name) for name in _FIELDS} | {"nw_status": change.nw_status.value}
    tx.run(insert(line_change), {"sensor_id": sensor_id, **values, "no": max(change.no, newest + 1)})


def of_sensor(tx: ReadTx, sensor_id: SensorId, *, before: RowNo | None, limit: int) -> Sequence[Change]:
    """Return the changes of the device's line before this number, newest first."""
    rows = select(*(_ROW[name] for name in _FIELDS)).where(_ROW.sensor_id == sensor_id)
    earlier = rows if before is None else rows.where(_ROW.no < before)
    found = tx.all(earlier.order_by(_ROW.no.desc()).limit(limit))
    return [Change(**{**row._mapping, "nw_status": NwStatus(row.nw_status)}) for row in found]


def forget_changes(tx: WriteTx, sensor_id: SensorId) -> None:
    """Delete the line changes of a deleted device."""
    tx.run(delete(line_change).where(_ROW.sensor_id == sensor_id))

"""Rows of carrier lines, one per device that has or had a line, and the claim of a running carrier call.

Lines are read with their devices, under a scope (`store/fleet/sensors.py`); callers of these functions check access
first. Not here: changes of lines (`services/lines/`), completed actions (`actions.py`).
"""

from typing import Any, Final

from sqlalchemy import delete, insert, select, update

from tripline.domain.ids import SensorId
from tripline.domain.lines import Claim, Line
from tripline.store.tables import carrier_line
from tripline.store.transactions import ReadTx, WriteTx

_UNCLAIMED: Final[dict[str, Any]] = {"claimed_by": None, "claimed_until_ms": None}


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

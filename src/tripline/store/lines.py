"""Rows of carrier lines: one for each device that has, or had, a line; and the claim that a call to the carrier holds.

Not here: what happens to them (`services/carrier/`), actions already done (`carrier_actions.py`), the record that a
device with a line has (`sensors.py`).
"""

from functools import cache
from typing import Any, Final

from sqlalchemy import Row, Select, bindparam, delete, insert, select, update

from tripline.domain.access import Scope
from tripline.domain.ids import SensorId
from tripline.domain.lines import Claim, Line, NwStatus
from tripline.store import scopes
from tripline.store.tables import carrier_line, sensor
from tripline.store.transactions import ReadTx, WriteTx

_COLUMNS: Final = (
    carrier_line.c.sensor_id,
    carrier_line.c.mdn,
    carrier_line.c.nw_status,
    carrier_line.c.subscription,
    carrier_line.c.imsi,
    carrier_line.c.iccid,
)


def find(tx: ReadTx, scope: Scope, mdn: str) -> tuple[Line, bool] | None:
    """The line with this number and whether its device is inside the scope, or None when there is none."""
    row = tx.one(_find(scope.reaches), {"mdn": mdn, **scopes.values(scope)})
    return None if row is None else (_line(row), bool(row.inside))


def of_sensor(tx: ReadTx, scope: Scope, sensor_id: SensorId) -> Line | None:
    """The line of a device inside the scope, with or without a number; None when it never had one."""
    statement = select(*_COLUMNS).join(sensor, sensor.c.id == carrier_line.c.sensor_id)
    inside = scopes.sensors(scope.reaches)
    row = tx.one(
        statement.where(carrier_line.c.sensor_id == bindparam("key"), inside),
        {"key": sensor_id, **scopes.values(scope)},
    )
    return None if row is None else _line(row)


def put(tx: WriteTx, line: Line, *, now_ms: int) -> None:
    """Keep the line as its device's, in place of what was there. The number was looked up before: it is free.

    A call to the carrier that is noted for the line stays noted.
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
    """The device has no line any more, and no call about it is waited for."""
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


_UNCLAIMED: Final[dict[str, Any]] = {"claimed_by": None, "claimed_until_ms": None}


@cache
def _find(reaches: scopes.Reaches) -> Select[Any]:
    inside = scopes.sensors(reaches).label("inside")
    joined = carrier_line.join(sensor, sensor.c.id == carrier_line.c.sensor_id)
    return select(*_COLUMNS, inside).select_from(joined).where(carrier_line.c.mdn == bindparam("mdn"))


def _line(row: Row[Any]) -> Line:
    return Line(
        sensor_id=row.sensor_id,
        mdn=row.mdn,
        nw_status=NwStatus(row.nw_status),
        subscription=row.subscription,
        imsi=row.imsi,
        iccid=row.iccid,
    )

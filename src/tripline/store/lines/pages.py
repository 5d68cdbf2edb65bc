"""Lists of lines: a company's devices that have or had one, by serial number.

Not here: a single line, which is read with its device (`store/fleet/sensors.py`), what became of it (`changes.py`).
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import Select, bindparam, select

from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId, SensorId, VehicleId
from tripline.domain.lines import Line, NwStatus
from tripline.store import lists, reached, scopes
from tripline.store.tables import carrier_line, sensor, vehicle
from tripline.store.transactions import ReadTx

_LINE: Final = list(Line.__struct_fields__)


class Lined(msgspec.Struct, frozen=True, kw_only=True):
    """A device and its line."""

    id: SensorId
    serial_no: str
    vehicle_id: VehicleId | None
    vehicle_no: str | None
    updated_ms: int
    """When the line changed last."""
    line: Line


_FIELDS: Final = [name for name in Lined.__struct_fields__ if name != "line"]


def of_company(
    tx: ReadTx, scope: Scope, company_id: CompanyId, window: lists.Window, *, status: NwStatus | None
) -> Sequence[Lined]:
    """The company's devices inside the scope that have or had a line, with lines in one state when asked.

    Raises `UnknownOffset`.
    """
    values = (company_id, None if status is None else status.value, scope.user_id, scope.company_id)
    rows = _LISTING.page(tx, window, values, scope.reaches, reached.few(tx, scope), status is not None)
    return [_lined(row) for row in rows]


def _rows(reaches: scopes.Reaches, few: bool, of_status: bool) -> Select[Any]:
    columns = {"updated_ms": carrier_line.c.updated_ms, "vehicle_no": vehicle.c.vehicle_no}
    statement = select(
        *(columns[name] if name in columns else sensor.c[name] for name in _FIELDS),
        *(carrier_line.c[name].label(f"line_{name}") for name in _LINE),
    ).select_from(
        sensor.join(carrier_line, carrier_line.c.sensor_id == sensor.c.id).outerjoin(
            vehicle, vehicle.c.id == sensor.c.vehicle_id
        )
    )
    if few:
        owner = reached.beside_index(sensor.c.company_id)
        statement = statement.where(sensor.c.vehicle_id.in_(reached.singles(reaches)), owner == bindparam("company"))
    else:
        statement = statement.where(sensor.c.company_id == bindparam("company"), scopes.sensors(reaches))
    return statement.where(carrier_line.c.nw_status == bindparam("status")) if of_status else statement


_LISTING: Final = lists.Listing(
    sensor.c.serial_no,
    sensor.c.id,
    _rows,
    ("company", "status", scopes.USER, scopes.COMPANY),
    lambda _reaches, few, _of_status: few,
)


def _lined(row: tuple[Any, ...]) -> Lined:
    values = dict(zip(_FIELDS, row, strict=False))
    line = dict(zip(_LINE, row[len(_FIELDS) :], strict=True))
    return Lined(**values, line=Line(**{**line, "nw_status": NwStatus(line["nw_status"])}))

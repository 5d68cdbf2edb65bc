"""The list of lines of a company's devices, within a scope: lines that exist or existed, and how many they are.

Not here: a single line, which is read with its device (`store/fleet/sensors.py`), its changes
(`store/lines/changes.py`), finding lines of every company by a number (`numbers.py`).
"""

from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Select, Subquery, and_, bindparam, exists, select

from tripline.domain import lines
from tripline.domain.access import Scope
from tripline.domain.ids import SensorId, VehicleId
from tripline.domain.lines import NwStatus
from tripline.store import prefixes, scopes
from tripline.store.listing import engine
from tripline.store.listing.engine import LISTED, THING, Along, Filter, ListQuery, ListSpec, Search
from tripline.store.listing.pages import Page, PageRequest
from tripline.store.reach import Kind, Why
from tripline.store.tables import carrier_line, sensor, vehicle
from tripline.store.transactions import ReadTx


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which lines to list; None: any."""

    search: str | None = None
    """Beginning of the device's serial number, in any case, or of the telephone number."""
    state: NwStatus | None = None


class ListedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line as a list shows it, with its device."""

    id: SensorId
    created_ms: int
    """When the device was registered."""
    serial_no: str
    vehicle_id: VehicleId | None
    vehicle_no: str | None
    mdn: str | None
    nw_status: NwStatus
    subscription: str | None
    imsi: str | None
    iccid: str | None
    updated_ms: int
    """When the line changed last."""


def page(tx: ReadTx, scope: Scope, filters: Filters, page_request: PageRequest) -> Page[ListedLine]:
    """Return the lines of the page: of devices of the scope's company that are inside the scope."""
    return _LINES.page(tx, _query(scope, filters), page_request).mapped(_listed)


def count(tx: ReadTx, scope: Scope, filters: Filters) -> int:
    """Return how many of these lines the filters let pass."""
    return _LINES.count(tx, _query(scope, filters))


def _query(scope: Scope, filters: Filters) -> ListQuery:
    state = None if filters.state is None else filters.state.value
    return engine.query_of(scope, {"state": state}, filters.search)


_HAD: Final = carrier_line.alias("had")
_LINE: Final = exists().where(_HAD.c.sensor_id == THING)


def _bounds(text: str) -> tuple[str, str] | None:
    number = lines.number_of(text)
    return None if number is None else (number, number + prefixes.LAST)


def _begins(number: ColumnElement[Any]) -> ColumnElement[bool]:
    return and_(number >= bindparam("number_from"), number < bindparam("number_to"))


def _shown(page: Subquery) -> Select[Any]:
    row = sensor.alias("shown")
    looked_up = {name: (vehicle if name == "vehicle_no" else carrier_line).c[name] for name in _ELSEWHERE}
    joined = (
        page.join(row, row.c.id == page.c.key)
        .join(carrier_line, carrier_line.c.sensor_id == row.c.id)
        .outerjoin(vehicle, vehicle.c.id == row.c.vehicle_id)
    )
    return select(page.c.place, page.c.key, *engine.fields(_FIELDS, row, looked_up)).select_from(joined)


_FIELDS: Final = ListedLine.__struct_fields__
_ELSEWHERE: Final = ("vehicle_no", "mdn", "nw_status", "subscription", "imsi", "iccid", "updated_ms")


def _listed(row: tuple[Any, ...]) -> ListedLine:
    values = dict(zip(_FIELDS, row[2:], strict=True))
    return ListedLine(**{**values, "nw_status": NwStatus(values["nw_status"])})


_LINES: Final = ListSpec(
    kind=Kind.SENSOR,
    orders={"serial": LISTED.c.sort_key, "created": LISTED.c.created_ms},
    name="serial",
    searches=(
        Search(
            names=("number_from", "number_to"),
            values=_bounds,
            where=_LINE.where(_begins(_HAD.c.mdn)),
            few=select(carrier_line.c.sensor_id).where(_begins(carrier_line.c.mdn)),
        ),
    ),
    values=("state",),
    always=(Filter(along=Along(scopes.COMPANY, Why.OWN), where=_LINE),),
    filters={
        "state": Filter(
            where=_LINE.where(_HAD.c.nw_status == bindparam("state")),
            few=select(carrier_line.c.sensor_id).where(carrier_line.c.nw_status == bindparam("state")),
        ),
    },
    shown=_shown,
)

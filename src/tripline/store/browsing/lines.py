"""Lines of a company's devices within somebody's reach, as a list: those that there are or were, by serial number or
registration of the device, and how many they are.

Not here: a single line, which is read with its device (`store/fleet/sensors.py`), what became of it
(`store/lines/changes.py`), finding lines of every company by a number (`numbers.py`).
"""

from enum import Enum
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Select, Subquery, and_, bindparam, exists, func, select

from tripline.domain import lines
from tripline.domain.access import Reach, Scope
from tripline.domain.ids import SensorId, VehicleId
from tripline.domain.lines import NwStatus
from tripline.store import prefixes, reached, scopes
from tripline.store.browsing import pages
from tripline.store.browsing.pages import ListQuery, Page, PageRequest, Source
from tripline.store.tables import carrier_line, sensor, vehicle
from tripline.store.tables.base import lowered
from tripline.store.transactions import Hot, ReadTx


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
    """The lines of the page: of devices of the scope's company that are inside the scope."""
    values = _values(scope, filters)
    found = _QUERY.page(tx, page_request, _sources(tx, scope, filters, values), values, search=filters.search)
    return found.mapped(_listed)


def count(tx: ReadTx, scope: Scope, filters: Filters) -> int:
    """How many of these lines the filters let pass."""
    values = _values(scope, filters)
    return _QUERY.count(tx, _sources(tx, scope, filters, values), values, search=filters.search)


class _Found(Enum):
    """How rows are found."""

    COMPANY = "along the serial numbers of the company"
    SINGLES = "by single vehicles inside"
    STATE = "by the index of states, of the company"
    NUMBER = "by the index of telephone numbers, of the company"


class _Which(NamedTuple):
    """The way in and the filters in force; each combination has its statement."""

    found: _Found
    reaches: scopes.Reaches
    state: bool
    number: bool
    """Whether the telephone number begins with what is searched for, and the serial number does not."""


def _values(scope: Scope, filters: Filters) -> tuple[str | None, ...]:
    """In the order of `_NAMES`."""
    number = lines.number_of(filters.search or "")
    return (
        scope.user_id,
        scope.company_id,
        None if filters.state is None else filters.state.value,
        filters.search,
        number,
        None if number is None else number + prefixes.LAST,
    )


def _sources(tx: ReadTx, scope: Scope, filters: Filters, values: tuple[str | None, ...]) -> list[Source]:
    """Where the rows come from; they share none. Who sees the company's devices sees all of them."""
    found = _Found.COMPANY if Reach.OWN_COMPANY in scope.reaches else _Found.SINGLES
    if filters.state is not None:
        found = _narrowed(tx, found, _Found.STATE, values)
    which = _Which(found, scope.reaches, filters.state is not None, number=False)
    sources = [_source(which)]
    if lines.number_of(filters.search or "") is not None:
        sources.append(_source(which._replace(found=_narrowed(tx, found, _Found.NUMBER, values), number=True)))
    return sources


def _narrowed(tx: ReadTx, found: _Found, narrow: _Found, values: tuple[str | None, ...]) -> _Found:
    """The narrow way, where the company's rows would be walked along and few of all companies are found so."""
    return narrow if found is _Found.COMPANY and not tx.hot(_past_set(narrow), *values) else found


def _source(which: _Which) -> Source:
    return Source(_conditions, (which,), walked=which.found is _Found.COMPANY, named=not which.number)


def _conditions(which: _Which) -> list[ColumnElement[bool]]:
    line = exists().where(_LINE.c.sensor_id == sensor.c.id)
    if which.state:
        line = line.where(_LINE.c.nw_status == bindparam("of_state"))
    if not which.number:
        return [*_found_by(which), line]
    text = lowered(bindparam("of_text", type_=sensor.c.serial_no.type))
    no_serial = func.substr(lowered(sensor.c.serial_no), 1, func.length(text)) != text
    if which.found is _Found.NUMBER:
        return [*_found_by(which), line, no_serial]
    # Tested line by line, the number first: of a range that it does not know PostgreSQL expects few lines, and would
    # find them all and sort them.
    return [*_found_by(which), line.where(reached.tested(and_(*_begins(_LINE.c.mdn), no_serial)))]


def _found_by(which: _Which) -> list[ColumnElement[bool]]:
    """Conditions that find the rows and keep them inside the scope. No other condition may lead to an index."""
    row = sensor.c
    match which.found:
        case _Found.COMPANY:
            return [row.company_id == bindparam(scopes.COMPANY)]
        case _Found.SINGLES:
            return [row.vehicle_id.in_(reached.singles(which.reaches)), _OWN]
    return [row.id.in_(_set(which.found)), _OWN]


def _set(found: _Found) -> Select[tuple[str]]:
    """The devices of every company whose lines are found by an index of their own."""
    row = carrier_line.c
    alike = _begins(row.mdn) if found is _Found.NUMBER else (row.nw_status == bindparam("of_state"),)
    return select(row.sensor_id).where(*alike)


def _begins(number: ColumnElement[str]) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return number >= bindparam("number_from"), number < bindparam("number_to")


_LINE: Final = carrier_line.alias("had")
_OWN: Final = reached.tested(sensor.c.company_id == bindparam(scopes.COMPANY))
_NAMES: Final = (scopes.USER, scopes.COMPANY, "of_state", "of_text", "number_from", "number_to")


@cache
def _past_set(found: _Found) -> Hot:
    # In the order of the index: PostgreSQL would look through the whole table for a state that may be many lines'.
    row = carrier_line.c
    along = row.mdn if found is _Found.NUMBER else row.sensor_id
    return Hot(_set(found).order_by(along).limit(1).offset(pages.MANY), *_NAMES)


def _shown(page: Subquery) -> Select[Any]:
    row = sensor.alias("shown")
    tables = {name: vehicle if name == "vehicle_no" else carrier_line for name in _ELSEWHERE}
    columns = [tables.get(name, row).c[name] for name in _FIELDS]
    joined = (
        page.join(row, row.c.id == page.c.key)
        .join(carrier_line, carrier_line.c.sensor_id == row.c.id)
        .outerjoin(vehicle, vehicle.c.id == row.c.vehicle_id)
    )
    return select(page.c.place, page.c.key, *columns).select_from(joined)


_FIELDS: Final = ListedLine.__struct_fields__
_ELSEWHERE: Final = ("vehicle_no", "mdn", "nw_status", "subscription", "imsi", "iccid", "updated_ms")
_QUERY: Final = ListQuery(
    sensor.c.id,
    {"serial": sensor.c.serial_no, "created": sensor.c.created_ms},
    "serial",
    _shown,
    _NAMES,
)


def _listed(row: tuple[Any, ...]) -> ListedLine:
    values = dict(zip(_FIELDS, row[2:], strict=True))
    return ListedLine(**{**values, "nw_status": NwStatus(values["nw_status"])})

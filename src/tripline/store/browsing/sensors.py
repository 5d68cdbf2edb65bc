"""Sensors within somebody's reach, as a list: filtered, by serial number or registration, and how many they are.

Their sources are those of vehicles (`vehicles.py`), on which they hang. A record's access token is no part of a list.
"""

from enum import Enum
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Select, Subquery, bindparam, exists, select

from tripline.domain.access import Reach, Scope
from tripline.domain.ids import CompanyId, SensorId, VehicleId
from tripline.domain.lines import NwStatus
from tripline.domain.sensors import Status
from tripline.store import endings, reached, scopes
from tripline.store.browsing import pages, ranks
from tripline.store.browsing.pages import ListQuery, Page, PageRequest, Source
from tripline.store.browsing.ranks import Rank
from tripline.store.tables import carrier_line, company, device_connection, sensor, vehicle
from tripline.store.transactions import Hot, ReadTx


class Heard(Enum):
    """What is known of a device's connection."""

    CONNECTED = "connected"
    AWAY = "away"
    """It was connected before."""
    NEVER = "never"
    """It never was."""


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which sensors to list; None: any."""

    search: str | None = None
    """Beginning of the serial number, in any case, or an end of it that ends with four digits (`endings.py`)."""
    mounted: bool | None = None
    heard: Heard | None = None
    type: str | None = None
    company_id: CompanyId | None = None


class ListedSensor(msgspec.Struct, frozen=True, kw_only=True):
    """A sensor as a list shows it."""

    id: SensorId
    created_ms: int
    serial_no: str
    vendor: str | None
    type: str
    status: Status
    activation_required: bool
    company_id: CompanyId
    company_name: str
    vehicle_id: VehicleId | None
    vehicle_no: str | None
    mdn: str | None
    iccid: str | None
    nw_status: NwStatus | None
    heard: Heard
    seen_ms: int | None
    """When its device was last heard of."""


def page(tx: ReadTx, scope: Scope, filters: Filters, page_request: PageRequest) -> Page[ListedSensor]:
    """The sensors of the page that are inside the scope."""
    rank = ranks.of_scope(tx, scope)
    values = _values(scope, rank, filters)
    sources = _sources(tx, scope, rank, filters, values)
    found = _QUERY.page(tx, page_request, sources, values, search=filters.search)
    if not found.rows and (number := ranks.other_form(tx, rank, sensor.c.serial_no, filters.search)):
        return page(tx, scope, replace(filters, search=number), page_request)
    return found.mapped(_listed)


def count(tx: ReadTx, scope: Scope, filters: Filters) -> int:
    """How many sensors inside the scope the filters let pass."""
    rank = ranks.of_scope(tx, scope)
    values = _values(scope, rank, filters)
    sources = _sources(tx, scope, rank, filters, values)
    found = _QUERY.count(tx, [_counted(each) for each in sources], values, search=filters.search)
    if not found and (number := ranks.other_form(tx, rank, sensor.c.serial_no, filters.search)):
        return count(tx, scope, replace(filters, search=number))
    return found


class _Found(Enum):
    """How rows are found."""

    TYPE = "along the serial numbers of the service type"
    COMPANY = "along the serial numbers of a company"
    WHOLE = "by the companies inside, in no order"
    SINGLES = "by single vehicles inside"
    BESIDE = "along the serial numbers of the service type, those of no company inside as a whole"
    FREE = "by the index of sensors on no vehicle, of a company"
    FREE_IN_TYPE = "by the index of sensors on no vehicle, of every company inside"
    CONNECTED = "by the connections that there are"
    AWAY = "by those that there were"
    OF_TYPE = "by the type, of a company"
    OF_TYPE_IN_TYPE = "by the type, of every company inside"
    ENDING = "by the last digits of the serial number, of a company"
    ENDING_IN_TYPE = "by the last digits of the serial number, in the service type"
    ENDING_BESIDE = "by the last digits of the serial number, those of no company inside as a whole"


class _Kept(NamedTuple):
    """Which filters there are, without their values."""

    mounted: bool | None
    heard: Heard | None
    type: bool
    company: bool
    ending: bool
    """Whether the serial number ends with what is searched for, and does not begin with it."""


def _values(scope: Scope, rank: Rank | None, filters: Filters) -> tuple[str | None, ...]:
    """In the order of `_NAMES`."""
    return (
        scope.user_id,
        scope.company_id,
        None if rank is None else rank.service_type,
        filters.company_id or scope.company_id,
        filters.type,
        *endings.values(filters.search),
    )


def _sources(
    tx: ReadTx, scope: Scope, rank: Rank | None, filters: Filters, values: tuple[str | None, ...]
) -> list[Source]:
    """Where the rows come from; they share none."""
    if rank is None:
        return []
    of_type, of_company = filters.type is not None, filters.company_id is not None
    kept = _Kept(filters.mounted, filters.heard, of_type, of_company, ending=False)
    ways = _ways(tx, scope, rank, filters)
    sources = [_narrowed(tx, _source(scope, each, kept), values) for each in ways]
    if endings.of(filters.search) is not None:
        ended = kept._replace(ending=True)
        sources += [_ended(tx, _source(scope, each, ended), values) for each in ways]
    return sources


def _source(scope: Scope, found: _Found, kept: _Kept) -> Source:
    walked = found is not _Found.SINGLES
    return Source(_conditions, (found, scope.reaches, kept), walked=walked, named=not kept.ending)


def _ways(tx: ReadTx, scope: Scope, rank: Rank, filters: Filters) -> list[_Found]:
    if rank.whole_type:
        return [_Found.TYPE if filters.company_id is None else _Found.COMPANY]
    own = [_Found.COMPANY] if rank.own and filters.company_id in (None, scope.company_id) else []
    if own and filters.company_id is not None:
        return own
    # Whoever directs vehicles has some thousand at most; a company may have received all of another one's.
    if Reach.MANAGED in scope.reaches:
        return [*own, _Found.SINGLES]
    return [*own, *_BESIDE_OWN[ranks.singles(tx, scope)]]


def _narrowed(tx: ReadTx, source: Source, values: tuple[str | None, ...]) -> Source:
    """The source, or the same rows by an index of their own while they are few."""
    found, reaches, kept = source.which
    narrow = None
    if found not in (_Found.TYPE, _Found.COMPANY):
        return source
    if kept.mounted is False:
        narrow = _Found.FREE_IN_TYPE if found is _Found.TYPE else _Found.FREE
    elif kept.heard in (Heard.CONNECTED, Heard.AWAY):
        narrow = _Found.CONNECTED if kept.heard is Heard.CONNECTED else _Found.AWAY
    elif kept.type:
        narrow = _Found.OF_TYPE_IN_TYPE if found is _Found.TYPE else _Found.OF_TYPE
    if narrow is None or tx.hot(_past_set(narrow, reaches), *values):
        return source
    # Connections are those of every company: the rows of this source alone are to be found.
    return Source(_conditions, (narrow, reaches, kept._replace(company=found is _Found.COMPANY)), walked=False)


def _ended(tx: ReadTx, source: Source, values: tuple[str | None, ...]) -> Source:
    """The source, or the same rows by the index of last digits while few have these."""
    found, reaches, kept = source.which
    narrow = _BY_ENDING.get(found)
    if narrow is None or tx.hot(_past_set(narrow, reaches), *values):
        return source
    return source._replace(which=(narrow, reaches, kept), walked=False)


def _counted(source: Source) -> Source:
    """The source as it is counted: of a service type company by company, in an index alone."""
    found, reaches, kept = source.which
    return source if found is not _Found.TYPE else source._replace(which=(_Found.WHOLE, reaches, kept))


def _conditions(found: _Found, reaches: scopes.Reaches, kept: _Kept) -> list[ColumnElement[bool]]:
    conditions = [*_found_by(found, reaches), *_filtered(kept)]
    if found not in (_Found.WHOLE, _Found.SINGLES):  # of these what is inside is the condition itself
        conditions.append(scopes.sensors(reaches))
    return conditions


def _found_by(found: _Found, reaches: scopes.Reaches) -> list[ColumnElement[bool]]:
    """What finds the rows; nothing else is there to be found by an index."""
    row = sensor.c
    match found:
        case _Found.TYPE:
            return [row.service_type == bindparam("service_type")]
        case _Found.COMPANY:
            return [row.company_id == bindparam("of_company")]
        case _Found.WHOLE:
            return [row.company_id.in_(ranks.whole(reaches))]
        case _Found.SINGLES:
            return [row.vehicle_id.in_(reached.singles(reaches)), *ranks.beside_whole(sensor.c.company_id, reaches)]
        case _Found.BESIDE:
            return [
                row.service_type == bindparam("service_type"),
                *ranks.beside_whole(sensor.c.company_id, reaches),
            ]
    within = row.id.in_(_set(found, reaches))
    if found is _Found.ENDING:
        return [within, reached.beside_index(row.company_id) == bindparam("of_company")]
    if found is _Found.ENDING_BESIDE:
        return [within, *ranks.beside_whole(sensor.c.company_id, reaches)]
    return [within]


def _set(found: _Found, reaches: scopes.Reaches) -> Select[tuple[str]]:
    """The ids of rows that are found by an index of their own."""
    if found is _Found.CONNECTED:
        return select(_HEARD.c.sensor_id).where(_HEARD.c.connected.is_(True))
    if found is _Found.AWAY:
        return select(_HEARD.c.sensor_id).where(_HEARD.c.connected.is_(False), _WAS_THERE)
    if found in _BY_ENDING.values():
        of_type = _OTHER.c.service_type == bindparam("service_type")
        return select(_OTHER.c.id).where(of_type, endings.found(_OTHER.c.serial_no))
    of = _OTHER.c.company_id
    of_one = found in (_Found.FREE, _Found.OF_TYPE)
    inside = of == bindparam("of_company") if of_one else of.in_(ranks.whole(reaches))
    free = found in (_Found.FREE, _Found.FREE_IN_TYPE)
    alike = _OTHER.c.vehicle_id.is_(None) if free else _OTHER.c.type == bindparam("of_type")
    return select(_OTHER.c.id).where(inside, alike)


def _filtered(kept: _Kept) -> list[ColumnElement[bool]]:
    """The filters, so that no index finds rows by them."""
    row = sensor.c
    filters: list[ColumnElement[bool]] = []
    if kept.mounted is not None:
        on = reached.beside_index(row.vehicle_id)
        filters.append(on.is_not(None) if kept.mounted else on.is_(None))
    if kept.heard is not None:
        filters.append(_of_connection(kept.heard))
    if kept.type:
        filters.append(reached.beside_index(row.type) == bindparam("of_type"))
    if kept.company:
        filters.append(reached.beside_index(row.company_id) == bindparam("of_company"))
    if kept.ending:
        filters.append(endings.only_ends(row.serial_no))
    return filters


def _of_connection(heard: Heard) -> ColumnElement[bool]:
    known = exists().where(_HEARD.c.sensor_id == sensor.c.id)
    if heard is Heard.CONNECTED:
        return known.where(_HEARD.c.connected.is_(True))
    was = known.where(_HEARD.c.connected.is_(False), _WAS_THERE)
    return was if heard is Heard.AWAY else ~known.where(_HEARD.c.connected.is_(True) | _WAS_THERE)


_BESIDE_OWN: Final = {
    ranks.Singles.NONE: (),
    ranks.Singles.FEW: (_Found.SINGLES,),
    ranks.Singles.MANY: (_Found.BESIDE,),
}
_BY_ENDING: Final = {
    _Found.TYPE: _Found.ENDING_IN_TYPE,
    _Found.COMPANY: _Found.ENDING,
    _Found.BESIDE: _Found.ENDING_BESIDE,
}
"""How rows are found instead while few serial numbers end so."""
_OTHER: Final = sensor.alias("other")
_HEARD: Final = device_connection.alias("heard")
# A row may be there before anything was heard, to be locked; of a server that is gone no number of a session is left.
_WAS_THERE: Final = _HEARD.c.lost_ms.is_not(None)
_NAMES: Final = (scopes.USER, scopes.COMPANY, "service_type", "of_company", "of_type", *endings.NAMES)


@cache
def _past_set(found: _Found, reaches: scopes.Reaches) -> Hot:
    return Hot(_set(found, reaches).limit(1).offset(pages.MANY), *_NAMES)


def _shown(page: Subquery) -> Select[Any]:
    row = sensor.alias("shown")
    looked_up: dict[str, ColumnElement[Any]] = {
        "company_name": company.c.name,
        "vehicle_no": vehicle.c.vehicle_no,
        "mdn": carrier_line.c.mdn,
        "iccid": carrier_line.c.iccid,
        "nw_status": carrier_line.c.nw_status,
        "heard": _HEARD.c.connected,
        "seen_ms": _HEARD.c.seen_ms,
    }
    columns = [looked_up[name].label(name) if name in looked_up else row.c[name] for name in _FIELDS]
    joined = (
        page.join(row, row.c.id == page.c.key)
        .join(company, company.c.id == row.c.company_id)
        .outerjoin(vehicle, vehicle.c.id == row.c.vehicle_id)
        .outerjoin(carrier_line, carrier_line.c.sensor_id == row.c.id)
        .outerjoin(_HEARD, _HEARD.c.sensor_id == row.c.id)
    )
    return select(page.c.place, page.c.key, *columns, _HEARD.c.lost_ms).select_from(joined)


_FIELDS: Final = ListedSensor.__struct_fields__
_QUERY: Final = ListQuery(
    sensor.c.id,
    {"serial": sensor.c.serial_no, "created": sensor.c.created_ms},
    "serial",
    _shown,
    _NAMES,
)


def _listed(row: tuple[Any, ...]) -> ListedSensor:
    values = dict(zip(_FIELDS, row[2:-1], strict=True))
    connected, lost_ms = values["heard"], row[-1]
    values["heard"] = Heard.CONNECTED if connected else Heard.NEVER if lost_ms is None else Heard.AWAY
    if values["heard"] is Heard.NEVER:
        values["seen_ms"] = None
    values["status"] = Status(values["status"])
    values["activation_required"] = bool(values["activation_required"])
    values["nw_status"] = None if values["nw_status"] is None else NwStatus(values["nw_status"])
    return ListedSensor(**values)

"""Vehicles within somebody's reach, as a list: filtered, by number or registration, and how many they are.

An operator's rows are its whole service type's, which an index has in order. A partner's are its own, and those
delegated to it; a director's and driver's are those that they manage, and those of their rights, which an index has by
number. What is sparse in a long list (vehicles that drive now,
vehicles delegated by choice) is looked for by its own index while it is few, and met on the way while it is many.
"""

from enum import Enum
from functools import cache, partial
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace
from sqlalchemy import ColumnElement, bindparam, exists, or_, select

from tripline.domain.access import Reach, Scope
from tripline.domain.ids import CompanyId, UserId
from tripline.domain.vehicles import Status
from tripline.store import endings, reached, scopes
from tripline.store.browsing import pages, ranks, vehicle_rows
from tripline.store.browsing.pages import Along, ListQuery, Page, PageRequest, Source
from tripline.store.browsing.ranks import Rank
from tripline.store.browsing.vehicle_rows import CHOSEN, OPEN, ListedVehicle
from tripline.store.tables import (
    sensor,
    trip,
    vehicle,
    vehicle_user,
)
from tripline.store.transactions import Hot, ReadTx


class Whose(Enum):
    """Whose vehicles to list."""

    OWN = "own"
    """Of the company that asks."""
    OTHERS = "others"
    """Of other companies: of partners, or delegated to this one."""
    DELEGATED = "delegated"
    """Its own that it delegated to others by choice."""


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which vehicles to list; None: any."""

    search: str | None = None
    """Beginning of the number, in any case, or an end of it that ends with four digits (`endings.py`)."""
    status: Status | None = None
    with_sensor: bool | None = None
    driving: bool | None = None
    whose: Whose | None = None
    company_id: CompanyId | None = None
    director_id: UserId | None = None
    holder_id: UserId | None = None
    """Who has a right on them."""


def page(
    tx: ReadTx, scope: Scope, filters: Filters, page_request: PageRequest, *, named: scopes.Reaches = frozenset()
) -> Page[ListedVehicle]:
    """The vehicles of the page that are inside the scope; `named`: within which reaches of the same actor people are
    whose names are shown."""
    rank = ranks.of_scope(tx, scope)
    values = _values(scope, rank, filters)
    sources = _sources(tx, scope, rank, filters, values, by=page_request.by)
    found = _query(named).page(tx, page_request, sources, values, search=filters.search)
    if not found.rows and (number := ranks.other_form(tx, rank, vehicle.c.vehicle_no, filters.search)):
        return page(tx, scope, replace(filters, search=number), page_request, named=named)
    return found.mapped(vehicle_rows.listed)


def count(tx: ReadTx, scope: Scope, filters: Filters) -> int:
    """How many vehicles inside the scope the filters let pass."""
    rank = ranks.of_scope(tx, scope)
    values = _values(scope, rank, filters)
    sources = _sources(tx, scope, rank, filters, values)
    found = _query(frozenset()).count(tx, [_counted(each) for each in sources], values, search=filters.search)
    if not found and (number := ranks.other_form(tx, rank, vehicle.c.vehicle_no, filters.search)):
        return count(tx, scope, replace(filters, search=number))
    return found


class _Found(Enum):
    """How rows are found."""

    TYPE = "along the numbers of the service type"
    COMPANY = "along the numbers of a company"
    DIRECTOR = "along the numbers of a director's"
    HOLDER = "by somebody's rights"
    WHOLE = "by the companies inside, in no order"
    SINGLES = "by single vehicles inside"
    MANAGED = "along the numbers of those that the actor manages"
    RIGHTS = "by the actor's rights on others"
    NUMBERED = "along the numbers of the actor's rights on others"
    BESIDE = "along the numbers of the service type, those of no company inside as a whole"
    DRIVING = "by the open trips of a company"
    DRIVING_IN_TYPE = "by the open trips of every company inside"
    DELEGATED = "by the company's delegations"
    STATUS = "by the status, of a company"
    STATUS_IN_TYPE = "by the status, of every company inside"
    ENDING = "by the last digits of the number, of a company"
    ENDING_IN_TYPE = "by the last digits of the number, in the service type"
    ENDING_BESIDE = "by the last digits of the number, those of no company inside as a whole"


class _Kept(NamedTuple):
    """Which filters there are, without their values."""

    status: bool
    with_sensor: bool | None
    driving: bool | None
    whose: Whose | None
    company: bool
    director: bool
    ending: bool
    """Whether the number ends with what is searched for, and does not begin with it."""


def _values(scope: Scope, rank: Rank | None, filters: Filters) -> tuple[str | None, ...]:
    """In the order of `_NAMES`."""
    return (
        scope.user_id,
        scope.company_id,
        None if rank is None else rank.service_type,
        None if rank is None else rank.operator_id,
        filters.company_id or scope.company_id,
        filters.director_id,
        filters.holder_id,
        None if filters.status is None else filters.status.value,
        *endings.values(filters.search),
    )


def _sources(
    tx: ReadTx, scope: Scope, rank: Rank | None, filters: Filters, values: tuple[str | None, ...], by: str = ""
) -> list[Source]:
    """Where the rows come from, in this order; they share none."""
    if rank is None:
        return []
    kept, ways = _kept(filters), _ways(tx, scope, rank, filters, by)
    sources = [_narrowed(tx, _source(scope, each, kept), values) for each in ways]
    if endings.of(filters.search) is not None:
        ended = kept._replace(ending=True)
        sources += [_ended(tx, _source(scope, each, ended), values) for each in ways]
    return sources


def _ways(tx: ReadTx, scope: Scope, rank: Rank, filters: Filters, by: str) -> list[_Found]:
    if filters.holder_id is not None:
        return [_Found.HOLDER]
    if filters.director_id is not None:
        return [_Found.DIRECTOR]
    if rank.whole_type and filters.company_id is None and filters.whose in (None, Whose.OTHERS):
        return [_Found.TYPE]
    whole = filters.company_id in (None, scope.company_id) if rank.own else False
    if (whole and filters.whose in (Whose.OWN, Whose.DELEGATED)) or rank.whole_type:
        return [_Found.COMPANY]
    if scope.reaches <= _OF_PERSON:
        rights = _Found.NUMBERED if by == _NUMBER else _Found.RIGHTS
        return [_Found.MANAGED, rights] if Reach.MANAGED in scope.reaches else [rights]
    own = [_Found.COMPANY] if whole and filters.whose is not Whose.OTHERS else []
    return own if own and filters.company_id is not None else [*own, *_BESIDE_OWN[ranks.singles(tx, scope)]]


def _narrowed(tx: ReadTx, source: Source, values: tuple[str | None, ...]) -> Source:
    """The source, or the same rows by an index of their own while they are few."""
    found, reaches, kept = source.which
    narrow = None
    if kept.driving and found in (_Found.TYPE, _Found.COMPANY):
        narrow = _Found.DRIVING_IN_TYPE if found is _Found.TYPE else _Found.DRIVING
    elif kept.whose is Whose.DELEGATED and found is _Found.COMPANY:
        narrow = _Found.DELEGATED
    elif kept.status and found in (_Found.TYPE, _Found.COMPANY):
        narrow = _Found.STATUS_IN_TYPE if found is _Found.TYPE else _Found.STATUS
    if narrow is None or tx.hot(_past_set(narrow, reaches), *values):
        return source
    return Source(_conditions, (narrow, reaches, kept), walked=False)


def _ended(tx: ReadTx, source: Source, values: tuple[str | None, ...]) -> Source:
    """The source, or the same rows by the index of last digits while few have these."""
    found, reaches, kept = source.which
    narrow = _BY_ENDING.get(found)
    if narrow is None or tx.hot(_past_set(narrow, reaches), *values):
        return source
    return source._replace(which=(narrow, reaches, kept), walked=False)


def _source(scope: Scope, found: _Found, kept: _Kept) -> Source:
    which, named = (found, scope.reaches, kept), not kept.ending
    if found is _Found.NUMBERED:
        along = Along(vehicle_user.c.vehicle_no, vehicle_user.c.vehicle_id)
        return Source(_conditions, which, walked=True, along=along, named=named)
    return Source(_conditions, which, walked=found not in _IN_NO_ORDER, named=named)


def _counted(source: Source) -> Source:
    """The source as it is counted: of a service type company by company, in an index alone."""
    found, reaches, kept = source.which
    return source if found is not _Found.TYPE else source._replace(which=(_Found.WHOLE, reaches, kept))


def _kept(filters: Filters) -> _Kept:
    return _Kept(
        filters.status is not None,
        filters.with_sensor,
        filters.driving,
        filters.whose,
        filters.company_id is not None,
        filters.director_id is not None,
        ending=False,
    )


def _conditions(found: _Found, reaches: scopes.Reaches, kept: _Kept) -> list[ColumnElement[bool]]:
    conditions = [*_found_by(found, reaches), *_filtered(kept)]
    if found not in _INSIDE:
        conditions.append(scopes.vehicles(reaches))
    return conditions


def _found_by(found: _Found, reaches: scopes.Reaches) -> list[ColumnElement[bool]]:
    """What finds the rows; nothing else is there to be found by an index."""
    row, owner = vehicle.c, reached.beside_index(vehicle.c.company_id)
    match found:
        case _Found.TYPE:
            return [row.service_type == bindparam("service_type")]
        case _Found.COMPANY:
            return [row.company_id == bindparam("of_company")]
        case _Found.DIRECTOR:
            return [row.director_id == bindparam("of_director")]
        case _Found.HOLDER:
            return [row.id.in_(select(_HELD.c.vehicle_id).where(_HELD.c.user_id == bindparam("of_holder")))]
        case _Found.MANAGED:
            return [row.director_id == bindparam(scopes.USER)]
        case _Found.RIGHTS:
            return [row.id.in_(reached.singles(reaches - {Reach.MANAGED})), _NOT_MANAGED]
        case _Found.NUMBERED:
            return [*reached.rights(reaches), row.id == vehicle_user.c.vehicle_id, _NOT_MANAGED]
        case _Found.WHOLE:
            return [row.company_id.in_(ranks.whole(reaches))]
        case _Found.BESIDE:
            return [
                row.service_type == bindparam("service_type"),
                *ranks.beside_whole(vehicle.c.company_id, reaches),
            ]
        case _Found.DELEGATED | _Found.DRIVING | _Found.STATUS | _Found.ENDING:
            return [row.id.in_(_set(found, reaches)), owner == bindparam("of_company")]
    return [
        row.id.in_(_set(found, reaches)),
        *(ranks.beside_whole(vehicle.c.company_id, reaches) if found in _OF_NO_WHOLE else ()),
    ]


def _set(found: _Found, reaches: scopes.Reaches) -> Any:
    """The ids of rows that are found by an index of their own."""
    if found is _Found.SINGLES:
        return reached.singles(reaches)
    if found in _BY_ENDING.values():
        of_type = _NUMBERED.c.service_type == bindparam("service_type")
        return select(_NUMBERED.c.id).where(of_type, endings.found(_NUMBERED.c.vehicle_no))
    if found is _Found.DELEGATED:
        return select(CHOSEN.c.vehicle_id).where(CHOSEN.c.from_company_id == bindparam("of_company"), _BY_CHOICE)
    if found in (_Found.STATUS, _Found.STATUS_IN_TYPE):
        of = _OF_STATUS.c.company_id
        inside = of == bindparam("of_company") if found is _Found.STATUS else of.in_(ranks.whole(reaches))
        return select(_OF_STATUS.c.id).where(inside, _OF_STATUS.c.status == bindparam("of_status"))
    of = trip.c.company_id
    inside = of == bindparam("of_company") if found is _Found.DRIVING else of.in_(ranks.whole(reaches))
    return select(trip.c.vehicle_id).where(inside, trip.c.vehicle_id.is_not(None), *OPEN)


def _filtered(kept: _Kept) -> list[ColumnElement[bool]]:
    """The filters, so that no index finds rows by them."""
    row = vehicle.c
    filters: list[ColumnElement[bool]] = []
    owner = reached.beside_index(row.company_id)
    if kept.status:
        filters.append(reached.beside_index(row.status) == bindparam("of_status"))
    if kept.with_sensor is not None:
        mounted = exists().where(sensor.c.vehicle_id == row.id)
        filters.append(mounted if kept.with_sensor else ~mounted)
    if kept.driving is not None:
        filters.append(_DRIVES if kept.driving else ~_DRIVES)
    if kept.whose is Whose.OTHERS:
        filters.append(owner != bindparam(scopes.COMPANY))
    elif kept.whose is not None:
        filters.append(owner == bindparam(scopes.COMPANY))
    if kept.whose is Whose.DELEGATED:
        filters.append(exists().where(CHOSEN.c.vehicle_id == row.id, CHOSEN.c.automatic.is_(False)))
    if kept.company:
        filters.append(owner == bindparam("of_company"))
    if kept.director:
        filters.append(reached.beside_index(row.director_id) == bindparam("of_director"))
    if kept.ending:
        filters.append(endings.only_ends(row.vehicle_no))
    return filters


_INSIDE: Final = (_Found.WHOLE, _Found.SINGLES, _Found.MANAGED, _Found.RIGHTS, _Found.NUMBERED)
"""Of these what is inside is the condition itself."""
_OF_NO_WHOLE: Final = (_Found.SINGLES, _Found.ENDING_BESIDE)
_BY_ENDING: Final = {
    _Found.TYPE: _Found.ENDING_IN_TYPE,
    _Found.COMPANY: _Found.ENDING,
    _Found.BESIDE: _Found.ENDING_BESIDE,
}
"""How rows are found instead while few numbers end so."""
_IN_NO_ORDER: Final = (_Found.SINGLES, _Found.RIGHTS, _Found.HOLDER)
"""These are sorted."""
_BESIDE_OWN: Final = {
    ranks.Singles.NONE: (),
    ranks.Singles.FEW: (_Found.SINGLES,),
    ranks.Singles.MANY: (_Found.BESIDE,),
}
_OF_PERSON: Final = frozenset({Reach.MANAGED, Reach.DIRECTING_RIGHT, Reach.DRIVING_RIGHT})
_NUMBER: Final = "number"
_NOT_MANAGED: Final = reached.beside_index(vehicle.c.director_id).is_distinct_from(bindparam(scopes.USER))
_OF_STATUS: Final = vehicle.alias("of_the_status")
_NUMBERED: Final = vehicle.alias("numbered")
_HELD: Final = vehicle_user.alias("held")
"""Predicates of scopes ask for rights, too: for those of the actor."""
# A partner's vehicles go to its operator automatically, and nobody has one so but the operator.
_BY_CHOICE: Final = or_(CHOSEN.c.to_company_id < bindparam("operator"), CHOSEN.c.to_company_id > bindparam("operator"))
_DRIVES: Final = exists().where(trip.c.company_id == vehicle.c.company_id, trip.c.vehicle_id == vehicle.c.id, *OPEN)
_NAMES: Final = (
    *(scopes.USER, scopes.COMPANY),
    *("service_type", "operator", "of_company", "of_director", "of_holder", "of_status"),
    *endings.NAMES,
)


@cache
def _past_set(found: _Found, reaches: scopes.Reaches) -> Hot:
    return Hot(_set(found, reaches).limit(1).offset(pages.MANY), *_NAMES)


@cache
def _query(named: scopes.Reaches) -> ListQuery:
    orders = {_NUMBER: vehicle.c.vehicle_no, "created": vehicle.c.created_ms}
    return ListQuery(vehicle.c.id, orders, _NUMBER, partial(vehicle_rows.shown, named), _NAMES)

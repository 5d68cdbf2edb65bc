"""Delegations of vehicles between companies, as a list of one side: by the vehicle's number or by time, and how many
they are.

Not here: the delegations of a single vehicle, and delegating (`store/fleet/delegations.py`).
"""

from enum import Enum
from functools import cache, partial
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Select, Subquery, bindparam, exists, func, or_, select

from tripline.domain.access import Reach, Scope
from tripline.domain.delegations import UserRole
from tripline.domain.ids import CompanyId, RecordId, VehicleId
from tripline.store import reached, scopes
from tripline.store.browsing import ranks
from tripline.store.browsing.pages import ListQuery, Page, PageRequest, Source
from tripline.store.tables import company, vehicle, vehicle_company, vehicle_user
from tripline.store.transactions import Hot, ReadTx

MANY: Final = 8_000
"""Up to so many, finding and sorting delegations takes 20 ms; above, walking along a list meets one soon."""


class Side(Enum):
    """Which delegations of a company."""

    GIVEN = "its vehicles that others have"
    RECEIVED = "vehicles of others that it has"


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which delegations to list; None: any."""

    search: str | None = None
    """Beginning of the vehicle's number, in any case."""
    company_id: CompanyId | None = None
    """The other company."""
    automatic: bool | None = None
    """Those to the operator, which stay, or those by choice; of what was given."""
    used: bool | None = None
    """Whether people of the company have rights on the vehicle; of what was received."""


class ListedDelegation(msgspec.Struct, frozen=True, kw_only=True):
    """A delegation as a list shows it."""

    id: RecordId
    created_ms: int
    vehicle_id: VehicleId
    vehicle_no: str
    company_id: CompanyId
    """The other company."""
    company_name: str
    automatic: bool
    directors: int
    """Rights of delegated directors that people of the receiving company have on it."""
    drivers: int


def page(tx: ReadTx, side: Side, scope: Scope, filters: Filters, page_request: PageRequest) -> Page[ListedDelegation]:
    """The delegations of the page on this side of the scope's company, of vehicles inside the scope."""
    rank = ranks.of_scope(tx, scope)
    values = _values(scope, rank, filters)
    found = _query(side).page(
        tx, page_request, _sources(tx, side, scope, filters, values, page_request.by), values, search=filters.search
    )
    return found.mapped(_listed)


def count(tx: ReadTx, side: Side, scope: Scope, filters: Filters) -> int:
    """How many of these delegations the filters let pass."""
    values = _values(scope, ranks.of_scope(tx, scope), filters)
    if filters.search or _WHOLE[side] not in scope.reaches:
        sources = _sources(tx, side, scope, filters, values, _CREATED)
    else:
        # The index has what is counted, without the vehicles.
        sources = [Source(_conditions, (_which(side, scope, filters, _Found.COUNTED),), walked=True)]
    return _query(side).count(tx, sources, values, search=filters.search)


def any_of(tx: ReadTx, side: Side, scope: Scope) -> bool:
    """Whether there is a delegation on this side of the scope's company, of a vehicle inside the scope."""
    if _WHOLE[side] not in scope.reaches:
        return bool(page(tx, side, scope, Filters(), PageRequest(limit=1, by=_CREATED)).rows)
    which = _which(side, scope, Filters(), _Found.COUNTED)
    return bool(tx.hot(_past(which, 0), *_values(scope, None, Filters())))


class _Found(Enum):
    """How rows are found."""

    NUMBERS = "along the numbers of vehicles"
    TIMES = "along the times of the company's delegations"
    FEW = "by the companies at both ends"
    USED = "by the rights of the company's people"
    SINGLES = "by single vehicles inside"
    COUNTED = "by the companies at both ends, without vehicles"


class _Which(NamedTuple):
    """The way in and the filters in force; each combination has its statement."""

    side: Side
    found: _Found
    reaches: scopes.Reaches
    of_company: bool
    automatic: bool | None
    used: bool | None


def _which(side: Side, scope: Scope, filters: Filters, found: _Found) -> _Which:
    of_company = filters.company_id is not None
    return _Which(side, found, scope.reaches, of_company, filters.automatic, filters.used)


def _values(scope: Scope, rank: ranks.Rank | None, filters: Filters) -> tuple[str | None, ...]:
    """In the order of `_NAMES`."""
    of_type = (None, None) if rank is None else (rank.service_type, rank.operator_id)
    return scope.user_id, scope.company_id, *of_type, filters.company_id


def _sources(
    tx: ReadTx, side: Side, scope: Scope, filters: Filters, values: tuple[str | None, ...], by: str
) -> list[Source]:
    """Where the rows come from: few are sorted, of many the first of the order are met soon."""
    if _WHOLE[side] not in scope.reaches:
        return [Source(_conditions, (_which(side, scope, filters, _Found.SINGLES),), walked=False)]
    for narrow in (_Found.USED, _Found.FEW) if filters.used else (_Found.FEW,):
        which = _which(side, scope, filters, narrow)
        # What the index does not know makes no difference to how many are looked at.
        if not tx.hot(_past(which._replace(used=None), MANY), *values):
            return [Source(_conditions, (which,), walked=False)]
    numbers = (_which(side, scope, filters, _Found.NUMBERS),)
    if by != _CREATED:
        return [Source(_conditions, numbers, walked=True)]
    return [Source(_conditions, (_which(side, scope, filters, _Found.TIMES),), walked=True, in_range=numbers)]


@cache
def _past(which: _Which, many: int) -> Hot:
    """What comes after so many."""
    # In the order of the index: PostgreSQL would look through the whole table for a company that most are of.
    if which.found is _Found.USED:
        past: Select[Any] = _of_people().order_by(_RIGHT.c.vehicle_id)
    else:
        other = _ROW[_ENDS[which.side][1]]
        past = select(other).where(*_conditions(which._replace(found=_Found.COUNTED))).order_by(other)
    return Hot(past.limit(1).offset(many), *_NAMES)


def _conditions(which: _Which) -> list[ColumnElement[bool]]:
    own, other = (_ROW[name] for name in _ENDS[which.side])
    mine, of_other = own == bindparam(scopes.COMPANY), _of_other(which, other)
    if which.found in (_Found.FEW, _Found.COUNTED):
        conditions = [mine, *of_other]
    else:
        # The vehicles lead to the rows, or the order does.
        conditions = [*_found_by(which, mine), *map(reached.tested, of_other)]
    if which.used is not None:
        used = exists().where(_RIGHT.c.company_id == own, _RIGHT.c.vehicle_id == _ROW.vehicle_id)
        conditions.append(used if which.used else ~used)
    return conditions if which.found is _Found.COUNTED else [*conditions, vehicle.c.id == _ROW.vehicle_id]


def _found_by(which: _Which, mine: ColumnElement[bool]) -> list[ColumnElement[bool]]:
    """What finds the rows: the vehicles' numbers or ids, or the times of the company's."""
    beside = reached.tested(mine)
    match which.found:
        case _Found.TIMES:
            return [mine]
        case _Found.SINGLES:
            return [_ROW.vehicle_id.in_(reached.singles(which.reaches)), beside]
        case _Found.USED:
            return [_ROW.vehicle_id.in_(_of_people()), beside]
    if which.side is Side.GIVEN:
        return [vehicle.c.company_id == bindparam(scopes.COMPANY), beside]
    # Delegations stay in the service type, and there the numbers are in order.
    return [vehicle.c.service_type == bindparam("service_type"), beside]


def _of_other(which: _Which, other: ColumnElement[str]) -> list[ColumnElement[bool]]:
    """The filters that ask for the company at the other end. A partner's vehicles go to its operator automatically,
    and nobody has one so but the operator."""
    operator = bindparam("operator", type_=company.c.id.type)
    conditions = [other == bindparam("of_company")] if which.of_company else []
    if which.automatic is not None:
        conditions.append(other == operator if which.automatic else or_(other < operator, other > operator))
    return conditions


def _of_people() -> Select[tuple[str]]:
    return select(_RIGHT.c.vehicle_id).where(_RIGHT.c.company_id == bindparam(scopes.COMPANY))


def _shown(side: Side, page: Subquery) -> Select[Any]:
    row, of = vehicle_company.alias("shown"), vehicle.alias("of_shown")
    looked_up: dict[str, ColumnElement[Any]] = {
        "vehicle_no": of.c.vehicle_no,
        "company_id": company.c.id,
        "company_name": company.c.name,
        "directors": _rights(row, UserRole.DELEGATED_DIRECTOR),
        "drivers": _rights(row, UserRole.DRIVER),
    }
    columns = [looked_up[name].label(name) if name in looked_up else row.c[name] for name in _FIELDS]
    joined = (
        page.join(row, row.c.id == page.c.key)
        .join(of, of.c.id == row.c.vehicle_id)
        .join(company, company.c.id == row.c[_ENDS[side][1]])
    )
    return select(page.c.place, page.c.key, *columns).select_from(joined)


def _rights(row: Any, role: UserRole) -> ColumnElement[int]:
    of_company = (_RIGHT.c.vehicle_id == row.c.vehicle_id, _RIGHT.c.company_id == row.c.to_company_id)
    return select(func.count()).where(*of_company, _RIGHT.c.user_role == role.value).scalar_subquery()


_WHOLE: Final = {Side.GIVEN: Reach.OWN_COMPANY, Side.RECEIVED: Reach.DELEGATED_COMPANY}
"""Who has this reach sees every row of the side."""
_ENDS: Final = {
    Side.GIVEN: ("from_company_id", "to_company_id"),
    Side.RECEIVED: ("to_company_id", "from_company_id"),
}
"""The columns of the company and of the other one."""
_RIGHT: Final = vehicle_user.alias("held")
_DELEGATION: Final = vehicle_company.alias("delegation")
"""The predicates of scopes ask `vehicle_company` and `vehicle_user` too; by other names they are not mixed up."""
_ROW: Final = _DELEGATION.c
_NUMBER: Final = "number"
_CREATED: Final = "created"
_NAMES: Final = (scopes.USER, scopes.COMPANY, "service_type", "operator", "of_company")
_FIELDS: Final = ListedDelegation.__struct_fields__


@cache
def _query(side: Side) -> ListQuery:
    orders = {_NUMBER: vehicle.c.vehicle_no, _CREATED: _ROW.created_ms}
    return ListQuery(_ROW.id, orders, _NUMBER, partial(_shown, side), _NAMES)


def _listed(row: tuple[Any, ...]) -> ListedDelegation:
    values = dict(zip(_FIELDS, row[2:], strict=True))
    return ListedDelegation(**{**values, "automatic": bool(values["automatic"])})

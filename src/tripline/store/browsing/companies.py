"""Companies within somebody's reach, as a list: by name or registration, and how many they are."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, FromClause, Select, Subquery, bindparam, func, null, select

from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId
from tripline.store import scopes
from tripline.store.browsing.pages import ListQuery, Page, PageRequest, Source
from tripline.store.tables import account, company, sensor, vehicle
from tripline.store.transactions import ReadTx


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which companies to list; None: any."""

    service_type: str | None = None
    search: str | None = None
    """Beginning of the name, in any case."""
    operators: bool | None = None
    """Operators alone, or partners alone."""


class ListedCompany(msgspec.Struct, frozen=True, kw_only=True):
    """A company as a list shows it."""

    id: CompanyId
    created_ms: int
    name: str
    service_type: str
    master: bool
    region: str | None
    pic_name: str | None
    pic_email: str | None
    pic_phone: str | None
    vehicles: int | None
    """None, like the next two: not counted."""
    sensors: int | None
    people: int | None


def page(
    tx: ReadTx, scope: Scope, filters: Filters, page_request: PageRequest, *, counted: bool = True
) -> Page[ListedCompany]:
    """The companies of the page that are inside the scope. `counted`: with how much each holds, for which everything
    that they hold is walked through."""
    query = _QUERY if counted else _UNCOUNTED
    found = query.page(tx, page_request, _sources(scope, filters), _values(scope, filters), search=filters.search)
    return found.mapped(_listed)


def count(tx: ReadTx, scope: Scope, filters: Filters) -> int:
    """How many companies inside the scope the filters let pass."""
    return _QUERY.count(tx, _sources(scope, filters), _values(scope, filters), search=filters.search)


class _Which(NamedTuple):
    """What makes a statement."""

    reaches: scopes.Reaches
    of_type: bool
    operators: bool | None


def _sources(scope: Scope, filters: Filters) -> list[Source]:
    which = _Which(scope.reaches, filters.service_type is not None, filters.operators)
    return [Source(_conditions, (which,), walked=True)]


def _values(scope: Scope, filters: Filters) -> tuple[str | None, ...]:
    return scope.user_id, scope.company_id, filters.service_type


def _conditions(which: _Which) -> list[ColumnElement[bool]]:
    conditions = [scopes.companies(which.reaches)]
    if which.of_type:
        conditions.append(company.c.service_type == bindparam("service_type"))
    if which.operators is not None:
        conditions.append(company.c.master.is_(which.operators))
    return conditions


def _shown(page: Subquery) -> Select[Any]:
    row = company.alias("shown")
    return _looked_up(page, row, _counts(row))


def _uncounted(page: Subquery) -> Select[Any]:
    row = company.alias("shown")
    return _looked_up(page, row, dict.fromkeys(_counts(row), null()))


def _counts(row: FromClause) -> dict[str, ColumnElement[Any]]:
    return {
        "vehicles": select(func.count()).where(vehicle.c.company_id == row.c.id).scalar_subquery(),
        "sensors": select(func.count()).where(sensor.c.company_id == row.c.id).scalar_subquery(),
        "people": select(func.count()).where(account.c.company_id == row.c.id).scalar_subquery(),
    }


def _looked_up(page: Subquery, row: FromClause, looked_up: Mapping[str, ColumnElement[Any]]) -> Select[Any]:
    columns = [looked_up[name].label(name) if name in looked_up else row.c[name] for name in _FIELDS]
    return select(page.c.place, page.c.key, *columns).select_from(page.join(row, row.c.id == page.c.key))


_FIELDS: Final = ListedCompany.__struct_fields__
_QUERY: Final = ListQuery(
    company.c.id,
    {"name": company.c.name, "created": company.c.created_ms},
    "name",
    _shown,
    (scopes.USER, scopes.COMPANY, "service_type"),
)
_UNCOUNTED: Final = msgspec.structs.replace(_QUERY, shown=_uncounted)


def _listed(row: tuple[Any, ...]) -> ListedCompany:
    values = dict(zip(_FIELDS, row[2:], strict=True))
    return ListedCompany(**{**values, "master": bool(values["master"])})

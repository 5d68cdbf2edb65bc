"""Services as a list: each service type, the company that operates it, and how much it holds.

Not here: the companies of one service type (`companies.py`).
"""

from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Select, Subquery, exists, func, select

from tripline.domain.access import Authority
from tripline.domain.ids import CompanyId
from tripline.store.browsing.pages import ListQuery, Page, PageRequest, Source
from tripline.store.tables import account, company, sensor, vehicle
from tripline.store.transactions import ReadTx


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which services to list; None: any."""

    search: str | None = None
    """Beginning of the service type, in any case."""
    enabled: bool | None = None


class ListedService(msgspec.Struct, frozen=True, kw_only=True):
    """A service as a list shows it."""

    id: CompanyId
    """Of the operator."""
    created_ms: int
    service_type: str
    name: str
    """Of the operator."""
    companies: int
    """The operator and its partners."""
    vehicles: int
    sensors: int
    accounts: int
    enabled: bool
    """Whether an administrator of the operator may sign in."""


def page(tx: ReadTx, filters: Filters, page_request: PageRequest) -> Page[ListedService]:
    """The services of the page; the caller checked permission."""
    found = _QUERY.page(tx, page_request, _sources(filters), (), search=filters.search)
    return found.mapped(_listed)


def count(tx: ReadTx, filters: Filters) -> int:
    """How many services the filters let pass; the caller checked permission."""
    return _QUERY.count(tx, _sources(filters), (), search=filters.search)


def _sources(filters: Filters) -> list[Source]:
    """One company of each service type operates it: few, which are sorted."""
    return [Source(_conditions, (filters.enabled,), walked=False)]


def _conditions(enabled: bool | None) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [company.c.master.is_(True)]
    if enabled is not None:
        conditions.append(_enabled(company) if enabled else ~_enabled(company))
    return conditions


def _enabled(operator: Any) -> ColumnElement[bool]:
    return exists().where(
        account.c.company_id == operator.c.id,
        account.c.authority == Authority.COMPANY_ADMIN.value,
        account.c.enabled,
    )


def _shown(page: Subquery) -> Select[Any]:
    row = company.alias("shown")
    inside = company.alias("inside")
    companies = select(inside.c.id).where(inside.c.service_type == row.c.service_type).correlate(row)
    looked_up: dict[str, ColumnElement[Any]] = {
        "companies": _counted(inside.c.service_type == row.c.service_type),
        "vehicles": _counted(vehicle.c.service_type == row.c.service_type),
        "sensors": _counted(sensor.c.service_type == row.c.service_type),
        "accounts": _counted(account.c.company_id.in_(companies)),
        "enabled": _enabled(row),
    }
    columns = [looked_up[name].label(name) if name in looked_up else row.c[name] for name in _FIELDS]
    return select(page.c.place, page.c.key, *columns).select_from(page.join(row, row.c.id == page.c.key))


def _counted(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return select(func.count()).where(condition).scalar_subquery()


_FIELDS: Final = ListedService.__struct_fields__
_QUERY: Final = ListQuery(
    company.c.id,
    {"service": company.c.service_type, "name": company.c.name, "created": company.c.created_ms},
    "service",
    _shown,
    (),
)


def _listed(row: tuple[Any, ...]) -> ListedService:
    values = dict(zip(_FIELDS, row[2:], strict=True))
    return ListedService(**{**values, "enabled": bool(values["enabled"])})

"""The list of services: each service type, its operator, and the numbers of its vehicles, sensors and
accounts.

Not here: the companies of one service type (`companies.py`).
"""

from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Select, Subquery, exists, func, select

from tripline.domain.access import Authority
from tripline.domain.ids import CompanyId
from tripline.store.listing import engine
from tripline.store.listing.engine import Filter, ListQuery, ListSpec
from tripline.store.listing.pages import Page, PageRequest
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
    """True if an administrator of the operator may sign in."""


def page(tx: ReadTx, filters: Filters, page_request: PageRequest) -> Page[ListedService]:
    """Return the services of the page; the caller checked permission."""
    return _SERVICES.page(tx, _query(filters), page_request).mapped(_listed)


def count(tx: ReadTx, filters: Filters) -> int:
    """Return how many services the filters let pass; the caller checked permission."""
    return _SERVICES.count(tx, _query(filters))


def _query(filters: Filters) -> ListQuery:
    return engine.query_of(None, {_ENABLED.get(filters.enabled, ""): True}, filters.search)


_ENABLED: Final[dict[bool | None, str]] = {True: "enabled", False: "disabled"}


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
    columns = engine.fields(_FIELDS, row, looked_up)
    return select(page.c.place, page.c.key, *columns).select_from(page.join(row, row.c.id == page.c.key))


def _counted(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return select(func.count()).where(condition).scalar_subquery()


_FIELDS: Final = ListedService.__struct_fields__


def _listed(row: tuple[Any, ...]) -> ListedService:
    values = dict(zip(_FIELDS, row[2:], strict=True))
    return ListedService(**{**values, "enabled": bool(values["enabled"])})


_SERVICES: Final = ListSpec(
    rows=company,
    key=company.c.id,
    orders={"service": company.c.service_type, "name": company.c.name, "created": company.c.created_ms},
    name="service",
    always=(Filter(where=company.c.master.is_(True)),),
    filters={
        "enabled": Filter(where=_enabled(company)),
        "disabled": Filter(where=~_enabled(company)),
    },
    shown=_shown,
)

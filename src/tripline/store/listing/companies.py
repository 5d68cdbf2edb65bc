"""The list of companies within a scope, and how many they are."""

from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Select, Subquery, bindparam, func, null, select

from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId
from tripline.store import scopes
from tripline.store.listing import engine
from tripline.store.listing.engine import Filter, ListQuery, ListSpec
from tripline.store.listing.pages import Page, PageRequest
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
    """Return the companies of the page that are inside the scope. `counted`: with the numbers of its vehicles, sensors
    and people, which takes a walk through all of them."""
    return (_COUNTED if counted else SPEC).page(tx, _query(scope, filters), page_request).mapped(_listed)


def count(tx: ReadTx, scope: Scope, filters: Filters) -> int:
    """Return how many companies inside the scope the filters let pass."""
    return SPEC.count(tx, _query(scope, filters))


def _query(scope: Scope, filters: Filters) -> ListQuery:
    chosen = {"service_type": filters.service_type, _MASTER.get(filters.operators, ""): True}
    return engine.query_of(scope, chosen, filters.search)


_MASTER: Final[dict[bool | None, str]] = {True: "operators", False: "partners"}


def _shown(page: Subquery, *, counted: bool = False) -> Select[Any]:
    row = company.alias("shown")
    held = {"vehicles": vehicle, "sensors": sensor, "people": account}
    looked_up: dict[str, ColumnElement[Any]] = {
        name: select(func.count()).where(rows.c.company_id == row.c.id).scalar_subquery() if counted else null()
        for name, rows in held.items()
    }
    columns = engine.fields(_FIELDS, row, looked_up)
    return select(page.c.place, page.c.key, *columns).select_from(page.join(row, row.c.id == page.c.key))


_FIELDS: Final = ListedCompany.__struct_fields__


def _listed(row: tuple[Any, ...]) -> ListedCompany:
    values = dict(zip(_FIELDS, row[2:], strict=True))
    return ListedCompany(**{**values, "master": bool(values["master"])})


SPEC: Final = ListSpec(
    rows=company,
    key=company.c.id,
    orders={"name": company.c.name, "created": company.c.created_ms},
    name="name",
    inside=scopes.companies,
    values=("service_type",),
    filters={
        "service_type": Filter(where=company.c.service_type == bindparam("service_type")),
        "operators": Filter(where=company.c.master.is_(True)),
        "partners": Filter(where=company.c.master.is_(False)),
    },
    shown=_shown,
)
_COUNTED: Final = msgspec.structs.replace(SPEC, shown=lambda page: _shown(page, counted=True))

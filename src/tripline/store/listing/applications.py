"""The list of applications for a service account, and how many they are.

For platform administrators, so it takes no scope. Not here: one application, and deciding it
(`store/accounts/applications.py`).
"""

from typing import Any, Final

import msgspec
from sqlalchemy import Select, Subquery, literal_column, select

from tripline.domain.applications import State
from tripline.store.listing import engine
from tripline.store.listing.engine import Filter, ListQuery, ListSpec
from tripline.store.listing.pages import Page, PageRequest
from tripline.store.listing.planner import tested
from tripline.store.tables import service_application
from tripline.store.transactions import ReadTx


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which applications to list; None: any."""

    search: str | None = None
    """Beginning of the service's name, in any case."""
    state: State | None = None


class ListedApplication(msgspec.Struct, frozen=True, kw_only=True):
    """An application as a list shows it."""

    id: str
    created_ms: int
    service_name: str
    company_name: str
    contact_name: str
    email: str
    state: State
    decided_ms: int | None


def page(tx: ReadTx, filters: Filters, page_request: PageRequest) -> Page[ListedApplication]:
    """Return the applications of the page; the caller checked permission."""
    return _APPLICATIONS.page(tx, _query(filters), page_request).mapped(_listed)


def count(tx: ReadTx, filters: Filters) -> int:
    """Return how many applications the filters let pass; the caller checked permission."""
    return _APPLICATIONS.count(tx, _query(filters))


def _query(filters: Filters) -> ListQuery:
    return engine.query_of(None, {"" if filters.state is None else filters.state.value: True}, filters.search)


def _in(state: State) -> Filter:
    # Part of the statement, so that each state has its own plan: nearly all may be in one, nearly none in another.
    where = service_application.c.state == literal_column(f"'{state.value}'")
    return Filter(where=tested(where), few=select(service_application.c.id).where(where))


def _shown(page: Subquery) -> Select[Any]:
    row = service_application.alias("shown")
    columns = engine.fields(_FIELDS, row, {})
    return select(page.c.place, page.c.key, *columns).select_from(page.join(row, row.c.id == page.c.key))


_FIELDS: Final = ListedApplication.__struct_fields__


def _listed(row: tuple[Any, ...]) -> ListedApplication:
    values = dict(zip(_FIELDS, row[2:], strict=True))
    return ListedApplication(**{**values, "state": State(values["state"])})


_APPLICATIONS: Final = ListSpec(
    rows=service_application,
    key=service_application.c.id,
    orders={"name": service_application.c.service_name, "created": service_application.c.created_ms},
    name="name",
    filters={state.value: _in(state) for state in State},
    shown=_shown,
)

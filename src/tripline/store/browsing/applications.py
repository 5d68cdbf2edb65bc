"""Applications for a service account as a list: by name of the service or time, and how many they are.

For platform administrators, so it takes no scope. Not here: one application, and deciding it
(`store/accounts/applications.py`).
"""

from functools import cache
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Select, Subquery, literal_column, select

from tripline.domain.applications import State
from tripline.store import reached
from tripline.store.browsing import pages
from tripline.store.browsing.pages import ListQuery, Page, PageRequest, Source
from tripline.store.tables import service_application
from tripline.store.transactions import Hot, ReadTx


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
    """The applications of the page; the caller checked permission."""
    return _QUERY.page(tx, page_request, _sources(tx, filters, page_request), (), search=filters.search).mapped(_listed)


def count(tx: ReadTx, filters: Filters) -> int:
    """How many applications the filters let pass; the caller checked permission."""
    counted = Source(_conditions, (_Which(filters.state, by_state=not filters.search),), walked=True)
    return _QUERY.count(tx, [counted], (), search=filters.search)


class _Which(NamedTuple):
    """The filter in force, and whether an index finds rows by it."""

    state: State | None
    by_state: bool


def _sources(tx: ReadTx, filters: Filters, page_request: PageRequest) -> list[Source]:
    """Along the index of times, which has each state's; along that of names, unless few are in the state."""
    state = filters.state
    if state is None or (page_request.by == "created" and not filters.search):
        return [Source(_conditions, (_Which(state, by_state=True),), walked=True)]
    few = not tx.hot(_past_state(state))
    return [Source(_conditions, (_Which(state, by_state=few),), walked=not few)]


def _conditions(which: _Which) -> list[ColumnElement[bool]]:
    if which.state is None:
        return []
    return [_in(which.state) if which.by_state else reached.tested(_in(which.state))]


def _in(state: State) -> ColumnElement[bool]:
    # Part of the statement: in one state may be nearly all, in another nearly none.
    return service_application.c.state == literal_column(f"'{state.value}'")


@cache
def _past_state(state: State) -> Hot:
    # In the order of the index: PostgreSQL would look through the whole table for a state that many are in.
    created_ms = service_application.c.created_ms
    return Hot(select(created_ms).where(_in(state)).order_by(created_ms).limit(1).offset(pages.MANY))


def _shown(page: Subquery) -> Select[Any]:
    row = service_application.alias("shown")
    columns = [row.c[name] for name in _FIELDS]
    return select(page.c.place, page.c.key, *columns).select_from(page.join(row, row.c.id == page.c.key))


_FIELDS: Final = ListedApplication.__struct_fields__
_QUERY: Final = ListQuery(
    service_application.c.id,
    {"name": service_application.c.service_name, "created": service_application.c.created_ms},
    "name",
    _shown,
    (),
)


def _listed(row: tuple[Any, ...]) -> ListedApplication:
    values = dict(zip(_FIELDS, row[2:], strict=True))
    return ListedApplication(**{**values, "state": State(values["state"])})

"""Applications for a service account as a list: by name of the service or time, and how many they are.

For platform administrators, so it takes no scope. Not here: one application, and deciding it
(`store/accounts/applications.py`).
"""

from functools import cache
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Select, Subquery, bindparam, select

from tripline.domain.applications import State
from tripline.store import reached
from tripline.store.browsing import turns
from tripline.store.browsing.turns import Browsed, Slice, Source, Turn
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


def page(tx: ReadTx, filters: Filters, turn: Turn) -> Slice[ListedApplication]:
    """The applications of the turn; the caller checked permission."""
    found = _BROWSED.page(tx, turn, _sources(tx, filters, turn), _values(filters), search=filters.search)
    return found.mapped(_listed)


def count(tx: ReadTx, filters: Filters) -> int:
    """How many applications the filters let pass; the caller checked permission."""
    searched = Source(_conditions, (_Which(filters.state is not None, by_state=not filters.search),), walked=True)
    return _BROWSED.count(tx, [searched], _values(filters), search=filters.search)


class _Which(NamedTuple):
    """The filter in force, and whether an index finds rows by it."""

    of_state: bool
    by_state: bool


def _sources(tx: ReadTx, filters: Filters, turn: Turn) -> list[Source]:
    """Along the index of times, which has each state's; along that of names, unless few are in the state."""
    if filters.state is None:
        return [Source(_conditions, (_Which(of_state=False, by_state=False),), walked=True)]
    narrow = (_Which(of_state=True, by_state=True),)
    if turn.by == "created" and not filters.search:
        return [Source(_conditions, narrow, walked=True)]
    few = not tx.hot(_past_state(), *_values(filters))
    return [Source(_conditions, narrow if few else (_Which(of_state=True, by_state=False),), walked=not few)]


def _values(filters: Filters) -> tuple[str | None]:
    return (None if filters.state is None else filters.state.value,)


def _conditions(which: _Which) -> list[ColumnElement[bool]]:
    if not which.of_state:
        return []
    of_state = service_application.c.state == bindparam("of_state")
    return [of_state if which.by_state else reached.tested(of_state)]


@cache
def _past_state() -> Hot:
    row = service_application.c
    past = select(row.id).where(row.state == bindparam("of_state")).limit(1).offset(turns.MANY)
    return Hot(past, *_NAMES)


def _shown(page: Subquery) -> Select[Any]:
    row = service_application.alias("shown")
    columns = [row.c[name] for name in _FIELDS]
    return select(page.c.place, page.c.key, *columns).select_from(page.join(row, row.c.id == page.c.key))


_FIELDS: Final = ListedApplication.__struct_fields__
_NAMES: Final = ("of_state",)
_BROWSED: Final = Browsed(
    service_application.c.id,
    {"name": service_application.c.service_name, "created": service_application.c.created_ms},
    "name",
    _shown,
    _NAMES,
)


def _listed(row: tuple[Any, ...]) -> ListedApplication:
    values = dict(zip(_FIELDS, row[2:], strict=True))
    return ListedApplication(**{**values, "state": State(values["state"])})

"""Lists that people look through: in an order of their choice, filtered, page by page, forward and back.

A page starts by key, never by offset. Its rows come from one or more sources that share no row, each of which an index
has in order, or which are so few that they are sorted; the sources' rows are merged here. Which sources a list has is
decided by its noun (its neighbours).

Not here: the pages of REST, which have one order and no filters (`store/lists.py`).
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec
from sqlalchemy import (
    Column,
    ColumnElement,
    Integer,
    Select,
    Subquery,
    bindparam,
    func,
    literal_column,
    select,
    tuple_,
    union_all,
)

from tripline.store import prefixes, reached
from tripline.store.tables.base import lowered
from tripline.store.transactions import Hot, ReadTx

R = TypeVar("R")
S = TypeVar("S")
MANY: Final = 2_000
"""Up to so many, finding and sorting rows takes 17 ms; above, walking along the list meets one soon."""
_WINDOW: Final = ("page_search", "page_value", "page_key", "page_from", "page_to")
"""Names of the values of a turn in a statement."""
_EVERY_NAME: Final = (("", ""),)
"""The ranges of a page without search, whose statement asks for none."""


class Place(NamedTuple):
    """Where a row stands in a list."""

    value: str | int
    """What the list is ordered by."""
    key: str


class PageRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which page to read: `limit` rows behind the place, or before it."""

    limit: int
    """One of a few: it is part of the statement."""
    by: str
    """One of the list's orders."""
    descending: bool = False
    place: Place | None = None
    """None: the first page."""
    back: bool = False
    """The page that ends before the place."""

    @property
    def falling(self) -> bool:
        """Whether the database walks from the greatest value to the least."""
        return self.descending != self.back


class Page(msgspec.Struct, Generic[R], frozen=True, kw_only=True):
    """A page: its rows in the order of the list, and whether there are more on either side."""

    rows: Sequence[R]
    first: Place | None
    last: Place | None
    more_before: bool
    more_behind: bool

    def mapped(self, make: Callable[[R], S]) -> "Page[S]":
        """The page with what is made of each row in its place."""
        return Page(
            rows=[make(row) for row in self.rows],
            first=self.first,
            last=self.last,
            more_before=self.more_before,
            more_behind=self.more_behind,
        )


class Source(NamedTuple):
    """Rows among which a page's are. `where` and `which` make its conditions, and are part of its statement's key."""

    where: Callable[..., list[ColumnElement[bool]]]
    which: tuple[Any, ...]
    """All hashable."""
    walked: bool
    """Whether an index is walked along; else the rows are few and sorted."""
    along: "Along | None" = None
    """The columns of the index, where another table's has the rows in order; they may name a row twice."""
    named: bool = True
    """Whether a search is for the beginning of a row's name; else the conditions say what it is for."""
    in_range: tuple[Any, ...] | None = None
    """In the place of `which` where rows are found by a range of names, if that is another way."""


class Along(NamedTuple):
    """Columns of another table that hold a list's order and key."""

    place: Column[Any]
    key: Column[str]


class ListQuery(msgspec.Struct, frozen=True, eq=False):
    """A list: its orders, how it is searched, and what is shown of its rows."""

    key: Column[str]
    orders: Mapping[str, Column[Any]]
    name: str
    """The order that a search goes by."""
    shown: Callable[[Subquery], Select[Any]]
    """What is shown of the rows in the subquery, which has their `place` and `key`: these two first."""
    values: tuple[str, ...]
    """Names of the values that conditions leave open."""

    def page(
        self,
        tx: ReadTx,
        page_request: PageRequest,
        sources: Sequence[Source],
        values: Sequence[Any],
        *,
        search: str | None = None,
    ) -> Page[tuple[Any, ...]]:
        """The rows of the page, from every source. `values` are in the order of their names.

        A place of another order, whose value has another type, is none: the list begins.
        """
        if page_request.place is not None and not isinstance(
            page_request.place.value, self.orders[page_request.by].type.python_type
        ):
            page_request = msgspec.structs.replace(page_request, place=None, back=False)
        if search:
            found = [row for source in sources for row in self._found(tx, page_request, source, values, search)]
        else:
            found = self._rows(tx, page_request, tuple(sources), values)
        found.sort(key=_place, reverse=page_request.falling)
        more = len(found) > page_request.limit
        rows = found[: page_request.limit]
        if page_request.back:
            rows.reverse()
        return Page(
            rows=rows,
            first=_place(rows[0]) if rows else None,
            last=_place(rows[-1]) if rows else None,
            more_before=more if page_request.back else page_request.place is not None,
            more_behind=page_request.back or more,
        )

    def count(self, tx: ReadTx, sources: Sequence[Source], values: Sequence[Any], *, search: str | None = None) -> int:
        """How many rows all sources have together."""
        counted = 0
        for source in sources:
            reading = _reading(source, search)
            statement = _count(self, source, reading)
            counts = tx.hot_in(_ranges(reading, search), statement, *values, search or "", None, None)
            counted += sum(number for (number,) in counts)
        return counted

    def few(self, tx: ReadTx, source: Source, values: Sequence[Any], *, search: str | None = None) -> bool:
        """Whether a source has up to `MANY` rows; looks at no more than these in each range."""
        reading = _reading(source, search)
        statement = _keys(self, source, reading)
        found = tx.hot_in(_ranges(reading, search), statement, *values, search or "", None, None)
        return len(found) <= MANY

    def _rows(
        self, tx: ReadTx, page_request: PageRequest, sources: tuple[Source, ...], values: Sequence[Any]
    ) -> list[tuple[Any, ...]]:
        """Up to `limit + 1` rows of all sources."""
        if not sources:
            return []
        statement = _page(self, sources, _asked(page_request, Reading.ALL))
        return tx.hot(statement, *values, *_window(page_request, ""), None, None)

    def _found(
        self, tx: ReadTx, page_request: PageRequest, source: Source, values: Sequence[Any], search: str
    ) -> list[tuple[Any, ...]]:
        """Up to `limit + 1` rows of each range of one source."""
        reading = _reading(source, search)
        if page_request.by != self.name and reading is Reading.IN_RANGE:
            # Few are found by their names and sorted; of many the first of the order are met soon.
            few = self.few(tx, source, values, search=search)
            reading = Reading.FEW_IN_RANGE if few else Reading.TESTED
        statement = _page(self, (source,), _asked(page_request, reading))
        return tx.hot_in(_ranges(reading, search), statement, *values, *_window(page_request, search))


class Reading(Enum):
    """How a statement meets what is searched for."""

    ALL = "nothing is, or by the conditions"
    IN_RANGE = "a range of names, along the index"
    FEW_IN_RANGE = "a range of names, sorted by something else"
    TESTED = "each row is compared"


class _Asked(NamedTuple):
    """What makes a statement: what a turn asks for, without its values."""

    by: str
    falling: bool
    reading: Reading
    continued: bool
    limit: int


def _asked(page_request: PageRequest, reading: Reading) -> _Asked:
    # One row more than is shown: it tells whether there is a further page.
    return _Asked(
        page_request.by, page_request.falling, reading, page_request.place is not None, page_request.limit + 1
    )


def _window(page_request: PageRequest, search: str) -> tuple[str, str | int, str]:
    """The values of `_WINDOW` before the bounds of a range."""
    place = page_request.place or Place("", "")
    return search, place.value, place.key


def _reading(source: Source, search: str | None) -> Reading:
    if not search or not source.named:
        return Reading.ALL
    return Reading.IN_RANGE if source.walked else Reading.TESTED


def _ranges(reading: Reading, search: str | None) -> Sequence[tuple[str, str]]:
    in_range = reading in (Reading.IN_RANGE, Reading.FEW_IN_RANGE)
    return prefixes.ranges(search) if search and in_range else _EVERY_NAME


def _place(row: tuple[Any, ...]) -> Place:
    return Place(row[0], row[1])


@cache
def _page(query: ListQuery, sources: tuple[Source, ...], asked: _Asked) -> Hot:
    """The page of these sources: the first of each, and of those the first."""
    firsts = [_firsts(query, source, asked) for source in sources]
    if len(firsts) == 1:
        return Hot(query.shown(firsts[0].subquery("page")), *query.values, *_WINDOW)
    every = union_all(*(select(each.subquery()) for each in firsts)).subquery("every")
    place, key = every.c
    order = (place.desc(), key.desc()) if asked.falling else (place, key)
    page = _limited(select(place, key).order_by(*order), asked.limit)
    return Hot(query.shown(page.subquery("page")), *query.values, *_WINDOW)


def _firsts(query: ListQuery, source: Source, asked: _Asked) -> Select[Any]:
    by, key = source.along or (query.orders[asked.by], query.key)
    conditions = _conditions(query, source, asked.reading)
    # Rows that are few are found first and sorted then: no index of the order is to tempt anybody.
    sorted_ = not source.walked or asked.reading is Reading.FEW_IN_RANGE
    order: ColumnElement[Any] = reached.beside_index(by) if sorted_ else by
    if asked.continued:
        value = bindparam("page_value", type_=by.type)
        here, there = tuple_(order, key), tuple_(value, bindparam("page_key"))
        conditions.append(here < there if asked.falling else here > there)
        if by.table is not key.table:
            # A comparison of columns of two tables finds rows by the index of neither.
            conditions.append(order <= value if asked.falling else order >= value)
    within = select(by.label("place"), key.label("key")).where(*conditions)
    within = within.order_by(*((order.desc(), key.desc()) if asked.falling else (order, key)))
    return _limited(within if source.along is None else within.distinct(), asked.limit)


@cache
def _count(query: ListQuery, source: Source, reading: Reading) -> Hot:
    counted = select(func.count()).select_from(query.key.table).where(*_conditions(query, source, reading))
    return Hot(counted, *query.values, *_WINDOW)


@cache
def _keys(query: ListQuery, source: Source, reading: Reading) -> Hot:
    keys = select(query.key).where(*_conditions(query, source, reading))
    return Hot(_limited(keys, MANY + 1), *query.values, *_WINDOW)


def _limited(rows: Select[Any], limit: int) -> Select[Any]:
    """The first rows. PostgreSQL keeps a plan only when it can read the limit in the statement; to plan a page anew
    takes as long as to read it."""
    return rows.limit(literal_column(str(limit), Integer))


def _conditions(query: ListQuery, source: Source, reading: Reading) -> list[ColumnElement[bool]]:
    in_range = reading in (Reading.IN_RANGE, Reading.FEW_IN_RANGE)
    conditions = source.where(*(source.in_range if in_range and source.in_range else source.which))
    if reading is Reading.ALL:
        return conditions
    name = query.orders[query.name] if source.along is None else source.along.place
    if reading is not Reading.TESTED:
        conditions += [name >= bindparam("page_from"), name < bindparam("page_to")]
    search = lowered(bindparam("page_search", type_=name.type))
    # Nearly all in a range begin so, and of those along an index many do.
    return [*conditions, reached.tested(func.substr(lowered(name), 1, func.length(search)) == search)]

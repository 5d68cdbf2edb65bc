"""Lists of entities by a name-like column, then id: a page starts by key, never by offset (spec/rest 5.2).

A search finds its rows by the index that orders the list: in a few ranges of names, which `prefixes.py` makes of its
first letters.

`Span` asks for a part of a list ordered by time; such a list stands with its rows (`store/trips/trips.py`).
"""

from collections.abc import Callable
from functools import cache
from operator import itemgetter
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import Column, ColumnElement, Select, Table, bindparam, func, select, tuple_

from tripline.domain import ids
from tripline.domain.ids import RowNo
from tripline.domain.refusals import BadParameter
from tripline.store import prefixes
from tripline.store.tables.base import lowered
from tripline.store.transactions import Hot, ReadTx

_VALUES: Final = ("window_search", "window_text", "window_id", "window_limit", "window_from", "window_to")
"""Names of the values of a window in a hot statement."""
_EVER_MS: Final = 253_402_300_800_000
"""The year 10000: later than any instant."""


class UnknownOffset(BadParameter):
    """The offset of a page is not an item of the list."""

    code = "page.unknown_offset"

    @classmethod
    def of_list(cls) -> "UnknownOffset":
        """The refusal. An empty page instead would look like the end of the list."""
        return UnknownOffset(field="idOffset")


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of a list to read: `limit` rows that begin with the search text and follow the offset."""

    limit: int
    search: str | None = None
    """Beginning of the name, in any case."""
    text_offset: str | None = None
    """Name of the last row of the page before."""
    id_offset: str | None = None
    """Id of that row; alone it is enough while the row is in the list."""


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of a time-ordered list to read: `limit` rows, created within the bounds (inclusive)."""

    limit: int
    ascending: bool = False
    start_ms: int | None = None
    end_ms: int | None = None
    after: str | None = None
    """Id of the last row of the page before; the page starts behind it."""

    @property
    def first_ms(self) -> int:
        """The lower bound, or one before everything."""
        return 0 if self.start_ms is None else max(self.start_ms, 0)

    @property
    def last_ms(self) -> int:
        """The upper bound, or one after everything."""
        return _EVER_MS if self.end_ms is None else min(max(self.end_ms, -1), _EVER_MS)


def in_span(tx: ReadTx, statement: Select[Any], rows: Table, span: Span, *, of: ColumnElement[bool]) -> Select[Any]:
    """The part of a list whose rows are numbered by the time of their creation (`no`). Raises `UnknownOffset`.

    `of`: whose list it is; the offset must be in it.
    """
    no = rows.c.no
    first, last = ids.first_no(span.first_ms), ids.first_no(span.last_ms + 1)
    if span.after is not None:
        place = tx.one(select(no).where(rows.c.id == span.after, of))
        if place is None:
            raise UnknownOffset.of_list()
        first, last = (RowNo(place.no + 1), last) if span.ascending else (first, RowNo(place.no))
    ordered = statement.where(no >= first, no < last).order_by(no if span.ascending else no.desc())
    return ordered.limit(span.limit)


def sorting(*_: object) -> bool:
    """For `Listing.sorts`: it always does."""
    return True


def in_index_order(*_: object) -> bool:
    """For `Listing.sorts`: it never does."""
    return False


class Listing(msgspec.Struct, frozen=True, eq=False):
    """A list: its rows, columns and order. Statements are built once per shape."""

    name: Column[str]
    key: Column[str]
    rows: Callable[..., Select[Any]]
    """Select the rows in no order, with name and key as columns. The arguments distinguish statements and must be
    hashable."""
    values: tuple[str, ...]
    """Names of the values that `rows` leaves open."""
    sorts: Callable[..., bool] = in_index_order
    """True if a page sorts all rows because no index orders them: then one wide range replaces those of a search."""

    def page(self, tx: ReadTx, window: Window, values: tuple[str | None, ...], *which: Any) -> list[tuple[Any, ...]]:
        """The rows in the window. `values` are in the order of their names, `which` is for `rows`.

        Raises `UnknownOffset`.
        """
        text = window.text_offset
        if text is None and window.id_offset is not None:
            found = tx.hot(_name_of(self, which), *values, window.id_offset)
            if not found:
                raise UnknownOffset.of_list()
            text = found[0][0]
        shape = _Shape(bool(window.search), text is not None or window.id_offset is not None)
        page = _page(self, which, shape)
        wanted = (window.search or "", text or "", window.id_offset or "", window.limit)
        ranges = prefixes.ranges(window.search) if window.search else _EVERY_NAME
        if self.sorts(*which):
            ranges = ((ranges[0][0], ranges[-1][1]),)
        found = tx.hot_in(ranges, page.statement, *values, *wanted)
        # Each range came in order and with as many rows as the page may have; together they are too many.
        return found if len(ranges) == 1 else sorted(found, key=page.place)[: window.limit]


class _Shape(NamedTuple):
    """The shape of a window, without its values."""

    searched: bool
    continued: bool


class _Page(NamedTuple):
    """The statement of a page, or of its rows in one range of names."""

    statement: Hot
    place: Callable[[tuple[Any, ...]], Any]
    """Name and key of a row, which order the pages."""


_EVERY_NAME: Final = (("", ""),)
"""The ranges of a page without search, whose statement asks for none."""


@cache
def _page(listing: Listing, which: tuple[Any, ...], shape: _Shape) -> _Page:
    statement = listing.rows(*which)
    if shape.searched:
        statement = statement.where(listing.name >= bindparam("window_from"), listing.name < bindparam("window_to"))
        search = lowered(bindparam("window_search", type_=listing.name.type))
        statement = statement.where(func.substr(lowered(listing.name), 1, func.length(search)) == search)
    if shape.continued:
        place = tuple_(bindparam("window_text"), bindparam("window_id"))
        statement = statement.where(tuple_(listing.name, listing.key) > place)
    selected = list(statement.selected_columns)
    # By identity: `==` between columns makes SQL.
    at = [number for column in (listing.name, listing.key) for number, one in enumerate(selected) if one is column]
    statement = statement.order_by(listing.name, listing.key).limit(bindparam("window_limit"))
    return _Page(Hot(statement, *listing.values, *_VALUES), itemgetter(*at))


@cache
def _name_of(listing: Listing, which: tuple[Any, ...]) -> Hot:
    """The name of the row in the list with this id."""
    statement = listing.rows(*which).with_only_columns(listing.name, maintain_column_froms=True)
    return Hot(statement.where(listing.key == bindparam("window_id")), *listing.values, "window_id")

"""Pages of lists in REST: by name, then id (spec/rest 5.2), or by time. A page starts behind a row.

Lists by name are declared as `ListSpec` beside their rows (`store/fleet/`), and lists by time are read there.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Select, Subquery, Table, bindparam, select, tuple_

from tripline.domain import ids
from tripline.domain.access import Scope
from tripline.domain.ids import RowNo
from tripline.domain.refusals import BadParameter
from tripline.store import scopes
from tripline.store.listing.engine import ListSpec, query_of
from tripline.store.listing.pages import PageRequest, Place
from tripline.store.transactions import Hot, ReadTx

SIZES: Final = (11, 21, 51, 101, 201, 501, 1_001)
"""Limits of statements, one row more than a page usually shows; a page of another size is cut from the next one."""
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


def _numbers(span: Span, place: RowNo | None) -> tuple[int, int]:
    """Return the first number of a page of rows that are numbered by the time of their creation, and the one behind its
    last. `place`: the number of the offset."""
    first, end = ids.first_no(span.first_ms), ids.first_no(span.last_ms + 1)
    if place is not None and span.ascending:
        first = max(first, RowNo(place + 1))
    elif place is not None:
        end = min(end, place)
    return first, end


class ByNumber:
    """Pages of rows that are numbered by the time of their creation, one compiled statement for each order."""

    def __init__(self, rows: Select[Any], no: ColumnElement[int], *names: str) -> None:
        """`rows`: the whole list, in no order; `names`: of the values that it compares with."""
        page = rows.where(no >= bindparam("first_no"), no < bindparam("end_no")).limit(bindparam("page_limit"))
        names = (*names, "first_no", "end_no", "page_limit")
        self._ordered = {True: Hot(page.order_by(no), *names), False: Hot(page.order_by(no.desc()), *names)}

    def page(self, tx: ReadTx, span: Span, place: RowNo | None, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of the page; `place`: the number of the offset, None without an offset."""
        return tx.hot(self._ordered[span.ascending], *values, *_numbers(span, place), span.limit)


class ByCreation:
    """Pages of rows by the time of their creation (`created_ms`), then key, one compiled statement for each order."""

    def __init__(
        self, columns: Select[Any], rows: Table, *of: ColumnElement[bool], key: str = "id", names: Sequence[str] = ()
    ) -> None:
        """`of`: whose list it is, which an offset must be in; `names`: of the values that it compares with."""
        created_ms, each = rows.c.created_ms, rows.c[key]
        here, place = tuple_(created_ms, each), tuple_(bindparam("place_ms"), bindparam("place_key", type_=each.type))
        inside = created_ms.between(bindparam("first_ms"), bindparam("last_ms"))
        page = columns.where(*of, inside).limit(bindparam("page_limit"))
        rising = page.where(here > place).order_by(created_ms, each)
        falling = page.where(here < place).order_by(created_ms.desc(), each.desc())
        window = ("first_ms", "last_ms", "place_ms", "place_key", "page_limit")
        self._ordered = {True: Hot(rising, *names, *window), False: Hot(falling, *names, *window)}
        self._place = Hot(select(created_ms, each).where(rows.c.id == bindparam("offset"), *of), *names, "offset")
        self._least = each.type.python_type()

    def page(self, tx: ReadTx, span: Span, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of the page. Raises `UnknownOffset`."""
        first_ms, last_ms = span.first_ms, span.last_ms
        place: tuple[Any, ...] = (-1 if span.ascending else _EVER_MS + 1, self._least)
        if span.after is not None:
            found = tx.hot(self._place, *values, span.after)
            if not found:
                raise UnknownOffset.of_list()
            place = found[0]
            # A database may enter the index at these bounds instead of the place.
            if span.ascending:
                first_ms = max(first_ms, place[0])
            else:
                last_ms = min(last_ms, place[0])
        return tx.hot(self._ordered[span.ascending], *values, first_ms, last_ms, *place, span.limit)


def in_span(tx: ReadTx, statement: Select[Any], rows: Table, span: Span, *, of: ColumnElement[bool]) -> Select[Any]:
    """The part of a list whose rows are numbered by the time of their creation (`no`). Raises `UnknownOffset`.

    `of`: whose list it is; the offset must be in it.
    """
    place = None
    if span.after is not None:
        place = tx.one(select(rows.c.no).where(rows.c.id == span.after, of))
        if place is None:
            raise UnknownOffset.of_list()
    no = rows.c.no
    first, end = _numbers(span, None if place is None else RowNo(place.no))
    ordered = statement.where(no >= first, no < end).order_by(no if span.ascending else no.desc())
    return ordered.limit(span.limit)


def by_name(spec: ListSpec, rows: Table, columns: Sequence[ColumnElement[Any]]) -> ListSpec:
    """Return the list with these columns of the rows with its keys; a search finds the beginning of the name alone."""

    def shown(page: Subquery) -> Select[Any]:
        return select(page.c.place, page.c.key, *columns).select_from(page.join(rows, rows.c.id == page.c.key))

    return msgspec.structs.replace(spec, searches=(), shown=shown)


def page(
    tx: ReadTx, spec: ListSpec, scope: Scope, filters: Mapping[str, Any], window: Window, *shown: scopes.Reaches
) -> list[tuple[Any, ...]]:
    """Return the rows in the window of the list in the order of its name, as `shown` selects them behind their place.

    Raises `UnknownOffset`.
    """
    assert spec.name is not None
    query, text = query_of(scope, filters, window.search), window.text_offset
    if text is None and window.id_offset is not None:
        text = spec.name_of(tx, query, window.id_offset)
        if text is None:
            raise UnknownOffset.of_list()
    place = None if text is None else Place(text, window.id_offset or "")
    limit = next((size for size in SIZES if size >= window.limit), window.limit)
    rows = spec.page(tx, query, PageRequest(limit=limit, by=spec.name, place=place), *shown).rows
    return [row[2:] for row in rows[: window.limit]]

"""Lists in the portal: their columns and filters, and parsing of a list's query.

An address contains the whole state: search, filters, sort order, columns and page. Going back, reloading or sharing a
link therefore shows the same list. A cookie remembers the columns that were chosen last.

Not here: each noun's columns and filters (`vehicles.py` and its like), the page (`table_pages.py`), exports
(`exports.py`).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import msgspec
from litestar.datastructures import MultiDict

from tripline.domain import fields, instants
from tripline.domain.access import Action, Actor
from tripline.http import parameters
from tripline.http.context.base import Call
from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.portal.frame import addresses
from tripline.store.browsing.pages import Page, PageRequest, Place
from tripline.store.transactions import ReadTx
from tripline.wire.csv_files import Cell

ROWS: Final = 50
"""Rows per page."""
SORT, COLUMNS = "sort", "columns"
"""Query parameters of every list, in addition to filters and the parameters in `addresses`."""
COUNT, SIZES = "/count", "/sizes"
"""Suffixes of a list's path for its counts."""
_HIDING: Final = frozenset({"middle", "wide", "widest"})
"""Classes that hide a column in a narrow window."""


class Words(NamedTuple):
    """Language and time zone of an exported list."""

    language: Language
    zone: ZoneInfo

    def say(self, name: str) -> str:
        """Return a text."""
        return catalogue.text(name, self.language)

    def option(self, key: str, value: str) -> str:
        """Return a value's text, as in the filter."""
        return self.say(f"portal.lists.filter.{key}.{value}")

    def time(self, at_ms: int | None) -> str | None:
        """Return an instant in the service's time zone, in a format for spreadsheets."""
        return None if at_ms is None else f"{instants.local(at_ms, self.zone):%Y-%m-%d %H:%M:%S}"


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column: `value` returns the cell's value in an export."""

    key: str
    value: Callable[[Any, Words], Cell]
    order: str | None = None
    """The sort order that the column offers."""
    shown: bool = True
    """Displayed by default."""
    look: str = ""
    """Classes of the cells."""

    def look_when(self, *, picked: bool) -> str:
        """The classes of the cells; a picked column is never hidden."""
        return " ".join(each for each in self.look.split() if not (picked and each in _HIDING))


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """A filter with a few values."""

    key: str
    values: tuple[str, ...]
    usual: str | None = None
    """Default of a filter whose values are tabs: one of them is always selected."""


class Bulk(msgspec.Struct, frozen=True, kw_only=True):
    """An action on chosen rows, whose ids are sent to the address; `tabs` are the tabs that offer it, None for all."""

    text: str
    address: str
    icon: str
    action: Action
    tabs: tuple[str, ...] | None = None


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A list. The first column is always shown; `page` and `count` raise refusals."""

    noun: str
    path: str
    columns: tuple[Column, ...]
    page: Callable[[ReadTx, Actor, "ListRequest", PageRequest], Page[Any]]
    count: Callable[[ReadTx, Actor, "ListRequest"], int]
    filters: tuple[Filter, ...] = ()
    texts: tuple[str, ...] = ()
    """Query parameters with texts, which filter as well."""
    references: tuple[str, ...] = ()
    """Query parameters with ids, which filter as well."""
    bulk: tuple[Bulk, ...] = ()
    bare: Callable[[ReadTx, Actor, "ListRequest", PageRequest], Page[Any]] | None = None
    """The page without the counts, which load afterwards."""
    sizes: tuple[str, ...] = ()
    """Keys of columns that need counting."""
    usual_sort: Callable[[Mapping[str, str | None]], str] | None = None
    """Default sort order, by the filters; None for the order of the first column."""
    box: Callable[[Any], str | None] = lambda row: row.id
    """Value of a row's checkbox; None if the row cannot be chosen."""
    icon: str = "inbox"

    @property
    def order(self) -> str:
        """The default sort order."""
        return next(each.order for each in self.columns if each.order is not None)


class ListRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The parsed query of a list."""

    search: str | None
    chosen: Mapping[str, str]
    """Values by filter or reference."""
    order: str
    descending: bool
    columns: tuple[str, ...]
    picked: bool = False
    """True if the visitor chose the columns, now or before."""
    place: Place | None = None
    back: bool = False
    filtered: bool = False
    """True with a search or a filter other than tabs."""

    def page_request(self, limit: int = ROWS) -> PageRequest:
        """The page request of the query."""
        return PageRequest(limit=limit, by=self.order, descending=self.descending, place=self.place, back=self.back)


def asked(request: Call, table: Table) -> ListRequest:
    """Parse the request's query. Raises `BadParameter`."""
    return of_query(request.query_params, table, remembered=request.cookies.get(cookie_of(table), ""))


def of_query(query: MultiDict[str], table: Table, *, remembered: str) -> ListRequest:
    """Parse a query; `remembered` holds the columns chosen last, separated by full stops. Raises `BadParameter`."""
    chosen = {
        each.key: fields.one_of(each.key, query.get(each.key), each.values) or each.usual for each in table.filters
    }
    chosen |= {name: query.get(name, "")[: addresses.SEARCH_MAX] or None for name in table.texts}
    chosen |= {name: parameters.query_id(query, name) for name in table.references}
    usual = table.usual_sort(chosen) if table.usual_sort else table.order
    sort = fields.one_of(SORT, query.get(SORT), _sorts(table)) or usual
    search = query.get(addresses.SEARCH, "").strip()[: addresses.SEARCH_MAX] or None
    back = query.get(addresses.BEFORE)
    columns, picked = _columns(query, table, remembered)
    tabs = {each.key for each in table.filters if each.usual is not None}
    return ListRequest(
        search=search,
        chosen={name: value for name, value in chosen.items() if value is not None},
        order=sort.removeprefix("-"),
        descending=sort.startswith("-"),
        columns=columns,
        picked=picked,
        place=addresses.place(back or query.get(addresses.AFTER)),
        back=bool(back),
        filtered=search is not None or any(chosen[name] is not None for name in chosen.keys() - tabs),
    )


def _sorts(table: Table) -> tuple[str, ...]:
    orders = [each.order for each in table.columns if each.order is not None]
    return (*orders, *(f"-{order}" for order in orders))


def _columns(query: MultiDict[str], table: Table, remembered: str) -> tuple[tuple[str, ...], bool]:
    """The columns in the query, else the remembered ones, else the defaults, always with the first; and true if they
    were chosen.
    """
    chosen = set(query.getall(COLUMNS, [])) or set(remembered.split("."))
    known = [each.key for each in table.columns]
    if not chosen.intersection(known):
        return tuple(each.key for each in table.columns if each.shown), False
    return tuple(key for key in known if key in chosen or key == known[0]), True


def cookie_of(table: Table) -> str:
    """Name of the cookie with the columns chosen last."""
    return f"columns-{table.noun}"

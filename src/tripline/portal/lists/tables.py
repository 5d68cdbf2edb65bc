"""Lists in the portal: their columns and filters, and what an address asks of one.

An address holds the whole state: what is searched for, filters, order, columns, the place where the page begins. So
going back, loading again and handing a link on show the same. Which columns somebody chose last is kept in a cookie.

Not here: each noun's columns and filters (`vehicles.py` and its like), the page (`table_pages.py`), files of a list
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
"""Rows of a page."""
SORT, COLUMNS = "sort", "columns"
"""Values of the query beside filters and those of `addresses`."""
COUNT, SIZES = "/count", "/sizes"
"""What stands behind the list's path where it is counted."""
_HIDING: Final = frozenset({"middle", "wide", "widest"})
"""Classes that hide a column where the window is narrow."""


class Words(NamedTuple):
    """How a file of a list is worded."""

    language: Language
    zone: ZoneInfo

    def say(self, name: str) -> str:
        """A text."""
        return catalogue.text(name, self.language)

    def option(self, key: str, value: str) -> str:
        """A value as the filter of its kind calls it."""
        return self.say(f"portal.lists.filter.{key}.{value}")

    def time(self, at_ms: int | None) -> str | None:
        """An instant, in the service's zone, as spreadsheets read it."""
        return None if at_ms is None else f"{instants.local(at_ms, self.zone):%Y-%m-%d %H:%M:%S}"


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column: `value` is what a file of the list has in it."""

    key: str
    value: Callable[[Any, Words], Cell]
    order: str | None = None
    """The order of the list that it shows."""
    shown: bool = True
    """Unless somebody chose otherwise."""
    look: str = ""
    """Classes of its cells."""

    def look_when(self, *, picked: bool) -> str:
        """The classes of its cells: what somebody picked is hidden in no window."""
        return " ".join(each for each in self.look.split() if not (picked and each in _HIDING))


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """A filter with a few values."""

    key: str
    values: tuple[str, ...]
    usual: str | None = None
    """The value in force where an address names none: the values are tabs, of which one is always chosen."""


class Bulk(msgspec.Struct, frozen=True, kw_only=True):
    """Something to do with chosen rows, whose ids go to the address; `tabs`: those that offer it, None: all."""

    text: str
    address: str
    icon: str
    action: Action
    tabs: tuple[str, ...] | None = None


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A list: the first column is always shown. `page` and `count` raise refusals."""

    noun: str
    path: str
    columns: tuple[Column, ...]
    page: Callable[[ReadTx, Actor, "Asked", PageRequest], Page[Any]]
    count: Callable[[ReadTx, Actor, "Asked"], int]
    filters: tuple[Filter, ...] = ()
    texts: tuple[str, ...] = ()
    """Names of texts that its address may hold, filters too."""
    references: tuple[str, ...] = ()
    """Names of ids that its address may hold, filters too."""
    bulk: tuple[Bulk, ...] = ()
    bare: Callable[[ReadTx, Actor, "Asked", PageRequest], Page[Any]] | None = None
    """The page without the sizes, which load afterwards."""
    sizes: tuple[str, ...] = ()
    """Keys of columns that say how much a row holds, which has to be counted."""
    usual_sort: Callable[[Mapping[str, str | None]], str] | None = None
    """The order where nobody chose one, by the filters; None: that of the first column."""
    box: Callable[[Any], str | None] = lambda row: row.id
    """The value of the box by which a row is chosen; None: it cannot be."""
    icon: str = "inbox"

    @property
    def order(self) -> str:
        """The order of a list for which nobody chose one."""
        return next(each.order for each in self.columns if each.order is not None)


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What an address asks of a list."""

    search: str | None
    chosen: Mapping[str, str]
    """By filter or reference."""
    order: str
    descending: bool
    columns: tuple[str, ...]
    picked: bool = False
    """Whether somebody chose the columns, now or before."""
    place: Place | None = None
    back: bool = False
    filtered: bool = False
    """Whether it asks for less than everything, or than everything of a tab."""

    def page_request(self, limit: int = ROWS) -> PageRequest:
        """The page that is asked for."""
        return PageRequest(limit=limit, by=self.order, descending=self.descending, place=self.place, back=self.back)


def asked(request: Call, table: Table) -> Asked:
    """What the address of the request asks. Raises `BadParameter`."""
    return of_query(request.query_params, table, remembered=request.cookies.get(cookie_of(table), ""))


def of_query(query: MultiDict[str], table: Table, *, remembered: str) -> Asked:
    """What a query asks; `remembered`: the columns chosen last, apart by points. Raises `BadParameter`."""
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
    return Asked(
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
    """Those that the address names, else those chosen last, else the usual ones, and whether they were chosen; the
    first always."""
    chosen = set(query.getall(COLUMNS, [])) or set(remembered.split("."))
    known = [each.key for each in table.columns]
    if not chosen.intersection(known):
        return tuple(each.key for each in table.columns if each.shown), False
    return tuple(key for key in known if key in chosen or key == known[0]), True


def cookie_of(table: Table) -> str:
    """The name of the cookie with the columns that somebody chose last."""
    return f"columns-{table.noun}"

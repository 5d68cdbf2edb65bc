"""Lists in the portal: what an address asks of one, and the addresses that lead on from it.

An address holds the whole state: what is searched for, filters, order, columns, the place where the page begins. So
going back, loading again and handing a link on show the same. Which columns somebody chose last is kept in a cookie.

Not here: each noun's columns and filters (`vehicle_list.py` and its like), files of a list (`exports.py`).
"""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar
from zoneinfo import ZoneInfo

import msgspec
from litestar.datastructures import Cookie, MultiDict
from litestar.response import Response

from tripline.domain import fields
from tripline.domain.access import Action, Actor, Authority
from tripline.http import parameters
from tripline.http.rim import Call, rim_of
from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.portal import addresses, newcomers, views
from tripline.portal.frame import PAGES
from tripline.portal.visitors import Visitor, visitor_in
from tripline.store.browsing.turns import Place, Slice, Turn
from tripline.store.transactions import ReadTx
from tripline.wire.csv_files import Cell

R = TypeVar("R")
ROWS: Final = 50
"""Rows of a page."""
SEARCH, SORT, COLUMNS, AFTER, BEFORE = "q", "sort", "columns", "after", "before"
"""Values of the query beside filters."""
COUNT, SIZES = "/count", "/sizes"
"""What stands behind the list's path where it is counted."""
SEARCH_MAX: Final = 255
"""Characters that count; nothing that is searched has more."""
_TEXTS: Final = "portal.lists."
_KEPT_S: Final = 365 * 86_400
_HIDING: Final = frozenset({"middle", "wide", "widest"})
"""Classes that hide a column where the window is narrow."""
_LIST: Final = "list"
"""The block, and the element, that a search replaces."""
_WITHOUT_COMPANY: Final = (None, Action.COMPANY_CREATE)
"""What an account without a company finds in lists: what is of no company, and companies."""


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
        return None if at_ms is None else f"{dt.datetime.fromtimestamp(at_ms / 1_000, self.zone):%Y-%m-%d %H:%M:%S}"


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


class Bulk(msgspec.Struct, frozen=True, kw_only=True):
    """Something to do with chosen rows, whose ids go to the address."""

    text: str
    address: str
    icon: str
    action: Action


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A list: the first column is always shown. `page` and `count` raise refusals."""

    noun: str
    path: str
    columns: tuple[Column, ...]
    page: Callable[[ReadTx, Actor, "Asked", Turn], Slice[Any]]
    count: Callable[[ReadTx, Actor, "Asked"], int]
    filters: tuple[Filter, ...] = ()
    texts: tuple[str, ...] = ()
    """Names of texts that its address may hold, filters too."""
    references: tuple[str, ...] = ()
    """Names of ids that its address may hold, filters too."""
    bulk: tuple[Bulk, ...] = ()
    bare: Callable[[ReadTx, Actor, "Asked", Turn], Slice[Any]] | None = None
    """The page without the sizes, which load afterwards."""
    sizes: tuple[str, ...] = ()
    """Keys of columns that say how much a row holds, which has to be counted."""
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

    @property
    def filtered(self) -> bool:
        """Whether it asks for less than everything."""
        return bool(self.search or self.chosen)

    def turn(self, limit: int = ROWS) -> Turn:
        """The page that is asked for."""
        return Turn(limit=limit, by=self.order, descending=self.descending, place=self.place, back=self.back)


def asked(request: Call, table: Table) -> Asked:
    """What the address of the request asks. Raises `BadParameter`."""
    return of_query(request.query_params, table, remembered=request.cookies.get(_cookie_of(table), ""))


def of_query(query: MultiDict[str], table: Table, *, remembered: str) -> Asked:
    """What a query asks; `remembered`: the columns chosen last, apart by points. Raises `BadParameter`."""
    sort = fields.one_of(SORT, query.get(SORT), _sorts(table)) or table.order
    chosen = {each.key: fields.one_of(each.key, query.get(each.key), each.values) for each in table.filters}
    chosen |= {name: query.get(name, "")[:SEARCH_MAX] or None for name in table.texts}
    chosen |= {name: parameters.query_id(query, name) for name in table.references}
    back = query.get(BEFORE)
    columns, picked = _columns(query, table, remembered)
    return Asked(
        search=query.get(SEARCH, "").strip()[:SEARCH_MAX] or None,
        chosen={name: value for name, value in chosen.items() if value is not None},
        order=sort.removeprefix("-"),
        descending=sort.startswith("-"),
        columns=columns,
        picked=picked,
        place=addresses.place(back or query.get(AFTER)),
        back=bool(back),
    )


async def listed(
    request: Call,
    table: Table,
    *,
    create: Action | None = None,
    create_text: Callable[[Visitor], str] | None = None,
    names: Callable[[ReadTx, Actor, Asked], Mapping[str, str]] = lambda *_: {},
) -> Response[bytes]:
    """The page of a list. `create`: what somebody must be able to do to register a new one; `create_text`: key of the
    text that says so when that depends on who asks; `names`: of references.

    A granted account has nothing that a company may have, before it has registered its company: it is led to that.
    """
    wanted = asked(request, table)

    def work(tx: ReadTx) -> tuple[Visitor, Slice[Any], Mapping[str, str]]:
        visitor = visitor_in(tx, request)
        found = (table.bare or table.page)(tx, visitor.actor, wanted, wanted.turn())
        return visitor, found, names(tx, visitor.actor, wanted)

    # The rows are one statement; the visitor may be of an instant before.
    visitor, found, named = await rim_of(request).store.read(work, consistent=False)
    title = f"{_TEXTS}{table.noun}.title"
    if visitor.company is None and (create not in _WITHOUT_COMPANY or visitor.role is Authority.COMPANY_ADMIN):
        return newcomers.shown(request, visitor, title=title)
    answer = views.show(
        request,
        visitor,
        f"lists/{table.noun}.html",
        title=title,
        fragment=_LIST if views.target_of(request) == _LIST else views.CONTENT,
        listed=_shown(request, visitor, table, wanted, found, named),
        create=_new(request, visitor, table, create),
        create_text=create and visitor.say(create_text(visitor) if create_text else f"{_TEXTS}{table.noun}.new"),
    )
    if COLUMNS in request.query_params:
        answer.cookies.append(_kept(request, table, wanted.columns))
    return answer


def _new(request: Call, visitor: Visitor, table: Table, create: Action | None) -> str | None:
    """Where the visitor may register a new one."""
    address = f"{table.path}/new"
    return address if create is not None and visitor.may(create) and address in request.app.state[PAGES] else None


async def counted(request: Call, table: Table) -> Response[bytes]:
    """How many rows the list has that the address asks for, in words."""
    wanted = asked(request, table)

    def work(tx: ReadTx) -> tuple[Visitor, int]:
        visitor = visitor_in(tx, request)
        return visitor, table.count(tx, visitor.actor, wanted)

    visitor, number = await rim_of(request).store.read(work)
    return views.show(
        request,
        visitor,
        "lists/count.html",
        title=f"{_TEXTS}{table.noun}.title",
        fragment="count",
        counted=f"{_TEXTS}{table.noun}.count",
        back=addresses.without(request, COUNT),
        number=number,
    )


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """A step to the same list in another state."""

    text: str
    href: str
    on: bool = False


class Menu(msgspec.Struct, frozen=True, kw_only=True):
    """A filter and what may be chosen in it."""

    text: str
    links: tuple[Link, ...]


class Shown(msgspec.Struct, Generic[R], frozen=True, kw_only=True):
    """A page of a list, as its template shows it."""

    table: Table
    asked: Asked
    rows: Sequence[R]
    keys: tuple[str, ...]
    """Of the columns shown, in their order."""
    cells: tuple[tuple[str, str], ...]
    """Of the columns shown: key, and classes of its cells."""
    headings: tuple[dict[str, Any], ...]
    menus: tuple[Menu, ...]
    chips: tuple[Link, ...]
    """Filters in force, each with the address without it."""
    kept: Mapping[str, str]
    """What a search and a choice of columns leave as it is."""
    columns: tuple[tuple[str, str], ...]
    """Every column that may be chosen: key and heading."""
    previous: str | None
    next: str | None
    count: str | None
    """Where the number of rows is said; None: they are all here."""
    sizes: str | None
    """Where it is said how much each row holds; None: that is not asked for, or here."""
    cleared: str
    """The address without search and filters."""
    bulk: tuple[Bulk, ...]
    query: str
    """What the address asks, for a file of all rows."""
    opens: bool
    """Whether each of its things has a page."""


def _shown(
    request: Call, visitor: Visitor, table: Table, wanted: Asked, found: Slice[R], named: Mapping[str, str]
) -> Shown[R]:
    def here(**values: object) -> str:
        return addresses.changed(request, **{AFTER: None, BEFORE: None, **values})

    keys, query = wanted.columns, request.scope["query_string"].decode("latin-1")
    more = found.more_before or found.more_behind
    return Shown(
        table=table,
        asked=wanted,
        rows=found.rows,
        keys=keys,
        cells=tuple((each.key, each.look_when(picked=wanted.picked)) for each in table.columns if each.key in keys),
        headings=tuple(_heading(each, table, visitor, wanted, here) for each in table.columns if each.key in keys),
        menus=tuple(_menu(each, visitor, wanted, here) for each in table.filters),
        chips=tuple(_chips(table, visitor, wanted, named, here)),
        kept=_kept_values(request),
        columns=tuple((each.key, _said(visitor, table, each.key)) for each in table.columns[1:]),
        previous=here(**{BEFORE: addresses.of_place(found.first)}) if found.more_before and found.first else None,
        next=here(**{AFTER: addresses.of_place(found.last)}) if found.more_behind and found.last else None,
        count=here().replace(table.path, f"{table.path}{COUNT}", 1) if more else None,
        sizes=f"{table.path}{SIZES}?{query}" if set(keys).intersection(table.sizes) else None,
        cleared=here(**{SEARCH: None, **dict.fromkeys(wanted.chosen)}),
        bulk=tuple(each for each in table.bulk if visitor.may(each.action)),
        query=query,
        opens=any(path.startswith(f"{table.path}/{{") for path in request.app.state[PAGES]),
    )


Here = Callable[..., str]


def _heading(column: Column, table: Table, visitor: Visitor, wanted: Asked, here: Here) -> dict[str, Any]:
    made: dict[str, Any] = {"text": _said(visitor, table, column.key), "class": column.look_when(picked=wanted.picked)}
    if column.order is not None:
        is_by = column.order == wanted.order
        made["sort"] = here(**{SORT: f"-{column.order}" if is_by and not wanted.descending else column.order})
        made["sorted"] = ("descending" if wanted.descending else "ascending") if is_by else None
    return made


def _menu(each: Filter, visitor: Visitor, wanted: Asked, here: Here) -> Menu:
    present = wanted.chosen.get(each.key)
    return Menu(
        text=visitor.say("portal.lists.filter." + each.key),
        links=tuple(
            Link(text=_option(visitor, each.key, value), href=here(**{each.key: value}), on=value == present)
            for value in each.values
        ),
    )


def _chips(table: Table, visitor: Visitor, wanted: Asked, named: Mapping[str, str], here: Here) -> Iterable[Link]:
    for each in table.filters:
        if each.key in wanted.chosen:
            yield Link(text=_option(visitor, each.key, wanted.chosen[each.key]), href=here(**{each.key: None}), on=True)
    for name in (*table.texts, *table.references):
        if name in wanted.chosen:
            text = visitor.say("portal.lists.of." + name, name=named.get(name, wanted.chosen[name]))
            yield Link(text=text, href=here(**{name: None}), on=True)


def _option(visitor: Visitor, key: str, value: str) -> str:
    return visitor.say(f"portal.lists.filter.{key}.{value}")


def _said(visitor: Visitor, table: Table, key: str) -> str:
    return visitor.say(f"{_TEXTS}{table.noun}.{key}")


def _kept_values(request: Call) -> dict[str, str]:
    gone = (SEARCH, AFTER, BEFORE, COLUMNS)
    return {name: value for name, value in request.query_params.multi_items() if name not in gone}


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


def _cookie_of(table: Table) -> str:
    return f"columns-{table.noun}"


def _kept(request: Call, table: Table, columns: Sequence[str]) -> Cookie:
    return Cookie(
        key=_cookie_of(table),
        value=".".join(columns),
        max_age=_KEPT_S,
        path="/",
        httponly=True,
        secure=request.scope["scheme"] == "https",
        samesite="lax",
    )

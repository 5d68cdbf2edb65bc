"""Pages of lists: rows, headings, menus and filter chips, each with its link, and the number of rows.

Not here: parsing the query (`tables.py`), the markup of cells (`templates/lists/list.html`).
"""

import asyncio
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from litestar.handlers import HTTPRouteHandler
from litestar.response import Response

from tripline.domain.access import Action, Authority
from tripline.http import cookies
from tripline.http.context import Call, context_of, maps_of
from tripline.portal.frame import addresses, navigation, views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_and, visitor_in
from tripline.portal.lists import tables
from tripline.portal.lists.columns import Around, Column, Filter, Kind, Words
from tripline.portal.lists.tables import ListRequest, Table
from tripline.services.listings import AtLeast
from tripline.store.listing.pages import Page
from tripline.store.transactions import ReadTx

_TEXTS: Final = "portal.lists."
_KEPT_S: Final = 365 * 86_400
_LIST: Final = "list"
"""The block and element replaced by a search."""
_OF_PAGE: Final = (addresses.AFTER, addresses.BEFORE, views.WAS)
"""Query parameters that belong to a single page of the list."""
_NOT_KEPT: Final = (addresses.SEARCH, tables.COLUMNS, *_OF_PAGE)
"""Query parameters that a search or a choice of columns replaces."""
_NEVER_BLANK: Final = frozenset({Kind.KM, Kind.SPEED, Kind.SIZE, Kind.OWN})
"""Kinds that display something for a missing value, too."""
_MISSING, _BLANK = "missing", ""
_WITHOUT_COMPANY: Final = (None, Action.COMPANY_CREATE)
"""Create actions of lists that an account without a company may see: none, or creating companies."""


def handlers(table: Table) -> list[HTTPRouteHandler]:
    """The routes of a list: its page and its count."""

    async def rows(request: Call) -> Response[bytes]:
        return await listed(request, table)

    async def count(request: Call) -> Response[bytes]:
        return await counted(request, table)

    rows.__name__, rows.__doc__ = table.noun, f"The list of {table.noun}."
    count.__name__, count.__doc__ = f"count_{table.noun}", f"Number of rows in the list of {table.noun}."
    return [
        page("GET", table.path, access=table.access)(rows),
        page("GET", f"{table.path}{tables.COUNT}", access=table.access)(count),
    ]


async def listed(request: Call, table: Table) -> Response[bytes]:
    """The page of a list.

    A granted account without a company has to register one first.
    """
    wanted = tables.asked(request, table)

    def work(tx: ReadTx) -> tuple[Visitor, _Rows]:
        visitor = visitor_in(tx, request)
        rows = table.page(tx, visitor.actor, wanted, wanted.page_request(), bare=True)
        filters = table.filtered(wanted)
        named = {
            each.key: each.name(tx, visitor.actor, filters) for each in table.references if each.key in wanted.chosen
        }
        choices = {each.key: each.choices(tx, visitor) for each in table.references}
        return visitor, _Rows(rows, named, choices, table.more(request, tx, visitor, wanted, rows))

    # The rows are one statement; the visitor may be read an instant earlier.
    visitor, found = await context_of(request).store.read(work, consistent=False)
    if table.named is not None:
        rows = await asyncio.to_thread(table.named, found.page.rows, maps_of(request).places, visitor.language)
        found = found._replace(page=msgspec.structs.replace(found.page, rows=rows))
    title, create = f"{_TEXTS}{table.noun}.title", table.create
    if visitor.company is None and (create not in _WITHOUT_COMPANY or visitor.role is Authority.COMPANY_ADMIN):
        return views.without_company(request, title=title)
    if "seen" in found.more and views.is_shown(request, found.more["seen"]):
        return views.unchanged()
    answer = views.show(
        request,
        table.template,
        title=title,
        fragment=_LIST if views.target_of(request) in (_LIST, *table.parts) else views.CONTENT,
        listed=_shown(request, visitor, table, wanted, found),
        create=f"{table.path}/new" if create and visitor.may(create) else None,
        create_text=create
        and visitor.say(table.create_text(visitor) if table.create_text else f"{_TEXTS}{table.noun}.new"),
        more=found.more,
        **{"nothing": f"{_TEXTS}{table.noun}.none", **found.more},
    )
    if tables.COLUMNS in request.query_params:
        kept = ".".join(wanted.columns)
        answer.cookies.append(cookies.plain(request, tables.cookie_of(table), kept, kept_s=_KEPT_S))
    return answer


async def counted(request: Call, table: Table) -> Response[bytes]:
    """Number of rows that match the query, in words."""
    wanted = tables.asked(request, table)
    _, number = await visitor_and(request, lambda tx, visitor: table.count(tx, visitor.actor, wanted), short=False)
    return views.show(
        request,
        "lists/count.html",
        title=f"{_TEXTS}{table.noun}.title",
        fragment="count",
        counted=f"{_TEXTS}{table.noun}.count" + (".least" if isinstance(number, AtLeast) else ""),
        back=addresses.without(request, tables.COUNT),
        number=number,
    )


class _Cell(NamedTuple):
    column: Column
    kind: str
    missing: str
    look: str | None
    """Classes of the cells; None for the first column."""
    read: Callable[[Any], Any]


class _Rows(NamedTuple):
    page: Page[Any]
    named: Mapping[str, str | None]
    choices: dict[str, Sequence[tuple[str, str]]]
    more: Mapping[str, Any]


def _shown(request: Call, visitor: Visitor, table: Table, wanted: ListRequest, read: _Rows) -> dict[str, Any]:
    def here(**values: object) -> str:
        return addresses.changed(request, **{**dict.fromkeys(_OF_PAGE), **values})

    found, query = read.page, request.scope["query_string"].decode("latin-1")
    more = found.more_before or found.more_behind
    previous, following = addresses.neighbours(found, lambda name, cursor: here(**{name: cursor}))
    filters = {
        each.key: [(value, _option(visitor, each.key, value)) for value in each.values]
        for each in table.filters
        if each.usual is None
    }
    tabs = (
        _tabs(each, visitor, wanted, here, read.more.get("counts", {}))
        for each in table.filters
        if each.usual is not None
    )
    columns = [each for each in table.columns if each.key in wanted.columns]
    words = Words(visitor.language, context_of(request).time_zone)
    cells = [_cell(each, words, heads=each is columns[0], picked=wanted.picked) for each in columns]
    around = Around(visitor, here, lambda path: navigation.is_open(request, visitor, path))
    return {
        "table": table,
        "asked": wanted,
        "lines": [_line(row, table, cells, around) for row in found.rows],
        "shown": wanted.columns,
        "headings": [_heading(each, table, visitor, wanted, here) for each in columns],
        "tabs": list(itertools.chain.from_iterable(tabs)),
        "menus": [_menu(*each, visitor, wanted, here) for each in (read.choices | filters).items() if each[1]],
        "chips": list(_chips(table, visitor, wanted, read.named, here)),
        "kept": {name: value for name, value in request.query_params.multi_items() if name not in _NOT_KEPT},
        "columns": [(each.key, table.heading(each, visitor.language)) for each in table.columns[1:]],
        "previous": previous,
        "next": following,
        "count": here().replace(table.path, f"{table.path}{tables.COUNT}", 1) if more else None,
        "sizes": f"{table.path}{tables.SIZES}?{query}" if any(each.kind is Kind.SIZE for each in columns) else None,
        "cleared": here(**{addresses.SEARCH: None, **dict.fromkeys(_lifted(table, wanted))}),
        "bulk": [
            each
            for each in table.bulk
            if visitor.may(each.action) and (each.tabs is None or {*each.tabs}.intersection(wanted.chosen.values()))
        ],
        "query": query,
    }


Here = Callable[..., str]


def _cell(column: Column, words: Words, *, heads: bool, picked: bool) -> _Cell:
    kind, look = column.kind.value, None if heads else column.look_when(picked=picked)
    missing = kind if column.kind in _NEVER_BLANK else _MISSING if column.dash or column.elsewhere else _BLANK
    return _Cell(column, kind, missing, look, column.shower(words))


def _line(row: Any, table: Table, cells: Sequence[_Cell], around: Around) -> dict[str, Any]:
    """A row of a page. Each cell has its column, kind, classes (None for the first column), value, and the address of
    the link around it. Of a `Kind.CHOICE` the value is the class of the badge and the text.
    """
    shown: list[tuple[Column, str, str | None, Any, str | None]] = []
    for column, kind, missing, look, read in cells:
        value = read(row)
        if value is None:
            shown.append((column, missing, look, None, None))
        else:
            shown.append((column, kind, look, value, None if column.to is None else column.to(row, around)))
    box = table.box(row) if table.bulk else None
    return {"row": row, "cells": shown, "box": box, "label": getattr(row, table.label)}


def _heading(column: Column, table: Table, visitor: Visitor, wanted: ListRequest, here: Here) -> dict[str, Any]:
    made: dict[str, Any] = {
        "text": table.heading(column, visitor.language),
        "class": column.look_when(picked=wanted.picked),
    }
    if column.order is not None:
        is_by = column.order == wanted.order
        made["sort"] = here(**{tables.SORT: f"-{column.order}" if is_by and not wanted.descending else column.order})
        made["sorted"] = ("descending" if wanted.descending else "ascending") if is_by else None
    return made


def _tabs(
    each: Filter, visitor: Visitor, wanted: ListRequest, here: Here, counts: Mapping[str, int]
) -> Iterable[dict[str, Any]]:
    for value in each.values:
        is_on = value == wanted.chosen[each.key]
        # Each tab has its own sort order.
        href = here(**{each.key: value, tables.SORT: None})
        yield {"text": _option(visitor, each.key, value), "href": href, "current": is_on, "count": counts.get(value)}


def _lifted(table: Table, wanted: ListRequest) -> set[str]:
    """The filters that can be removed."""
    return wanted.chosen.keys() - {each.key for each in table.filters if each.usual is not None}


def _menu(
    name: str, choices: Sequence[tuple[str, str]], visitor: Visitor, wanted: ListRequest, here: Here
) -> dict[str, Any]:
    on = wanted.chosen.get(name)
    links = [{"text": text, "href": here(**{name: each}), "on": each == on} for each, text in choices]
    return {"text": visitor.say("portal.lists.filter." + name), "links": links}


def _chips(
    table: Table, visitor: Visitor, wanted: ListRequest, named: Mapping[str, str | None], here: Here
) -> Iterable[dict[str, str]]:
    for each in table.filters:
        if each.key in _lifted(table, wanted):
            yield {"text": _option(visitor, each.key, wanted.chosen[each.key]), "href": here(**{each.key: None})}
    for name in (*table.texts, *(each.key for each in table.references)):
        if name in wanted.chosen:
            text = visitor.say("portal.lists.of." + name, name=named.get(name) or wanted.chosen[name])
            yield {"text": text, "href": here(**{name: None})}


def _option(visitor: Visitor, key: str, value: str) -> str:
    return visitor.say(f"portal.lists.filter.{key}.{value}")

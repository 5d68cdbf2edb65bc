"""Lists in the portal: the declaration of a list, and parsing of its query.

An address contains the whole state: search, filters, sort order, columns and page. Going back, reloading or sharing a
link therefore shows the same list. A cookie remembers the columns that were chosen last.

Not here: columns and filters (`columns.py`), each noun's list (`vehicles.py` and its like), the page
(`table_pages.py`), exports (`exports.py`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
from litestar.datastructures import MultiDict

from tripline.domain import fields
from tripline.domain.access import Action, Actor
from tripline.http import parameters
from tripline.http.context import Call, context_of
from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.portal.frame import addresses
from tripline.portal.frame.visitors import Visitor
from tripline.portal.lists.columns import Column, Filter
from tripline.ports.maps import PlaceNames
from tripline.services.fleet import companies
from tripline.services.listings import Listing
from tripline.store.listing.pages import Page, PageRequest, Place
from tripline.store.transactions import ReadTx

ROWS: Final = 50
SORT, COLUMNS = "sort", "columns"
"""Query parameters of every list, in addition to filters and the parameters in `addresses`."""
COUNT, SIZES = "/count", "/sizes"
"""Suffixes of a list's path for its counts."""


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """A query parameter with the id of a record; it filters by the field `<key>_id`."""

    key: str
    name: Callable[[ReadTx, Actor, Any], str | None]
    """Returns the record's name, by the store's filters. Raises `NotFound` and `Forbidden`."""
    choices: Callable[[ReadTx, Visitor], Sequence[tuple[str, str]]] = lambda *_: ()
    """Returns the ids and names in the menu of the filter."""


class Bulk(msgspec.Struct, frozen=True, kw_only=True):
    """An action on chosen rows, whose ids are sent to the address; `tabs` are the tabs that offer it, None for all."""

    text: str
    address: str
    icon: str
    action: Action
    tabs: tuple[str, ...] | None = None


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A list. The first column is always shown."""

    noun: str
    path: str
    access: Action
    listing: Listing[Any, Any]
    which: Callable[..., Any]
    columns: tuple[Column, ...]
    filters: tuple[Filter, ...] = ()
    texts: tuple[str, ...] = ()
    """Query parameters with texts, which filter by the field of the same name."""
    references: tuple[Reference, ...] = ()
    bulk: tuple[Bulk, ...] = ()
    select: str = "id"
    """Field of a form with the chosen rows."""
    label: str = "id"
    """Field of a row that names it beside its checkbox."""
    box: Callable[[Any], str | None] = lambda row: row.id
    """Value of a row's checkbox; None if the row cannot be chosen."""
    bare: Listing[Any, Any] | None = None
    """The list without the columns of `Kind.SIZE`, which load afterwards."""
    usual_sort: Callable[[Mapping[str, str | None]], str] | None = None
    """Default sort order, by the filters; None for the order of the first column."""
    create: Action | None = None
    create_text: Callable[[Visitor], str] | None = None
    """Returns the key of the text of its button, if that depends on the visitor."""
    icon: str = "inbox"
    template: str = "lists/list.html"
    searched: bool = True
    named: Callable[[Sequence[Any], PlaceNames | None, Language], Sequence[Any]] | None = None
    """Returns the rows with the words for their positions; takes milliseconds for a page."""
    more: Callable[[Call, ReadTx, Visitor, "ListRequest", Page[Any]], Mapping[str, Any]] = lambda *_: {}
    """Returns further values for the template: `counts` by tab with `most`, the greatest exact count, and `seen`, the
    state of a list that refreshes itself.
    """
    parts: tuple[str, ...] = ()
    """Ids of elements around the list that are replaced with it."""

    @property
    def order(self) -> str:
        return next(each.order for each in self.columns if each.order is not None)

    def heading(self, column: Column, language: Language) -> str:
        """The heading of a column: of this list, else of every list with such a column."""
        texts = catalogue.of_portal(language)
        return texts.get(f"portal.lists.{self.noun}.{column.key}") or texts[f"portal.lists.column.{column.key}"]

    def settled(
        self, chosen: Mapping[str, str], query: Mapping[str, str], *, zone: ZoneInfo, now_ms: int
    ) -> Mapping[str, str]:
        """The values of the query, with ones that depend on the time."""
        return chosen

    def filtered(self, wanted: "ListRequest") -> Any:
        chosen = wanted.chosen
        values = {each.field or each.key: each.values[chosen[each.key]] for each in self.filters if each.key in chosen}
        values |= {name: chosen.get(name) for name in self.texts}
        values |= {f"{each.key}_id": chosen.get(each.key) for each in self.references}
        return self.which(search=wanted.search, **values)

    def page(
        self, tx: ReadTx, actor: Actor, wanted: "ListRequest", page_request: PageRequest, *, bare: bool = False
    ) -> Page[Any]:
        """A page of the list; `bare`: without counts that load afterwards. Raises refusals."""
        listing = (self.bare if bare else None) or self.listing
        return listing.page(tx, actor=actor, filters=self.filtered(wanted), page_request=page_request)

    def count(self, tx: ReadTx, actor: Actor, wanted: "ListRequest") -> int:
        """The number of rows. Raises refusals."""
        return self.listing.count(tx, actor=actor, filters=self.filtered(wanted))


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
        return PageRequest(limit=limit, by=self.order, descending=self.descending, place=self.place, back=self.back)


def asked(request: Call, table: Table) -> ListRequest:
    """Parse the request's query. Raises `BadParameter`."""
    return asked_by(request, request.query_params, table, remembered=request.cookies.get(cookie_of(table), ""))


def asked_by(request: Call, query: MultiDict[str], table: Table, *, remembered: str) -> ListRequest:
    """Parse a query at the time of the request. Raises `BadParameter`."""
    wanted, context = of_query(query, table, remembered=remembered), context_of(request)
    settled = table.settled(wanted.chosen, query, zone=context.time_zone, now_ms=context.clock())
    return msgspec.structs.replace(wanted, chosen=settled)


def of_query(query: MultiDict[str], table: Table, *, remembered: str) -> ListRequest:
    """Parse a query; `remembered` holds the columns chosen last, separated by full stops. Raises `BadParameter`."""
    chosen = {
        each.key: fields.one_of(each.key, query.get(each.key), tuple(each.values)) or each.usual
        for each in table.filters
    }
    chosen |= {name: query.get(name, "")[: addresses.SEARCH_MAX] or None for name in table.texts}
    chosen |= {each.key: parameters.query_id(query, each.key) for each in table.references}
    usual = table.usual_sort(chosen) if table.usual_sort else table.order
    orders = [each.order for each in table.columns if each.order is not None]
    sort = fields.one_of(SORT, query.get(SORT), (*orders, *(f"-{order}" for order in orders))) or usual
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


COMPANY: Final = Reference(
    key="company", name=lambda tx, actor, filters: companies.read(tx, actor=actor, company_id=filters.company_id).name
)

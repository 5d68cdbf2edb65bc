"""Lists that people browse: a declaration (`ListSpec`) becomes one statement for each page and each count.

A page walks along the index that has the rows in the order of the list, from the place where the page before ended, and
tests each row by the filters. Lists of vehicles and sensors walk along `reach`, which has an index for each company and
person; a filter may name another principal whose rows are walked instead (a company's own vehicles, a director's). A
filter with an index of its own declares `few`: up to `MANY` of these rows are read by key and sorted.

A search finds rows whose name begins with the text, in the ranges of `prefixes.py`, and rows that a `Search` of the
list finds.

Not here: the columns and filters of a list (the nouns beside this module), permissions (`store/reach.py`,
`store/scopes.py`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import (
    Column,
    ColumnElement,
    FromClause,
    ScalarSelect,
    Select,
    bindparam,
    case,
    false,
    func,
    null,
    select,
    true,
    tuple_,
)
from sqlalchemy import literal_column as literal
from sqlalchemy.sql import visitors

from tripline.domain import keys
from tripline.domain.access import Scope
from tripline.store import endings, prefixes, reach, scopes, tables
from tripline.store.listing.pages import Page, PageRequest, Place
from tripline.store.reach import PRINCIPAL, Kind, Why
from tripline.store.tables.base import lowered
from tripline.store.transactions import Hot, ReadTx


def beside_index(column: ColumnElement[str]) -> ColumnElement[str]:
    """The column as no index has it: the other condition finds the rows, and this one filters them."""
    return func.coalesce(column, null())


def tested(condition: ColumnElement[bool]) -> ColumnElement[bool]:
    """Rewrite a condition that many rows meet, to keep the planner off an index.

    PostgreSQL estimates that an equation with an expression holds for one row in 200, so it prefers to sort all
    remaining rows or to join them by nested loops. For a CASE it estimates every other row.
    """
    return case((condition, true()), else_=false())


MANY: Final = 5_000
"""Up to so many rows of a filter are sorted, 15 ms; of more, a walk along the list soon meets one."""
SHORT: Final = 2_000
"""A principal with up to so many vehicles or sensors has a short list: every filter walks it."""
LISTED: Final = tables.reach.alias("listed")
"""The rows of `reach` that a list walks along."""
THING: Final = LISTED.c.thing_id
"""The vehicle or sensor of a row."""
_WHO: Final = (PRINCIPAL, scopes.USER, scopes.COMPANY)
_WINDOW: Final = ("page_search", "page_value", "page_key", "page_from", "page_to")
_EVERYTHING: Final = (("", ""),)
_START: Final = Place("", "")


class Along(NamedTuple):
    """Rows of another principal, for a filter that leaves only these."""

    value: str
    """Name of the value that is the principal."""
    mask: Why


class Filter(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A condition on the rows of a list."""

    where: ColumnElement[bool] | None = None
    mine: Callable[[FromClause], ColumnElement[bool]] | None = None
    """A condition on the looker's own row of `reach`."""
    along: Along | None = None
    leads: bool = False
    """The index of the list's names has its column before the name."""
    few: Select[Any] | None = None
    """The keys of rows that pass, found by an index; some of them may be outside the scope."""


class Search(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """Rows that a text finds in another way than by the beginning of their name."""

    names: tuple[str, ...]
    values: Callable[[str], tuple[Any, ...] | None]
    """Returns the values of these names; None for a text that finds nothing in this way."""
    where: ColumnElement[bool]
    few: Select[Any] | None = None
    """As `Filter.few`."""
    among: Select[Any] | None = None
    """The keys of another table that `where` reads as a set; of more than `MANY`, `each` is the condition."""
    each: ColumnElement[bool] | None = None


class ListSpec(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A list, declared."""

    rows: FromClause = LISTED
    key: ColumnElement[str] = THING
    orders: Mapping[str, ColumnElement[Any]]
    name: str | None = None
    """The order whose column a search finds by its beginning."""
    kind: Kind | None = None
    """Kind of the rows of `reach` that the list walks along or joins as `LISTED`; None: neither."""
    thing: ColumnElement[str] | None = None
    """The vehicle or sensor of a row: the list walks along its own rows, and `reach` is read by key."""
    inside: Callable[[scopes.Reaches], ColumnElement[bool]] | None = None
    """The condition on rows to be within the scope, for lists without a kind."""
    filters: Mapping[str, Filter] = {}
    """By name, which is also the name of the value that a filter compares with."""
    always: tuple[Filter, ...] = ()
    """Filters of every query."""
    searches: tuple[Search, ...] = ()
    shown: Callable[..., Select[Any]]
    """Selects the columns to show of the rows in a subquery with `place` and `key`: these two first."""

    def page(
        self, tx: ReadTx, query: "ListQuery", request: PageRequest, *shown: scopes.Reaches
    ) -> Page[tuple[Any, ...]]:
        """Return the rows of the page, as `shown` selects them with these arguments.

        A place of another order, whose value has another type, is ignored: the list begins.
        """
        if request.place is not None and not isinstance(request.place.value, self.orders[request.by].type.python_type):
            request = msgspec.structs.replace(request, place=None, back=False)
        # One row more than is shown: it proves that there is a further page.
        order = _Order(request.by, request.falling, request.place is not None, request.limit + 1)
        found: list[tuple[Any, ...]] = []
        for way in _ways(tx, self, query, by=request.by):
            place = request.place or _START
            ranges = _ranges(query, way)
            if order.continued and request.by == self.name:
                ranges = _behind(ranges, place.value, falling=order.falling)
            found += _rows(tx, _page(self, way, order, shown), self, query, ranges, place)
        found.sort(key=_place, reverse=request.falling)
        more, rows = len(found) > request.limit, found[: request.limit]
        if request.back:
            rows.reverse()
        return Page(
            rows=rows,
            first=_place(rows[0]) if rows else None,
            last=_place(rows[-1]) if rows else None,
            more_before=more if request.back else request.place is not None,
            more_behind=request.back or more,
        )

    def name_of(self, tx: ReadTx, query: "ListQuery", key: str) -> str | None:
        """Return the name of the row with this key; None: the list has no such row."""
        reaches = frozenset() if query.scope is None else query.scope.reaches
        way = _Way(reaches, (*(self.filters[name] for name in query.filters), *self.always))
        found = _rows(tx, _name_of(self, way), self, query, _EVERYTHING, Place("", key))
        return found[0][0] if found else None

    def count(self, tx: ReadTx, query: "ListQuery") -> int:
        """Return how many rows the list has."""
        ways = _ways(tx, self, query, by=self.name or next(iter(self.orders)), counted=True)
        return sum(n for way in ways for (n,) in _rows(tx, _count(self, way), self, query, _ranges(query, way)))


class ListQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows to list."""

    scope: Scope | None
    """None: the caller checked permission."""
    filters: tuple[str, ...] = ()
    values: Mapping[str, Any] = {}
    search: str | None = None
    parts: tuple[str, ...] = ()
    """Filters that divide the list: each row passes exactly one, and an index has the order within each."""


def query_of(scope: Scope | None, filters: Mapping[str, Any], search: str | None) -> ListQuery:
    """Return the query with these filters, each with its value, but for those without a name or with None."""
    asked = {name: value for name, value in filters.items() if name and value is not None}
    return ListQuery(scope=scope, filters=tuple(asked), values=asked, search=search)


class _Way(NamedTuple):
    """A statement that finds rows; the statements of one list share no row."""

    reaches: scopes.Reaches
    filters: tuple[Filter, ...]
    searches: tuple[int, ...] = ()
    """Numbers of the searches that rows are compared with: found by the last, and not by those before; -1: the
    beginning of the name."""
    singly: bool = False
    """True if `Search.each` is the condition."""
    ranged: bool = False
    """True if ranges of names find the rows."""
    few: Select[Any] | None = None
    """The keys of few rows."""
    many: Select[Any] | None = None
    """The keys of a filter's rows; a count takes the ones in the list."""


class _Order(NamedTuple):
    by: str
    falling: bool
    continued: bool
    limit: int


_NAME: Final = -1


def _ways(tx: ReadTx, spec: ListSpec, query: ListQuery, *, by: str, counted: bool = False) -> Iterator[_Way]:
    """Choose the statements that find the rows. A count reads any number of rows by a filter's index."""
    reaches = frozenset() if query.scope is None else query.scope.reaches
    for part in query.parts or (None,):
        names = query.filters if part is None else (*query.filters, part)
        filters = (*(_filter(spec, query, name) for name in names), *spec.always)
        yield from _ways_of(tx, spec, query, _Way(reaches, filters), by=by, counted=counted)


def _filter(spec: ListSpec, query: ListQuery, name: str) -> Filter:
    each = spec.filters[name]
    if each.along is None or query.scope is None or query.values[name] != query.scope.company_id:
        return each
    return _of_own_company(each)


@cache
def _of_own_company(each: Filter) -> Filter:
    """Return the filter for the looker's own company, whose rows are then read once and not also compared by key."""
    assert each.along is not None
    return msgspec.structs.replace(each, along=Along(scopes.COMPANY, each.along.mask))


def _ways_of(tx: ReadTx, spec: ListSpec, query: ListQuery, way: _Way, *, by: str, counted: bool) -> Iterator[_Way]:
    sets = [each.few for each in way.filters if each.few is not None]
    if sets and not _is_short(tx, spec, query, way):
        few = next((each for each in sets if _are_few(tx, spec, query, each)), None)
        if few is not None:
            way = way._replace(few=few)
        elif counted:
            way = way._replace(many=sets[0])
    if not query.search:
        yield way
        return
    before: tuple[int, ...] = ()
    if spec.name is not None:
        before = (_NAME,)
        yield _by_name(tx, spec, query, way._replace(searches=before), by=by)
    for number, search in enumerate(spec.searches):
        if search.values(query.search) is None:
            continue
        before = (*before, number)
        other = way._replace(searches=before)
        if search.among is not None:
            if not _are_more(tx, spec, query, search.among, 0):
                continue
            other = other._replace(singly=not _are_few(tx, spec, query, search.among))
        if way.few is None and _are_few(tx, spec, query, search.few):
            other = other._replace(few=search.few)
        yield other


def _by_name(tx: ReadTx, spec: ListSpec, query: ListQuery, way: _Way, *, by: str) -> _Way:
    if way.few is not None:
        return way
    ranged = way._replace(ranged=True)
    if by == spec.name:
        return ranged
    # Rows that few names find are read by key and sorted; of many, the first in another order are met soon.
    of_index = tuple(each for each in way.filters if each.leads or each in spec.always)
    named = _named(spec, ranged._replace(filters=of_index))
    found = _rows(tx, _past_named(spec, named), spec, query, _ranges(query, ranged))
    return ranged._replace(few=named) if len(found) <= MANY else way


@cache
def _named(spec: ListSpec, way: _Way) -> Select[Any]:
    rows = _found(spec, way, spec.name or "")
    return select(rows.key).where(*rows.conditions)


@cache
def _past_named(spec: ListSpec, named: Select[Any]) -> Hot:
    return Hot(_ones(named).limit(literal(str(MANY + 1))), *_names(spec), *_WINDOW)


def _is_short(tx: ReadTx, spec: ListSpec, query: ListQuery, way: _Way) -> bool:
    if spec.kind is None or spec.rows is not LISTED:
        return False
    walked = _walked(spec, way)
    principal = _principal(query) if walked is None else _values(spec, query)[_names(spec).index(walked.value)]
    return not tx.hot(_past_short(spec.kind), principal)


@cache
def _past_short(kind: Kind) -> Hot:
    rows = select(THING).where(LISTED.c.principal == bindparam(PRINCIPAL), LISTED.c.kind == literal(str(int(kind))))
    return Hot(rows.limit(literal("1")).offset(literal(str(SHORT))), PRINCIPAL)


def _are_few(tx: ReadTx, spec: ListSpec, query: ListQuery, few: Select[Any] | None) -> bool:
    return few is not None and not _are_more(tx, spec, query, few, MANY)


def _are_more(tx: ReadTx, spec: ListSpec, query: ListQuery, keys: Select[Any], count: int) -> bool:
    return bool(tx.hot(_behind_first(spec, keys, count), *_values(spec, query)))


@cache
def _behind_first(spec: ListSpec, keys: Select[Any], count: int) -> Hot:
    return Hot(_ones(keys).limit(literal("1")).offset(literal(str(count))), *_names(spec))


def _ones(keys: Select[Any]) -> Select[Any]:
    """Return a select of as many rows without their keys, which the index alone may answer."""
    return keys.with_only_columns(literal("1").label("one"), maintain_column_froms=True)


_Ranges = Sequence[tuple[str, str]]
"""First name of each range, and the first behind it."""


def _rows(
    tx: ReadTx, statement: Hot, spec: ListSpec, query: ListQuery, ranges: _Ranges, place: Place = _START
) -> list[Any]:
    return tx.hot_in(ranges, statement, *_values(spec, query), query.search or "", *place)


def _ranges(query: ListQuery, way: _Way) -> _Ranges:
    return prefixes.ranges(query.search) if query.search and way.ranged else _EVERYTHING


def _behind(ranges: _Ranges, name: Any, *, falling: bool) -> _Ranges:
    """Cut the ranges at the name: SQLite starts at the bound of a range, not at the place."""
    if ranges is _EVERYTHING:
        return ranges
    cut = [(low, min(high, name + "\x01")) if falling else (max(low, name), high) for low, high in ranges]
    return [(low, high) for low, high in cut if low < high]


def _principal(query: ListQuery) -> str | None:
    return None if query.scope is None else reach.within(query.scope).principal


def _values(spec: ListSpec, query: ListQuery) -> tuple[Any, ...]:
    """In the order of `_names`, without the window."""
    scope, text = query.scope, query.search or ""
    who = (None, None) if scope is None else (scope.user_id, scope.company_id)
    principal = _principal(query) if spec.kind is not None else None
    found = [each.values(text) or (None,) * len(each.names) for each in spec.searches]
    return (
        principal,
        *who,
        *(query.values.get(name) for name in spec.filters),
        *(one for each in found for one in each),
    )


@cache
def _names(spec: ListSpec) -> tuple[str, ...]:
    return (*_WHO, *spec.filters, *(name for each in spec.searches for name in each.names))


def _place(row: tuple[Any, ...]) -> Place:
    return Place(row[0], row[1])


@cache
def _page(spec: ListSpec, way: _Way, order: _Order, shown: tuple[scopes.Reaches, ...]) -> Hot:
    rows = _found(spec, way, order.by)
    by = rows.value
    conditions = rows.conditions
    if order.continued:
        value = bindparam("page_value", type_=rows.value.type)
        here, place = tuple_(by, rows.key), tuple_(value, bindparam("page_key"))
        conditions.append(here < place if order.falling else here > place)
        if getattr(rows.value, "table", None) is not getattr(rows.key, "table", None):
            # A comparison of columns of two tables finds rows by the index of neither.
            conditions.append(by <= value if order.falling else by >= value)
    page = select(rows.value.label("place"), rows.key.label("key")).where(*conditions)
    page = page.order_by(*((by.desc(), rows.key.desc()) if order.falling else (by, rows.key)))
    # PostgreSQL keeps a plan only when it can read the limit in the statement.
    limited = page.limit(literal(str(order.limit))).subquery("page")
    return Hot(spec.shown(limited, *shown), *_names(spec), *_WINDOW)


@cache
def _count(spec: ListSpec, way: _Way) -> Hot:
    rows = _found(spec, way, next(iter(spec.orders)))
    return Hot(select(func.count(rows.key)).where(*rows.conditions), *_names(spec), *_WINDOW)


@cache
def _name_of(spec: ListSpec, way: _Way) -> Hot:
    assert spec.name is not None
    rows = _found(spec, way, spec.name)
    statement = select(rows.value).where(rows.key == bindparam("page_key"), *rows.conditions)
    return Hot(statement, *_names(spec), *_WINDOW)


class _Rows(NamedTuple):
    """Rows of a list, for a statement."""

    value: ColumnElement[Any]
    """The value in the order of the list; their key decides between equal ones."""
    key: ColumnElement[str]
    conditions: list[ColumnElement[bool]]


def _found(spec: ListSpec, way: _Way, by: str) -> _Rows:
    conditions = [
        *_inside(spec, way),
        *(
            each.where
            for each in way.filters
            if each.where is not None and (each.few is None or (each.few is not way.few and each.few is not way.many))
        ),
        *_searched(spec, way),
    ]
    value = spec.orders[by]
    if way.many is not None:
        conditions.append(spec.key.in_(way.many))
    if way.few is None:
        return _Rows(value, spec.key, conditions)
    # Each of the few is read by its key: a join might read all rows of the list for it.
    key = next(iter(way.few.distinct().subquery("few").c)).label("key")
    row = spec.rows.alias("probed")
    of_row: dict[Any, ColumnElement[Any]] = {column: row.c[column.name] for column in spec.rows.c}
    tests = [_replaced(each, of_row) for each in (spec.key == key.element, *conditions)]
    probed = select(_replaced(value, of_row)).where(*tests).scalar_subquery()
    found = select(key, probed.label("value")).cte("found", nesting=True).prefix_with("MATERIALIZED")
    return _Rows(found.c.value, found.c.key, [found.c.value.is_not(None)])


def _walked(spec: ListSpec, way: _Way) -> Along | None:
    """Return whose rows are walked; None: the looker's. People have few rows of their own, so these are walked."""
    alongs = [each.along for each in way.filters if each.along is not None]
    return None if not alongs or reach.mask_of(way.reaches) & reach.OF_PEOPLE else alongs[0]


def _inside(spec: ListSpec, way: _Way) -> list[ColumnElement[bool]]:
    """Return the conditions on rows to be within the scope."""
    if spec.kind is None:
        return [] if spec.inside is None else [spec.inside(way.reaches)]
    walked = _walked(spec, way)
    conditions = [LISTED.c.kind == literal(str(int(spec.kind)))] if spec.thing is None else []
    company_looks = not reach.mask_of(way.reaches) & reach.OF_PEOPLE
    for along in (None, *(each.along for each in way.filters if each.along is not None)):
        mine = along is None or (company_looks and along.value == scopes.COMPANY)
        is_walked = along is walked or (mine and walked is not None and walked.value == scopes.COMPANY)
        row: FromClause = LISTED if spec.thing is None and is_walked else tables.reach.alias("held")
        tests = [row.c.principal == bindparam(PRINCIPAL if along is None else along.value)]
        if along is None:
            tests.append(reach.has_reason(row, reach.mask_of(way.reaches)))
            tests += [each.mine(row) for each in way.filters if each.mine is not None]
        else:
            tests.append(reach.has_reason(row, along.mask))
        conditions += tests if row is LISTED else [_is_there(row, THING if spec.thing is None else spec.thing, *tests)]
    return conditions


def _is_there(row: FromClause, thing: ColumnElement[str], *tests: ColumnElement[bool]) -> ColumnElement[bool]:
    """Return the condition that there is such a row of `reach` for the thing: read by key, never joined."""
    there = select(literal("1")).where(row.c.thing_id == thing, *tests).scalar_subquery()
    return there.is_not(None)


def _searched(spec: ListSpec, way: _Way) -> list[ColumnElement[bool]]:
    if not way.searches:
        return []
    *before, last = way.searches
    found = [_compared(spec, way, last), *(~tested(_compared(spec, way, each)) for each in before)]
    if not way.ranged:
        return found
    assert spec.name is not None
    name = spec.orders[spec.name]
    return [name >= bindparam("page_from"), name < bindparam("page_to"), *found]


def _compared(spec: ListSpec, way: _Way, number: int) -> ColumnElement[bool]:
    if number != _NAME:
        search = spec.searches[number]
        if way.singly and search.each is not None:
            return search.each
        # An index finds few rows; many are compared one by one.
        return search.where if search.few is None else tested(search.where)
    assert spec.name is not None
    name = spec.orders[spec.name]
    text = lowered(bindparam("page_search", type_=name.type))
    # Nearly all in a range begin so.
    return tested(func.substr(lowered(name), 1, func.length(text)) == text)


def _replaced(element: ColumnElement[Any], columns: Mapping[Any, ColumnElement[Any]]) -> ColumnElement[Any]:
    traverse: Any = visitors.replacement_traverse
    replaced: ColumnElement[Any] = traverse(element, {}, lambda each, **_: columns.get(each))
    return replaced


def ending(number: Column[str]) -> Search:
    """Return the search for numbers of vehicles or sensors that end with the text."""
    row = number.table.c
    few = select(row.id).where(row.service_type == own("service_type"), endings.found(number))
    return Search(
        names=endings.NAMES,
        values=lambda text: None if endings.of(text) is None else endings.values(text),
        where=endings.ends(LISTED.c.sort_key),
        few=few,
    )


BOUNDS: Final = ("beginning", "key_from", "key_to")
"""The values of `beginning`."""


def bounds(text: str) -> tuple[str, str, str]:
    """Return the values of `BOUNDS`: keys have one letter case, so one range has every number that begins so."""
    key = keys.key(text)
    return text, key, key + prefixes.LAST


def begins(number: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that a number begins with the text, in any case."""
    text = lowered(bindparam("beginning", type_=number.type))
    return func.substr(lowered(number), 1, func.length(text)) == text


def beginning(number: Column[str], key: Column[str], service_type: ScalarSelect[Any]) -> Select[Any]:
    """Return the vehicles or sensors of the service type with a number that begins with the text."""
    row = number.table.c
    in_range = key >= bindparam("key_from"), key < bindparam("key_to")
    return select(row.id).where(row.service_type == service_type, *in_range, begins(number))


def own(name: str) -> Any:
    """Return a column of the looker's company."""
    mine = tables.company.alias("mine")
    return select(mine.c[name]).where(mine.c.id == bindparam(scopes.COMPANY)).scalar_subquery()


def companies_of_type() -> Select[tuple[str]]:
    """Return the companies of the looker's service type, the outermost limit of what a list shows."""
    near = tables.company.alias("near")
    return select(near.c.id).where(near.c.service_type == own("service_type"))

"""Lists of one noun: the records that a list shows, and its filters as fields of a struct."""

import functools
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace
from sqlalchemy import Column, ColumnElement, FromClause, Select, Subquery, select

from tripline.domain.access import Scope
from tripline.store import records
from tripline.store.fleet import number_keys
from tripline.store.listing.engine import ListQuery, ListSpec, query_of
from tripline.store.listing.pages import Page, PageRequest
from tripline.store.transactions import ReadTx

F = TypeVar("F", bound=msgspec.Struct)
R = TypeVar("R", bound=msgspec.Struct)
SEARCH: Final = "search"
"""The field of the filters that is the search text."""


class Looked(NamedTuple):
    """Columns of a record that are not columns of its row."""

    columns: Mapping[str, ColumnElement[Any]] = {}
    joins: Sequence[tuple[FromClause, ColumnElement[bool]]] = ()
    """Tables that have at most one row for each, and the condition to find it."""


def shown(
    record: type[msgspec.Struct],
    rows: FromClause,
    looked: Callable[..., Looked] = lambda _: Looked(),
    *,
    key: str = "id",
    by: str = "key",
) -> Callable[..., Select[Any]]:
    """Return `ListSpec.shown`: a column for each field of the record, of the row or as `looked` returns for it.

    `key`: the column of the row that is the key of the list, or its place if `by` is "place".
    """

    row = rows.alias("shown")
    # Once for all statements: their aliases alone take as long to build as the rest of a statement.
    looked_up = functools.cache(functools.partial(looked, row))

    def selected(page: Subquery, *more: Any) -> Select[Any]:
        columns, joins = looked_up(*more)
        joined = page.join(row, row.c[key] == page.c[by])
        for other, found in joins:
            joined = joined.outerjoin(other, found)
        names = record.__struct_fields__
        of_record = [columns[name].label(name) if name in columns else row.c[name] for name in names]
        return select(page.c.place, page.c.key, *of_record).select_from(joined)

    return selected


class NounList(msgspec.Struct, Generic[F, R], frozen=True, eq=False, kw_only=True):
    """A list of records."""

    record: type[R]
    spec: ListSpec
    number: Column[str] | None = None
    """A search that finds nothing is repeated with the stored form of this number."""
    query: Callable[[Scope | None, F], ListQuery] | None = None
    """Returns the query of the filters; by default `by_field`."""

    def page(self, tx: ReadTx, scope: Scope | None, filters: F, page_request: PageRequest, *more: Any) -> Page[R]:
        """Return the records of the page inside the scope, or all without one: the caller checked permission.

        `more`: for the function of the columns that are looked up.
        """
        found = self.spec.page(tx, self._query(scope, filters), page_request, *more)
        if not found.rows and (other := self._in_other_form(tx, scope, filters)) is not None:
            found = self.spec.page(tx, self._query(scope, other), page_request, *more)
        make = records.maker(self.record)
        return found.mapped(lambda row: make(row[2:]))

    def count(self, tx: ReadTx, scope: Scope | None, filters: F) -> int:
        """Return how many rows inside the scope the filters let pass."""
        found = self.spec.count(tx, self._query(scope, filters))
        if not found and (other := self._in_other_form(tx, scope, filters)) is not None:
            return self.spec.count(tx, self._query(scope, other))
        return found

    def _query(self, scope: Scope | None, filters: F) -> ListQuery:
        return by_field(self.spec, scope, filters) if self.query is None else self.query(scope, filters)

    def _in_other_form(self, tx: ReadTx, scope: Scope | None, filters: F) -> F | None:
        if self.number is None or scope is None:
            return None
        number = number_keys.other_form(tx, self.number, scope, getattr(filters, SEARCH))
        return None if number is None else replace(filters, search=number)


def by_field(spec: ListSpec, scope: Scope | None, filters: msgspec.Struct) -> ListQuery:
    """Return the query of these filters: a field's value is a value of the filter of the same name, or names the
    filter `field.value`. Fields with None are left out.
    """
    chosen: dict[str, Any] = {}
    for name in filters.__struct_fields__:
        value = getattr(filters, name)
        if value is None or name == SEARCH:
            continue
        plain = value.value if isinstance(value, Enum) else value
        if name in spec.filters:
            chosen[name] = plain
        else:
            chosen[f"{name}.{plain}"] = True
    return query_of(scope, chosen, getattr(filters, SEARCH))

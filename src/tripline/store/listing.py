"""Lists of entities by a name-like column, then id: a page starts by key, never by offset (client-surface 5.2)."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Select, func, select, tuple_


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Which part of a list is asked for: `limit` rows that begin with the search text and follow the offset."""

    limit: int
    search: str | None = None
    """Beginning of the name, in any case."""
    text_offset: str | None = None
    """Name of the last row of the page before."""
    id_offset: str | None = None
    """Id of that row; alone it is enough while the row exists."""


def windowed(statement: Select[Any], name: Column[str], key: Column[str], window: Window) -> Select[Any]:
    """The statement cut to the window, in the order of name, then key."""
    if window.search:
        statement = statement.where(func.lower(name).startswith(window.search.lower(), autoescape=True))
    if window.text_offset is not None:
        statement = statement.where(tuple_(name, key) > tuple_(window.text_offset, window.id_offset or ""))
    elif window.id_offset is not None:
        last = name.table.alias("last")
        its_name = select(last.c[name.name]).where(last.c[key.name] == window.id_offset).scalar_subquery()
        statement = statement.where(tuple_(name, key) > tuple_(its_name, window.id_offset))
    return statement.order_by(name, key).limit(window.limit)

"""Lists of entities by a name-like column, then id: a page starts by key, never by offset (client-surface 5.2)."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Column, Select, bindparam, func, select, tuple_


class Shape(NamedTuple):
    """What a window asks for, without its values: statements are built once for each shape."""

    searched: bool
    after_name: bool
    after_id: bool


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

    @property
    def shape(self) -> Shape:
        """Which parts are there."""
        return Shape(bool(self.search), self.text_offset is not None, self.id_offset is not None)

    @property
    def values(self) -> dict[str, str | int]:
        """The values of `windowed`, as execution parameters."""
        return {
            "window_limit": self.limit,
            "window_search": self.search or "",
            "window_text": self.text_offset or "",
            "window_id": self.id_offset or "",
        }


def windowed(statement: Select[Any], name: Column[str], key: Column[str], shape: Shape) -> Select[Any]:
    """The statement cut to windows of this shape, in the order of name, then key."""
    if shape.searched:
        search = bindparam("window_search", type_=name.type)
        statement = statement.where(func.substr(func.lower(name), 1, func.length(search)) == func.lower(search))
    if shape.after_name:
        statement = statement.where(tuple_(name, key) > tuple_(bindparam("window_text"), bindparam("window_id")))
    elif shape.after_id:
        last = name.table.alias("last")
        its_name = select(last.c[name.name]).where(last.c[key.name] == bindparam("window_id")).scalar_subquery()
        statement = statement.where(tuple_(name, key) > tuple_(its_name, bindparam("window_id")))
    return statement.order_by(name, key).limit(bindparam("window_limit"))

"""Lists of entities by a name-like column, then id: a page starts by key, never by offset (client-surface 5.2).

Not here: lists ordered by time (`journeys.py`, `analytics.py`).
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from sqlalchemy import Column, Integer, Select, bindparam, func, literal_column, tuple_

from tripline.domain.refusals import BadParameter
from tripline.store.transactions import Hot, ReadTx

VALUES: Final = ("window_search", "window_text", "window_id", "window_limit")
"""Names of the values of a window in a hot statement, in the order of `Window.values`."""
_NO_OFFSET: Final = literal_column("0", Integer)
"""SQLite's LIMIT is compiled with an OFFSET; written out, it is no parameter that a hot statement would not know."""


class UnknownOffset(BadParameter):
    """The offset of a page is not an item of the list."""

    code = "page.unknown_offset"

    @classmethod
    def of_list(cls) -> "UnknownOffset":
        """The refusal. An empty page instead would look like the end of the list."""
        return cls("Parameter 'idOffset' does not name an item of this list.")


class Shape(NamedTuple):
    """What a window asks for, without its values: statements are built once for each shape."""

    searched: bool
    continued: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Which part of a list is asked for: `limit` rows that begin with the search text and follow the offset."""

    limit: int
    search: str | None = None
    """Beginning of the name, in any case."""
    text_offset: str | None = None
    """Name of the last row of the page before."""
    id_offset: str | None = None
    """Id of that row; alone it is enough while the row is in the list."""

    @property
    def shape(self) -> Shape:
        """Which parts are there."""
        return Shape(bool(self.search), self.text_offset is not None or self.id_offset is not None)

    def values(self, tx: ReadTx, name_of: Hot, *inside: str | None) -> tuple[str | int, ...]:
        """The values of `windowed`. `name_of` gives the name of an id inside the list; `inside` are its other values.

        Raises `UnknownOffset`.
        """
        text = self.text_offset
        if text is None and self.id_offset is not None:
            rows = tx.hot(name_of, self.id_offset, *inside)
            if not rows:
                raise UnknownOffset.of_list()
            text = rows[0][0]
        return self.search or "", text or "", self.id_offset or "", self.limit


def windowed(statement: Select[Any], name: Column[str], key: Column[str], shape: Shape) -> Select[Any]:
    """The statement cut to windows of this shape, in the order of name, then key."""
    if shape.searched:
        search = func.lower(bindparam("window_search", type_=name.type))
        statement = statement.where(func.substr(func.lower(name), 1, func.length(search)) == search)
    if shape.continued:
        statement = statement.where(tuple_(name, key) > tuple_(bindparam("window_text"), bindparam("window_id")))
    return statement.order_by(name, key).limit(bindparam("window_limit")).offset(_NO_OFFSET)

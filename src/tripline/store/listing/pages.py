"""Pages of lists: which one to read, and its rows.

A page starts behind the place of a row, never at a number of rows.
"""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import msgspec

R = TypeVar("R")
S = TypeVar("S")


class Place(NamedTuple):
    """The position of a row in a list."""

    value: str | int
    """The row's value in the order of the list."""
    key: str


class PageRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which page to read: `limit` rows behind the place, or before it."""

    limit: int
    """One of a few values: it is part of the statement."""
    by: str
    """One of the list's orders."""
    descending: bool = False
    place: Place | None = None
    """None: the first page."""
    back: bool = False
    """Read the page that ends before the place."""

    @property
    def falling(self) -> bool:
        """True if the database walks from the greatest value to the least."""
        return self.descending != self.back


class Page(msgspec.Struct, Generic[R], frozen=True, kw_only=True):
    """A page: its rows in the order of the list, and whether there are more on either side."""

    rows: Sequence[R]
    first: Place | None
    last: Place | None
    more_before: bool
    more_behind: bool

    def mapped(self, make: Callable[[R], S]) -> "Page[S]":
        """Return the page with each row converted."""
        return Page(
            rows=[make(row) for row in self.rows],
            first=self.first,
            last=self.last,
            more_before=self.more_before,
            more_behind=self.more_behind,
        )

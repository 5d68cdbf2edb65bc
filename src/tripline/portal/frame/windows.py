"""Lists in order of name, shown in parts: the part that an address asks for, and the addresses of the parts beside it.

Not here: lists of the fleet with their filters and columns (`lists/tables.py`).
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec

from tripline.http.context.base import Call
from tripline.portal.frame import addresses
from tripline.store.lists import Window

R = TypeVar("R")

PAGE: Final = 50
"""Rows of a part."""


class Part(msgspec.Struct, Generic[R], frozen=True):
    """A part of a list."""

    rows: Sequence[R]
    first: str | None
    """Where the list begins; None: here."""
    next: str | None
    """Where it goes on; None: nowhere."""


def asked(request: Call) -> Window:
    """The part that the address asks for: `q` begins the name, `after` and `at` are id and name of the last row before.

    One row more than is shown, to know whether more follow.
    """
    return Window(
        limit=PAGE + 1,
        search=text(request, "q") or None,
        text_offset=text(request, "at") or None,
        id_offset=text(request, "after") or None,
    )


def part(request: Call, found: Sequence[R], *, name: Callable[[R], str], **kept: Any) -> Part[R]:
    """The part that was found for `asked`; `kept` are values of the query for the addresses."""
    rows = found[:PAGE]
    following = None
    if len(found) > PAGE:
        last: Any = rows[-1]
        following = addresses.changed(request, after=last.id, at=name(last), **kept)
    begins = addresses.changed(request, after=None, at=None, **kept) if "after" in request.query_params else None
    return Part(rows, begins, following)


def text(request: Call, name: str) -> str:
    """A value of the query as a list looks for it: without blanks around it and without what no text holds."""
    return request.query_params.get(name, "").replace("\0", "").strip()

"""Lists sorted by name, divided into parts: the requested part, and the addresses of its neighbours."""

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec

from tripline.http.context import Call
from tripline.portal.frame import addresses
from tripline.store.lists import Window

R = TypeVar("R")

PAGE: Final = 50


class Part(msgspec.Struct, Generic[R], frozen=True):
    """A part of a list."""

    rows: Sequence[R]
    first: str | None
    """Address of the first part; None if this is the first one."""
    next: str | None
    """Address of the next part; None if this is the last one."""


def asked(request: Call) -> Window:
    """The requested window: `q` is the beginning of the name, `after` and `at` are id and name of the previous row.

    It has one row more than the page shows, to detect further parts.
    """
    return Window(
        limit=PAGE + 1,
        search=text(request, "q") or None,
        text_offset=text(request, "at") or None,
        id_offset=text(request, "after") or None,
    )


def part(request: Call, found: Sequence[R], *, name: Callable[[R], str], **kept: Any) -> Part[R]:
    """The part with these rows; `kept` are query parameters for its addresses."""
    rows = found[:PAGE]
    following = None
    if len(found) > PAGE:
        last: Any = rows[-1]
        following = addresses.changed(request, after=last.id, at=name(last), **kept)
    begins = addresses.changed(request, after=None, at=None, **kept) if "after" in request.query_params else None
    return Part(rows, begins, following)


def text(request: Call, name: str) -> str:
    """A query parameter as a search text: stripped, and without NUL characters."""
    return request.query_params.get(name, "").replace("\0", "").strip()

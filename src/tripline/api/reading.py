"""Where a read runs: short ones on the event loop, long ones on a reader thread, so that nobody waits for them.

Handlers of lists check in the order of client-surface 3.3 inside one transaction: token and role, path ids, ownership,
query. So what is wrong with the query of a foreign list is not told, and permission and rows come from one view.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeVar

from tripline.api import pages
from tripline.api.rim import Call, rim_of
from tripline.store import erasures
from tripline.store.journeys import Span
from tripline.store.listing import Window
from tripline.store.transactions import ReadTx
from tripline.wire.rest import Page

_LONG: Final = re.compile(rb"(?:^|&)(?:limit=[^&]{3}|textSearch=)")
"""A query, as it came, that may take long; looked at in bytes, for taking it apart costs as much as finding a row."""

T = TypeVar("T")
R = TypeVar("R")


class Item(Protocol):
    """What has an id."""

    @property
    def id(self) -> str:
        """The id."""


I = TypeVar("I", bound=Item)  # noqa: E741


async def page(request: Call, work: Callable[[ReadTx], Page]) -> Page:
    """The page that the work makes on one consistent view."""
    store = rim_of(request).store
    return await (store.read_short(work) if _is_short(request) else store.read(work))


async def of_person(request: Call, work: Callable[[ReadTx], T]) -> T:
    """What the work reads of what a person drove.

    While deleted vehicles wait to be erased that goes to a reader thread too: the newest trips of the person may all be
    of such a vehicle, and stepping over a hundred thousand of them takes a third of a second.
    """
    store = rim_of(request).store
    if _is_short(request):
        found = await store.read_short(lambda tx: None if erasures.any_pending(tx) else work(tx))
        if found is not None:
            return found
    return await store.read(work)


def by_name(
    request: Call, rows: Callable[[Window], Sequence[I]], *, record: Callable[[I], Any], name: Callable[[I], str]
) -> Page:
    """The page of a list ordered by a name that the query asks for. Raises `BadParameter`, `listing.UnknownOffset`."""
    asked = pages.text_page(request)
    # One more than the page shows, to know whether more follow.
    window = Window(limit=asked.limit + 1, search=asked.search, text_offset=asked.after_text, id_offset=asked.after_id)
    return pages.text_answer(asked, rows(window), record=record, name_and_id=lambda item: (name(item), item.id))


def by_time(
    request: Call, rows: Callable[[Span], Sequence[R]], *, record: Callable[[R], Any], id_of: Callable[[R], str]
) -> Page:
    """The page of a list ordered by time that the query asks for. Raises `BadParameter`, `listing.UnknownOffset`."""
    asked = pages.time_page(request)
    span = Span(
        limit=asked.limit + 1,
        ascending=asked.ascending,
        start_ms=asked.start_ms,
        end_ms=asked.end_ms,
        after=asked.after_id,
    )
    return pages.time_answer(asked, rows(span), record=record, id_of=id_of)


def _is_short(request: Call) -> bool:
    """Below 100 rows, found by an index: about the time of a thread hop. What the values are worth is checked later."""
    return _LONG.search(request.scope["query_string"]) is None

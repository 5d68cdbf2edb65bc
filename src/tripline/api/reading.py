"""Where a read runs: short ones on the event loop, long ones on a reader thread, so that nobody waits for them.

Handlers of lists check in the order of client-surface 3.3 inside one transaction: token and role, path ids, ownership,
query. So what is wrong with the query of a foreign list is not told, and permission and rows come from one view.
"""

from collections.abc import Callable
from typing import TypeVar

from tripline.api.pages import TextPage, TimePage
from tripline.api.rim import Call, rim_of
from tripline.store import erasures
from tripline.store.journeys import Span
from tripline.store.listing import Window
from tripline.store.transactions import ReadTx
from tripline.wire.rest import Page

T = TypeVar("T")


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


def window(asked: TextPage) -> Window:
    """The rows of an entity list to fetch: one more than the page shows, to know whether more follow."""
    return Window(limit=asked.limit + 1, search=asked.search, text_offset=asked.after_text, id_offset=asked.after_id)


def span(asked: TimePage) -> Span:
    """The rows of a time-ordered list to fetch: one more than the page shows, to know whether more follow."""
    return Span(
        limit=asked.limit + 1,
        ascending=asked.ascending,
        start_ms=asked.start_ms,
        end_ms=asked.end_ms,
        after=asked.after_id,
    )


def _is_short(request: Call) -> bool:
    """Below 100 rows, found by an index: about the time of a thread hop. What the values are worth is checked later."""
    query = request.query_params
    return len(query.get("limit", "")) < 3 and "textSearch" not in query

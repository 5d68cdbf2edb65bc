"""Where a list is read: short pages on the event loop, long ones on a reader thread, so that nobody waits for them."""

from collections.abc import Callable
from typing import Final, TypeVar

from tripline.api.pages import TextPage, TimePage
from tripline.api.rim import Rim
from tripline.store.journeys import Span
from tripline.store.listing import Window
from tripline.store.transactions import ReadTx

T = TypeVar("T")

SHORT: Final = 100
"""Rows that are read in about the time of a thread hop."""


async def page(rim: Rim, asked: TextPage | TimePage, work: Callable[[ReadTx], T]) -> T:
    """What the work finds on one consistent view."""
    if asked.limit <= SHORT:
        return await rim.store.read_short(work)
    return await rim.store.read(work)


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

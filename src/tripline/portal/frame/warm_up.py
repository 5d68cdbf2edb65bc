"""Loading in the background, once a process serves, so that the first pages do not wait for it.

Compiling the templates of every page would hold up the event loop for a fifth of a second. Where any trip has a score,
the page of a trip is loaded too, with numpy.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from tripline.portal.frame import environment
from tripline.ports.outages import Outage
from tripline.services.scores import trip_view
from tripline.store.scores import reads
from tripline.store.transactions import Store

EVERY_PAGE: Final = ("frame.html", "head.html")
TRIP_PAGE: Final = ("trips/trip.html", "trips/of_trip.html", "map.html")


async def warm_up(*, store: Store, serving: Callable[[], Awaitable[None]]) -> None:
    """Load the templates and the modules, as a worker of each process with pages; `serving` returns once it serves."""
    await serving()
    await asyncio.to_thread(environment.load, *EVERY_PAGE)
    try:
        has_scores = await store.read(reads.has_scores)
    except Outage:
        return
    if has_scores:
        await asyncio.to_thread(environment.load, *TRIP_PAGE)
        await asyncio.to_thread(trip_view.load)

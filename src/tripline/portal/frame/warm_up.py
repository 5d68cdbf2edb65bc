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


class WarmUp:
    """One for each process with pages. `run` is a worker that ends when everything is loaded."""

    def __init__(self, *, store: Store, serving: Callable[[], Awaitable[None]]) -> None:
        """`serving` returns once the process serves."""
        self._store = store
        self._serving = serving

    async def run(self) -> None:
        await self._serving()
        await asyncio.to_thread(environment.load, *EVERY_PAGE)
        try:
            has_scores = await self._store.read(reads.has_scores)
        except Outage:
            return
        if has_scores:
            await asyncio.to_thread(environment.load, *TRIP_PAGE)
            await asyncio.to_thread(trip_view.load)

"""Maintenance of the push outbox: delete old and surplus parked messages, and update the metrics."""

import asyncio
from typing import Final

from tripline import config
from tripline.domain.instants import DAY_MS
from tripline.metrics import PUSH_MUTE, PUSH_OLDEST_SECONDS, PUSHES_PARKED, PUSHES_UNCONFIRMED, PUSHES_WAITING
from tripline.observe import logger
from tripline.ports.clocks import Clock
from tripline.services import poll_loop
from tripline.store.push import parked as push_parked
from tripline.store.push import receiver_state
from tripline.store.transactions import Store

EVERY_S: Final = 30.0
PURGE_S: Final = 600.0
BATCH: Final = 500
"""Rows in one transaction: it delays the commit of device messages."""

log = logger("push")


class Keeper:
    """Maintains the outbox in small transactions."""

    def __init__(self, *, store: Store, settings: config.Push, clock: Clock) -> None:
        self._store = store
        self._kept_ms = round(settings.parked_days * DAY_MS)
        self._unconfirmed_kept = settings.unconfirmed_kept
        self._clock = clock
        self._purge_s = 0.0

    async def run(self) -> None:
        await poll_loop.periodically(self._poll, every_s=EVERY_S, log=log, failed="push.error", outage="push.outage")

    async def _poll(self) -> int:
        loop = asyncio.get_running_loop()
        if loop.time() >= self._purge_s:
            purged = await self.purge()
            if purged:
                return purged
            self._purge_s = loop.time() + PURGE_S
        await self.count()
        return 0

    async def purge(self) -> int:
        """Delete a batch of old parked or unconfirmed messages, and of unconfirmed ones beyond the limit.

        Returns the number of deleted messages. Raises `Outage`.
        """
        before_ms = self._clock() - self._kept_ms
        # Searched on a reading thread: there may be a million rows, and hardly ever an old one.
        found = await self._store.read(lambda tx: push_parked.old(tx, before_ms=before_ms, limit=BATCH))
        kept = self._unconfirmed_kept
        surplus = await self._store.read(lambda tx: push_parked.surplus(tx, kept=kept, limit=BATCH))
        if surplus:
            log.warning("push.unconfirmed_forgotten", messages=len(surplus))
            found += surplus
        if found:
            await self._store.write(lambda tx: push_parked.forget(tx, found), locked=True)
        return len(found)

    async def count(self) -> None:
        """Update the metrics. Raises `Outage`."""
        counted, mute = await self._store.read(lambda tx: (push_parked.counts(tx), receiver_state.mute_count(tx)))
        PUSHES_WAITING.set(counted.waiting)
        PUSHES_PARKED.set(counted.parked)
        PUSHES_UNCONFIRMED.set(counted.unconfirmed)
        PUSH_MUTE.set(mute)
        oldest_ms = counted.oldest_ms
        PUSH_OLDEST_SECONDS.set(0 if oldest_ms is None else max(0, self._clock() - oldest_ms) / 1_000)

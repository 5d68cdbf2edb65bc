"""Maintenance of partitions: create them weeks ahead, and drop whole weeks of rejected messages.

Any number of processes may run it. Partitions exist on PostgreSQL; on SQLite there is nothing to do.
"""

from collections.abc import Callable
from typing import Final

from tripline.config import Ingest
from tripline.domain.instants import DAY_MS
from tripline.observe import logger
from tripline.ports.clocks import Clock
from tripline.ports.outages import Outage
from tripline.services import poll_loop
from tripline.store.database import partitions
from tripline.store.database.partitions import Partition
from tripline.store.tables import rejected_message
from tripline.store.transactions import Store, WriteTx

EVERY_S: Final = 600.0

log = logger("store")


class PartitionKeeper:
    """Makes and drops one partition per transaction."""

    def __init__(self, *, store: Store, settings: Ingest, clock: Clock) -> None:
        self._store = store
        self._rejected_ms = int(settings.rejected_days * DAY_MS)
        self._clock = clock

    async def run(self) -> None:
        await poll_loop.periodically(self.keep, every_s=EVERY_S, log=log, failed="partitions.failed")

    async def keep(self) -> None:
        """Make missing partitions and drop expired ones."""
        now_ms = self._clock()
        for each in await self._store.read(lambda tx: partitions.missing(tx, partitions.wanted(now_ms))):
            made = await self._tried(partitions.make, each)
            if made:
                log.info("partitions.made", partition=each.name)
            elif made is not None:
                log.warning("partitions.failed", partition=each.name, error="too many of its rows are kept elsewhere")
        before_ms = now_ms - self._rejected_ms
        for each in await self._store.read(lambda tx: partitions.outlived(tx, rejected_message, before_ms=before_ms)):
            if await self._tried(partitions.drop, each):
                log.info("partitions.dropped", partition=each.name)

    async def _tried(self, change: Callable[[WriteTx, Partition], bool], partition: Partition) -> bool | None:
        """Return the result of the change; None after an outage."""
        try:
            return await self._store.write(lambda tx: change(tx, partition), locked=True)
        except Outage as error:
            log.warning("partitions.failed", partition=partition.name, error=str(error))
            return None

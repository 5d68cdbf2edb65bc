"""Maintenance of partitions: create them weeks ahead, and drop whole weeks of rejected messages.

Any number of processes may run it. Partitions exist on PostgreSQL; on SQLite there is nothing to do.

Not here: defining partitions, and limiting the wait for them (`store/database/partitions.py`).
"""

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
from tripline.store.transactions import ReadTx, Store

EVERY_S: Final = 600.0

log = logger("store")


class PartitionKeeper:
    """Makes and drops one partition per transaction."""

    def __init__(self, *, store: Store, settings: Ingest, clock: Clock) -> None:
        self._store = store
        self._rejected_ms = int(settings.rejected_days * DAY_MS)
        self._clock = clock

    async def run(self) -> None:
        """Check at once and then every ten minutes, until cancelled."""
        await poll_loop.periodically(self.keep, every_s=EVERY_S, log=log, failed="partitions.failed")

    async def keep(self) -> None:
        """Make missing partitions and drop expired ones."""
        now_ms = self._clock()
        for partition in await self._store.read(lambda tx: partitions.missing(tx, partitions.wanted(now_ms))):
            await self._make(partition)
        for partition in await self._store.read(lambda tx: self._outlived(tx, now_ms)):
            await self._drop(partition)

    def _outlived(self, tx: ReadTx, now_ms: int) -> list[Partition]:
        return [*partitions.outlived(tx, rejected_message, before_ms=now_ms - self._rejected_ms)]

    async def _make(self, partition: Partition) -> None:
        try:
            made = await self._store.write(lambda tx: partitions.make(tx, partition), locked=True)
        except Outage as error:
            log.warning("partitions.failed", partition=partition.name, error=str(error))
            return
        if made:
            log.info("partitions.made", partition=partition.name)
        else:
            log.warning("partitions.failed", partition=partition.name, error="too many of its rows are kept elsewhere")

    async def _drop(self, partition: Partition) -> None:
        try:
            dropped = await self._store.write(lambda tx: partitions.drop(tx, partition), locked=True)
        except Outage as error:
            log.warning("partitions.failed", partition=partition.name, error=str(error))
            return
        if dropped:
            log.info("partitions.dropped", partition=partition.name)

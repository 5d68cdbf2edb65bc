"""Row 22 on PostgreSQL: late and redelivered data beside live data (`late.py`)."""

import asyncio

from bench import late, shared
from bench.table import Figure

from tripline.store import migrate
from tripline.store.database.postgres import PostgresStore


def measure(quick: bool) -> list[Figure]:
    """On a durable server of the benchmark's own."""
    with shared.database() as database:
        url = database.url(shared.DATABASE)
        migrate.upgrade_shared(url, now_ms=late._now_ms())
        return asyncio.run(late.measured(PostgresStore(url), "PostgreSQL", quick))

"""Memory that reading takes, however large the file is."""

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import func, select
from tests.support import stores

from tripline.store.database.sqlite import READ_CACHE_KIB, SqliteStore
from tripline.store.tables import secret
from tripline.store.transactions import ReadTx

pytestmark = pytest.mark.sqlite("connections to a file")

READERS = 2
ROWS, ROW_BYTES = 20_000, 3_000
"""Each in a page of its own: 80 MB."""


def resident_kib() -> int:
    """The memory of this process that is in use, pages of files in it."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1])


def read_all(tx: ReadTx) -> int:
    found = tx.one(select(func.sum(func.length(secret.c.value))))
    assert found is not None
    return int(found[0])


def test_readers_of_a_large_file_keep_no_more_than_their_caches(tmp_path: Path) -> None:
    file = stores.fresh_file(tmp_path)
    with closing(sqlite3.connect(file)) as program, program:
        named = ((f"{number:05}", ROW_BYTES) for number in range(ROWS))
        program.executemany("INSERT INTO secret (name, value) VALUES (?, zeroblob(?))", named)
    both = threading.Barrier(READERS)

    def read(tx: ReadTx) -> int:
        both.wait(60)  # so that each has a thread, and so a connection, of its own
        return read_all(tx)

    async def play() -> tuple[list[int], int]:
        store = SqliteStore(file, readers=READERS)
        try:
            await store.read_short(lambda tx: tx.all(select(secret.c.name).limit(1)))
            before_kib = resident_kib()
            found = await asyncio.gather(*(store.read(read) for _ in range(READERS)), store.read_short(read_all))
            return found, resident_kib() - before_kib
        finally:
            await store.close()

    found, more_kib = asyncio.run(play())

    assert found == [ROWS * ROW_BYTES] * (READERS + 1)
    assert more_kib < 2 * (READERS + 1) * READ_CACHE_KIB

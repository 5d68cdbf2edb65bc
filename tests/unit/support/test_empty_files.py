"""The file that tests begin with is as a store leaves its own."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.support import stores

from tripline.store.database.sqlite import SqliteStore


def test_empty_file_is_as_a_store_leaves_it(tmp_path):
    path = stores.fresh_file(tmp_path)

    asyncio.run(_opened_and_closed(path))

    assert path.read_bytes() == stores.empty()


async def _opened_and_closed(path: Path) -> None:
    await SqliteStore(path).close()


def test_empty_content_can_be_read_in_memory():
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(stores.empty_in_memory())

        assert connection.execute("SELECT count(*) FROM company").fetchall() == [(0,)]

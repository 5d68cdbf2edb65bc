"""Look-ups on the event loop of the embedded store: one turn shares a view, the next turn sees every commit."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.support import stores

from tripline.domain.refusals import NotFound
from tripline.store.database.sqlite import SqliteStore
from tripline.store.tables import secret
from tripline.store.transactions import ReadTx


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return stores.fresh_file(tmp_path)


@contextlib.contextmanager
def another(file: Path) -> Iterator[sqlite3.Connection]:
    """Another program on the file, which commits at once."""
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
        yield connection


def keep(program: sqlite3.Connection, name: str) -> None:
    program.execute("INSERT INTO secret (name, value) VALUES (?, x'00')", (name,))


def names(tx: ReadTx) -> list[str]:
    return [row.name for row in tx.all(select(secret.c.name).order_by(secret.c.name))]


async def test_look_ups_of_one_turn_share_a_view_and_the_next_turn_sees_the_commit(file):
    store = SqliteStore(file)
    with another(file) as program:
        seen = [await store.read_short(names)]  # nothing here waits, so this is one turn
        keep(program, "a")
        seen.append(await store.read_short(names))
        await asyncio.sleep(0)
        seen.append(await store.read_short(names))
    await store.close()

    assert seen == [[], [], ["a"]]


async def test_whoever_hears_of_a_commit_sees_it(file):
    """Readers in every turn keep a view open nearly all the time; none may be older than a write that returned."""

    store = SqliteStore(file)
    late = 0

    async def read_on() -> None:
        while True:
            await store.read_short(names)
            await asyncio.sleep(0)

    reader = asyncio.create_task(read_on())
    for number in range(300):
        name = f"{number:04}"
        await store.write(lambda tx, name=name: tx.run(secret.insert().values(name=name, value=b"")))
        late += (await store.read_short(names))[-1] != name
    reader.cancel()
    await store.close()

    assert late == 0


async def test_look_up_that_refuses_leaves_the_view_to_the_others(file):
    def refuse(tx: ReadTx) -> None:
        raise NotFound("There is nothing.")

    store = SqliteStore(file)
    with another(file) as program:
        keep(program, "a")
        with pytest.raises(NotFound):
            await store.read_short(refuse)
        seen = await store.read_short(names)
        await asyncio.sleep(0)
        program.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # would fail while a view is open
    await store.close()

    assert seen == ["a"]

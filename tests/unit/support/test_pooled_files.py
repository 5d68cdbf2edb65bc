"""A pooled file is to its next test as a new one, with connections that know its schema."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.support import pooled_files, stores
from tests.support.ingest_rig import seed_rows

from tripline.store import tables
from tripline.store.transactions import ReadTx, WriteTx

pytestmark = pytest.mark.sqlite("PostgreSQL has a pool of its own")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder whose file is given back after a test of the pool itself."""
    yield tmp_path
    pooled_files.give_back([path for path in pooled_files.lent() if path.startswith(str(tmp_path))])


def used(folder: Path, *works: Callable[[WriteTx], object]) -> pooled_files.PooledFile:
    """The file of a test that does this and ends."""

    async def play() -> None:
        store = stores.fresh(folder).open()
        for work in works:
            await store.write(work)
            await store.read(count)
        await store.close()

    asyncio.run(play())
    path = stores.Database(folder).path
    file = pooled_files.at(path)
    assert file is not None
    pooled_files.give_back([str(path)])
    return file


def count(tx: ReadTx) -> int:
    return tx.count(tables.company.c.id != "")


def said(content: stores.Content) -> tuple[list[str], list[int]]:
    """Statements that make a file like this one, its version, and its pages in use and free."""
    with closing(sqlite3.connect(":memory:")) as file:
        file.deserialize(content[:18] + b"\1\1" + content[20:])  # no log beside it
        numbers = ("user_version", "page_count", "freelist_count")
        return [*file.iterdump()], [file.execute(f"PRAGMA {name}").fetchone()[0] for name in numbers]


def grown(tx: WriteTx) -> None:
    """Some thirty more pages."""
    tx.run_sql("UPDATE company SET name = ?", ("x" * 100_000,))


def spoilt(tx: WriteTx) -> None:
    stores.spoil(tx, "INSERT ON company")


def test_next_test_finds_no_row_whatever_was_committed(folder):
    first = used(folder, seed_rows, grown)
    again = used(folder, seed_rows)  # every key is free
    database = stores.fresh(folder)

    assert first is again is pooled_files.at(database.path)
    assert said(database.content()) == said(stores.empty())
    assert database.damage() == []


def test_next_test_has_the_connections_of_the_one_before(folder, monkeypatch):
    used(folder, seed_rows)
    monkeypatch.setattr(pooled_files, "_new_connection", None)

    used(folder, seed_rows)


def test_setting_of_a_connection_ends_with_the_test(folder):
    def look(tx: WriteTx) -> None:
        seen.append(tx.connection.exec_driver_sql("PRAGMA foreign_keys").scalar_one())
        seen.append(tx.connection.exec_driver_sql("PRAGMA query_only").scalar_one())
        tx.run_sql("PRAGMA query_only=ON", ())

    seen: list[int] = []
    used(folder, look)
    used(folder, look)

    assert seen == [1, 0] * 2


@pytest.mark.parametrize("odd", [spoilt, lambda tx: tx.run_sql("PRAGMA user_version = 7", ())])
def test_schema_is_as_before(folder, odd):
    used(folder, odd)
    database = stores.fresh(folder)

    assert said(database.content()) == said(stores.empty())


def test_file_with_another_schema_is_given_up(folder):
    assert used(folder, spoilt) not in pooled_files._free


def test_file_that_was_changed_itself_is_given_up(folder):
    database = stores.fresh(folder)
    file = pooled_files.at(database.path)
    with closing(sqlite3.connect(database.path)) as connection, connection:
        connection.execute("CREATE TABLE more (x)")
        connection.execute("DROP TABLE more")
    with closing(sqlite3.connect(database.path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    pooled_files.give_back([str(database.path)])

    assert file not in pooled_files._free


def test_file_whose_store_is_open_is_given_up(folder):
    database = stores.fresh(folder)
    file = pooled_files.at(database.path)
    store = database.open()

    pooled_files.give_back([str(database.path)])
    asyncio.run(store.close())

    assert file not in pooled_files._free


def test_file_that_took_the_place_of_a_pooled_one_is_opened(folder):
    database = stores.fresh(folder)
    database.path.unlink()
    other = stores.fresh_file(folder)

    asyncio.run(database.open().close())

    assert not other.is_symlink()
    assert pooled_files.at(other) is None


def test_content_that_was_filled_in_before_is_filled_in_again(folder):
    async def made() -> stores.Content:
        store = stores.fresh(folder).open()
        await store.write(seed_rows)
        await store.close()
        return stores.Database(folder).content()

    seeded = asyncio.run(made())
    first, *others = [stores.filled(folder, seeded).content() for _ in range(3)]

    assert others == [first] * 2
    assert stores.Database(folder).rows("SELECT name FROM company") == [("Harbour Freight",)]

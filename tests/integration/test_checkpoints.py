"""The write-ahead log is carried over beside the writer: commits go on, nothing is lost, the log begins anew."""

import asyncio
import os
import sqlite3
import threading
import time
from pathlib import Path

import pytest
from tests.support.stores import fresh_file

from tripline.store import tables
from tripline.store.database import checkpoints
from tripline.store.database.sqlite import SqliteStore
from tripline.store.transactions import WriteTx

pytestmark = pytest.mark.sqlite("checkpoints of SQLite")

COMMITS = 400
ROW_BYTES = 40_000


async def _commits(path: Path, *, checkpoint_s: float) -> int:
    """Write rows one commit each; the largest size the log had, bytes."""
    store = SqliteStore(path, checkpoint_s=checkpoint_s)
    log = path.with_name(f"{path.name}-wal")
    largest = 0
    for number in range(COMMITS):

        def write(tx: WriteTx, number: int = number) -> None:
            tx.run(tables.secret.insert().values(name=f"{number:04}", value=os.urandom(ROW_BYTES)))

        await store.write(write)
        largest = max(largest, log.stat().st_size)
    await store.close()
    return largest


def _stored(path: Path) -> list[str]:
    database = sqlite3.connect(path)
    names = [name for (name,) in database.execute("SELECT name FROM secret ORDER BY name")]
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()
    return names


def test_commits_go_on_while_the_log_is_carried_over(tmp_path: Path) -> None:
    path = fresh_file(tmp_path)

    largest = asyncio.run(_commits(path, checkpoint_s=0.001))

    assert _stored(path) == [f"{number:04}" for number in range(COMMITS)]
    assert largest < COMMITS * ROW_BYTES / 2, "the log never began anew"


def test_what_was_never_carried_over_is_there_after_the_last_connection_closes(tmp_path: Path) -> None:
    path = fresh_file(tmp_path)

    largest = asyncio.run(_commits(path, checkpoint_s=3_600))

    assert _stored(path) == [f"{number:04}" for number in range(COMMITS)]
    assert largest > COMMITS * ROW_BYTES, "the log was carried over by somebody else"


def test_pages_of_a_long_transaction_are_carried_over_beside_the_writer(tmp_path: Path) -> None:
    path = fresh_file(tmp_path)
    sizes: list[int] = []
    carried = threading.Event()

    def note(statement: str) -> None:
        if "wal_checkpoint" in statement:
            sizes.append(path.stat().st_size)
            carried.set()

    def hold(tx: WriteTx) -> None:
        sizes.clear()
        carried.clear()
        tx.run(tables.secret.insert().values(name="long", value=os.urandom(COMMITS * ROW_BYTES)))
        time.sleep(3 * checkpoints.PROMPT_S)

    async def play() -> bool:
        store = SqliteStore(path, checkpoint_s=checkpoints.PROMPT_S / 10)
        store._writer.driver.set_trace_callback(note)
        await store.write(lambda tx: tx.run(tables.secret.insert().values(name="short", value=b"")))
        await store.write(hold)
        came = await asyncio.to_thread(carried.wait, 20)
        await store.close()
        return came

    assert asyncio.run(play())
    assert sizes[0] > COMMITS * ROW_BYTES, "the writer itself carried them over"

"""A database that is damaged is an outage: nothing is acknowledged, nothing is set aside, everything comes back."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from sqlalchemy import text
from tests.support import damage, stores
from tests.support.ingest_rig import NOW, SENSOR, FakeSource, Rig, aggregate, frame, microtrip

from tripline.ports.outages import Fault, Outage, StoreOutage
from tripline.store import tables
from tripline.store.database import checkpoints, faults
from tripline.store.database.sqlite import SqliteStore

pytestmark = pytest.mark.sqlite("damaged files of SQLite")


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with Rig.fresh(tmp_path) as made:
        yield made


def offered(rig: Rig, count: int) -> tuple[FakeSource, list[Any]]:
    """Aggregates of a device, one batch of them."""
    source = FakeSource(SENSOR)
    bodies = [aggregate(range(NOW + n * 60_000, NOW + n * 60_000 + 30_000, 1_000)) for n in range(1, count + 1)]
    return source, [frame(source, body, rig.now_ms, token) for token, body in enumerate(bodies, 1)]


@pytest.mark.parametrize("restarted", [False, True], ids=["while it runs", "while it is down"])
def test_messages_on_a_damaged_table_are_neither_acknowledged_nor_set_aside(rig: Rig, restarted: bool) -> None:
    rig.send(microtrip(NOW), at=NOW)
    rig.now_ms = NOW + 30 * 60_000
    path = rig.database.path
    sound = damage.checkpointed(path)
    damage.spoil_table(path, "microtrip")
    if restarted:
        rig.restart()
    source, frames = offered(rig, 20)

    with pytest.raises(StoreOutage) as outage:
        rig.take_in(frames)
    met = rig.store.troubles.present
    damage.write_back(path, sound)
    kept_before = len(rig.rows(tables.microtrip))
    settled_before = list(source.settlements)
    rig.take_in(frames)

    assert outage.value.fault is Fault.DAMAGED
    assert "is damaged" in str(outage.value)
    assert met is not None and met.fault is Fault.DAMAGED
    assert (settled_before, kept_before) == ([], 1)
    assert rig.rows(tables.rejected_message) == []
    assert source.settlements == [list(range(1, 21))]
    assert len(rig.rows(tables.microtrip)) == 1 + 20
    assert rig.database.damage() == []


def test_bug_while_damage_is_known_sets_nothing_aside(rig: Rig) -> None:
    rig.store.troubles.meet(StoreOutage(Fault.DAMAGED, "The store is damaged."))

    def broken(*_: Any) -> Any:
        raise TypeError("what was read makes no sense")

    rig.pipeline._place = broken  # type: ignore[method-assign]
    source, frames = offered(rig, 1)

    with pytest.raises(Outage):
        rig.take_in(frames)

    assert source.settlements == []


def test_rule_broken_by_a_work_is_no_outage(tmp_path: Path) -> None:
    async def play() -> None:
        store = SqliteStore(stores.fresh_file(tmp_path))
        try:
            for _ in range(2):
                await store.write(lambda tx: tx.run(tables.secret.insert().values(name="a", value=b"")))
        finally:
            await store.close()

    with pytest.raises(Exception, match="UNIQUE"):
        asyncio.run(play())


def test_checkpoint_thread_survives_what_is_no_database_and_goes_on_when_it_is_one(tmp_path: Path) -> None:
    path = stores.fresh_file(tmp_path)
    sound = path.read_bytes()
    path.write_bytes(b"no database at all" * 500)
    finished = threading.Event()

    def finish(_within_s: float) -> bool:
        finished.set()
        return True

    with structlog.testing.capture_logs() as lines:
        thread = checkpoints.Checkpoints(path, every_s=0.005, finish=finish)
        thread.written()
        until = time.monotonic() + 20
        while len(lines) < 3:
            assert time.monotonic() < until
            time.sleep(0.005)
        finished_before = finished.is_set()
        told = [(line["event"], line["reason"]) for line in lines]  # later: what half of a sound file is
        path.write_bytes(sound)
        finished_after = finished.wait(20)
        thread.close()

    assert (finished_before, finished_after) == (False, True)
    assert set(told) == {("store.checkpoint_failed", "DatabaseError: file is not a database")}


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        (sqlite3.SQLITE_CORRUPT, Fault.DAMAGED),
        (sqlite3.SQLITE_CORRUPT_INDEX, Fault.DAMAGED),
        (sqlite3.SQLITE_NOTADB, Fault.DAMAGED),
        (sqlite3.SQLITE_IOERR_READ, Fault.DISK),
        (sqlite3.SQLITE_IOERR_SHORT_READ, Fault.DISK),
        (sqlite3.SQLITE_CANTOPEN, Fault.AWAY),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, Fault.AWAY),
        (sqlite3.SQLITE_READONLY_DBMOVED, Fault.READ_ONLY),
        (sqlite3.SQLITE_FULL, Fault.FULL),
        (sqlite3.SQLITE_CONSTRAINT_UNIQUE, None),
        (sqlite3.SQLITE_MISMATCH, None),
        (sqlite3.SQLITE_TOOBIG, None),
        (sqlite3.SQLITE_ERROR, None),
        (sqlite3.SQLITE_MISUSE, None),
    ],
)
def test_errors_of_sqlite_are_outages_by_their_code(code: int, fault: Fault | None) -> None:
    error = sqlite3.DatabaseError("words of the library")
    error.sqlite_errorcode = code  # type: ignore[misc]

    outage = faults.of_sqlite(error)

    assert (None if outage is None else outage.fault) is fault


def test_missing_table_is_damage(tmp_path: Path) -> None:
    async def play() -> None:
        store = SqliteStore(stores.fresh_file(tmp_path))
        try:
            await store.read(lambda tx: tx.all(text("SELECT * FROM no_table_of_ours")))
        finally:
            await store.close()

    with pytest.raises(StoreOutage) as outage:
        asyncio.run(play())

    assert outage.value.fault is Fault.DAMAGED


async def test_damage_that_was_mended_is_over_when_the_whole_file_is_sound(tmp_path: Path) -> None:
    path = stores.fresh_file(tmp_path)

    store = SqliteStore(path)
    sound = await asyncio.to_thread(damage.checkpointed, path)
    damage.spoil_table(path, "trip")
    found = []
    with pytest.raises(StoreOutage):
        await store.read(lambda tx: tx.all(text("SELECT * FROM trip")))
    await store.prove()
    found.append(store.troubles.present is not None)
    damage.write_back(path, sound)
    store._checked_at = -1e9
    await store.prove()
    found.append(store.troubles.present is not None)
    await store.close()

    assert found == [True, False]


def test_database_file_that_was_removed_or_replaced_takes_nothing_more(tmp_path: Path) -> None:
    path = stores.fresh_file(tmp_path)
    aside = path.with_name("aside")

    def keep(name: str) -> Any:
        return lambda tx: tx.run(tables.secret.insert().values(name=name, value=b""))

    async def play() -> list[str]:
        store = SqliteStore(path)
        await store.write(keep("before"))
        said = []
        path.rename(aside)
        for _ in range(2):
            with pytest.raises(StoreOutage) as outage:
                await store.write(keep("lost"))
            said.append(str(outage.value))
            path.write_bytes(b"another one")
        with pytest.raises(StoreOutage):
            await store.prove()
        aside.rename(path)
        await store.prove()
        await store.write(keep("after"))
        assert store.troubles.present is None
        names = await store.read(lambda tx: [row.name for row in tx.all(tables.secret.select())])
        await store.close()
        return [*said, *names]

    said = f"The store cannot be used: {path} was removed or replaced while the server runs; restart it"
    assert asyncio.run(play()) == [said, said, "before", "after"]


@pytest.mark.parametrize(
    ("fault", "after_s", "over"),
    [
        (Fault.AWAY, 0, True),
        (Fault.FULL, 9.9, False),
        (Fault.FULL, 10, True),
        (Fault.DISK, 59.9, False),
        (Fault.DISK, 60, True),
        (Fault.DAMAGED, 599.9, False),
        (Fault.DAMAGED, 600, True),
    ],
)
def test_fault_counts_until_commits_have_succeeded_for_some_time(fault: Fault, after_s: float, over: bool) -> None:
    now = [0.0]
    troubles = faults.Troubles(lambda: now[0])
    troubles.meet(StoreOutage(fault, "x"))
    now[0] = after_s
    troubles.committed()

    assert (troubles.present is None) is over


def test_damage_is_not_hidden_by_lesser_faults() -> None:
    troubles = faults.Troubles(lambda: 0.0)
    for fault in (Fault.AWAY, Fault.DAMAGED, Fault.AWAY):
        troubles.meet(StoreOutage(fault, fault.value))

    assert str(troubles.present) == "damaged"

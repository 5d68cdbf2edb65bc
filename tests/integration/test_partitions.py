"""Parts of tables by week: made ahead, filled with what waited for them, dropped as a whole; others hardly wait."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg
import pytest
from tests.support import databases
from tests.support.databases import Database
from tests.support.stores import fresh as fresh_store

from tripline.config import Ingest
from tripline.domain import ids
from tripline.domain.access import Scope
from tripline.ports.outages import Outage
from tripline.services.ingest.rejected_log import RejectedLog
from tripline.services.partitions import PartitionKeeper
from tripline.store.database import partitions
from tripline.store.database.partitions import WEEK_MS, Partition
from tripline.store.database.postgres import PostgresStore
from tripline.store.ingest import rejected

NOW_MS = databases.NOW_MS
LATER_MS = NOW_MS + 20 * WEEK_MS
"""A week that has no partition yet."""
LATER = Partition("rejected_message", partitions.week_of(LATER_MS))
SCOPE = Scope.everything("test")


@pytest.fixture
def database() -> Iterator[Database]:
    with databases.fresh() as database:
        yield database


@contextmanager
def keeping(database: Database, now_ms: int, **settings) -> Iterator[tuple[PostgresStore, PartitionKeeper]]:
    store = PostgresStore(database.url, readers=1, writers=1)
    try:
        yield store, PartitionKeeper(store=store, settings=Ingest(**settings), clock=lambda: now_ms)
    finally:
        asyncio.run(store.close())


def row(no: int) -> list:
    return [no, "device", None, None, "topic", "not_json", None, b"{", 300, 1, None, None]


def reject(database: Database, *numbers: int) -> None:
    """Rejected messages with these numbers."""
    for no in numbers:
        database.connection.execute(
            "INSERT INTO rejected_message (no, source, topic, reason, body, size, messages)"
            " VALUES (%s, 'device', 't', 'not_json', '', 300, 1)",
            (no,),
        )


def partitions_of(database: Database, table: str = "rejected_message") -> set[str]:
    return {name for (name,) in database.rows(f"SELECT relid::regclass::text FROM pg_partition_tree('{table}')")}


def lying_in(database: Database, partition: str) -> list[int]:
    return [no for (no,) in database.rows(f"SELECT no FROM {partition} ORDER BY no")]


def test_weeks_to_come_get_their_partitions_once(database):
    with keeping(database, LATER_MS) as (_, keeper):
        asyncio.run(keeper.keep())
        asyncio.run(keeper.keep())

    wanted = {partition.name for partition in partitions.wanted(LATER_MS)}
    assert len(wanted) == 4 * partitions.AHEAD
    assert wanted <= {name for table in partitions.TABLES for name in partitions_of(database, table.name)}


def test_several_keepers_at_once_make_each_partition_once(database):
    async def together(keepers: list[PartitionKeeper]) -> None:
        async with asyncio.TaskGroup() as tasks:
            for keeper in keepers:
                tasks.create_task(keeper.keep())

    with (
        keeping(database, LATER_MS) as (_, one),
        keeping(database, LATER_MS) as (_, two),
        keeping(database, LATER_MS) as (_, three),
    ):
        asyncio.run(together([one, two, three]))

    assert {partition.name for partition in partitions.wanted(LATER_MS)} <= {
        name for table in partitions.TABLES for name in partitions_of(database, table.name)
    }


def test_rows_that_waited_for_their_partition_move_and_the_others_stay(database):
    first, end = LATER.range
    reject(database, first - 1, first, end - 1, end)

    with keeping(database, LATER_MS) as (store, _):
        assert asyncio.run(store.write(lambda tx: partitions.make(tx, LATER), locked=True))

    assert lying_in(database, LATER.name) == [first, end - 1]
    assert lying_in(database, "rejected_message_other") == [first - 1, end]


def test_no_row_is_lost_or_refused_while_its_partition_is_made(database):
    first, _ = LATER.range
    kept: list[int] = []
    made = threading.Event()
    begun = threading.Event()

    async def write(store: PostgresStore) -> None:
        number = first
        while not made.is_set() or number < first + 50:
            values = [value for no in range(number, number + 20) for value in row(no)]
            await store.write(lambda tx, values=values: rejected.LOG.insert(tx, values), locked=True)
            kept.extend(range(number, number + 20))
            number += 20
            begun.set()

    with keeping(database, LATER_MS) as (store, _), keeping(database, LATER_MS) as (writing, _):
        writer = threading.Thread(target=lambda: asyncio.run(write(writing)))
        writer.start()
        begun.wait(30)
        try:
            assert asyncio.run(store.write(lambda tx: partitions.make(tx, LATER), locked=True))
        finally:
            made.set()
            writer.join(30)

    assert lying_in(database, LATER.name) == kept
    assert lying_in(database, "rejected_message_other") == []


@pytest.mark.parametrize(("count", "made"), [(4, True), (5, True), (6, False)])
def test_rows_too_many_to_move_in_a_moment_stay_for_the_migration(database, monkeypatch, count, made):
    monkeypatch.setattr(partitions, "MOVED_AT_ONCE", 5)
    first, _ = LATER.range
    reject(database, *range(first, first + count))

    with keeping(database, LATER_MS) as (store, keeper):
        asyncio.run(keeper.keep())
        before = LATER.name in partitions_of(database)
        asyncio.run(store.write(lambda tx: partitions.ensure(tx, now_ms=LATER_MS), locked=True))

    assert before is made
    assert lying_in(database, LATER.name) == list(range(first, first + count))


def test_a_reader_that_takes_its_time_is_not_pushed_in_front_of_others(database, monkeypatch):
    monkeypatch.setattr(partitions, "WAIT_MS", 5)
    with closing(psycopg.connect(database.url)) as reader, keeping(database, LATER_MS) as (store, keeper):
        reader.execute("SELECT count(*) FROM rejected_message")
        with pytest.raises(Outage, match="too busy"):
            asyncio.run(store.write(lambda tx: partitions.make(tx, LATER), locked=True))
        assert LATER.name not in partitions_of(database)
        reader.rollback()

        asyncio.run(keeper.keep())

    assert LATER.name in partitions_of(database)


def test_weeks_of_rejected_messages_go_as_a_whole_when_all_of_them_is_old_enough(database):
    weeks = [partitions.week_of(NOW_MS) + number * WEEK_MS for number in range(3)]
    reject(database, *(ids.first_no(week) for week in weeks))
    days = 30
    two_weeks_old_ms = weeks[2] + days * 86_400_000

    with keeping(database, two_weeks_old_ms - 1, rejected_days=days) as (_, keeper):
        asyncio.run(keeper.keep())
    first = lying_in(database, "rejected_message")
    with keeping(database, two_weeks_old_ms, rejected_days=days) as (_, keeper):
        asyncio.run(keeper.keep())

    assert first == [ids.first_no(week) for week in weeks[1:]]
    assert lying_in(database, "rejected_message") == [ids.first_no(weeks[2])]
    assert Partition("rejected_message", weeks[1]).name not in partitions_of(database)


def test_driving_data_is_never_dropped(database):
    far_ms = NOW_MS + 5 * 365 * 86_400_000
    before = partitions_of(database, "microtrip")

    with keeping(database, far_ms) as (_, keeper):
        asyncio.run(keeper.keep())

    assert before <= partitions_of(database, "microtrip")


def test_rejected_messages_of_no_partition_are_deleted_by_age_and_the_others_left_to_the_keeper(database):
    old_no = ids.first_no(NOW_MS - 90 * 86_400_000)
    week = partitions.week_of(NOW_MS)
    reject(database, old_no, ids.first_no(week))
    now_ms = week + 31 * 86_400_000

    with keeping(database, now_ms) as (store, _):
        log = RejectedLog(store=store, settings=Ingest(rejected_days=30), ids=ids.TimeIds(node=1))
        more = asyncio.run(log.tend(now_ms=now_ms))

    assert more
    assert lying_in(database, "rejected_message") == [ids.first_no(week)]


def test_keeper_has_nothing_to_do_on_sqlite(tmp_path):
    store = fresh_store(tmp_path).open()
    keeper = PartitionKeeper(store=store, settings=Ingest(), clock=lambda: NOW_MS)
    try:
        asyncio.run(keeper.keep())
    finally:
        asyncio.run(store.close())

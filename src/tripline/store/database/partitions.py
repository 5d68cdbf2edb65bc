"""Partitions of the tables that grow with every kilometre, a week each: old driving data is dropped as one file.

A row number contains its time, so a week is a range of numbers. Partitions are created ahead of time; rows outside all
of them (a clock far off, an import of old data) go to the default partition and move when their week gets a partition.

Creating or dropping a partition may block readers and writers of the table: for at most `WAIT_MS` before it begins, and
for at most `LONGEST_S` per statement. Work that exceeds these bounds is left to `tripline migrate`, which has none.

Only PostgreSQL has partitions. Not here: the list of partitioned tables (`tables/trips.py`), creating partitions
regularly (`services/partitions.py`).
"""

import datetime
from collections.abc import Iterable
from typing import Final

import msgspec
from sqlalchemy import Table, text

from tripline.domain import ids
from tripline.domain.instants import DAY_MS
from tripline.store.tables import delivery, gps_event, microtrip, rejected_message
from tripline.store.transactions import ReadTx, WriteTx

TABLES: Final = (microtrip, gps_event, rejected_message, delivery)
WEEK_MS: Final = 7 * DAY_MS
_MONDAY_MS: Final = 4 * DAY_MS
"""The first Monday after the epoch."""
AHEAD: Final = 5
"""Weeks that have their partitions: the present one and those after it."""
WAIT_MS: Final = 500
LONGEST_S: Final = 5
MOVED_AT_ONCE: Final = 20_000
"""Rows that move in a moment."""


class Partition(msgspec.Struct, frozen=True):
    """A week of a table."""

    table: str
    start_ms: int

    @property
    def name(self) -> str:
        """The name of the table that holds it."""
        day = datetime.datetime.fromtimestamp(self.start_ms / 1000, datetime.UTC)
        return f"{self.table}_w{day:%Y%m%d}"

    @property
    def end_ms(self) -> int:
        """Where the next week starts."""
        return self.start_ms + WEEK_MS

    @property
    def range(self) -> tuple[int, int]:
        """Its first row number, and the first of the next week."""
        return ids.first_no(self.start_ms), ids.first_no(self.end_ms)


def week_of(at_ms: int) -> int:
    """Where the week of an instant starts, epoch ms."""
    return (at_ms - _MONDAY_MS) // WEEK_MS * WEEK_MS + _MONDAY_MS


def weeks(now_ms: int) -> list[int]:
    """Where the present week and the next ones start, epoch ms."""
    return [week_of(now_ms) + number * WEEK_MS for number in range(AHEAD)]


def partition_of(table: str, no: int) -> Partition:
    """The partition that a row belongs to."""
    return Partition(table, week_of(ids.ms_of_no(no)))


def wanted(now_ms: int) -> list[Partition]:
    """The partitions that there should be, of every table."""
    return [Partition(table.name, start_ms) for table in TABLES for start_ms in weeks(now_ms)]


def missing(tx: ReadTx, partitions: Iterable[Partition]) -> list[Partition]:
    """The partitions that do not exist yet; empty on SQLite."""
    if not tx.shared:
        return []
    known = {name for table in TABLES for name in _names(tx, table.name)}
    return [partition for partition in partitions if partition.name not in known]


def ensure(tx: WriteTx, *, now_ms: int) -> list[str]:
    """Make the partitions of this week and the next ones that are missing, however long it takes; their names."""
    if not tx.shared:
        return []
    _alone(tx)
    for table in TABLES:
        tx.connection.execute(text(f"CREATE TABLE IF NOT EXISTS {_rest(table.name)} PARTITION OF {table.name} DEFAULT"))
    return make_all(tx, wanted(now_ms))


def make_all(tx: WriteTx, partitions: Iterable[Partition]) -> list[str]:
    """Create the missing partitions without time bounds; return their names."""
    _alone(tx)
    made = missing(tx, partitions)
    for partition in made:
        _make(tx, partition)
    return [partition.name for partition in made]


def make(tx: WriteTx, partition: Partition) -> bool:
    """Create a partition within the bounds; return True if it exists now. Raises the database's errors when a bound is
    exceeded."""
    _alone(tx)
    if not missing(tx, [partition]):
        return True
    _hurry(tx)
    if kept_aside(tx, partition, limit=MOVED_AT_ONCE + 1) > MOVED_AT_ONCE:
        return False
    _make(tx, partition)
    return True


def kept_aside(tx: ReadTx, partition: Partition, *, limit: int) -> int:
    """Count a week's rows in the default partition, up to `limit`."""
    first, end = partition.range
    found = f"SELECT FROM {_rest(partition.table)} WHERE no >= {first} AND no < {end} LIMIT {limit}"
    return int(tx.all(text(f"SELECT count(*) FROM ({found}) AS found"))[0][0])


def aside(tx: ReadTx, *, limit: int) -> int:
    """How many rows are in the partitions for everything else; at most `limit` of each table are counted."""
    found = (f"(SELECT FROM {_rest(table.name)} LIMIT {limit})" for table in TABLES)
    return int(tx.all(text(f"SELECT count(*) FROM ({' UNION ALL '.join(found)}) AS found"))[0][0])


def outlived(tx: ReadTx, table: Table, *, before_ms: int) -> list[Partition]:
    """The partitions whose weeks had ended by the instant, the oldest first."""
    if not tx.shared:
        return []
    known = sorted(name for name in _names(tx, table.name) if name.startswith(f"{table.name}_w"))
    partitions = [Partition(table.name, _start_of(name)) for name in known]
    return [partition for partition in partitions if partition.end_ms <= before_ms]


def drop(tx: WriteTx, partition: Partition) -> bool:
    """Drop a week with all its rows, within the bounds; False if another process already did."""
    _alone(tx)
    if missing(tx, [partition]):
        return False
    _hurry(tx)
    tx.run_sql(f"DROP TABLE {partition.name}", ())
    return True


def _names(tx: ReadTx, table: str) -> list[str]:
    found = tx.all(text("SELECT relid::regclass::text FROM pg_partition_tree(:of_table)"), {"of_table": table})
    return [row[0] for row in found]


def _rest(table: str) -> str:
    """The partition for everything else."""
    return f"{table}_other"


def _start_of(name: str) -> int:
    day = datetime.datetime.strptime(name.rpartition("_w")[2], "%Y%m%d").replace(tzinfo=datetime.UTC)
    return int(day.timestamp()) * 1000


def _alone(tx: WriteTx) -> None:
    """Block other processes from creating or dropping partitions until the transaction ends."""
    tx.connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('tripline partitions'))"))


def _hurry(tx: WriteTx) -> None:
    tx.connection.execute(text(f"SET LOCAL lock_timeout = {WAIT_MS}"))
    tx.connection.execute(text(f"SET LOCAL statement_timeout = '{LONGEST_S}s'"))


def _make(tx: WriteTx, partition: Partition) -> None:
    """Create a partition and move the rows of its week there from the default partition."""
    first, end = partition.range
    rest = _rest(partition.table)
    run = tx.connection.execute
    run(text(f"CREATE TABLE {partition.name} (LIKE {partition.table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)"))
    # Rows written after the others have moved would be in the way of the new partition.
    run(text(f"LOCK TABLE {rest} IN ACCESS EXCLUSIVE MODE"))
    run(
        text(
            f"WITH moved AS (DELETE FROM {rest} WHERE no >= {first} AND no < {end} RETURNING *)"
            f" INSERT INTO {partition.name} SELECT * FROM moved"
        )
    )
    run(text(f"ALTER TABLE {partition.table} ATTACH PARTITION {partition.name} FOR VALUES FROM ({first}) TO ({end})"))

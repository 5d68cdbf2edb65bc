"""Parts of the tables that grow with every kilometre, a week each, so that old driving data is dropped as one file.

A row number is time, so a week is a range of them. Parts are made ahead of time; what belongs to no part (a clock far
off, an import of old data) is kept in the part for everything else, and moves when its week gets a part.

While a part is made or dropped, whoever reads or writes the table may wait: for at most `WAIT_MS` until it begins, and
a statement of it for at most `LONGEST_S`. What does not fit into that is left for `tripline migrate`, which has no such
bounds.

Only PostgreSQL has parts. Not here: which tables have them (`tables/driving.py`), who keeps them made
(`services/parts_ahead.py`).
"""

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Table, text

from tripline.domain import ids
from tripline.store.tables import delivery, gps_event, microtrip, rejected_message
from tripline.store.transactions import ReadTx, WriteTx

TABLES: Final = (microtrip, gps_event, rejected_message, delivery)
WEEK_MS: Final = 7 * 86_400_000
_MONDAY_MS: Final = 4 * 86_400_000
"""The first Monday after the epoch."""
AHEAD: Final = 5
"""Weeks that have their parts: the present one and those after it."""
WAIT_MS: Final = 500
LONGEST_S: Final = 5
MOVED_AT_ONCE: Final = 20_000
"""Rows that move in a moment."""


@dataclass(frozen=True, slots=True)
class Part:
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
        """Its first row number, and that of the next week."""
        return ids.first_no(self.start_ms), ids.first_no(self.end_ms)


def week_of(at_ms: int) -> int:
    """Where the week of an instant starts, epoch ms."""
    return (at_ms - _MONDAY_MS) // WEEK_MS * WEEK_MS + _MONDAY_MS


def weeks(now_ms: int) -> list[int]:
    """Where the present week and the next ones start, epoch ms."""
    return [week_of(now_ms) + number * WEEK_MS for number in range(AHEAD)]


def part_of(table: str, no: int) -> Part:
    """The part that a row belongs to."""
    return Part(table, week_of(ids.ms_of_no(no)))


def wanted(now_ms: int) -> list[Part]:
    """The parts that there should be, of every table."""
    return [Part(table.name, start_ms) for table in TABLES for start_ms in weeks(now_ms)]


def missing(tx: ReadTx, parts: Iterable[Part]) -> list[Part]:
    """Those that are not there. None of them ever is on SQLite, where none is missed."""
    if not tx.shared:
        return []
    known = {name for table in TABLES for name in _names(tx, table.name)}
    return [part for part in parts if part.name not in known]


def ensure(tx: WriteTx, *, now_ms: int) -> list[str]:
    """Make the parts of this week and the next ones that are missing, however long it takes; their names."""
    if not tx.shared:
        return []
    _alone(tx)
    for table in TABLES:
        tx.connection.execute(text(f"CREATE TABLE IF NOT EXISTS {_rest(table.name)} PARTITION OF {table.name} DEFAULT"))
    return make_all(tx, wanted(now_ms))


def make_all(tx: WriteTx, parts: Iterable[Part]) -> list[str]:
    """Make those of the parts that are missing, however long it takes; their names."""
    _alone(tx)
    made = missing(tx, parts)
    for part in made:
        _make(tx, part)
    return [part.name for part in made]


def make(tx: WriteTx, part: Part) -> bool:
    """Make a part within the bounds; whether it is there now. Raises what the database does when they do not hold."""
    _alone(tx)
    if not missing(tx, [part]):
        return True
    _hurry(tx)
    if kept_aside(tx, part, limit=MOVED_AT_ONCE + 1) > MOVED_AT_ONCE:
        return False
    _make(tx, part)
    return True


def kept_aside(tx: ReadTx, part: Part, *, limit: int) -> int:
    """How many rows of a week are kept in the part for everything else; at most `limit` are counted."""
    first, end = part.range
    found = f"SELECT FROM {_rest(part.table)} WHERE no >= {first} AND no < {end} LIMIT {limit}"
    return int(tx.all(text(f"SELECT count(*) FROM ({found}) AS found"))[0][0])


def aside(tx: ReadTx, *, limit: int) -> int:
    """How many rows are in the parts for everything else; at most `limit` of each table are counted."""
    found = (f"(SELECT FROM {_rest(table.name)} LIMIT {limit})" for table in TABLES)
    return int(tx.all(text(f"SELECT count(*) FROM ({' UNION ALL '.join(found)}) AS found"))[0][0])


def outlived(tx: ReadTx, table: Table, *, before_ms: int) -> list[Part]:
    """The parts whose weeks had ended by the instant, the oldest first."""
    if not tx.shared:
        return []
    known = sorted(name for name in _names(tx, table.name) if name.startswith(f"{table.name}_w"))
    parts = [Part(table.name, _start_of(name)) for name in known]
    return [part for part in parts if part.end_ms <= before_ms]


def drop(tx: WriteTx, part: Part) -> bool:
    """Drop a week with all that is in it, within the bounds; False when somebody else did."""
    _alone(tx)
    if missing(tx, [part]):
        return False
    _hurry(tx)
    tx.run_sql(f"DROP TABLE {part.name}", ())
    return True


def _names(tx: ReadTx, table: str) -> list[str]:
    found = tx.all(text("SELECT relid::regclass::text FROM pg_partition_tree(:of_table)"), {"of_table": table})
    return [row[0] for row in found]


def _rest(table: str) -> str:
    """The part for everything else."""
    return f"{table}_other"


def _start_of(name: str) -> int:
    day = datetime.datetime.strptime(name.rpartition("_w")[2], "%Y%m%d").replace(tzinfo=datetime.UTC)
    return int(day.timestamp()) * 1000


def _alone(tx: WriteTx) -> None:
    """Until the transaction ends nobody else makes or drops parts."""
    tx.connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('tripline partitions'))"))


def _hurry(tx: WriteTx) -> None:
    tx.connection.execute(text(f"SET LOCAL lock_timeout = {WAIT_MS}"))
    tx.connection.execute(text(f"SET LOCAL statement_timeout = '{LONGEST_S}s'"))


def _make(tx: WriteTx, part: Part) -> None:
    """Make a part; rows of its time that were kept for want of it move there."""
    first, end = part.range
    rest = _rest(part.table)
    run = tx.connection.execute
    run(text(f"CREATE TABLE {part.name} (LIKE {part.table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)"))
    # Rows written after the others have moved would be in the way of the new part.
    run(text(f"LOCK TABLE {rest} IN ACCESS EXCLUSIVE MODE"))
    run(
        text(
            f"WITH moved AS (DELETE FROM {rest} WHERE no >= {first} AND no < {end} RETURNING *)"
            f" INSERT INTO {part.name} SELECT * FROM moved"
        )
    )
    run(text(f"ALTER TABLE {part.table} ATTACH PARTITION {part.name} FOR VALUES FROM ({first}) TO ({end})"))

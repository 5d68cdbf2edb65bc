"""Parts of the tables that grow with every kilometre, a week each, so that old driving data is dropped as one file.

A row number is time, so a week is a range of them. Parts are made ahead of time; what belongs to no part (a clock far
off, an import of old data) is kept in the part for everything else.

Only PostgreSQL has parts. Not here: which tables have them (`tables/driving.py`).
"""

import datetime
from typing import Final

from sqlalchemy import text

from tripline.domain import ids
from tripline.store.tables import gps_event, microtrip, rejected_message
from tripline.store.transactions import WriteTx

TABLES: Final = (microtrip, gps_event, rejected_message)
WEEK_MS: Final = 7 * 86_400_000
_MONDAY_MS: Final = 4 * 86_400_000
"""The first Monday after the epoch."""
AHEAD: Final = 5
"""Weeks that have their parts: the present one and those after it."""


def ensure(tx: WriteTx, *, now_ms: int) -> list[str]:
    """Make the parts of this week and the next ones that are missing; their names."""
    if not tx.shared:
        return []
    tx.connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('tripline partitions'))"))
    known = {name for table in TABLES for name in _parts(tx, table.name)}
    made = []
    for table in TABLES:
        if f"{table.name}_other" not in known:
            tx.connection.execute(text(f"CREATE TABLE {table.name}_other PARTITION OF {table.name} DEFAULT"))
        for start_ms in weeks(now_ms):
            name = part_name(table.name, start_ms)
            if name not in known:
                _make(tx, table.name, name, start_ms)
                made.append(name)
    return made


def _parts(tx: WriteTx, table: str) -> list[str]:
    found = tx.all(text("SELECT relid::regclass::text FROM pg_partition_tree(:of_table)"), {"of_table": table})
    return [row[0] for row in found]


def weeks(now_ms: int) -> list[int]:
    """Where the present week and the next ones start, epoch ms."""
    first = (now_ms - _MONDAY_MS) // WEEK_MS * WEEK_MS + _MONDAY_MS
    return [first + number * WEEK_MS for number in range(AHEAD)]


def part_name(table: str, start_ms: int) -> str:
    """The name of a week's part of a table."""
    day = datetime.datetime.fromtimestamp(start_ms / 1000, datetime.UTC)
    return f"{table}_w{day:%Y%m%d}"


def _make(tx: WriteTx, table: str, name: str, start_ms: int) -> None:
    """Make a part; rows of its time that were kept for want of it move there."""
    first, end = ids.first_no(start_ms), ids.first_no(start_ms + WEEK_MS)
    run = tx.connection.execute
    run(text(f"CREATE TABLE {name} (LIKE {table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)"))
    run(
        text(
            f"WITH moved AS (DELETE FROM {table}_other WHERE no >= {first} AND no < {end} RETURNING *)"
            f" INSERT INTO {name} SELECT * FROM moved"
        )
    )
    run(text(f"ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ({first}) TO ({end})"))

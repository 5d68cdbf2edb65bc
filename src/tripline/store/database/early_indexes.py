"""Indexes of a coming schema, built on a shared database while programs go on writing.

An index that a migration makes locks its table against writers until it is complete. So a step may name its indexes
(`AHEAD` in `migrations/versions/`), and they are built before its transaction begins; the step then finds them. A table
in partitions gets them partition by partition, which the step joins. An index left invalid by an interrupted build is
rebuilt. A table that only a step on the way makes gets its indexes from the steps: nobody writes to it yet.

Not here: the steps themselves (`store/migrate.py`).
"""

from collections.abc import Iterable
from types import ModuleType
from typing import Final

from sqlalchemy import Connection, text

_MINE: Final = "hashtext('tripline indexes ahead')"
_POLL_S: Final = 0.2


def build(connection: Connection, steps: Iterable[ModuleType]) -> None:
    """Build the indexes of these steps on an autocommit connection; wait for another process that does so."""
    wanted = [index for step in steps for index in getattr(step, "AHEAD", ())]
    if not wanted:
        return
    while not connection.execute(text(f"SELECT pg_try_advisory_lock({_MINE})")).scalar():
        connection.execute(text(f"SELECT pg_sleep({_POLL_S})"))
    try:
        for name, table, columns, condition in wanted:
            for index, partition in _places(connection, name, table, columns):
                _build(connection, index, partition, f"({', '.join(columns)})", condition)
    finally:
        connection.execute(text(f"SELECT pg_advisory_unlock({_MINE})"))


def _places(connection: Connection, name: str, table: str, columns: Iterable[str]) -> list[tuple[str, str]]:
    """Index and table: of a table in partitions each partition, under the name that PostgreSQL would give; of a table
    that is not there yet none."""
    kind = connection.execute(
        text("SELECT relkind FROM pg_class WHERE oid = to_regclass(:table)"), {"table": table}
    ).scalar()
    if kind is None:
        return []
    if kind != "p":
        return [(name, table)]
    partitions = connection.execute(
        text("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = to_regclass(:table)"), {"table": table}
    )
    return [(f"{partition}_{'_'.join(columns)}_idx", partition) for (partition,) in partitions.all()]


def _build(connection: Connection, index: str, table: str, columns: str, condition: str | None) -> None:
    valid = connection.execute(
        text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:index)"), {"index": index}
    ).scalar()
    if valid:
        return
    if valid is not None:
        connection.execute(text(f"DROP INDEX CONCURRENTLY IF EXISTS {index}"))
    where = "" if condition is None else f" WHERE {condition}"
    connection.execute(text(f"CREATE INDEX CONCURRENTLY {index} ON {table} {columns}{where}"))

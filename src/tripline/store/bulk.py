"""Many rows in few statements.

SQLite: `INSERT ... VALUES (...), (...)` with one flat list of values. The texts exist for powers of two only, so that
the driver's cache of prepared statements keeps them all and any number of rows takes a handful of statements.
PostgreSQL: COPY, or where rows may be there already one `INSERT ... SELECT` of columns as arrays.

Not here: which rows (`store/trips/batch_rows.py`, `store/ingest/rejected.py`, `store/fleet/imports.py`).
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from sqlalchemy import Table

from tripline.store.transactions import WriteTx

COPIED_FROM: Final = 16
"""Rows from which COPY takes less than an INSERT."""
LARGEST: Final = 512
"""Rows in one statement at most; with 20 columns a third of SQLite's 32,766 values."""
SIZES: Final = tuple(LARGEST >> shift for shift in range(LARGEST.bit_length()))
"""Rows in one statement of SQLite: powers of two, down to one."""
TYPES: Final = {
    "big_integer": "int8",
    "integer": "int4",
    "small_integer": "int2",
    "string": "text",
    "text": "text",
    "large_binary": "bytea",
    "boolean": "bool",
    "float": "float8",
}
"""SQLAlchemy's name of a column type -> PostgreSQL's."""


def in_sizes(values: Sequence[Any], width: int) -> Iterator[tuple[int, Sequence[Any]]]:
    """Rows of so many values, which stand one after the other, cut for few statements: how many rows, their values."""
    start, total = 0, len(values)
    for size in SIZES:
        step = size * width
        while total - start >= step:
            # Most batches are one statement: they are not copied.
            yield size, values if step == total else values[start : start + step]
            start += step


class Bulk:
    """Inserts rows of one table; `on_conflict` is what follows the values, to turn the insert into an upsert."""

    def __init__(self, table: Table, *columns: str, on_conflict: str = "") -> None:
        unknown = [name for name in columns if name not in table.c]
        assert not unknown, f"{table.name} has no column {unknown}"
        self.width = len(columns)
        into = f"{table.name} ({', '.join(columns)})"
        row = f"({', '.join('?' * self.width)})"
        self._sql = {size: f"INSERT INTO {into} VALUES {', '.join([row] * size)} {on_conflict}" for size in SIZES}
        types = [TYPES[table.c[name].type.__visit_name__] for name in columns]
        # One array a column: the text is the same for any number of rows, so it is planned once.
        arrays = ", ".join(f"%s::{name}[]" for name in types)
        self._from_arrays = f"INSERT INTO {into} SELECT * FROM unnest({arrays}) {on_conflict}"
        self._copy = None if on_conflict else (f"COPY {into} FROM STDIN (FORMAT BINARY)", types)

    def insert(self, tx: WriteTx, values: list[Any]) -> int:
        """Insert the rows whose values stand one after the other, in the order of the columns; how many it took."""
        if tx.shared:
            return self._insert_shared(tx, values)
        return sum(tx.run_sql(self._sql[size], some) for size, some in in_sizes(values, self.width))

    def _insert_shared(self, tx: WriteTx, values: list[Any]) -> int:
        if not values:
            return 0
        columns = [values[at :: self.width] for at in range(self.width)]
        if self._copy is not None and len(columns[0]) >= COPIED_FROM:
            return tx.copy(*self._copy, zip(*columns, strict=True))
        return tx.run_sql(self._from_arrays, columns)

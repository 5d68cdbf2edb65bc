"""Many rows in few statements: `INSERT ... VALUES (...), (...)` with one flat list of values.

The texts exist for powers of two only, so that the driver's cache of prepared statements keeps them all and any number
of rows takes a handful of statements.

Not here: which rows (`driving.py`, `rejected.py`, `imports.py`).
"""

from typing import Any, Final

from sqlalchemy import Table

from tripline.store.transactions import WriteTx

LARGEST: Final = 512
"""Rows in one statement at most; with 20 columns a third of SQLite's 32,766 values."""


class Bulk:
    """Inserts rows of one table; `on_conflict` is what follows the values, to turn the insert into an upsert."""

    def __init__(self, table: Table, *columns: str, on_conflict: str = "") -> None:
        unknown = [name for name in columns if name not in table.c]
        assert not unknown, f"{table.name} has no column {unknown}"
        self.width = len(columns)
        head = f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES "
        row = f"({', '.join('?' * self.width)})"
        self._sql: list[tuple[int, str]] = []
        size = LARGEST
        while size:
            self._sql.append((size, f"{head}{', '.join([row] * size)} {on_conflict}"))
            size //= 2

    def insert(self, tx: WriteTx, values: list[Any]) -> int:
        """Insert the rows whose values stand one after the other, in the order of the columns; how many it took."""
        start = touched = 0
        total = len(values)
        for size, sql in self._sql:
            step = size * self.width
            while total - start >= step:
                touched += tx.run_sql(sql, values if step == total else values[start : start + step])
                start += step
        return touched

"""Many rows in few statements.

SQLite: `INSERT ... VALUES (...), (...)` with one flat list of values. The texts exist for powers of two only, so that
the driver's cache of prepared statements keeps them all and any number of rows takes a handful of statements.
PostgreSQL: COPY, or where rows may be there already one `INSERT ... SELECT` of columns as arrays.

Very many rows, of an import, go through tables in memory on SQLite (`staged`): the one transaction that inserts them is
shorter then, and devices wait for it.

Not here: which rows (`store/trips/batch_rows.py`, `store/ingest/rejected.py`, `store/fleet/imports.py`).
"""

import contextlib
import itertools
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import msgspec
from sqlalchemy import Table

from tripline.ports.outages import Outage
from tripline.store.transactions import Store, WriteTx

COPIED_FROM: Final = 16
"""Number of rows above which COPY is faster than INSERT."""
LARGEST: Final = 512
"""Rows in one statement at most; with 20 columns a third of SQLite's 32,766 values."""
SIZES: Final = tuple(LARGEST >> shift for shift in range(LARGEST.bit_length()))
"""Rows in one statement of SQLite: powers of two, down to one."""
STAGED_FROM: Final = 2_048
"""Number of rows above which SQLite stages them; also the most that one transaction stages."""
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
    """Inserts rows of one table; `on_conflict` follows the values and turns the insert into an upsert."""

    def __init__(self, table: Table, *columns: str, on_conflict: str = "") -> None:
        unknown = [name for name in columns if name not in table.c]
        assert not unknown, f"{table.name} has no column {unknown}"
        self.width = len(columns)
        self._into = f"{table.name} ({', '.join(columns)})"
        self._on_conflict = on_conflict
        self._sql = {size: f"INSERT INTO {self._into} VALUES {self._places(size)} {on_conflict}" for size in SIZES}
        types = [TYPES[table.c[name].type.__visit_name__] for name in columns]
        # One array a column: the text is the same for any number of rows, so it is planned once.
        arrays = ", ".join(f"%s::{name}[]" for name in types)
        self._from_arrays = f"INSERT INTO {self._into} SELECT * FROM unnest({arrays}) {on_conflict}"
        self._copy = None if on_conflict else (f"COPY {self._into} FROM STDIN (FORMAT BINARY)", types)

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

    def stage(self, tx: WriteTx, name: str, values: Sequence[Any]) -> None:
        """Add rows to a table in memory, which is made when it is missing. SQLite only."""
        columns = ", ".join(f"c{at}" for at in range(self.width))
        tx.run_sql(f"CREATE TABLE IF NOT EXISTS {name} ({columns})", ())
        for size, some in in_sizes(values, self.width):
            tx.run_sql(f"INSERT INTO {name} VALUES {self._places(size)}", some)

    def insert_staged(self, tx: WriteTx, name: str) -> int:
        """Insert the rows of a table that `stage` filled; how many it took."""
        return tx.run_sql(f"INSERT INTO {self._into} SELECT * FROM {name} WHERE true {self._on_conflict}", ())

    def _places(self, size: int) -> str:
        return ", ".join([f"({', '.join('?' * self.width)})"] * size)


class Rows(msgspec.Struct, frozen=True):
    """New rows of one table: their values one after the other, in the order of the columns."""

    bulk: Bulk
    values: list[Any]

    def __len__(self) -> int:
        return len(self.values) // self.bulk.width

    def insert(self, tx: WriteTx, staged_in: str) -> int:
        """Insert them, from the table in memory if one is named; how many the table took."""
        return self.bulk.insert_staged(tx, staged_in) if staged_in else self.bulk.insert(tx, self.values)


@contextlib.asynccontextmanager
async def staged(store: Store, many: Sequence[Rows]) -> AsyncIterator[Callable[[WriteTx], bool]]:
    """Yield a function that inserts the rows, table by table, inside one transaction.

    It returns False if the table already had one of the rows: then the transaction must not be committed.
    """
    loads: list[tuple[Rows, str]] = []
    try:
        for rows in many:
            name = f"temp.staged_{next(_NUMBERS)}" if len(rows) >= STAGED_FROM and not store.shared else ""
            loads.append((rows, name))
            step = STAGED_FROM * rows.bulk.width
            for start in range(0, len(rows.values) if name else 0, step):
                await store.write(partial(rows.bulk.stage, name=name, values=rows.values[start : start + step]))
        yield lambda tx: all(rows.insert(tx, name) == len(rows) for rows, name in loads)
    finally:
        for _, name in loads:
            if name:
                with contextlib.suppress(Outage):  # a table left behind is in memory and disappears with the process
                    await store.write(lambda tx, name=name: tx.run_sql(f"DROP TABLE IF EXISTS {name}", ()))  # type: ignore[misc]


_NUMBERS: Final = itertools.count(1)

"""Many rows in few statements.

SQLite: `INSERT ... VALUES (...), (...)` with one flat list of values. The texts exist for powers of two only, so that
the driver's cache of prepared statements keeps them all and any number of rows takes a handful of statements.
PostgreSQL: COPY, or where rows may be there already one `INSERT ... SELECT` of columns as arrays.

Very many rows, of an import, go through tables in memory on SQLite (`staged`): the one transaction that inserts them is
shorter then, and devices wait for it. Columns in which all rows are equal are not staged.
"""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
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
"""Number of rows from which SQLite stages them; also the registrations of an import in one part."""
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
    """Inserts rows of one table; `on_conflict` follows the values and turns the insert into an upsert. `replaces`: a
    row gives its values to one that is there with its key."""

    def __init__(self, table: Table, *columns: str, on_conflict: str = "", replaces: bool = False) -> None:
        unknown = [name for name in columns if name not in table.c]
        assert not unknown, f"{table.name} has no column {unknown}"
        if replaces:
            key = table.primary_key.columns.keys()
            others = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in key)
            on_conflict = f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET {others}"
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

    def stage(self, tx: WriteTx, name: str, values: Sequence[Any], width: int) -> None:
        """Add the first columns of rows to a table in memory, which is made when it is missing. SQLite only."""
        tx.run_sql(f"CREATE TABLE IF NOT EXISTS {name} ({', '.join(f'c{at}' for at in range(width))})", ())
        for size, some in in_sizes(values, width):
            tx.run_sql(f"INSERT INTO {name} VALUES {_places(size, width)}", some)

    def insert_staged(self, tx: WriteTx, name: str, others: Sequence[Any]) -> int:
        """Insert the rows of a table that `stage` filled, all with these other columns; how many it took."""
        columns = ", ".join(["staged.*", *("?" for _ in others)])
        sql = f"INSERT INTO {self._into} SELECT {columns} FROM {name} AS staged WHERE true {self._on_conflict}"
        return tx.run_sql(sql, others)

    def _places(self, size: int) -> str:
        return _places(size, self.width)


def _places(size: int, width: int) -> str:
    return ", ".join([f"({', '.join('?' * width)})"] * size)


class Rows(msgspec.Struct, frozen=True):
    """New rows of one table: values of the first columns one row after the other, and the other columns, in which these
    rows are equal. They are inserted once with each of `others`."""

    bulk: Bulk
    values: list[Any]
    others: Sequence[tuple[Any, ...]] = ((),)

    def __len__(self) -> int:
        return len(self.values) // self.width * len(self.others)

    @property
    def width(self) -> int:
        """How many columns `values` has."""
        return self.bulk.width - len(self.others[0])

    def insert(self, tx: WriteTx) -> bool:
        """Insert them; False if the table already had one."""
        if self.width == self.bulk.width:
            return self.bulk.insert(tx, self.values) == len(self)
        starts = range(0, len(self.values), self.width)
        rows = [self.values[start : start + self.width] for start in starts]
        values = [value for others in self.others for row in rows for value in (*row, *others)]
        return self.bulk.insert(tx, values) == len(self)


class _Load(msgspec.Struct):
    """The staged rows of one table."""

    bulk: Bulk
    name: str
    """Of the table in memory."""
    others: Sequence[tuple[Any, ...]]
    """The same in each part."""
    count: int = 0

    def stage(self, tx: WriteTx, rows: Rows) -> None:
        self.bulk.stage(tx, self.name, rows.values, rows.width)

    def insert(self, tx: WriteTx) -> bool:
        # One statement for each of the others: new entries of an index are side by side then.
        return sum(self.bulk.insert_staged(tx, self.name, others) for others in self.others) == self.count

    def drop(self, tx: WriteTx) -> None:
        tx.run_sql(f"DROP TABLE IF EXISTS {self.name}", ())


@contextlib.asynccontextmanager
async def staged(store: Store, parts: Iterable[Sequence[Rows]]) -> AsyncIterator[Callable[[WriteTx], bool]]:
    """Yield a function that inserts the rows, table by table, inside one transaction.

    It returns False if a table already had one of the rows: then the transaction must not be committed. The parts,
    each with rows of the same tables, are made on a thread; SQLite stages a large one before the next is made.
    """
    loads: dict[Bulk, _Load] = {}
    steps: list[_Load | Rows] = []
    making = iter(parts)
    try:
        while (part := await asyncio.to_thread(next, making, None)) is not None:
            for rows in part:
                load = loads.get(rows.bulk)
                if load is None:
                    if store.shared or len(rows) < STAGED_FROM:
                        steps.append(rows)
                        continue
                    load = loads[rows.bulk] = _Load(rows.bulk, f"temp.staged_{next(_NUMBERS)}", rows.others)
                    steps.append(load)
                load.count += len(rows)
                await store.write(partial(load.stage, rows=rows))
        yield lambda tx: all(each.insert(tx) for each in steps)
    finally:
        for load in loads.values():
            with contextlib.suppress(Outage):  # a table left behind is in memory and disappears with the process
                await store.write(load.drop)


_NUMBERS: Final = itertools.count(1)

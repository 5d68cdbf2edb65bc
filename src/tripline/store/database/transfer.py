"""Copy every row of one store into another, and compare both sides row by row.

Each side is one transaction: the source one snapshot, the target all or nothing. Rows are streamed in key order, so
memory is bounded by a few hundred rows. Values are compared exactly: text, bytes and numbers to the last bit.

State of running processes is not copied: the processes themselves, their claims and the messages between them.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

import msgspec
from sqlalchemy import Boolean, Connection, Float, Integer, LargeBinary, SmallInteger, String, Table, text

from tripline.store.bulk import TYPES
from tripline.store.database import partitions
from tripline.store.database.partitions import Partition
from tripline.store.database.postgres_statements import PostgresTx
from tripline.store.tables import device_send, export, export_piece, metadata, node, push_claim, sensor
from tripline.store.transactions import WriteTx

LEFT: Final = frozenset({node.name, push_claim.name, device_send.name, export.name, export_piece.name})
"""Tables of running processes, and of files that last for an hour."""
TABLES: Final = tuple(table for table in metadata.sorted_tables if table.name not in LEFT)
"""Tables to copy, each after the tables it refers to."""
_BLANK: Final = frozenset({(sensor.name, sensor.c.ingest_node.name)})
"""Columns of running processes."""
AT_ONCE: Final = 500
MOST_WEEKS: Final = 1_040
"""Weeks that get partitions of their own, twenty years of them."""
SHOWN: Final = 10
_WIDTHS: Final[dict[type, int]] = {SmallInteger: 2**15, Integer: 2**31}
_BITS: Final = struct.Struct(">d").pack

Row = tuple[Any, ...]
Progress = Callable[[str, str, int], None]
"""Receives the step, the table and the number of rows so far."""


class UnfitRowError(Exception):
    """A row that the other side cannot store; the text gives the row and the reason."""


class Difference(msgspec.Struct, frozen=True):
    """A row that differs between the sides, without its values."""

    table: str
    key: Row
    what: str


def carry(source: "Side", target: "Side", *, progress: Progress) -> dict[str, int]:
    """Append every row of the source to the target; how many of each table. Raises `UnfitRowError`."""
    carried = {}
    for table in TABLES:
        target.prepare(table, source.weeks(table))
        carried[table.name] = target.append(table, _counted(source.rows(table), table, "copying", "copied", progress))
    return carried


def differences(source: "Side", target: "Side", *, progress: Progress) -> list[Difference]:
    """The first rows that are not the same on both sides; empty when all are."""
    found: list[Difference] = []
    for table in TABLES:
        pairs = _differences(
            table, _counted(source.rows(table), table, "verifying", "verified", progress), target.rows(table)
        )
        found += islice(pairs, SHOWN - len(found))
        if len(found) == SHOWN:
            break
    return found


def _counted(rows: Iterator[Row], table: Table, doing: str, done: str, progress: Progress) -> Iterator[Row]:
    count = 0
    for row in rows:
        yield row
        count += 1
        if count % AT_ONCE == 0:
            progress(doing, table.name, count)
    progress(done, table.name, count)


def _differences(table: Table, ours: Iterator[Row], theirs: Iterator[Row]) -> Iterator[Difference]:
    """Both sides walked along their keys together."""
    key, exact = _key(table), _exact(table)
    our, their = next(ours, None), next(theirs, None)
    while our is not None or their is not None:
        if their is None or (our is not None and key(our) < key(their)):
            assert our is not None
            yield Difference(table.name, key(our), "missing")
            our = next(ours, None)
        elif our is None or key(their) < key(our):
            yield Difference(table.name, key(their), "not in the source")
            their = next(theirs, None)
        else:
            if (ours_exact := exact(our)) != (theirs_exact := exact(their)):
                pairs = zip(table.c.keys(), ours_exact, theirs_exact, strict=True)
                yield Difference(table.name, key(our), ", ".join(name for name, a, b in pairs if a != b))
            our, their = next(ours, None), next(theirs, None)


def _key(table: Table) -> Callable[[Row], Row]:
    names = table.c.keys()
    places = [names.index(column.name) for column in table.primary_key]
    return lambda row: tuple([row[place] for place in places])


def _exact(table: Table) -> Callable[[Row], Sequence[Any]]:
    """The row with its fractions as bits: otherwise 0.0 equals -0.0."""
    places = [place for place, column in enumerate(table.c) if isinstance(column.type, Float)]

    def exact(row: Row) -> Sequence[Any]:
        bits = list(row)
        for place in places:
            if bits[place] is not None:
                bits[place] = _BITS(bits[place])
        return bits

    return exact if places else lambda row: row


def _same(table: Table) -> Callable[[Row], Row]:
    """A row as both databases would give it: truth values, and nothing of running processes."""
    truths = [place for place, column in enumerate(table.c) if isinstance(column.type, Boolean)]
    blanks = [place for place, column in enumerate(table.c) if (table.name, column.name) in _BLANK]

    def same(row: Row) -> Row:
        values = list(row)
        for place in truths:
            if values[place] is not None:
                values[place] = bool(values[place])
        for place in blanks:
            values[place] = None
        return tuple(values)

    return same if truths or blanks else lambda row: row


def _select(table: Table) -> str:
    return (
        f"SELECT {', '.join(table.c.keys())} FROM {table.name}"
        f" ORDER BY {', '.join(column.name for column in table.primary_key)}"
    )


def _streamed(table: Table, fetch: Callable[[int], list[Row]]) -> Iterator[Row]:
    same = _same(table)
    while rows := fetch(AT_ONCE):
        yield from map(same, rows)


class Side:
    """A store inside one transaction, which the caller's connection begins and commits: a SQLite file."""

    tx: WriteTx

    def __init__(self, connection: Connection) -> None:
        self.tx = WriteTx(connection)
        self._connection = connection
        self._driver: Any = connection.connection.driver_connection

    def rows(self, table: Table) -> Iterator[Row]:
        """Every row in the order of the keys, the columns in the order of the table."""
        return _streamed(table, self._driver.execute(_select(table)).fetchmany)

    def append(self, table: Table, rows: Iterator[Row]) -> int:
        """Add rows; how many. Raises `UnfitRowError`."""
        places = ", ".join("?" * len(table.c))
        sql = f"INSERT INTO {table.name} ({', '.join(table.c.keys())}) VALUES ({places})"
        count = 0
        while some := list(islice(rows, AT_ONCE)):
            count += self._driver.executemany(sql, some).rowcount
        return count

    def weeks(self, table: Table) -> list[int]:
        """Where the weeks start in which there are rows: found by hopping along the key from week to week."""
        found: list[int] = []
        if table not in partitions.TABLES:
            return found
        after = 0
        while len(found) < MOST_WEEKS:
            first = self._connection.execute(text(f"SELECT min(no) FROM {table.name} WHERE no >= {after}")).scalar()
            if first is None:
                break
            partition = partitions.partition_of(table.name, first)
            found.append(partition.start_ms)
            after = partition.range[1]
        return found

    def prepare(self, table: Table, weeks: Sequence[int]) -> None:
        """Get ready for rows of these weeks."""

    def filled(self) -> list[str]:
        """The tables to copy that have rows."""
        asked = (f"SELECT '{table.name}' AS name WHERE EXISTS (SELECT * FROM {table.name})" for table in TABLES)
        return sorted(row[0] for row in self._connection.execute(text(" UNION ALL ".join(asked))))


class PostgresSide(Side):
    """A PostgreSQL database."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.tx = PostgresTx(connection)

    def rows(self, table: Table) -> Iterator[Row]:
        """As `Side.rows`, by a cursor of the server."""
        with self._driver.cursor(name=f"all_{table.name}", binary=True) as cursor:
            cursor.execute(_select(table))
            yield from _streamed(table, cursor.fetchmany)

    def append(self, table: Table, rows: Iterator[Row]) -> int:
        """As `Side.append`, by COPY."""
        types = [TYPES[column.type.__visit_name__] for column in table.c]
        sql = f"COPY {table.name} ({', '.join(table.c.keys())}) FROM STDIN (FORMAT BINARY)"
        count = self.tx.copy(sql, types, _fitting(table, rows))
        self._driver.execute(f"ANALYZE {table.name}")
        return count

    def prepare(self, table: Table, weeks: Sequence[int]) -> None:
        """Make the partitions of these weeks."""
        partitions.make_all(self.tx, [Partition(table.name, start_ms) for start_ms in weeks])

    def alone(self) -> None:
        """Block other writers until the transaction ends. Readers go on."""
        names = ", ".join(table.name for table in metadata.sorted_tables)
        self._driver.execute(f"LOCK TABLE {names} IN EXCLUSIVE MODE")


def _fitting(table: Table, rows: Iterator[Row]) -> Iterator[Row]:
    """Yield the rows, checking that PostgreSQL can store them: it enforces the lengths of texts."""
    texts = [
        (place, column.name, column.type.length or 2**30)
        for place, column in enumerate(table.c)
        if isinstance(column.type, String) and not isinstance(column.type, LargeBinary)
    ]
    numbers = [
        (place, column.name, _WIDTHS[type(column.type)])
        for place, column in enumerate(table.c)
        if type(column.type) in _WIDTHS
    ]
    key = _key(table)
    for row in rows:
        for place, name, length in texts:
            value = row[place]
            if value is not None and (len(value) > length or "\0" in value):
                raise UnfitRowError(f"{table.name} {key(row)}: {name} is too long, or holds a zero byte")
        for place, name, width in numbers:
            value = row[place]
            if value is not None and not -width <= value < width:
                raise UnfitRowError(f"{table.name} {key(row)}: {name} is out of range")
        yield row

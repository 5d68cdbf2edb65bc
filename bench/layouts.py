"""Layouts of microtrips, compared: `python -m bench.layouts [--store postgresql] [--rows N]`.

The cost of one stored microtrip under each way to find it again: CPU time and elapsed time of the writing connection
in microseconds, and bytes of write-ahead log. Trips take turns, as live trips do. Behind
`docs/decisions/266-how-a-redelivery-is-found.md`; not part of the table.

| layout | found by trip | found by redelivery |
|---|---|---|
| bare | not at all | not at all |
| trip | index (trip, number) | scan of the trip |
| both | index (trip, number) | a second index (trip, instant) |
| instant | index (trip, instant), sorted to page | the same index |
| marks | index (trip, number) | a table (instant, mark, number) |
| later | a table (trip, number), written later in sorted bulk | a table (instant, mark, number) |
"""

import argparse
import contextlib
import os
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psycopg
from bench import shared
from bench.device_channel import disk

LAYOUTS: Final = ("bare", "trip", "both", "instant", "marks", "later")
SHAPES: Final = ((10_000, 60, 200), (10_000, 60, 2_000), (20, 50_000, 200), (20, 50_000, 2_000))
"""Trips, rows that each has before, rows of a batch."""
PAYLOAD: Final = 220
SAMPLES: Final = 41
LATER_ROWS: Final = 40_000
"""Rows that are indexed at once in the layout `later`."""
_TABLE: Final = (
    "CREATE TABLE microtrip (no {big} PRIMARY KEY, trip_no {big} NOT NULL, id TEXT NOT NULL, ts {big},"
    " ty INTEGER NOT NULL, payload {blob} NOT NULL, samples {blob} NOT NULL{more})"
)
_INDEXES: Final = {
    "trip": ["CREATE INDEX of_trip ON microtrip (trip_no, no)"],
    "both": [
        "CREATE INDEX of_trip ON microtrip (trip_no, no)",
        "CREATE INDEX of_place ON microtrip (trip_no, instant)",
    ],
    "instant": ["CREATE INDEX of_place ON microtrip (trip_no, instant, no)"],
    "marks": ["CREATE INDEX of_trip ON microtrip (trip_no, no)"],
}


@dataclass
class Side:
    """A database with one layout."""

    layout: str
    connection: Any
    postgresql: bool
    path: Path | None = None
    waiting: list[tuple[int, int]] = field(default_factory=list)

    @property
    def marked(self) -> bool:
        """Whether there is a table of marks."""
        return self.layout in ("marks", "later")

    @property
    def placed(self) -> bool:
        """Whether the row has its instant."""
        return self.layout in ("both", "instant")

    def create(self) -> None:
        """Make the tables, without indexes."""
        words = {"big": "BIGINT", "blob": "BYTEA"} if self.postgresql else {"big": "INTEGER", "blob": "BLOB"}
        more = f", instant {words['big']}" if self.placed else ""
        end = "" if self.postgresql else " WITHOUT ROWID"
        run = self.connection.execute
        run(_TABLE.format(**words, more=more))
        if self.marked:
            run(
                f"CREATE TABLE mark (instant {words['big']}, mark {words['big']}, no {words['big']},"
                f" PRIMARY KEY (instant, mark, no)){end}"
            )
        if self.layout == "later":
            run(f"CREATE TABLE of_trip (trip_no {words['big']}, no {words['big']}, PRIMARY KEY (trip_no, no)){end}")

    def insert(self, rows: list[tuple[Any, ...]]) -> None:
        """Add rows in one transaction; each is (no, trip, id, ts, ty, payload, samples)."""
        self._append("microtrip", [(*row, row[3]) for row in rows] if self.placed else rows)
        if self.marked:
            self._append("mark", [(row[3], row[1] * 7_919 % 2**61, row[0]) for row in rows])
        if self.layout == "later":
            self.waiting += [(row[1], row[0]) for row in rows]
            if len(self.waiting) >= LATER_ROWS:
                self._append("of_trip", sorted(self.waiting))
                self.waiting.clear()
        self.connection.commit()

    def _append(self, table: str, rows: list[tuple[Any, ...]]) -> None:
        if self.postgresql:
            types = ["int8"] * len(rows[0])
            if table == "microtrip":
                types[2], types[4:7] = "text", ["int4", "bytea", "bytea"]
            with self.connection.cursor().copy(f"COPY {table} FROM STDIN (FORMAT BINARY)") as copy:
                copy.set_types(types)
                for row in rows:
                    copy.write_row(row)
            return
        width = len(rows[0])
        one = f"({', '.join('?' * width)})"
        for start in range(0, len(rows), 400):
            part = rows[start : start + 400]
            values = [value for row in part for value in row]
            self.connection.execute(f"INSERT INTO {table} VALUES {', '.join([one] * len(part))}", values)

    def index(self) -> None:
        """Make the indexes, as a database has them that was used for long."""
        for statement in _INDEXES.get(self.layout, []):
            self.connection.execute(statement)
        self.connection.commit()
        self.settle()

    def settle(self) -> None:
        """Carry the log over, so that the next round begins with an empty one."""
        if self.postgresql:
            self.connection.commit()
            self.connection.autocommit = True
            self.connection.execute("CHECKPOINT")
            self.connection.autocommit = False
        else:
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def logged(self) -> int:
        """Bytes of the log so far."""
        if self.postgresql:
            found = self.connection.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchone()
            return int(found[0])
        assert self.path is not None
        log = Path(f"{self.path}-wal")
        return log.stat().st_size if log.exists() else 0


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--rows", type=int, default=200_000, help="rows that are measured, of each layout and shape")
    parser.add_argument("--only", nargs="*", default=LAYOUTS, choices=LAYOUTS)
    wanted = parser.parse_args()
    print(f"{'trips':>7}{'of rows':>9}{'batch':>7}  {'layout':10}{'us elapsed':>11}{'us CPU':>9}{'log bytes':>11}")
    for trips, length, batch in SHAPES:
        for layout in wanted.only:
            with opened(layout, postgresql=wanted.store == "postgresql") as side:
                elapsed, cpu, logged = measured(side, trips, length, batch, wanted.rows)
            print(f"{trips:>7}{length:>9}{batch:>7}  {layout:10}{elapsed:>11.1f}{cpu:>9.1f}{logged:>11.0f}", flush=True)


@contextlib.contextmanager
def opened(layout: str, *, postgresql: bool) -> Iterator[Side]:
    """A database of its own."""
    if postgresql:
        with shared.database() as cluster, psycopg.connect(cluster.url(shared.DATABASE)) as connection:
            cluster.run(f"GRANT pg_checkpoint TO {connection.info.user}")
            yield Side(layout, connection, postgresql=True)
        return
    with tempfile.TemporaryDirectory(dir=disk()) as folder:
        path = Path(folder) / "layout.db"
        connection = sqlite3.connect(path)
        for setting in ("journal_mode=WAL", "synchronous=FULL", "wal_autocheckpoint=0", "cache_size=-8192"):
            connection.execute(f"PRAGMA {setting}")
        connection.execute("PRAGMA mmap_size=268435456")
        yield Side(layout, connection, postgresql=False, path=path)
        connection.close()


def measured(side: Side, trips: int, length: int, batch: int, rows: int) -> tuple[float, float, float]:
    """Microseconds elapsed and of CPU (its own process), and bytes of log, a row."""
    side.create()
    source = made(trips)
    for _ in range(trips * length // 20_000):
        side.insert([next(source) for _ in range(20_000)])
    side.index()
    logged = side.logged()
    elapsed = cpu = 0.0
    for _ in range(rows // batch):
        part = [next(source) for _ in range(batch)]
        started, used = time.perf_counter(), time.thread_time()
        side.insert(part)
        elapsed += time.perf_counter() - started
        cpu += time.thread_time() - used
    return elapsed / rows * 1e6, cpu / rows * 1e6, (side.logged() - logged) / rows


def made(trips: int) -> Iterator[tuple[Any, ...]]:
    """Rows of trips that take turns, a second apart each; their numbers ascend."""
    chance = random.Random(1)
    first = 139_000_000_000_000_000
    nos = [first + number for number in range(trips)]
    at_ms = 1_760_000_000_000
    no = first + 10_000_000
    while True:
        at_ms += 1_000
        for trip_no in nos:
            no += 1_000
            payload = chance.randbytes(8) + b"x" * (PAYLOAD - 8)
            yield no, trip_no, f"{no:036d}", at_ms + trip_no % 1_000, 2, payload, os.urandom(1) * SAMPLES


if __name__ == "__main__":
    sys.exit(main())

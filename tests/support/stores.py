"""Empty stores for tests: files of SQLite, or databases on PostgreSQL when the run is about that.

`pytest --store=postgresql` (or `TESTED_STORE=postgresql`) has every store and server of a run on PostgreSQL. A
test names its database by the folder that it would have it in, whichever it is: a data folder of a server, or its own.
"""

import itertools
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Select, Table, select

from tests.support import databases, pooled_files
from tripline.store import migrate
from tripline.store.database import sqlite
from tripline.store.database.postgres import PostgresStore
from tripline.store.database.sqlite import SqliteStore
from tripline.store.transactions import Store, WriteTx

VARIABLE: Final = "TESTED_STORE"

PATIENCE_S: Final = 60

Content = bytes | databases.Content
"""Everything that is in a database, to be filled into one of the same kind."""


def examples(count: int) -> int:
    """Of so many examples of a property as many as a run takes: on PostgreSQL each costs many times more."""
    return max(count // 5, 8) if on_postgresql() else count


def folders(parent: Path) -> Iterator[Path]:
    """New folders in a folder: one for each database of a test that makes many."""
    for number in itertools.count():
        folder = parent / str(number)
        folder.mkdir()
        yield folder


def on_postgresql() -> bool:
    """Whether this run is about PostgreSQL."""
    return os.environ.get(VARIABLE) == "postgresql"


@dataclass(frozen=True, slots=True)
class Database:
    """The database of a folder."""

    folder: Path

    @property
    def path(self) -> Path:
        """Its file; there is none on PostgreSQL."""
        return self.folder / "tripline.db"

    @property
    def url(self) -> str:
        """Its address for `store.url`; empty when it is the file."""
        return self._shared.url if on_postgresql() else ""

    def open(self, *, readers: int = 2) -> Store:
        """A store over it, whose commits need not survive the machine: no test ends that. The caller closes it."""
        if on_postgresql():
            return PostgresStore(self.url, readers=readers, connect=self._shared.sessions.connect)
        store = SqliteStore(self.path, readers=readers)
        store._writer.driver.execute("PRAGMA synchronous=OFF")
        return store

    def empty(self) -> None:
        """Have every table and no row in it; nobody has it open."""
        if on_postgresql():
            databases.pool().take_empty(self._name)
        elif not pooled_files.lend(self.path, empty()):
            self.path.write_bytes(empty())

    def content(self) -> Content:
        """Everything that is in it, whoever has it open."""
        if on_postgresql():
            return self._shared.content()
        with closing(sqlite3.connect(self.path)) as connection:
            return connection.serialize()

    def fill(self, content: Content) -> None:
        """Let it hold this content, whoever has it open; no company may be in it yet."""
        if isinstance(content, dict):
            assert self.rows("SELECT count(*) FROM company") == [(0,)], "something was done before"
            self._shared.fill(content)
            return
        with closing(sqlite3.connect(self.path)) as target, target:
            assert target.execute("SELECT count(*) FROM company").fetchone() == (0,), "something was done before"
            target.execute("PRAGMA synchronous = OFF")
            for statement, rows in _inserts(content):
                target.executemany(statement, rows)

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """What a statement gives or does beside a server, in a transaction of its own; `?` stands for each value."""
        if on_postgresql():
            return self._shared.rows(statement, *values)
        with closing(sqlite3.connect(self.path, timeout=10)) as connection, connection:
            return connection.execute(statement, values).fetchall()

    def everything(self) -> bytes:
        """All that is kept, to look for what must not be."""
        if on_postgresql():
            return b"".join(self._shared.content().values())
        file = self.path.resolve()
        return b"".join(path.read_bytes() for path in file.parent.glob(f"{file.name}*"))

    def damage(self) -> list[str]:
        """What is wrong with the file, as SQLite finds; PostgreSQL has no such question."""
        found = [] if on_postgresql() else [text for (text,) in self.rows("PRAGMA integrity_check")]
        return [text for text in found if text != "ok"]

    @property
    def _shared(self) -> databases.Database:
        return databases.pool().take(self._name)

    @property
    def _name(self) -> str:
        return str(self.folder.resolve())


@cache
def ordered(table: Table, columns: tuple[str, ...]) -> Select[Any]:
    """Return the statement that reads these columns, or all without a name, in the order of the key."""
    return select(*(table.c[name] for name in columns or table.c.keys())).order_by(*table.primary_key.columns)


class WriteLock:
    """The right to write to a store, taken from whoever else has it open."""

    def __init__(self, folder: Path) -> None:
        self._database = Database(folder)
        self._taken = False
        if on_postgresql():
            self._connection: Any = self._database._shared.another()
        else:
            self._connection = sqlite3.connect(
                self._database.path, isolation_level=None, check_same_thread=False, timeout=PATIENCE_S
            )

    def take(self) -> None:
        """Nobody else writes from now on; transactions under way end first."""
        if not self._taken:
            self._connection.execute("BEGIN" if on_postgresql() else "BEGIN IMMEDIATE")
            if on_postgresql():
                tables = ", ".join(f'"{name}"' for name in self._database._shared.tables)
                self._connection.execute(f"LOCK TABLE {tables} IN EXCLUSIVE MODE")
        self._taken = True

    def close(self) -> None:
        """Give it back."""
        if self._taken:
            self._connection.execute("ROLLBACK")
        self._connection.close()


def spoil(tx: WriteTx, event: str, *, when: str = "") -> None:
    """Have every `INSERT ON table` or `UPDATE ON table` fail from now on, perhaps only `when` something is so."""
    condition = f"WHEN ({when})" if when else ""
    if tx.shared:
        body = "BEGIN RAISE EXCEPTION 'spoilt'; END"
        tx.run_sql(f"CREATE FUNCTION spoilt() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$", ())
        tx.run_sql(f"CREATE TRIGGER spoilt BEFORE {event} FOR EACH ROW {condition} EXECUTE FUNCTION spoilt()", ())
    else:
        tx.run_sql(f"CREATE TRIGGER spoilt BEFORE {event} {condition} BEGIN SELECT RAISE(ABORT, 'spoilt'); END", ())


def mend(tx: WriteTx) -> None:
    """Let it succeed again."""
    tx.run_sql("DROP FUNCTION spoilt CASCADE" if tx.shared else "DROP TRIGGER spoilt", ())


def fresh(folder: Path) -> Database:
    """The folder's database, with every table and no row."""
    database = Database(folder)
    database.empty()
    return database


def migrated(folder: Path) -> Database:
    """The folder's database as programs find it: with every table, no row, and the mark of its schema."""
    database = Database(folder)
    if on_postgresql():
        database.empty()
    else:
        database.path.write_bytes(installed())
    return database


def filled(folder: Path, content: Content) -> Database:
    """The folder's database, with this content."""
    database = fresh(folder)
    database.fill(content)
    return database


def fresh_file(folder: Path) -> Path:
    """The file of SQLite with every table and no row, for tests that are about such files."""
    path = Database(folder).path
    path.write_bytes(empty())
    return path


def variables(data: Path) -> dict[str, str]:
    """Environment variables that give a server or command on this data folder its database."""
    return {"TRIPLINE_STORE_URL": Database(data).url} if on_postgresql() else {}


@cache
def _inserts(content: bytes) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """Statements with the rows of this content. To copy its pages would take three times as long: whoever has the
    target open would read its schema again."""
    with closing(sqlite3.connect(":memory:")) as source:
        source.deserialize(_in_memory(content))
        tables = source.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'"
        )
        filled = [(name, source.execute(f'SELECT * FROM "{name}"').fetchall()) for (name,) in tables.fetchall()]
    return [
        (f'INSERT OR REPLACE INTO "{name}" VALUES ({", ".join("?" * len(rows[0]))})', rows)
        for name, rows in filled
        if rows
    ]


@cache
def installed() -> bytes:
    """The content of a database file as a first start makes it; made once, for it takes as long as all of a start."""
    with tempfile.TemporaryDirectory(prefix="tripline-test-") as folder:
        path = Database(Path(folder)).path
        migrate.upgrade(path)
        with closing(sqlite3.connect(path)) as connection:
            return connection.serialize()


@cache
def empty() -> bytes:
    """The content of a database file with every table and no row, as a store keeps its file (WAL); made once, for it
    takes longer than most tests."""
    with tempfile.TemporaryDirectory(prefix="tripline-test-") as folder:
        engine = sqlite.open_engine(Database(Path(folder)).path)
        with engine.begin() as connection:
            migrate.make_tables(connection)
        with engine.connect() as connection:
            driver = connection.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            content = driver.serialize()
            driver.close()
        engine.dispose()
    return content


@cache
def empty_in_memory() -> bytes:
    """The same for a database in memory, which has no log beside it (https://sqlite.org/fileformat.html, 1.3.3)."""
    return _in_memory(empty())


def _in_memory(content: bytes) -> bytes:
    return content[:18] + b"\1\1" + content[20:]

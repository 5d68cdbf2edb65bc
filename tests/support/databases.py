"""Empty PostgreSQL databases for tests, on one server for the whole run: each is used again, emptied, by later tests.

`fresh` is for a test that is about PostgreSQL. What runs on either store takes its databases from `stores.py`.
"""

import atexit
import contextlib
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import psycopg
from psycopg import sql

from tests.support import postgres
from tests.support.postgres import Cluster, Server
from tests.support.sessions import Sessions
from tripline.store import migrate

PORT = "TESTED_POSTGRES_PORT"
"""Environment variable of a test run: the port of the server that all its processes share."""
TEMPLATE = "template_tripline"
NOW_MS = 1_760_000_000_000
"""When the template was made, by its own account: most tests' clocks stand about there."""
LARGE_BYTES = 2**16
"""A table of this size is cut off rather than emptied row by row."""
OWN_OIDS = 16_384
"""PostgreSQL numbers from here on what is made after `initdb` (FirstNormalObjectId)."""
_SCHEMA = """
    SELECT (SELECT count(*) FROM pg_class WHERE oid >= {own}),
           (SELECT count(*) FROM pg_attribute WHERE attrelid >= {own} AND NOT attisdropped),
           (SELECT count(*) FROM pg_trigger WHERE oid >= {own}),
           (SELECT count(*) FROM pg_proc WHERE oid >= {own})""".replace("{own}", str(OWN_OIDS))
_TABLES = """
    SELECT relname FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
    AND relname <> 'schema_version' ORDER BY relname"""
_HELD = """
    SELECT relname, oid::int FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'schema_version' ORDER BY relname"""
_EMPTY = """
    CREATE FUNCTION pg_temp.empty(kept int[]) RETURNS void LANGUAGE plpgsql AS $$ DECLARE size bigint; BEGIN
        PERFORM pg_terminate_backend(pid) FROM pg_stat_get_activity(NULL)
            WHERE datid = {database} AND pid <> pg_backend_pid() AND pid <> ALL (kept);
        {tables}
    END $$"""
_EMPTY_TABLE = """
        size := pg_relation_size({oid});
        IF size >= {large} THEN
            TRUNCATE "{name}" CASCADE;
        ELSIF size > 0 THEN
            DELETE FROM "{name}";
        END IF;""".replace("{large}", str(LARGE_BYTES))

_numbers = itertools.count(1)

Content = dict[str, bytes]
"""Rows of every table that has some, as COPY gives them."""


@dataclass
class Database:
    """A database with every table, and a connection of the administrator's to it."""

    name: str
    url: str
    own_url: str
    """The administrator's, who may do more."""
    connection: psycopg.Connection[Any]
    keeper: psycopg.Connection[Any]
    """Another one, whose changes set no trigger off. It does the same after every test, by plans that it keeps."""
    sessions: Sessions = field(default_factory=Sessions)
    schema: tuple[Any, ...] = ()
    tables: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        held = self.keeper.execute(_HELD).fetchall()
        ((database,),) = self.keeper.execute("SELECT oid::int FROM pg_database WHERE datname = current_database()")
        parts = [_EMPTY_TABLE.replace("{name}", name).replace("{oid}", str(oid)) for name, oid in held]
        self.keeper.execute(_EMPTY.replace("{database}", str(database)).replace("{tables}", "".join(parts)).encode())
        self.schema = self._look()
        self.tables = [name for (name,) in self.connection.execute(_TABLES)]

    def empty(self) -> None:
        """Let whoever is connected go, and delete every row."""
        kept = [self.connection.info.backend_pid, *self.sessions.pids()]
        self.keeper.execute("SELECT pg_temp.empty(%s::int[])", [kept])

    def leave(self) -> None:
        """Close every connection of ours."""
        self.sessions.close()
        self.keeper.close()
        self.connection.close()

    def changed(self) -> bool:
        """Whether a test made or dropped tables, columns, triggers or functions."""
        return self._look() != self.schema

    def content(self) -> Content:
        """Every row."""
        found = {}
        for table in self.tables:
            if self.connection.execute(_statement("SELECT EXISTS (SELECT FROM {})", table)).fetchone() == (True,):
                with self.connection.cursor().copy(
                    _statement("COPY (SELECT * FROM {}) TO STDOUT (FORMAT binary)", table)
                ) as copy:
                    found[table] = b"".join(copy)
        return found

    def fill(self, content: Content) -> None:
        """Append these rows, without what their insertion would set off."""
        with self.keeper.transaction(), self.keeper.cursor() as cursor:
            for table, rows in content.items():
                with cursor.copy(_statement("COPY {} FROM STDIN (FORMAT binary)", table)) as copy:
                    copy.write(rows)

    def another(self) -> psycopg.Connection[Any]:
        """Another connection of the administrator's. The caller closes it."""
        return server().connect(self.name)

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows of a statement, with `?` for each value; a statement without rows gives none."""
        text = statement.replace("%", "%%").replace("?", "%s") if values else statement
        cursor = self.connection.execute(text, values or None)  # type: ignore[arg-type]
        return cursor.fetchall() if cursor.description is not None else []

    def _look(self) -> tuple[Any, ...]:
        found = self.keeper.execute(_SCHEMA).fetchone()
        assert found is not None
        return found


class Pool:
    """Databases by the names that tests give them."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._taken: dict[str, Database] = {}
        self._free: list[Database] = []

    def take(self, name: str) -> Database:
        """The database of this name, empty when nobody has taken it before."""
        database = self._taken.get(name)
        if database is None:
            database = self._taken[name] = self._free.pop() if self._free else self._make()
        return database

    def take_empty(self, name: str) -> Database:
        """The database of this name, emptied when somebody has taken it before."""
        if name in self._taken:
            self._taken[name].empty()
        return self.take(name)

    def taken(self) -> list[str]:
        """The names in use, in the order in which they were taken."""
        return list(self._taken)

    def give_back(self, names: list[str]) -> None:
        """Let others use these databases, unless they are not what they were."""
        for name in names:
            database = self._taken.pop(name)
            if database.changed():
                self._drop(database)
            else:
                database.empty()
                self._free.append(database)

    def drop(self, name: str) -> None:
        """Delete the database of this name, whoever uses it."""
        self._drop(self._taken.pop(name))

    def close(self) -> None:
        """Leave every database."""
        for database in (*self._taken.values(), *self._free):
            database.leave()

    def _make(self) -> Database:
        name = f"test_{os.getpid()}_{next(_numbers)}"
        url = self._server.create(name, template=TEMPLATE)
        keeper = self._server.connect(name)
        keeper.execute("SET session_replication_role = replica")
        return Database(name, url, self._server.own_url(name), self._server.connect(name), keeper)

    def _drop(self, database: Database) -> None:
        database.leave()
        self._server.drop(database.name)


@cache
def server() -> Server:
    """The server of this run; started when it is needed first, unless the run's first process did."""
    port = os.environ.get(PORT)
    if port is not None:
        return Server(int(port))
    postgres.need("what needs a database on PostgreSQL")
    made = started()
    atexit.register(close)
    return made


def started() -> Cluster:
    """A server with the template of databases on it. The caller removes it."""
    made = Cluster()
    migrate.upgrade_shared(made.create(TEMPLATE), now_ms=NOW_MS)
    return made


@cache
def pool() -> Pool:
    """The databases of this process."""
    return Pool(server())


def taken() -> list[str]:
    """Names of the databases in use, in the order in which they were taken."""
    return pool().taken() if pool.cache_info().currsize else []


def give_back(names: list[str]) -> None:
    """Let others use these databases."""
    if names:
        pool().give_back(names)


@contextlib.contextmanager
def fresh(name: str = "fresh") -> Iterator[Database]:
    """An empty database for the length of a `with` block."""
    database = pool().take(f"{name} {len(pool().taken())}")
    try:
        yield database
    finally:
        pool().give_back([key for key in pool().taken() if pool().take(key) is database])


def pid() -> int | None:
    """The process of the server, if this process has started it."""
    running = server() if server.cache_info().currsize else None
    return running.pid if isinstance(running, Cluster) else None


def close() -> None:
    """Leave every database, and end the server if this process has started it."""
    if pool.cache_info().currsize:
        pool().close()
        pool.cache_clear()
    if server.cache_info().currsize:
        running = server()
        server.cache_clear()
        if isinstance(running, Cluster):
            running.remove()


def _statement(text: str, table: str) -> sql.Composed:
    return sql.SQL(text).format(sql.Identifier(table))  # type: ignore[arg-type]

"""A transaction on an empty database, and what was asked of it."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from tests.support import databases, stores
from tripline.store.database import postgres, sqlite
from tripline.store.database.postgres_statements import PostgresTx, Statements
from tripline.store.transactions import WriteTx


@contextmanager
def memory(*, keys_checked: bool = True) -> Iterator[WriteTx]:
    """A transaction that sees every table and no row; nothing is left of it afterwards.

    `keys_checked`: rows that name others must name some that are there.
    """
    if stores.on_postgresql():
        with (
            databases.fresh() as database,
            postgres.open_engine(database.url if keys_checked else database.own_url).connect() as connection,
        ):
            tx = PostgresTx(connection)
            tx.run_sql("BEGIN", ())
            # The tests of a file share it, and others of theirs may take long.
            tx.run_sql("SET LOCAL idle_in_transaction_session_timeout = 0", ())
            if not keys_checked:
                tx.run_sql("SET LOCAL session_replication_role = replica", ())
            yield tx
            tx.run_sql("ROLLBACK", ())
        return
    engine = sqlite.open_engine(":memory:")
    with engine.connect() as connection:
        tx = WriteTx(connection)
        driver = _driver(tx)
        driver.deserialize(stores.empty_in_memory())
        if not keys_checked:
            driver.execute("PRAGMA foreign_keys=OFF")
        yield tx
    engine.dispose()
    driver.close()


@contextmanager
def undone(tx: WriteTx) -> Iterator[None]:
    """What is written inside the block is rolled back behind it; the driver would forget what is prepared."""
    tx.run_sql("SAVEPOINT undone", ())
    try:
        yield
    finally:
        tx.run_sql("ROLLBACK TO SAVEPOINT undone", ())


@contextmanager
def statements(tx: WriteTx) -> Iterator[list[str]]:
    """The SELECTs that are run inside the block."""
    seen: list[str] = []
    driver = tx.connection.connection.driver_connection
    if isinstance(driver, psycopg.Connection):

        def note(query: object) -> None:
            if str(query).startswith("SELECT"):
                seen.append(str(query))

        class SeenCursor(psycopg.Cursor[Any]):
            def execute(self, query: Any, *more: Any, **named: Any) -> Any:
                note(query)
                return super().execute(query, *more, **named)

        class SeenStatements(Statements):
            def rows(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
                note(sql)
                return super().rows(sql, values)

        usual, driver.cursor_factory = driver.cursor_factory, SeenCursor
        assert isinstance(tx, PostgresTx)
        kept, tx._statements = tx._statements, SeenStatements(driver)
        yield seen
        tx._statements = kept
        driver.cursor_factory = usual
        return
    _driver(tx).set_trace_callback(lambda sql: seen.append(sql) if sql.startswith("SELECT") else None)
    yield seen
    _driver(tx).set_trace_callback(None)


def plan(tx: WriteTx, sql: str) -> list[tuple[int, int, int, str]]:
    """How SQLite would run the statement."""
    rows: list[tuple[int, int, int, str]] = _driver(tx).execute(f"EXPLAIN QUERY PLAN {sql}").fetchall()
    return rows


def _driver(tx: WriteTx) -> sqlite3.Connection:
    driver = tx.connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver

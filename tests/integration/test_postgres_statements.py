"""Statements that are prepared by hand: what they answer, what is kept of them, what others do while one waits."""

import asyncio
import threading
import time

import psycopg
import pytest
from psycopg import errors
from sqlalchemy import func, literal, select
from sqlalchemy.engine.interfaces import CacheStats
from tests.support import databases

from tripline.store.database import postgres
from tripline.store.database.postgres import PostgresStore
from tripline.store.database.postgres_statements import KEPT, Statements
from tripline.store.transactions import Hot


@pytest.fixture
def driver():
    with databases.fresh() as database, postgres.open_engine(database.url).connect() as connection:
        yield connection.connection.driver_connection


@pytest.fixture
def statements(driver):
    return Statements(driver)


def prepared(driver):
    return driver.execute("SELECT statement FROM pg_prepared_statements WHERE name LIKE 'hot%' ORDER BY 1").fetchall()


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("bigint", 2**63 - 1),
        ("bigint", -(2**63)),
        ("smallint", 7),
        ("double precision", 0.1),
        ("boolean", True),
        ("boolean", False),
        ("text", "가나다 %s %% $1"),
        ("text", ""),
        ("bytea", b"\x00\xff%s"),
        ("bytea", b""),
        ("text", None),
        ("bigint", None),
        ("bytea", None),
        ("bigint[]", [1, 2**40]),
        ("text[]", ["a", "b'"]),
    ],
)
def test_value_comes_back_as_it_went(statements, type_, value):
    assert statements.rows(f'SELECT $1::{type_}, $1::{type_} AS "100%"', [value]) == [(value, value)]


def test_text_that_the_database_does_not_know_is_replaced(statements):
    assert statements.rows("SELECT $1::TEXT", ["a\0b\ud800"]) == [("a\ufffdb\ufffd",)]


def test_rows_come_in_order_and_statements_without_any_answer_none(driver, statements):
    driver.execute("CREATE TEMPORARY TABLE drawer (no bigint)")

    assert statements.rows("INSERT INTO drawer SELECT generate_series(1, $1)", [3]) == []
    assert statements.rows("SELECT no FROM drawer WHERE no > $1 ORDER BY no", [3]) == []
    assert statements.rows("SELECT no FROM drawer ORDER BY no DESC", []) == [(3,), (2,), (1,)]
    assert statements.rows("DELETE FROM drawer WHERE no < $1 RETURNING no", [2]) == [(1,)]


def test_statement_is_prepared_once_for_each_kind_of_values(driver, statements):
    for value in (1, 2, 3, None, 2**40, None, 4):
        assert statements.rows("SELECT $1::bigint", [value]) == [(value,)]

    assert len(prepared(driver)) == 3, "of two bytes, of eight, and unknown"


def test_statement_that_was_not_used_for_longest_makes_room(driver, statements):
    for number in range(KEPT):
        statements.rows(f"SELECT {number}", [])
    assert len(prepared(driver)) == KEPT

    statements.rows("SELECT 0", [])
    statements.rows("SELECT -1", [])

    kept = {text for (text,) in prepared(driver)}
    assert len(kept) == KEPT
    assert {"SELECT 0", "SELECT -1"} <= kept
    assert "SELECT 1" not in kept
    assert statements.rows("SELECT 1", []) == [(1,)]


@pytest.mark.parametrize(
    ("sql", "values", "error"),
    [
        ("SELECT nothing", [], errors.UndefinedColumn),
        ("SELECT 1 / $1::int", [0], errors.DivisionByZero),
        ("SELECT $1::text::int", ["x"], errors.InvalidTextRepresentation),
    ],
    ids=["when it is prepared", "when it is executed", "a value"],
)
def test_refusal_of_the_database_is_the_error_of_the_driver_and_the_next_statement_goes_on(
    statements, sql, values, error
):
    with pytest.raises(error):
        statements.rows(sql, values)

    assert statements.rows("SELECT 1", []) == [(1,)]


def test_statement_that_was_prepared_in_what_was_rolled_back_can_be_used(driver, statements):
    driver.execute("BEGIN")
    statements.rows("SELECT $1::int", [1])
    driver.execute("ROLLBACK")

    assert statements.rows("SELECT $1::int", [2]) == [(2,)]


@pytest.mark.parametrize("used_before", [True, False])
def test_connection_that_was_cut_is_an_operational_error(driver, statements, used_before):
    if used_before:
        statements.rows("SELECT 1", [])
    with pytest.raises(psycopg.OperationalError):
        statements.rows("SELECT pg_terminate_backend(pg_backend_pid())", [])

    with pytest.raises(psycopg.OperationalError):
        statements.rows("SELECT 1", [])


def test_other_threads_run_while_a_statement_waits_for_the_server(statements):
    """The interpreter's lock is not held meanwhile: the event loop lives in another thread."""
    statements.rows("SELECT pg_sleep($1)", [0.0])
    waiting = threading.Thread(target=statements.rows, args=("SELECT pg_sleep($1)", [1.0]))
    longest, last = 0.0, time.monotonic()

    waiting.start()
    while waiting.is_alive():
        time.sleep(0.001)
        now = time.monotonic()
        longest, last = max(longest, now - last), now

    assert longest < 0.9


def prepared_by_driver(driver):
    """Something that the driver itself keeps prepared: then it minds what was rolled back."""
    for number in range(7):
        driver.execute("SELECT %s::bigint + 1", [number])


@pytest.mark.parametrize(
    "command", ["ROLLBACK TO SAVEPOINT here", "DROP TABLE drawer", "ALTER TABLE drawer ADD COLUMN more text"]
)
def test_what_is_prepared_outlives_a_command_behind_which_the_driver_would_forget_all(driver, statements, command):
    statements.run("CREATE TEMPORARY TABLE drawer (no bigint)", ())
    prepared_by_driver(driver)
    statements.run("BEGIN", ())
    assert statements.rows("SELECT $1::int", [1]) == [(1,)]
    statements.run("SAVEPOINT here", ())

    statements.run(command, ())

    assert driver.execute("SELECT 1").fetchone() == (1,)  # the driver tidies up at its next statement
    assert statements.rows("SELECT $1::int", [2]) == [(2,)]
    statements.run("ROLLBACK", ())


def test_rows_touched_are_counted_with_values_and_without(statements):
    statements.run("CREATE TEMPORARY TABLE drawer (no bigint)", ())

    assert statements.run("INSERT INTO drawer SELECT unnest(%s::bigint[])", [[1, 2, 3]]) == 3
    assert statements.run("DELETE FROM drawer WHERE no > 1", ()) == 2
    assert statements.run("SET lock_timeout = '1s'", ()) == 0


def test_work_is_run_again_when_something_had_the_server_forget_what_was_prepared():
    runs = []
    one = Hot(select(literal(1)))

    def work(tx):
        runs.append(tx.hot(one))
        return runs[-1]

    async def scenario(url):
        store = PostgresStore(url, readers=1, writers=1)
        try:
            for opened in (store.read, store.write):
                await opened(work)
                await opened(lambda tx: tx.connection.exec_driver_sql("DEALLOCATE ALL"))
                assert await opened(work) == [(1,)]
                assert await opened(work) == [(1,)]
        finally:
            await store.close()

    with databases.fresh() as database:
        asyncio.run(scenario(database.url))

    assert runs == [[(1,)]] * 6


def test_what_one_connection_compiled_is_compiled_for_those_of_other_databases():
    statement = select(func.current_database(), literal("of this test alone"))
    found = []
    with databases.fresh("one") as first, databases.fresh("two") as second:
        with postgres.open_engine(first.url).connect():
            pass  # learns what the server can do
        for database in (first, second):
            with postgres.open_engine(database.url).connect() as connection:
                answer = connection.execute(statement)
                found.append((answer.context.cache_hit, answer.scalar()))

    assert found == [(CacheStats.CACHE_MISS, first.name), (CacheStats.CACHE_HIT, second.name)]

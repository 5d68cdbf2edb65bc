"""Multi-row inserts: every number of rows arrives whole and in order."""

import sqlite3

import pytest
from tests.support import rows

from tripline.store import tables
from tripline.store.bulk import LARGEST, Bulk

JOBS = Bulk(tables.scoring_job, "trip_no", "due_ms")


@pytest.mark.parametrize("count", [0, 1, 2, 3, LARGEST - 1, LARGEST, LARGEST + 1, 3 * LARGEST + 7])
def test_insert_of_any_number_of_rows_stores_each_once(count: int) -> None:
    with rows.memory() as tx:
        JOBS.insert(tx, [value for no in range(count) for value in (no, no * 10)])
        statement = "SELECT trip_no, due_ms, attempts FROM scoring_job ORDER BY trip_no"
        found = tx.connection.exec_driver_sql(statement).all()

    assert [tuple(row) for row in found] == [(no, no * 10, 0) for no in range(count)]


def test_upsert_replaces_what_was_there() -> None:
    upsert = Bulk(
        tables.scoring_job,
        "trip_no",
        "due_ms",
        on_conflict="ON CONFLICT (trip_no) DO UPDATE SET due_ms = excluded.due_ms",
    )
    with rows.memory() as tx:
        upsert.insert(tx, [1, 10, 2, 20, 3, 30])
        upsert.insert(tx, [2, 21, 4, 40])
        found = tx.connection.exec_driver_sql("SELECT trip_no, due_ms FROM scoring_job ORDER BY trip_no").all()

    assert [tuple(row) for row in found] == [(1, 10), (2, 21), (3, 30), (4, 40)]


def test_unknown_column_is_a_bug() -> None:
    with pytest.raises(AssertionError, match="scoring_job has no column"):
        Bulk(tables.scoring_job, "trip_no", "colour")


@pytest.mark.sqlite("a limit of SQLite")
def test_widest_statement_stays_under_sqlites_number_of_values() -> None:
    connection = sqlite3.connect(":memory:")
    limit = connection.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER)
    connection.close()

    assert LARGEST * len(tables.trip.c) <= limit

"""Statements of a transaction and their query plans, on SQLite and on PostgreSQL."""

import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg import sql
from sqlalchemy.dialects.sqlite import dialect

from tests.support import rows
from tripline.store.transactions import Hot, ReadTx

WHOLE = re.compile(r"Seq Scan on (\w+)")
PLANS = ("force_custom_plan", "force_generic_plan")


class Recording:
    """Statements that ran in a transaction, by the name set while they ran: name -> text -> first values."""

    def __init__(self) -> None:
        self.now = ""
        self.by_name: dict[str, dict[str, list[Any]]] = defaultdict(dict)

    def __iter__(self) -> Iterator[tuple[str, str, list[Any]]]:
        for name, statements in self.by_name.items():
            for text, values in statements.items():
                yield name, text, values


@contextmanager
def recording(tx: ReadTx) -> Iterator[Recording]:
    """Record the statements that run inside the block."""
    made, hot = Recording(), type(tx).hot

    def recorded(self: ReadTx, statement: Any, *values: Any) -> Any:
        text, order, constants = statement.compiled(self._dialect)
        made.by_name[made.now].setdefault(text, [[*values, *constants][i] for i in order])
        return hot(self, statement, *values)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(tx), "hot", recorded)
        yield made


def sqlite_steps(tx: ReadTx, statements: Recording) -> Iterator[tuple[str, str, list[str]]]:
    """Yield name, text and plan of each statement."""
    driver: Any = tx.connection.connection.driver_connection
    explained: dict[str, list[str]] = {}
    for name, text, values in statements:
        if text not in explained:
            explained[text] = explain_sqlite(driver, text, values)
        yield name, text, explained[text]


def read_whole(
    tx: ReadTx, statements: Recording, *, small: frozenset[str] = frozenset()
) -> Iterator[tuple[str, str, str, str]]:
    """Yield the statements for which PostgreSQL finds no index, by their values and for any, with their plans.

    Reading a table whole is given a prohibitive cost; tables of `small` may be read whole.
    """
    driver: Any = tx.connection.connection.driver_connection
    driver.execute("SET LOCAL enable_seqscan = off")
    for plans in PLANS:
        driver.execute(f"SET LOCAL plan_cache_mode = {plans}")
        explained: dict[str, str] = {}
        for name, text, values in statements:
            if text not in explained:
                explained[text] = explain_postgres(driver, text, values)
            if set(WHOLE.findall(explained[text])) - small:
                yield name, plans, text, explained[text]


def explain_sqlite(driver: sqlite3.Connection, text: str, values: Sequence[Any] = ()) -> list[str]:
    """Return the steps of the plan."""
    return [row[3] for row in driver.execute(f"EXPLAIN QUERY PLAN {text}", values)]


def explain_postgres(driver: "psycopg.Connection[Any]", text: str, values: Sequence[Any]) -> str:
    """Return the plan of a prepared statement, a step a line."""
    driver.execute(f"PREPARE explained AS {text}")
    given = sql.SQL("({})").format(sql.SQL(", ").join(map(sql.Literal, values))) if values else sql.SQL("")
    steps = driver.execute(sql.SQL("EXPLAIN EXECUTE explained {}").format(given)).fetchall()
    driver.execute("DEALLOCATE explained")
    return "\n".join(step for (step,) in steps)


def explain_empty(statement: Hot | Callable[[ReadTx], object]) -> list[str]:
    """Return SQLite's steps of a statement on an empty store, or of the statements that a function runs there."""
    with rows.memory() as tx:
        driver: Any = tx.connection.connection.driver_connection
        if isinstance(statement, Hot):
            text, order, _ = statement.compiled(dialect())
            return explain_sqlite(driver, text, [None] * len(order))
        ran: list[str] = []
        driver.set_trace_callback(ran.append)
        statement(tx)
        driver.set_trace_callback(None)
        return [step for text in ran for step in explain_sqlite(driver, text)]

"""Plans of every list: no page reads a table whole; on SQLite it walks an index, or sorts few rows that an index found.

Every list is read by everybody who may, with each filter, in each order, its first page and, the other way, one deep in
it, and each statement that ran is explained; on PostgreSQL with statistics, for these values and for any.

Not here: how long it takes (`bench/lists.py`), REST (`test_query_plans.py`).
"""

import re
from collections import defaultdict

import pytest
from psycopg import sql
from tests.support import large_lists, rows, stores

from tripline.store.listing.pages import PageRequest, Place
from tripline.store.transactions import ReadTx

COUNT = 8_000
WALKED = re.compile(r"SCAN (page|few|found|there|CONSTANT ROW|company|\w+ USING (COVERING )?INDEX .*)$")
"""What SQLite may read from its beginning: rows that another step found, an index, the companies, which are few, and,
for those that are connected, connections."""
SORTED = ("companies", "services")
"""Lists of companies are few rows, which are sorted."""
WHOLE = re.compile(r"Seq Scan on (\w+)")
SMALL = {"company", "vehicle_position", "device_connection"}
"""What PostgreSQL may read whole: the same; and there is no position."""


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgresql", marks=[pytest.mark.deep, pytest.mark.timeout(900)])]
)
def tx(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(stores.VARIABLE, request.param)
        with rows.memory(keys_checked=False) as transaction:
            large_lists.fill(transaction, COUNT)
            yield transaction


@pytest.fixture
def asked(tx, monkeypatch):
    """The statements of each list's pages: text -> the values that it ran with."""
    seen = defaultdict(dict)
    hot, now = type(tx).hot, []

    def noting(self: ReadTx, statement, *values):
        text, order, constants = statement.compiled(self._dialect)
        seen[now[-1]].setdefault(text, [[*values, *constants][i] for i in order])
        return hot(self, statement, *values)

    monkeypatch.setattr(type(tx), "hot", noting)
    for each in large_lists.asked(COUNT):
        now.append(f"{each.name}, {each.looker}, {each.filters}")
        for by, deep in each.orders.items():
            each.page(tx, PageRequest(limit=50, by=by))
            each.page(tx, PageRequest(limit=50, by=by, descending=True, place=Place(deep, "m")))
    return seen


def test_page_walks_an_index_or_sorts_few_rows_and_reads_no_table_whole(tx, asked):
    wrong = postgresql_does_wrong(tx, asked) if tx.shared else sqlite_does_wrong(tx, asked)

    assert len(asked) > 200
    assert "\n\n".join("\n".join(each) for each in wrong) == ""


def sqlite_does_wrong(tx, asked):
    driver, explained = tx.connection.connection.driver_connection, {}
    for name, statements in asked.items():
        for text, values in statements.items():
            if text not in explained:
                explained[text] = [row[3] for row in driver.execute(f"EXPLAIN QUERY PLAN {text}", values)]
            steps = explained[text]
            whole = any(step.startswith("SCAN") and not WALKED.match(step) for step in steps)
            if whole or ("USE TEMP B-TREE FOR ORDER BY" in steps and not of_few(name, text)):
                yield name, text, *steps


def postgresql_does_wrong(tx, asked):
    """Yield what reads a table whole even though that is said to cost very much: no index leads to its rows."""
    driver, explained = tx.connection.connection.driver_connection, {}
    driver.execute("SET LOCAL enable_seqscan = off")
    for plans in ("force_custom_plan", "force_generic_plan"):
        driver.execute(f"SET LOCAL plan_cache_mode = {plans}")
        for name, statements in asked.items():
            for text, values in statements.items():
                if (plans, text) not in explained:
                    explained[plans, text] = plan(driver, text, values)
                if set(WHOLE.findall(explained[plans, text])) - SMALL:
                    yield name, plans, text, explained[plans, text]


def of_few(name: str, text: str) -> bool:
    """Whether the statement sorts companies, or the rows of a filter or of a range of names, up to `engine.MANY`."""
    return name.startswith(SORTED) or "WITH found" in text or "ORDER BY coalesce(" in text


def plan(driver, text: str, values) -> str:
    driver.execute(f"PREPARE asked AS {text}")
    given = sql.SQL("({})").format(sql.SQL(", ").join(map(sql.Literal, values))) if values else sql.SQL("")
    steps = driver.execute(sql.SQL("EXPLAIN EXECUTE asked {}").format(given)).fetchall()
    driver.execute("DEALLOCATE asked")
    return "\n".join(step for (step,) in steps)

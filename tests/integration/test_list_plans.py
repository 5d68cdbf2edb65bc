"""Plans of every list: no page reads a table whole; on SQLite it walks an index, or sorts few rows that an index found.

Every list is read by everybody who may, with each filter, in each order, its first page and, the other way, one deep in
it, and each statement that ran is explained; on PostgreSQL with statistics, for these values and for any.

Not here: how long it takes (`bench/lists.py`), REST (`test_query_plans.py`).
"""

import re

import pytest
from tests.support import large_lists, plans, rows, stores

from tripline.store.listing.pages import PageRequest, Place

pytestmark = pytest.mark.once("brings both stores")

COUNT = 8_000
WALKED = re.compile(r"SCAN (page|few|found|there|CONSTANT ROW|company|\w+ USING (COVERING )?INDEX .*)$")
"""What SQLite may read from its beginning: rows that another step found, an index, the companies, which are few, and,
for those that are connected, connections."""
SORTED = ("companies", "services")
"""Lists of companies are few rows, which are sorted."""
SMALL = frozenset({"company", "device_connection"})
"""What PostgreSQL may read whole: the same."""


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
def asked(tx):
    """The statements of each list's pages."""
    with plans.recording(tx) as statements:
        for each in large_lists.asked(COUNT):
            statements.now = f"{each.name}, {each.looker}, {each.filters}"
            for by, deep in each.orders.items():
                each.page(tx, PageRequest(limit=50, by=by))
                each.page(tx, PageRequest(limit=50, by=by, descending=True, place=Place(deep, "m")))
    return statements


def test_page_walks_an_index_or_sorts_few_rows_and_reads_no_table_whole(tx, asked):
    wrong = plans.read_whole(tx, asked, small=SMALL) if tx.shared else sqlite_does_wrong(tx, asked)

    assert len(asked.by_name) > 200
    assert "\n\n".join("\n".join(each) for each in wrong) == ""


def sqlite_does_wrong(tx, asked):
    for name, text, steps in plans.sqlite_steps(tx, asked):
        whole = any(step.startswith("SCAN") and not WALKED.match(step) for step in steps)
        if whole or ("USE TEMP B-TREE FOR ORDER BY" in steps and not of_few(name, text)):
            yield name, text, *steps


def of_few(name: str, text: str) -> bool:
    """Whether the statement sorts companies, or the rows of a filter or of a range of names, up to `engine.MANY`."""
    return name.startswith(SORTED) or "WITH found" in text or "ORDER BY coalesce(" in text

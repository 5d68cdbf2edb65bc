"""The interface specification, row by row, against a real server.

The rows are read from the document, so that none is left out; a row without a check fails, and so does a check without
a row. What is not there yet is in `checks.LATER`, with a check of what the program says instead.
"""

import pytest
from tests.support import servers
from tests.support.spec import analytics, bus, calls, carrier, channel, document, fields, operations
from tests.support.spec.checks import CHECKS, LATER
from tests.support.spec.world import World

CHAPTERS = (analytics, bus, calls, carrier, channel, fields, operations)
ROWS = [row.key for row in document.rows()]
SLOW = {
    "Errors: device does not send the RPC acknowledgement within 20 seconds",
    "Limits: RPC acknowledgement time-out",
}
"""Rows that are about a time, which the checks wait for once."""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with servers.serving(tmp_path_factory.mktemp("specification") / "data") as server:
        made = World(server)
        yield made
        made.http.close()


@pytest.mark.parametrize("key", [pytest.param(row, marks=[pytest.mark.deep] * (row in SLOW)) for row in ROWS])
def test_row(world, key):
    assert key in CHECKS, f"no check for the row {key!r} of the interface specification"

    CHECKS[key](world)


def test_every_check_has_its_row():
    assert sorted(set(CHECKS) - set(ROWS)) == []


def test_rows_are_those_of_the_document():
    text = document.DOCUMENT.read_text("utf-8")
    in_tables = sum(line.startswith("|") for line in text.splitlines())
    headings = text.count("|---")

    assert headings > 15
    assert len([row for row in document.rows() if len(row.cells) > 1 and " answer: " not in row.key]) == (
        in_tables - 2 * sum(line.startswith("|---") for line in text.splitlines())
    )


def test_no_row_is_left_for_later():
    assert LATER == {}

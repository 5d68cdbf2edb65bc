"""Lists by name, then id."""

import pytest
from sqlalchemy import bindparam, insert, select
from tests.support import rows
from tests.support.refused import refused

from tripline.domain.access import Scope
from tripline.store import lists
from tripline.store.listing.engine import Filter, ListSpec
from tripline.store.tables import company

NAMES = {"1": "b", "2": "a", "3": "b", "4": "B%", "5": "b_x", "6": "가", "7": "É"}


@pytest.fixture(scope="module")
def tx():
    with rows.memory() as transaction:
        for key, name in NAMES.items():
            row = {"id": key, "created_ms": 1, "name": name, "service_type": key, "token_prefix": key}
            transaction.run(insert(company), {**row, "master": True, "master_id": key})
        yield transaction


BY_NAME = lists.by_name(
    ListSpec(
        rows=company,
        key=company.c.id,
        orders={"name": company.c.name},
        name="name",
        filters={"hid": Filter(where=company.c.token_prefix != bindparam("hid"))},
        shown=select,
    ),
    company,
    (company.c.id, company.c.name),
)
SCOPE = Scope.everything("test")


def keys(tx, *, hidden="", **window):
    """The ids of a page of the companies, without the hidden one."""
    found = lists.page(tx, BY_NAME, SCOPE, {"hid": hidden}, lists.Window(**window))
    return "".join(row[0] for row in found)


def test_order_is_by_name_then_id(tx):
    assert keys(tx, limit=9) == "4213576"


@pytest.mark.parametrize(("limit", "seen"), [(1, "4"), (5, "42135"), (7, "4213576"), (8, "4213576")])
def test_limit_cuts_the_list(tx, limit, seen):
    assert keys(tx, limit=limit) == seen


def test_offset_by_name_and_id_starts_behind_that_row(tx):
    assert keys(tx, limit=9, text_offset="b", id_offset="1") == "3576"


def test_offset_by_id_alone_starts_behind_that_row(tx):
    assert keys(tx, limit=9, id_offset="1") == "3576"


def test_offset_by_an_id_that_is_not_in_the_list_is_refused(tx):
    with refused(lists.UnknownOffset, match="does not name an item of this list"):
        keys(tx, limit=9, id_offset="8")


def test_offset_that_is_a_row_of_another_list_is_refused(tx):
    with refused(lists.UnknownOffset, match="does not name an item of this list"):
        keys(tx, limit=9, hidden="1", id_offset="1")


def test_offset_by_name_alone_starts_at_that_name(tx):
    assert keys(tx, limit=9, text_offset="b") == "13576"


def test_offset_of_a_row_that_is_gone_still_works_with_its_name(tx):
    assert keys(tx, limit=9, text_offset="b", id_offset="2") == "3576"


@pytest.mark.parametrize(
    ("search", "seen"),
    [("b", "4135"), ("B", "4135"), ("b%", "4"), ("b_", "5"), ("가", "6"), ("É", "7"), ("é", "7"), ("x", "")],
)
def test_search_is_a_beginning_in_any_case_and_no_pattern(tx, search, seen):
    assert keys(tx, limit=9, search=search) == seen


def test_search_continues_behind_its_offset_through_both_cases(tx):
    assert keys(tx, limit=1, search="b", text_offset="B%", id_offset="4") == "1"
    assert keys(tx, limit=9, search="b", text_offset="b", id_offset="1") == "35"


@pytest.mark.sqlite("how SQLite finds rows")
def test_search_by_the_first_letters_looks_only_at_names_that_begin_so():
    with rows.memory() as tx, rows.statements(tx) as seen:
        keys(tx, limit=9, search="b")
        plans = [step for statement in seen for *_, step in rows.plan(tx, statement) if "(name>? AND name<?)" in step]

    assert plans == ["SEARCH company USING INDEX ix_company_name (name>? AND name<?)"] * 2

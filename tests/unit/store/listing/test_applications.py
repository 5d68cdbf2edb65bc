"""The list of applications: what a row says, its orders, search and states, and pages both ways."""

from functools import partial

import pytest
from msgspec.structs import asdict
from sqlalchemy import insert, select
from tests.support import listing, rows

from tripline.domain.applications import State
from tripline.store.listing import applications
from tripline.store.listing.applications import Filters
from tripline.store.listing.pages import PageRequest, Place
from tripline.store.tables import service_application

pytestmark = pytest.mark.deep

SEARCHES = (None, "n", "NIGHT 0", "straß", "zz")
STATES = (None, *State)


@pytest.fixture(scope="module")
def tx():
    with rows.memory(keys_checked=False) as transaction:
        for n in range(20):
            name = "Straße" if n == 7 else f"{'nN'[n % 2]}ight {n * 7 % 20:02d}"
            state = (State.SUBMITTED, State.APPROVED, State.APPROVED, State.REJECTED, State.APPROVED)[n % 5]
            row = {"id": f"a{n:02d}", "created_ms": n * 3 % 7, "service_name": name, "company_name": f"Company {n}"}
            rest = {"contact_name": "Kim", "mobile": "010", "email": f"{n}@x", "login": f"{n}@x", "introduction": ""}
            decided = None if state is State.SUBMITTED else 9
            transaction.run(
                insert(service_application),
                {**row, **rest, "state": state.value, "decided_ms": decided, "language": "en"},
            )
        yield transaction


def wanted(tx, filters):
    """The applications that are to be listed, by a sentence of Python."""
    return [
        row
        for row in tx.all(select(service_application))
        if row.service_name.lower().startswith((filters.search or "").lower()) and filters.state in (None, row.state)
    ]


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("state", STATES)
def test_applications_are_those_that_pass_in_each_order(tx, search, state):
    filters = Filters(search=search, state=state)
    expected = wanted(tx, filters)

    listing.assert_in_each_order(
        partial(applications.LIST.page, tx, None, filters),
        expected,
        {"name": "service_name", "created": "created_ms"},
        limits=(2, 7),
    )
    assert applications.LIST.count(tx, None, filters) == len(expected)


def test_each_search_but_the_last_and_each_state_finds_some(tx):
    assert [bool(wanted(tx, Filters(search=search))) for search in SEARCHES] == [True, True, True, True, False]
    assert all(wanted(tx, Filters(state=state)) for state in STATES)


def test_application_is_shown_with_who_sent_it_in_and_when_it_was_decided(tx):
    (found,) = applications.LIST.page(tx, None, Filters(search="straß"), PageRequest(limit=9, by="name")).rows

    assert asdict(found) == {
        "id": "a07",
        "created_ms": 0,
        "service_name": "Straße",
        "company_name": "Company 7",
        "contact_name": "Kim",
        "email": "7@x",
        "state": State.APPROVED,
        "decided_ms": 9,
    }


@pytest.mark.parametrize(
    ("filters", "by", "statements"),
    [
        (Filters(), "name", 1),
        (Filters(state=State.APPROVED), "created", 2),
        (Filters(state=State.APPROVED), "name", 2),
    ],
    ids=str,
)
def test_list_takes_a_fixed_number_of_statements(tx, filters, by, statements):
    asked = []
    for limit in (1, 30):
        with rows.statements(tx) as seen:
            applications.LIST.page(tx, None, filters, PageRequest(limit=limit, by=by))
        asked.append(len(seen))

    assert asked == [statements, statements]


@pytest.mark.sqlite("how SQLite finds rows")
@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("state", STATES)
def test_no_page_of_applications_looks_at_a_whole_table(tx, search, state):
    filters = Filters(search=search, state=state)
    with rows.statements(tx) as seen:
        for by in ("name", "created"):
            for place in (None, Place("n" if by == "name" else 3, "a")):
                applications.LIST.page(tx, None, filters, PageRequest(limit=3, by=by, place=place))

    steps = {step for statement in seen for *_, step in rows.plan(tx, statement)}
    along = {step for step in steps if step.startswith("SCAN service_application")}
    # Without anything to find, along an index as far as the page goes.
    assert {step.partition(" USING ")[2] for step in along} <= {
        "COVERING INDEX ix_service_application_name",
        "INDEX ix_service_application_name",
        "COVERING INDEX ix_service_application_created",
        "INDEX ix_service_application_created",
    }

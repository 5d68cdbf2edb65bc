"""The lists of delegations: those of a side of the company inside the scope, in each order, filtered, both ways."""

from functools import partial

import pytest
from msgspec.structs import asdict
from sqlalchemy import insert, select, update
from tests.support import listing, reaching, rows

from tripline.domain.access import Action
from tripline.store import scopes
from tripline.store.listing import delegations
from tripline.store.listing.delegations import Filters, Side
from tripline.store.listing.pages import PageRequest, Place
from tripline.store.tables import vehicle, vehicle_company, vehicle_user

pytestmark = pytest.mark.deep

ACTIONS = {Side.GIVEN: Action.VEHICLE_DELEGATIONS_READ, Side.RECEIVED: Action.VEHICLE_READ}
LOOKERS = {Side.GIVEN: ("operator", "partner", "director"), Side.RECEIVED: ("operator", "borrower", "director")}
SIDES = [(side, looker) for side, lookers in LOOKERS.items() for looker in lookers]
FILTERS = [
    {},
    {"search": "A"},
    {"search": "b0"},
    {"search": "zz"},
    {"company_id": "q"},
    {"company_id": "ace", "search": "b"},
    {"company_id": "p"},
    {"automatic": True},
    {"automatic": False},
    {"automatic": False, "company_id": "ace"},
    {"used": True},
    {"used": False},
    {"used": True, "search": "A"},
]


@pytest.fixture(scope="module")
def tx():
    with rows.memory(keys_checked=False) as transaction:
        listing.fill(transaction)
        spread(transaction)
        reaching.recount(transaction)
        yield transaction


def spread(tx):
    """Delegations at several instants, some of one vehicle to two companies, and rights of those who received them."""
    for at, row in enumerate(tx.all(select(vehicle_company).order_by(vehicle_company.c.id))):
        tx.run(update(vehicle_company).where(vehicle_company.c.id == row.id).values(created_ms=100 + at * 7 % 10))
    held = [("v1", "q", "admin-q", "DRIVER"), ("v1", "q", "admin-q", "DELEGATED_DIRECTOR")]
    held += [("v2", "ace", "admin-ace", "DRIVER"), ("v10", "p", "director-p", "DELEGATED_DIRECTOR")]
    for at, (vehicle_id, company_id, user_id, role) in enumerate(held):
        right = {"id": f"held-{at}", "created_ms": 1, "vehicle_id": vehicle_id, "company_id": company_id}
        tx.run(insert(vehicle_user), {**right, "user_id": user_id, "user_role": role})
    to_partner = {"id": "to-p", "created_ms": 1, "vehicle_id": "v10", "from_company_id": "q", "to_company_id": "p"}
    tx.run(insert(vehicle_company), {**to_partner, "automatic": False})


def wanted(tx, side, scope, filters):
    """The delegations that are to be listed, by a sentence of Python."""
    own, other = ("from_company_id", "to_company_id")[:: 1 if side is Side.GIVEN else -1]
    joined = select(vehicle_company, vehicle.c.vehicle_no).join(vehicle, vehicle.c.id == vehicle_company.c.vehicle_id)
    inside = {
        row.id for row in tx.all(select(vehicle.c.id).where(scopes.vehicles(scope.reaches)), scopes.values(scope))
    }
    used = {(row.vehicle_id, row.company_id) for row in tx.all(select(vehicle_user))}
    return [
        row
        for row in tx.all(joined)
        if getattr(row, own) == scope.company_id
        and row.vehicle_id in inside
        and row.vehicle_no.lower().startswith((filters.search or "").lower())
        and filters.company_id in (None, getattr(row, other))
        and filters.automatic in (None, bool(row.automatic))
        and filters.used in (None, (row.vehicle_id, getattr(row, own)) in used)
    ]


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("filtered", FILTERS, ids=str)
def test_delegations_are_those_of_the_side_that_pass_in_each_order(tx, filtered):
    # All received delegations are automatic, or none is.
    for side, looker in [each for each in SIDES if each[0] is Side.GIVEN or "automatic" not in filtered]:
        scope, filters = listing.scope(looker, ACTIONS[side]), Filters(**filtered)
        expected = wanted(tx, side, scope, filters)

        listing.assert_in_each_order(
            partial(delegations.page, tx, side, scope, filters),
            expected,
            {"number": "vehicle_no", "created": "created_ms"},
            limits=(2, 7),
        )
        assert delegations.count(tx, side, scope, filters) == len(expected)
        assert delegations.any_of(tx, side, scope) == bool(wanted(tx, side, scope, Filters()))


def test_each_side_is_somebodys_and_each_filter_lets_some_pass_but_those_for_nothing(tx):
    def seen(side, looker, **filtered):
        return wanted(tx, side, listing.scope(looker, ACTIONS[side]), Filters(**filtered))

    assert [each for each in SIDES if not seen(*each)] == [(Side.GIVEN, "operator")]
    assert len(seen(Side.GIVEN, "director")) < len(seen(Side.GIVEN, "partner"))
    assert [f for f in FILTERS if not any(seen(*each, **f) for each in SIDES)] == [
        {"search": "zz"},
        {"automatic": False, "company_id": "ace"},
    ]


def test_delegation_is_shown_with_its_vehicle_the_other_company_and_its_peoples_rights(tx):
    scope = listing.scope("partner", ACTIONS[Side.GIVEN])
    filters = Filters(search=listing.NUMBERS[1], company_id="q")
    (given,) = delegations.page(tx, Side.GIVEN, scope, filters, PageRequest(limit=9, by="number")).rows
    scope = listing.scope("borrower", ACTIONS[Side.RECEIVED])
    filters = Filters(search=listing.NUMBERS[1])
    (received,) = delegations.page(tx, Side.RECEIVED, scope, filters, PageRequest(limit=9, by="number")).rows

    shown = {
        "id": given.id,
        "created_ms": given.created_ms,
        "vehicle_id": "v1",
        "vehicle_no": listing.NUMBERS[1],
        "company_id": "q",
        "company_name": "Company q",
        "automatic": False,
        "directors": 1,
        "drivers": 1,
    }
    assert asdict(given) == shown
    assert asdict(received) == {**shown, "company_id": "p", "company_name": "Company p"}


@pytest.mark.parametrize(
    ("side", "looker", "filtered", "statements"),
    [
        (Side.GIVEN, "partner", {}, 2),
        (Side.GIVEN, "partner", {"search": "A"}, 2),
        (Side.GIVEN, "partner", {"company_id": "q", "automatic": False}, 2),
        (Side.GIVEN, "director", {}, 2),
        (Side.RECEIVED, "operator", {"used": True}, 2),
    ],
)
def test_list_takes_a_fixed_number_of_statements(tx, side, looker, filtered, statements):
    scope = listing.scope(looker, ACTIONS[side])
    asked = []
    for limit in (1, 30):
        with rows.statements(tx) as seen:
            delegations.page(tx, side, scope, Filters(**filtered), PageRequest(limit=limit, by="number"))
        asked.append(len(seen))

    assert asked == [statements, statements]


def plans(tx, side, looker, filters, turn):
    """How SQLite finds the rows of each statement of a page and of its count."""
    scope = listing.scope(looker, ACTIONS[side])
    with rows.statements(tx) as seen:
        delegations.page(tx, side, scope, filters, turn)
        delegations.count(tx, side, scope, filters)
    return [[step for *_, step in rows.plan(tx, statement)] for statement in seen]


@pytest.mark.sqlite("how SQLite finds rows")
@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("filtered", FILTERS, ids=str)
def test_no_list_of_delegations_looks_at_a_whole_table(tx, filtered):
    asked = [
        PageRequest(limit=3, by=by, place=place) for by in ("number", "created") for place in (None, Place("1", "x"))
    ]
    found = [plans(tx, *each, Filters(**filtered), turn) for each in SIDES for turn in asked]

    steps = {step for plan in found for statement in plan for step in statement}
    assert {step for step in steps if step.startswith("SCAN")} <= listing.SCANNED


@pytest.mark.sqlite("how SQLite finds rows")
@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("many", ["walking"], indirect=True)
@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("place", [None, Place("1", "x")], ids=["first page", "a later one"])
@pytest.mark.parametrize("filtered", [{}, {"company_id": "q"}], ids=str)
@pytest.mark.parametrize(
    ("side", "looker", "by", "index"),
    [
        (Side.GIVEN, "partner", "number", "listed USING COVERING INDEX ix_reach_name (principal=? AND kind=?"),
        (Side.GIVEN, "partner", "created", "delegation USING INDEX ix_vehicle_company_given (from_company_id=?"),
        (Side.RECEIVED, "operator", "number", "listed USING COVERING INDEX ix_reach_name (principal=? AND kind=?"),
        (Side.RECEIVED, "operator", "created", "delegation USING INDEX ix_vehicle_company_received (to_company_id=?"),
    ],
)
def test_page_of_many_delegations_is_read_along_an_index(tx, side, looker, by, index, place, back, filtered):
    found = plans(tx, side, looker, Filters(**filtered), PageRequest(limit=3, by=by, place=place, back=back))
    pages = [plan for plan in found if any("shown" in step for step in plan)]

    assert pages
    for page in pages:
        assert [step for step in page if step.startswith(f"SEARCH {index}")]
        # Delegations of one vehicle are sorted among each other.
        assert {step for step in page if "TEMP B-TREE" in step} <= {"USE TEMP B-TREE FOR RIGHT PART OF ORDER BY"}

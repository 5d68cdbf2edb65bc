"""Plans of every list: no page reads a table whole; on SQLite it walks an index, or sorts few rows that an index found.

Every list is read by everybody who may, with each filter, in each order, its first page and, the other way, one deep in
it, and each statement that ran is explained; on PostgreSQL with statistics, for these values and for any. Every page,
boundary and count of a list of trips walks an index of trips.

Not here: how long it takes (`bench/lists.py`, `bench/trip_lists.py`), REST (`test_query_plans.py`).
"""

import re

import pytest
from tests.support import large_lists, large_trips, plans, rows, stores
from tests.support.large_lists import BIG, DRIVER, LOOKERS

from tripline.domain.access import RULES, Action, Scope
from tripline.domain.ids import VehicleId
from tripline.domain.listed_trips import Filters, State
from tripline.store.listing.pages import PageRequest, Place
from tripline.store.trips import trip_list
from tripline.store.trips.trip_list import TripQuery

pytestmark = pytest.mark.once("brings both stores")

COUNT = 8_000
TRIPS_EACH = 2
PERIOD_DAYS = 35
"""Most vehicles have a trip in them."""
WALKED = re.compile(r"SCAN (page|few|found|there|CONSTANT ROW|company|\w+ USING (COVERING )?INDEX .*)$")
"""What SQLite may read from its beginning: rows that another step found, an index, the companies, which are few, and,
for those that are connected, connections."""
SORTED = ("companies", "services")
"""Lists of companies are few rows, which are sorted."""
SMALL = frozenset({"company", "device_connection"})
"""What PostgreSQL may read whole: the same."""
OF_FEW = ("ix_sensor_unmounted", "ix_vehicle_position_driving")
"""Partial indexes beside others that begin with the same column and hold every row."""
VEHICLE = VehicleId("v1000000-0000-11f1-8000-1d43f3c436cb")
FILTERS = (
    Filters(),
    Filters(state=State.UNSCORED, not_scored="sparse"),
    Filters(state=State.SCORED, min_score=60, max_score=70),
    Filters(disputed=True, over_limit=True),
)


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgresql", marks=[pytest.mark.deep, pytest.mark.timeout(900)])]
)
def tx(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(stores.VARIABLE, request.param)
        with rows.memory(keys_checked=False) as transaction:
            large_lists.fill(transaction, COUNT)
            large_trips.fill(transaction, COUNT, TRIPS_EACH)
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
    if not tx.shared:
        used = {step for *_, steps in plans.sqlite_steps(tx, asked) for step in steps}
        for index in OF_FEW:
            assert any(f" {index} " in step for step in used), index


def sqlite_does_wrong(tx, asked):
    for name, text, steps in plans.sqlite_steps(tx, asked):
        whole = any(step.startswith("SCAN") and not WALKED.match(step) for step in steps)
        if whole or ("USE TEMP B-TREE FOR ORDER BY" in steps and not of_few(name, text)):
            yield name, text, *steps


def of_few(name: str, text: str) -> bool:
    """Whether the statement sorts companies, or the rows of a filter or of a range of names, up to `engine.MANY`."""
    return name.startswith(SORTED) or "WITH found" in text or "ORDER BY coalesce(" in text


def trip_queries():
    """Walks of one vehicle and driver, merged walks of few vehicles, and walks along the service type."""
    for name, filters in ((name, filters) for name in LOOKERS for filters in FILTERS):
        authority, user_id, company_id = LOOKERS[name]
        scope = Scope("test", RULES[Action.DRIVING_READ][authority], user_id, company_id)
        period = {"first_ms": large_trips.END_MS - PERIOD_DAYS * 86_400_000, "last_ms": large_trips.END_MS}
        whole = TripQuery(scope=scope, filters=filters, **period)
        yield name, whole
        yield f"{name}, vehicle", TripQuery(scope=scope, filters=filters, vehicle_id=VEHICLE, **period)
        yield f"{name}, driver", TripQuery(scope=scope, filters=filters, user_id=DRIVER, **period)
        yield f"{name}, company", TripQuery(scope=scope, filters=filters, company_id=BIG, **period)
        yield (
            f"{name}, partner",
            TripQuery(scope=scope, filters=filters, company_id="c1000003-0000-11f1-8000-1d43f3c436cb", **period),
        )


@pytest.fixture
def trips_asked(tx):
    """The statements of each list of trips."""
    with plans.recording(tx) as statements:
        for name, query in trip_queries():
            statements.now = name
            middle = Place((query.first_ms + query.last_ms) // 2, "5")
            named = RULES[Action.USER_READ][LOOKERS[name.split(",")[0]][0]]
            for descending in (False, True):
                request = PageRequest(limit=50, by="start", descending=descending)
                trip_list.page(tx, query, request, named=named)
                deep = PageRequest(limit=50, by="start", descending=descending, place=middle)
                trip_list.page(tx, query, deep, named=frozenset())
            trip_list.count(tx, query)
            for most in (trip_list.AMONG, 1):  # along the service type; merged
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(trip_list, "AMONG", most)
                    trip_list.whole(tx, query, 50, named=named)
    return statements


def test_every_statement_walks_an_index_of_trips_and_reads_no_table_whole(tx, trips_asked):
    wrong = plans.read_whole(tx, trips_asked) if tx.shared else sqlite_walks_wrong(tx, trips_asked)

    assert len(trips_asked.by_name) == 5 * len(LOOKERS)
    assert "\n\n".join("\n".join(each) for each in wrong) == ""


def sqlite_walks_wrong(tx, asked):
    for name, text, steps in plans.sqlite_steps(tx, asked):
        whole = any(step.startswith("SCAN") and not re.match(r"SCAN (few|CONSTANT ROW)$", step) for step in steps)
        # A merge sorts the trips of its window.
        sorts = "USE TEMP B-TREE FOR ORDER BY" in steps and "held" not in " ".join(steps)
        if whole or sorts:
            yield name, text, *steps

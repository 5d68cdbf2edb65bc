"""Trips of a list: the ones that the filters let pass, within the reader's reach, by start, on pages of any size."""

from functools import cache
from itertools import product

import msgspec
import pytest
from sqlalchemy import insert, select
from tests.support import fleet_rows, reaching, rows

from tripline.domain.access import RULES, Action, Authority, Scope
from tripline.domain.ids import CompanyId, UserId, VehicleId
from tripline.domain.listed_trips import Filters, State
from tripline.scoring import quality
from tripline.scoring.quality import HarshSource, Limits, Quality
from tripline.store import scopes
from tripline.store.listing.pages import PageRequest
from tripline.store.tables import (
    account,
    company,
    dispute,
    driving_score,
    trip,
    vehicle,
    vehicle_company,
    vehicle_user,
)
from tripline.store.trips import trip_list
from tripline.store.trips.trip_list import TripQuery

HOUR_MS = 3_600_000
START_MS = 1_790_000_000_000
TRIPS = 240
NAMED = RULES[Action.USER_READ]
LOOKERS = {
    "operator": (Authority.COMPANY_ADMIN, "admin", "o"),
    "partner": (Authority.COMPANY_ADMIN, "admin", "p"),
    "director": (Authority.DIRECTOR, "d", "p"),
    "driver": (Authority.DRIVER, "f", "p"),
    "stranger": (Authority.COMPANY_ADMIN, "admin", "x"),
}
FILTERS = (
    Filters(),
    *(Filters(state=state) for state in State),
    Filters(not_scored="too_short"),
    Filters(min_score=40, max_score=80),
    Filters(disputed=True),
    Filters(disputed=False, state=State.SCORED),
    Filters(over_limit=True),
    Filters(over_limit=False),
)
LIMITS = quality.written(
    Quality(samples=1, period_ms=1_000, limits=Limits(tagged=0.25, default=0.75), harsh_source=HarshSource.UNKNOWN)
)


def fill(tx):
    """Three companies of one service, and another; trips of every state, some at one instant."""
    for key, master in (("o", "o"), ("p", "o"), ("q", "o"), ("x", "x")):
        row = {"created_ms": 1, "name": key, "service_type": master, "master": key == master, "master_id": master}
        tx.run(insert(company), {"id": key, **row, "token_prefix": key})
    for key, role in (("d", "DIRECTOR"), ("f", "DRIVER")):
        person = {"created_ms": 1, "company_id": "p", "authority": role, "name": f"Kim {key}", "email": key}
        secret = {"login": key, "password_hash": "", "password_updated_ms": 1, "enabled": True}
        tx.run(insert(account), {"id": key, **person, **secret})
    for number in range(24):
        owner = "opqx"[number % 4]
        director = "d" if owner == "p" and number % 3 == 0 else None
        tx.run(insert(vehicle), fleet_rows.vehicle(f"v{number}", owner, vehicle_no=f"N{number}", director_id=director))
        here = {"created_ms": 1, "vehicle_id": f"v{number}"}
        if owner == "q" and number % 3 == 0:
            held = {"from_company_id": owner, "to_company_id": "p", "automatic": False}
            tx.run(insert(vehicle_company), {"id": f"l{number}", **here, **held})
        if owner == "p" and number % 5 < 2:
            right = {"company_id": "p", "user_id": "f", "user_role": "DRIVER"}
            tx.run(insert(vehicle_user), {"id": f"r{number}", **here, **right})
    for no in range(TRIPS):
        tx.run(insert(trip), trip_row(no))
        if no % 5 in (2, 3):
            tx.run(insert(driving_score), score_row(no))
        if no % 11 == 0:
            tx.run(insert(dispute), dispute_row(no))
    reaching.recount(tx)


@cache
def trip_row(no):
    of = no % 25
    is_open, reason = no % 5 == 0, "too_short" if no % 10 == 1 else "sparse" if no % 5 == 1 else None
    return {
        "no": no,
        "id": f"t{no}",
        "created_ms": 1,
        "company_id": "opqx"[of % 4],
        # Of the last there is no vehicle.
        "vehicle_id": f"v{of}" if of < 24 else None,
        "user_id": "df"[no % 2] if no % 3 else None,
        "service_type": "x" if of % 4 == 3 else "o",
        "device_type": "GPS",
        "parking": False,
        "state": "OPEN" if is_open else "COMPLETE",
        "start_ms": START_MS + no // 3 * HOUR_MS if no % 50 else None,
        "end_ms": None if is_open else START_MS + no // 3 * HOUR_MS + 60_000,
        "distance_m": 1_000.0 if no % 2 else None,
        "not_scored": reason,
        "quality": LIMITS if no % 5 in (2, 3) else None,
    }


@cache
def score_row(no):
    of = trip_row(no)
    counts = {"accel": 1, "de_accel": 2, "over_speed": no % 2, "over_speed_s": 1.0}
    return {
        "trip_no": no,
        "trip_id": of["id"],
        "created_ms": 1,
        "vehicle_id": of["vehicle_id"] or "v0",
        "score": float(no % 100),
        "distance_m": 5_000.0,
        "policy": 1,
        "company_id": of["company_id"],
        "day": 1,
        "driving_ms": 60_000,
        "known_m": 0,
        "user_id": of["user_id"],
        **counts,
    }


def dispute_row(no):
    state = "OPEN" if no % 2 else "REJECTED"
    about = {"trip_no": no, "reason": "OTHER", "text": "", "state": state}
    return {"no": no, "id": f"x{no}", "company_id": "o", **about}


@pytest.fixture(scope="module")
def tx():
    with rows.memory(keys_checked=False) as transaction:
        fill(transaction)
        yield transaction


@pytest.fixture(params=[(1_000, 2_000), (1_000, 7), (3, 2_000), (3, 7)], ids=str)
def _sizes(request, monkeypatch):
    """Walks of vehicles merged, or along the service type, in long and short windows."""
    merged, chunk = request.param
    monkeypatch.setattr(trip_list, "MERGED", merged)
    monkeypatch.setattr(trip_list, "CHUNK", chunk)
    monkeypatch.setattr(trip_list, "CHUNKS", 4)


def query_of(looker, **values):
    authority, user_id, company_id = LOOKERS[looker]
    scope = Scope("test", RULES[Action.DRIVING_READ][authority], UserId(user_id), CompanyId(company_id))
    return TripQuery(scope=scope, first_ms=START_MS + 4 * HOUR_MS, last_ms=START_MS + 70 * HOUR_MS, **values)


@cache
def expected(tx, query):
    """The same trips by the predicates of `scopes`."""
    inside = select(vehicle.c.id).where(scopes.vehicles(query.scope.reaches))
    seen = {row[0] for row in tx.all(inside, scopes.values(query.scope))}
    owners = {row.id: row.company_id for row in tx.all(select(vehicle))}
    held = {no for no in range(0, TRIPS, 11) if no % 2}
    found = []
    for row in map(trip_row, range(TRIPS)):
        score = score_row(row["no"]) if row["no"] % 5 in (2, 3) else None
        of_other = query.company_id not in (None, query.scope.company_id)
        tests = (
            row["start_ms"] is not None and query.first_ms <= row["start_ms"] <= query.last_ms,
            query.vehicle_id in (None, row["vehicle_id"]),
            query.user_id in (None, row["user_id"]),
            query.vehicle_id or query.user_id or row["vehicle_id"] in seen,
            not of_other or owners.get(row["vehicle_id"]) == query.company_id,
            passes(row, score, row["no"] in held, query.filters),
        )
        if all(tests):
            found.append((row["start_ms"], row["no"]))
    return [no for _, no in sorted(found, reverse=True)]


def passes(row, score, disputed, filters):
    if score is not None:
        state = State.SCORED
    elif row["state"] == "OPEN":
        state = State.OPEN
    else:
        state = State.ENDED if row["not_scored"] is None else State.UNSCORED
    return (
        filters.state in (None, state)
        and filters.not_scored in (None, row["not_scored"])
        and (filters.min_score is None or (score is not None and score["score"] >= filters.min_score))
        and (filters.max_score is None or (score is not None and score["score"] <= filters.max_score))
        and filters.disputed in (None, disputed)
        and (filters.over_limit is None or (score is not None and (score["over_speed"] > 0) == filters.over_limit))
    )


def walked(tx, query, *, limit=10, descending=True, back=False):
    """Every trip, page by page in this direction."""
    place, nos = None, []
    for _ in range(1_000):
        request = PageRequest(limit=limit, by="start", descending=descending, place=place, back=back)
        found = trip_list.page(tx, query, request, named=NAMED[Authority.COMPANY_ADMIN])
        part = [row.no for row in found.rows]
        nos = part + nos if back else nos + part
        place = found.first if back else found.last
        if not (found.more_before if back else found.more_behind):
            return nos
    raise AssertionError("The list has no end.")


@pytest.mark.parametrize("looker", LOOKERS)
@pytest.mark.usefixtures("_sizes")
def test_pages_hold_each_trip_within_reach_that_passes_once_and_in_order(tx, looker):
    for filters in FILTERS:
        query = query_of(looker, filters=filters)

        assert walked(tx, query) == expected(tx, query), filters


@pytest.mark.parametrize("looker", ["operator", "director"])
@pytest.mark.usefixtures("_sizes")
def test_pages_of_a_company_a_vehicle_and_a_driver_hold_their_trips(tx, looker):
    vehicles, drivers, companies = (None, VehicleId("v9")), (None, UserId("f")), (None, CompanyId("p"), CompanyId("q"))
    for vehicle_id, user_id, company_id in product(vehicles, drivers, companies):
        query = query_of(looker, vehicle_id=vehicle_id, user_id=user_id, company_id=company_id)

        assert walked(tx, query) == expected(tx, query), (vehicle_id, user_id, company_id)


@pytest.mark.usefixtures("_sizes")
def test_oldest_first_and_backwards_show_the_same_trips(tx):
    query = query_of("operator", filters=Filters(state=State.UNSCORED))
    newest_first = expected(tx, query)

    assert walked(tx, query, descending=False) == newest_first[::-1]
    assert walked(tx, query, descending=False, back=True) == newest_first[::-1]


@pytest.mark.usefixtures("_sizes")
def test_count_is_exact_up_to_its_bound(tx, monkeypatch):
    query = query_of("operator", filters=Filters(state=State.SCORED))
    number = len(expected(tx, query))

    assert trip_list.count(tx, query) == (number, True)
    monkeypatch.setattr(trip_list, "COUNTED", 10)
    trip_list._counting.cache_clear()
    assert trip_list.count(tx, query) == (10, False)


@pytest.mark.parametrize(("merged", "among"), [(1_000, 300), (3, 300), (3, 60)])
@pytest.mark.parametrize("looker", ["operator", "director"])
def test_whole_list_has_the_trips_of_its_pages(tx, monkeypatch, looker, merged, among):
    """Merged, along the service type, and merged where the service type has too many."""
    monkeypatch.setattr(trip_list, "MERGED", merged)
    monkeypatch.setattr(trip_list, "AMONG", among)
    subjects = ({}, {"vehicle_id": VehicleId("v9")}, {"user_id": UserId("f")}, {"company_id": CompanyId("q")})
    for filters, of in product(FILTERS, subjects):
        query = query_of(looker, filters=filters, **of)
        everything = trip_list.whole(tx, query, 300, named=NAMED[Authority.COMPANY_ADMIN])

        found = None if everything is None else sorted(each.no for each in everything)
        assert found in (None, sorted(expected(tx, query))), (filters, of)
        assert found is not None or (among == 60 and "company_id" not in of)


@pytest.mark.parametrize(("name", "bound"), [("AMONG", 5), ("WIDE", 3)])
def test_whole_list_ends_at_its_bounds(tx, monkeypatch, name, bound):
    query = query_of("operator", filters=Filters(state=State.SCORED))
    named = NAMED[Authority.COMPANY_ADMIN]
    number = len(expected(tx, query))
    assert trip_list.whole(tx, query, number - 1, named=named) is None
    monkeypatch.setattr(trip_list, "MERGED", 3)
    monkeypatch.setattr(trip_list, "AMONG", 60)
    monkeypatch.setattr(trip_list, name, bound)
    assert trip_list.whole(tx, query, number, named=named) is None


def test_short_page_says_that_more_may_follow(tx, monkeypatch):
    monkeypatch.setattr(trip_list, "MERGED", 3)
    monkeypatch.setattr(trip_list, "CHUNK", 5)
    monkeypatch.setattr(trip_list, "CHUNKS", 2)
    query = query_of("operator", filters=Filters(min_score=1_000))

    found = trip_list.page(tx, query, PageRequest(limit=10, by="start", descending=True), named=frozenset())

    assert (found.rows, found.more_behind) == ([], True)
    assert query.first_ms < found.last.value < query.last_ms


def test_listed_trip_has_what_its_row_score_and_driver_say(tx):
    query = query_of("partner", vehicle_id=VehicleId("v13"))

    found = trip_list.page(tx, query, PageRequest(limit=50, by="start", descending=True), named=NAMED["COMPANY_ADMIN"])

    each = next(row for row in found.rows if row.state is State.SCORED and row.user_id == "f")
    assert each.vehicle_no == "N13"
    assert each.driver_name == "Kim f"
    assert each.distance_m == 5_000.0
    assert each.events == 3 + each.no % 2
    assert (each.limit_known, each.harsh_known) == (0.25, False)
    assert (each.score, each.duration_ms) == (each.no % 100, 60_000)
    hidden = trip_list.page(tx, query, PageRequest(limit=50, by="start", descending=True), named=frozenset())
    assert {row.driver_name for row in hidden.rows} == {None}
    assert msgspec.structs.replace(each, score=None).state is State.ENDED

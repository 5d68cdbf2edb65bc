"""SQLite's plans: no operation looks at a whole table, and each sorts one owner's rows at most.

Every reading operation is played by everybody of the access matrix's world, with each value of its query by itself and
with the offsets of a second page; what changes something is played by its owners. The statements are those that really
ran. Plans do not depend on how many rows there are, for there are no statistics.

Not here: how long it takes (`bench/surface.py`).
"""

import asyncio
import re
from collections import defaultdict

import pytest
from tests.support import rest, stores
from tests.support.access_world import ACTORS, World
from tests.support.plans import explain_empty, explain_sqlite

from tripline.api import families
from tripline.domain.history import Event
from tripline.domain.trends import Period, RankedBy, Subject
from tripline.http import operations
from tripline.store.database import sqlite
from tripline.store.fleet import history
from tripline.store.scores import rankings, reads, standings, sums, trends
from tripline.store.scores.reads import By, Owner

pytestmark = pytest.mark.sqlite("how SQLite finds rows")

SORTED = "USE TEMP B-TREE FOR ORDER BY"
DISTINCT = "USE TEMP B-TREE FOR DISTINCT"
LOOKS_FOR_ONE = "SCAN erasure USING COVERING INDEX sqlite_autoindex_erasure_1"
MAILS = "SCAN mail_outbox"
POLICIES = "SCAN scoring_policy"
PERMITTED = {
    # The platform administrator's, who reaches every company: the number of them all; and their list, in its order.
    "companies.count_partners": {"SCAN company"},
    "companies.list_companies": {"SCAN company USING COVERING INDEX ix_company_name"},
    # Policies are few: the operator of the machine adds each. Choices are read by date, until a page is full.
    "policies.list_policies": {POLICIES, "SCAN policy_choice USING INDEX ix_policy_choice_from"},
    "policies.company_scoring": {POLICIES},
    # Asks for one row, whichever it is: whether anything waits to be erased.
    "trips_of_people.list_of_director": {LOOKS_FOR_ONE},
    "trips_of_people.list_of_driver": {LOOKS_FOR_ONE},
    "trips_of_people.read_latest_of_director": {LOOKS_FOR_ONE},
    "trips_of_people.read_latest_of_driver": {LOOKS_FOR_ONE},
    "scores.driver_scores": {LOOKS_FOR_ONE},
    "scores.driver_events": {LOOKS_FOR_ONE},
    # One company's relations, one vehicle's delegations, one person's rights.
    "candidates.list_companies": {SORTED},
    # Vehicles of one reader; and one row, the counter of changes.
    "positions.read": {SORTED, "SCAN position_change"},
    # The trips of one window, of the vehicles of one reader.
    "trip_lists.list_of_company": {SORTED},
    "trends.scores_to_attend": {SORTED},
    "delegations.list_companies": {SORTED},
    # The links of one company, a few hundred at most, of which those of one millisecond are sorted.
    "share_links.list_links": {"USE TEMP B-TREE FOR RIGHT PART OF ORDER BY"},
    "rights.list_director": {SORTED},
    "rights.list_driver": {SORTED},
    # The sensors of one vehicle, or of those that one person drives now.
    "DELETE /vehicle/…/driver/…": {SORTED},
    "DELETE /vehicle/…": {SORTED},
    # And the mails of one person, among those that wait to be sent, which are soon gone.
    "DELETE /director/…": {SORTED, DISTINCT, MAILS},
    "DELETE /driver/…": {SORTED, DISTINCT, MAILS},
    "DELETE /company/…": {SORTED, DISTINCT, MAILS},
    # The periods of one page.
    "trends.vehicle_trend": {"SCAN sums", SORTED},
    "trends.driver_trend": {"SCAN sums", SORTED},
    "trends.company_trend": {"SCAN sums", SORTED},
    # A company and its operator, of which the operator's address comes first; the policy of the made score; one row,
    # the counter of changes.
    "settling": {SORTED, POLICIES, "SCAN position_change"},
}
"""What each operation may do beside looking things up by index, and why that does not grow with others."""
NO_SCAN = re.compile(
    r"SCAN (CONSTANT ROW|json_each VIRTUAL TABLE|\(?subquery|managed$|lately$|smallest$|page$|few$|found$)"
)
IN_PATH = {
    "companyId": "P",
    "vehicleId": "V",
    "sensorId": "on V",
    "directorId": "managing director",
    "driverId": "driver of P",
    "disputeId": "D",
    "tripId": "T",
    "requestId": "call on V",
    "rescoringId": "rescoring of P",
    "applicationId": "application",
    "userId": "admin of P",
}
VALUES = {
    "limit": "2",
    "textSearch": "a",
    "textOffset": "A",
    "serviceType": "ace",
    "vehicleNo": "V",
    "serialNo": "on-V",
    "email": "p@admins.example",
}
TABLES = {Subject.VEHICLE: "vehicle", Subject.DRIVER: "account"}
FLAGS = ("true", "false")
NOT_THEIRS = (403, 404)


def reading():
    """Every operation that reads rows, by name; a sample file is none."""
    of_rows = operations.declared(families.FAMILIES)
    return {
        each.name: each
        for each in of_rows
        if each.method == "GET" and each.path.startswith("/api/tre/") and each.answer_type == operations.JSON
    }


def queries(operation, ids, first):
    """The query with its required values alone, with each other one, and with both offsets of a second page."""
    values = {**VALUES, "companyId": ids["P"], "mdn": ids["mdn"], "idOffset": first}
    required = {each.name: values[each.name] for each in operation.query if each.required}
    yield required
    for each in operation.query:
        for value in FLAGS if each.type is bool else (values.get(each.name, str(each.example)),):
            yield {**required, each.name: value}
            if operation.name.endswith(".count") and each.name != "serviceType":
                yield {**required, "serviceType": "ace", each.name: value}
    if first is not None and "by" in {each.name for each in operation.query}:
        for ascending in FLAGS:
            bounds = {"startTime": "1", "endTime": "253402300799999"}
            yield {**required, **bounds, "by": "event", "idOffset": first, "ascOrder": ascending}
    if first is not None and "textOffset" in {each.name for each in operation.query}:
        yield {**required, "idOffset": first, "textOffset": "A", "textSearch": "ab1"}


async def read(app, world, operation, note):
    """Ask for everything that the operation answers, as everybody whom it answers; others are refused whatever the
    query says."""
    path = operation.path.format(
        date=world.ids["date"], policy="1", **{name: world.ids[IN_PATH[name]] for name in operation.path_ids}
    )
    note(operation.name)
    for actor in ACTORS[1:]:
        answer = await app.call(world.of(actor), "GET", path, limit=1)
        if answer.status_code in NOT_THEIRS:
            continue
        page = answer.json()
        first = next((each["id"]["id"] for each in page.get("data", ()) if "id" in each), None)
        for query in queries(operation, world.ids, first):
            asked = {name: value for name, value in query.items() if value is not None}
            await app.call(world.of(actor), "GET", path, **asked)


async def change(app, world, note):
    """Change, then delete what there is, from the leaves on."""
    ids, p, operator = world.ids, world.of("P"), world.of("operator")
    routes = [
        ("PUT", p, f"/vehicle/{ids['V']}", {"vendor": "A"}),
        ("PUT", p, f"/sensor/{ids['on V']}", {"vendor": "A"}),
        ("PUT", p, f"/director/{ids['managing director']}", {"phone": "1"}),
        ("PUT", p, f"/driver/{ids['driver of P']}", {"phone": "1"}),
        ("PUT", operator, f"/company/{ids['Q']}", {"region": "A"}),
        ("POST", p, f"/vehicle/{ids['W']}/activate", None),
        ("POST", p, f"/vehicle/{ids['W']}/deactivate", None),
        ("DELETE", p, f"/vehicle/{ids['V']}/driver/{ids['delegated driver of P']}", None),
        ("DELETE", p, f"/vehicle/{ids['V']}/director/{ids['managing director']}", None),
        ("POST", p, "/vehicles/bulk", b"vehicleNo,mileage\nnew,1\n"),
        ("POST", p, "/sensors/bulk", b"serialNo,type,credentialsId\nnew,GPS,%s\n" % (b"n" * 20)),
        ("DELETE", p, f"/vehicle/{ids['V']}", None),
        ("DELETE", p, f"/sensor/{ids['on V']}", None),
        ("DELETE", p, f"/director/{ids['managing director']}", None),
        ("DELETE", p, f"/driver/{ids['driver of P']}", None),
        ("DELETE", operator, f"/company/{ids['Q']}", None),
    ]
    for method, login, path, body in routes:
        note(f"{method} {re.sub(r'/[0-9a-f-]{36}', '/…', path)}")
        answer = await app.call(login, method, path, body)
        assert answer.status_code == 200, (method, path, answer.text)


def played(folder):
    """The statements of each operation, as they ran, and how SQLite finds the rows of each."""
    seen, now = defaultdict(set), ["settling"]

    def opened(path, *, read_only=False):
        engine = open_engine(path, read_only=read_only)
        driver = engine.raw_connection().driver_connection
        driver.set_trace_callback(kept)
        return engine

    def kept(statement):
        seen[now[0]].add(statement)

    async def scenario():
        app = rest.Rest(database)
        try:
            world = await World(app).settle()
            for operation in reading().values():
                await read(app, world, operation, lambda name: now.__setitem__(0, name))
            await change(app, world, lambda name: now.__setitem__(0, name))
        finally:
            await app.close()

    database = stores.fresh(folder)
    open_engine = sqlite.open_engine
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite, "open_engine", opened)
        asyncio.run(scenario())
    return {name: plans(database.path, statements) for name, statements in seen.items()}


def plans(file, statements):
    """The steps of each statement that reads."""
    driver = sqlite.open_engine(file).raw_connection().driver_connection
    asked = [each for each in statements if each.startswith(("SELECT", "UPDATE", "DELETE", "WITH"))]
    found = {each: explain_sqlite(driver, each) for each in asked}
    driver.close()
    return found


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    """The steps of each operation that may cost more than a look-up."""
    found = played(tmp_path_factory.mktemp("plans"))
    assert reading().keys() <= found.keys()
    assert all(found[name] for name in reading())
    return {
        name: {
            step
            for steps in by_statement.values()
            for step in steps
            if (step.startswith("SCAN") and not NO_SCAN.match(step)) or step.startswith("USE TEMP B-TREE")
        }
        for name, by_statement in found.items()
    }


@pytest.mark.parametrize("kind", [Subject.VEHICLE, Subject.DRIVER])
@pytest.mark.parametrize(("by", "index"), [(RankedBy.SCORE, "company"), (RankedBy.HARSH, "harsh")])
def test_page_of_a_ranking_is_a_walk_along_the_index_of_the_company(kind, by, index):
    """Without sorting; ranks are counted in the index alone, and one look at another index gives the order."""
    walk, *member = explain_empty(rankings._page(kind.value, by))
    of_members = "(kind=? AND period=? AND day=? AND company_id=?"
    of_company = f"ix_score_rank_{index} {of_members} AND "

    assert walk.startswith(f"SEARCH score_rank USING COVERING INDEX {of_company}")
    (found,) = [each for each in member if each.startswith("SEARCH")]
    assert re.fullmatch(rf"SEARCH {TABLES[kind]} USING (COVERING )?INDEX \w+ \(id=\?\)", found)
    assert [each for each in member if "SCAN" in each or "TEMP" in each] == []
    (counted,) = explain_empty(rankings._ahead(by))
    assert counted.startswith(f"SEARCH score_rank USING COVERING INDEX {of_company}")
    assert explain_empty(rankings._place(by)) == [
        "SEARCH score_rank USING PRIMARY KEY (subject=? AND period=? AND day=?)"
    ]
    assert explain_empty(rankings._LACKING) == [f"SEARCH score_rank USING INDEX ix_score_rank_lacking {of_members})"]
    assert explain_empty(lambda tx: sums.of_subjects(tx, ["a", "b"], Period.DAY, first=1, last=1)) == [
        "SEARCH score_sum USING PRIMARY KEY (subject=? AND period=? AND day>? AND day<?)"
    ]


@pytest.mark.parametrize("kind", list(Subject))
@pytest.mark.parametrize("ascending", [True, False])
def test_percentile_is_read_by_key_for_each_period_of_the_page(kind, ascending):
    """Never from the sums of the group."""
    days = {"first": 1, "last": 9, "ascending": ascending, "limit": 5}
    found = explain_empty(lambda tx: trends.of_subject(tx, kind, "a", Period.DAY, **days))

    sums, standing, *owner = [step for step in found if step.startswith("SEARCH")]
    assert sums == "SEARCH score_sum USING PRIMARY KEY (subject=? AND period=? AND day>? AND day<?)"
    assert standing == (
        "SEARCH score_standing USING PRIMARY KEY (kind=? AND period=? AND day=? AND service_type=? AND badness<?)"
    )
    assert owner
    assert [step for step in owner if not re.search(r"USING (PRIMARY KEY|INDEX \w+) \(id=\?\)", step)] == []
    assert [step for step in found if step.startswith("SCAN")] == ["SCAN sums"]


@pytest.mark.parametrize("kind", list(Subject))
def test_members_of_a_period_are_read_in_the_order_of_their_index(kind):
    """A page at a time, without sorting everybody for each."""
    first, *others = explain_empty(standings._MEMBERS[kind])

    assert first == "SEARCH score_sum USING INDEX ix_score_sum_period (kind=? AND period=? AND day=? AND subject>?)"
    assert [step for step in others if not re.search(r"USING (PRIMARY KEY|INDEX \w+) \(id=\?\)", step)] == []


@pytest.mark.parametrize("event", [Event.ACTIVATED, Event.TAKEN_BACK])
def test_what_somebody_did_at_an_instant_is_found_among_the_entries_of_that_time(event):
    """Not among all that the account ever did, nor all that ever happened to a vehicle."""
    assert explain_empty(lambda tx: history.deeds(tx, "a", event, 1, limit=5)) == [
        "SEARCH history USING INDEX ix_history_actor_id (actor_id=? AND no>? AND no<?)",
        "CORRELATED SCALAR SUBQUERY 1",
        "SEARCH later USING INDEX ix_history_vehicle_id (vehicle_id=? AND no>?)",
    ]


@pytest.mark.parametrize("owner", list(Owner))
def test_page_of_scores_by_event_walks_the_index_of_trips_by_start(owner):
    index = {Owner.VEHICLE: "ix_trip_vehicle_start", Owner.DRIVER: "ix_trip_user_start"}[owner]

    first, *others = explain_empty(reads._page(reads._SCORES[By.EVENT], owner, False))

    assert re.match(rf"SEARCH trip USING (COVERING )?INDEX {index} \({owner.value}=\? AND ", first)
    assert [step for step in others if "TEMP B-TREE" in step] == []


def test_no_operation_looks_at_a_whole_table_or_sorts_more_than_one_owners_rows(steps):
    assert {name: found for name, found in steps.items() if found} == PERMITTED

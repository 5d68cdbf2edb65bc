"""The six analytics operations: answers byte by byte, who may read them, what is said when there is no score."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import delete, insert, update
from tests.support import fleet_rows, reaching, scores
from tests.support import rest as support
from tests.support.rest import Login, Rest, changed

from tripline import config
from tripline.domain import ids
from tripline.domain.access import Authority
from tripline.domain.ids import CompanyId
from tripline.services.accounts.limits import Limits
from tripline.store.tables import account, account_session, driving_score, gps_event, trip, vehicle
from tripline.store.transactions import WriteTx

GOLDEN = Path(__file__).parents[2] / "golden" / "rest" / "analytics"
VEHICLE = "0f2c1a50-5f0e-11ed-8a0a-0152a6d3f1e7"
DRIVER = "7a5b3c10-5f0e-11ed-8a0a-0152a6d3f1e7"
TRIP = "62f01800-7f88-11ed-9c2b-0152a6d3f1e7"
OTHER_TRIP = "51c0de00-7f80-11ed-9c2b-0152a6d3f1e7"
EVENT = "8d1f2a31-7f92-11ed-9c2b-0152a6d3f1e7"
UNKNOWN = "11111111-1111-1111-8111-111111111111"


def _published(tx: WriteTx, company_id: str) -> None:
    """A vehicle with the published score, event and accumulated score, and a second score driven by somebody."""
    reaching.run(tx, insert(vehicle), fleet_rows.vehicle(VEHICLE, company_id, vehicle_no="1"))
    tx.run(
        insert(account),
        {
            "id": DRIVER,
            "created_ms": 1,
            "company_id": company_id,
            "authority": "DRIVER",
            "name": "Lee",
            "email": "lee@x.example",
            "login": "lee@x.example",
            "password_hash": "",
            "password_updated_ms": 1,
            "enabled": True,
        },
    )
    published = {"score": 70.96813194953879, "accel": 18, "de_accel": 6, "over_speed": 152, "distance_m": 49162.0}
    second = {"score": 59.97314, "accel": 0, "de_accel": 1, "over_speed": 33, "distance_m": 3505.5, "user_id": DRIVER}
    trips = ((TRIP, 1671455280175, published), (OTHER_TRIP, 1671450000000, second))
    for number, (trip_id, created_ms, columns) in enumerate(trips):
        scores.add_trip(tx, number, VEHICLE, company_id=company_id, user_id=columns.get("user_id"))
        scores.add_score(tx, number, VEHICLE, created_ms=created_ms, **columns)
        named = {"id": trip_id}
        tx.run(update(trip).where(trip.c.id == scores.trip_id(number)).values(**named))
        tx.run(update(driving_score).where(driving_score.c.trip_id == scores.trip_id(number)).values(trip_id=trip_id))
    made = scores.add_event(
        tx, 1, VEHICLE, created_ms=1671455280000, event_ms=1671452402000, user_id=DRIVER, lat=37.5412, lon=127.0
    )
    tx.run(update(gps_event).where(gps_event.c.id == made).values(id=EVENT, trip_id=TRIP))
    scores.add_total(tx, VEHICLE, created_ms=1671455280244, count=2, score=70.16448291, distance_m=52667.5)


async def _owner(rest: Rest) -> Login:
    company, owner = await rest.operator("taxi")
    await rest.store.write(lambda tx: _published(tx, company["id"]["id"]))
    return owner


async def _plain_vehicle(rest: Rest) -> tuple[Login, str]:
    """An owner and the id of a vehicle that never drove."""
    _, owner = await rest.operator("taxi")
    return owner, (await rest.post(owner, "/vehicle", {"vehicleNo": "1", "mileage": 1}))["id"]["id"]


@pytest.mark.parametrize(
    ("path", "query", "golden"),
    [
        (f"/api/tre/v1_3/vehicle/{VEHICLE}/analytics/drivingScore", {"limit": 1}, "driving_score"),
        (f"/api/tre/v1_3/vehicle/{VEHICLE}/analytics/drivingScore", {"limit": 2}, "driving_score_last"),
        (f"/api/tre/v1_3/vehicle/{VEHICLE.upper()}/analytics/drivingScore", {"limit": 101}, "driving_score_last"),
        (f"/api/tre/v1_3/vehicle/{VEHICLE}/analytics/gpsEvent", {"limit": 1}, "gps_event"),
        (f"/api/tre/v1_2/driver/{DRIVER}/analytics/gpsEvent", {"limit": 20}, "gps_event"),
        (f"/api/tre/v1_3/vehicle/{VEHICLE}/analytics/drivingScore/stat", {}, "driving_score_stat"),
        (f"/api/tre/v1_3/trip/{TRIP}/analytics/drivingScore", {}, "trip_driving_score"),
    ],
)
async def test_answer_equals_the_published_record_key_by_key(app, path, query, golden):
    answer = await app.call(await _owner(app), "GET", path, **query)

    assert answer.text + "\n" == (GOLDEN / f"{golden}.json").read_text()


async def test_driver_page_holds_what_the_driver_drove(app):
    page = await app.get(await _owner(app), f"/api/tre/v1_2/driver/{DRIVER}/analytics/drivingScore", limit=9)

    assert ([record["id"]["id"] for record in page["data"]], page["hasNext"]) == ([OTHER_TRIP], False)


async def test_page_of_a_vehicle_without_scores_is_empty(app):
    owner, vehicle_id = await _plain_vehicle(app)
    kinds = ("drivingScore", "gpsEvent")
    found = [await app.get(owner, f"/api/tre/v1_3/vehicle/{vehicle_id}/analytics/{kind}", limit=9) for kind in kinds]

    assert found == [{"data": [], "nextPageLink": None, "hasNext": False}] * 2


def _five(tx: WriteTx, vehicle_id: str) -> list[str]:
    """Five scores: two of one ms, the others before and after."""
    times = (1_000, 2_000, 2_000, 3_000, 4_000)
    return [scores.add_score(tx, n, vehicle_id, created_ms=10**12 + ms) for n, ms in enumerate(times)]


CUTS: list[tuple[dict[str, Any], list[int]]] = [
    ({}, [4, 3, 2, 1, 0]),
    ({"ascOrder": "TRUE"}, [0, 1, 2, 3, 4]),
    ({"startTime": 10**12 + 2_000}, [4, 3, 2, 1]),
    ({"startTime": 10**12 + 2_001}, [4, 3]),
    ({"endTime": 10**12 + 2_000}, [2, 1, 0]),
    ({"endTime": 10**12 + 1_999}, [0]),
    ({"startTime": 10**9 + 2, "endTime": 10**9 + 3}, [3, 2, 1]),
    ({"startTime": 10**12 + 2_000, "endTime": 10**12 + 3_000, "ascOrder": "true"}, [1, 2, 3]),
    ({"startTime": 10**12 + 3_000, "endTime": 10**12 + 2_000}, []),
    ({"startTime": -1, "endTime": 2 * 10**14}, [4, 3, 2, 1, 0]),
    ({"idOffset": 2}, [1, 0]),
    ({"idOffset": 2, "ascOrder": "true"}, [3, 4]),
    ({"idOffset": 4, "endTime": 10**12 + 2_000}, [2, 1, 0]),
    ({"idOffset": 0, "startTime": 10**12 + 3_000, "ascOrder": "true"}, [3, 4]),
    ({"idOffset": 0}, []),
]


async def test_page_is_cut_by_times_inclusive_and_offset_exclusive(app):
    owner, vehicle_id = await _plain_vehicle(app)
    known = await app.store.write(lambda tx: _five(tx, vehicle_id))
    path = f"/api/tre/v1_3/vehicle/{vehicle_id}/analytics/drivingScore"
    found = []
    for query, _ in CUTS:
        asked = {**query, "idOffset": known[query["idOffset"]]} if "idOffset" in query else query
        page = await app.get(owner, path, limit=9, **asked)
        found.append((query, [known.index(record["id"]["id"]) for record in page["data"]]))

    assert found == CUTS


async def test_events_of_one_analysis_come_newest_event_first(app):
    owner, vehicle_id = await _plain_vehicle(app)

    def add(tx: WriteTx) -> None:
        for number, event_ms in enumerate((50, 70, 60, 70)):
            scores.add_event(tx, number, vehicle_id, created_ms=10**12, event_ms=event_ms)
        scores.add_event(tx, 9, vehicle_id, created_ms=10**12 + 1, event_ms=1)

    await app.store.write(add)
    page = await app.get(owner, f"/api/tre/v1_3/vehicle/{vehicle_id}/analytics/gpsEvent", limit=9)

    assert [record["eventTs"] for record in page["data"]] == [1, 70, 70, 60, 50]


@pytest.mark.parametrize("offset", [UNKNOWN, OTHER_TRIP])
async def test_offset_that_is_no_item_of_the_list_is_refused(app, offset):
    expected = (400, 31, "Parameter 'idOffset' does not name an item of this list.")
    owner = await _owner(app)
    path = f"/api/tre/v1_3/vehicle/{VEHICLE}/analytics/gpsEvent"

    assert await app.refused(owner, "GET", path, limit=1, idOffset=offset) == expected


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"state": "OPEN"}, "has not ended"),
        ({}, "waiting to be scored"),
        ({"not_scored": "too_short"}, "(too_short)"),
        ({"not_scored": "sparse"}, "(sparse)"),
        ({"not_scored": "no_position"}, "fewer than two of its samples with a time of their own have a valid position"),
        ({"not_scored": "device_type"}, "(device_type)"),
        ({"not_scored": "parking"}, "(parking)"),
        ({"not_scored": "unmapped"}, "(unmapped)"),
        ({"not_scored": "no_samples"}, "fewer than two samples with a time of their own"),
    ],
)
async def test_trip_without_a_score_says_why(app, columns, words):
    company, owner = await app.operator("taxi")
    company_id = company["id"]["id"]
    trip_id = await app.store.write(
        lambda tx: scores.add_trip(tx, 0, ids.PLACEHOLDER, company_id=company_id, **columns)
    )
    refusal: tuple[int, int, str] = await app.refused(
        owner, "GET", f"/api/tre/v1_3/trip/{trip_id}/analytics/drivingScore"
    )
    status, code, message = refusal

    assert (status, code) == (404, 32)
    assert words in message


async def test_vehicle_without_a_scored_trip_has_no_accumulated_score(app):
    owner, vehicle_id = await _plain_vehicle(app)
    found = await app.refused(owner, "GET", f"/api/tre/v1_3/vehicle/{vehicle_id}/analytics/drivingScore/stat")

    assert found == (404, 32, "No trip of this vehicle has a score yet.")


OPERATIONS = (
    f"/api/tre/v1_3/vehicle/{VEHICLE}/analytics/drivingScore?limit=1",
    f"/api/tre/v1_3/vehicle/{VEHICLE}/analytics/gpsEvent?limit=1",
    f"/api/tre/v1_3/vehicle/{VEHICLE}/analytics/drivingScore/stat",
    f"/api/tre/v1_3/trip/{OTHER_TRIP}/analytics/drivingScore",
    f"/api/tre/v1_2/driver/{DRIVER}/analytics/drivingScore?limit=1",
    f"/api/tre/v1_2/driver/{DRIVER}/analytics/gpsEvent?limit=1",
)


async def _codes(rest: Rest, login: Login | None) -> list[int]:
    """For each operation the HTTP status; of a refusal its errorCode."""
    answers = [
        await rest.http.get(path, headers={"X-Authorization": f"Bearer {login.token}"} if login else {})
        for path in OPERATIONS
    ]
    return [answer.json().get("errorCode", answer.status_code) for answer in answers]


async def test_scores_are_shown_to_those_within_reach_and_to_nobody_else(app):
    owner = await _owner(app)
    _, stranger = await app.operator("bus")
    company_id = CompanyId(str(owner.company_id))
    director = await app.person(owner, Authority.DIRECTOR, "director")
    other_driver = await app.person(owner, Authority.DRIVER, "driver")
    lee = await app.login(DRIVER, "lee@x.example", Authority.DRIVER, company_id)  # type: ignore[arg-type]
    root = await app.account("root@x.example", Authority.SYS_ADMIN)
    before = await _codes(app, director)
    await app.store.write(lambda tx: reaching.run(tx, update(vehicle).values(director_id=director.user_id)))

    assert before == [20] * 6
    assert await _codes(app, director) == [200, 200, 200, 200, 20, 20]
    assert await _codes(app, None) == [10] * 6
    assert await _codes(app, owner) == [200] * 6
    assert await _codes(app, lee) == [20, 20, 20, 200, 200, 200]
    for outsider in (stranger, other_driver, root):
        assert await _codes(app, outsider) == [20] * 6


async def test_unknown_ids_are_not_found_and_malformed_ones_are_bad(app):
    owner = await _owner(app)
    outcomes = []
    for path in OPERATIONS:
        for known in (VEHICLE, DRIVER, OTHER_TRIP):
            for wrong in (UNKNOWN, "17", ids.PLACEHOLDER):
                if known in path:
                    _, code, _ = await app.refused(owner, "GET", path.replace(known, wrong))
                    outcomes.append(code)

    assert outcomes == [32, 31, 32] * 6


@pytest.mark.sqlite("statements are counted on SQLite")
async def test_page_costs_as_many_statements_for_3_rows_as_for_1(app):
    owner, vehicle_id = await _plain_vehicle(app)
    await app.store.write(lambda tx: _five(tx, vehicle_id))
    counts = []
    for limit in (1, 3):
        seen: list[str] = []
        app.store._inline.driver.set_trace_callback(seen.append)
        await app.get(owner, f"/api/tre/v1_3/vehicle/{vehicle_id}/analytics/drivingScore", limit=limit)
        app.store._inline.driver.set_trace_callback(None)
        counts.append(sum(sql.startswith("SELECT") for sql in seen))

    assert counts == [1, 1]


_SCORES = f"/api/tre/v1_3/vehicle/{VEHICLE}/analytics/drivingScore?limit=1"
_BY_DRIVER = f"/api/tre/v1_2/driver/{DRIVER}/analytics/drivingScore?limit=1"


def _account(user_id: str | None, **values: Any) -> Any:
    return update(account).where(account.c.id == user_id).values(**values)


def _signed_out(user_id: str) -> Any:
    return delete(account_session).where(account_session.c.user_id == user_id)


_CHANGES: dict[str, tuple[str, Callable[[Login, Login], Any], int]] = {
    "disabled": (_SCORES, lambda owner, other: _account(owner.user_id, enabled=False), 10),
    "another role": (_SCORES, lambda owner, other: _account(owner.user_id, authority="DRIVER"), 20),
    "another company": (_SCORES, lambda owner, other: _account(owner.user_id, company_id=other.company_id), 20),
    "no company": (_SCORES, lambda owner, other: _account(owner.user_id, company_id=None), 20),
    "no company, by driver": (_BY_DRIVER, lambda owner, other: _account(owner.user_id, company_id=None), 20),
    "driver elsewhere": (_BY_DRIVER, lambda owner, other: _account(DRIVER, company_id=other.company_id), 20),
    "vehicle elsewhere": (_SCORES, lambda owner, other: update(vehicle).values(company_id=other.company_id), 20),
    "signed out": (_SCORES, lambda owner, other: _signed_out(owner.user_id), 10),
    "signed out, by driver": (_BY_DRIVER, lambda owner, other: _signed_out(owner.user_id), 10),
    "somebody else signed out": (_SCORES, lambda owner, other: _signed_out(other.user_id), 200),
    "no scores": (_SCORES, lambda owner, other: delete(driving_score), 200),
}


@pytest.mark.parametrize(("path", "change", "code"), _CHANGES.values(), ids=_CHANGES)
async def test_next_page_knows_what_changed_since_the_one_before(app, path, change, code):
    """Whoever changed it: no signal tells of it."""

    owner = await _owner(app)
    _, other = await app.operator("bus")
    headers = {"X-Authorization": f"Bearer {owner.token}"}
    before = [await app.http.get(path, headers=headers) for _ in range(2)]
    await app.store.write(lambda tx: reaching.run(tx, change(owner, other)))
    after = await app.http.get(path, headers=headers)
    found = [*(len(each.json()["data"]) for each in before), after.json().get("errorCode", after.status_code)]

    assert found == [1, 1, code]


async def test_each_page_is_counted_once_among_the_requests_of_its_account(app):
    """Of an account that nobody knows yet, and then does; with rows and without; refused."""
    queries = ("limit=1", "limit=1", "limit=1&endTime=5", "limit=0", "limit=1")

    owner = await _owner(app)
    limits = Limits(accounts=config.Accounts(), rest=config.Rest(requests_per_minute=4))
    limited = support.application(changed(app.contexts, limits=limits, actors={}))
    headers = {"X-Authorization": f"Bearer {owner.token}"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=limited), base_url="http://x") as http:  # type: ignore[arg-type]
        path = _SCORES.partition("?")[0]
        found = [(await http.get(f"{path}?{query}", headers=headers)).status_code for query in queries]

    assert found == [200, 200, 200, 400, 429]


@pytest.mark.parametrize(("rows", "shown", "more"), [(999, 999, False), (1000, 1000, False), (1001, 1000, True)])
async def test_g34_page_holds_1000_at_most_and_its_link_says_so(app, rows, shown, more):
    owner, vehicle_id = await _plain_vehicle(app)

    def add(tx: WriteTx) -> None:
        for number in range(rows):
            scores.add_score(tx, number, vehicle_id, created_ms=10**12)

    await app.store.write(add)
    page = await app.get(owner, f"/api/tre/v1_3/vehicle/{vehicle_id}/analytics/drivingScore", limit=5_000)

    assert (len(page["data"]), page["hasNext"]) == (shown, more)
    link = {"limit": 1000, "startTime": None, "endTime": None, "ascOrder": False, "idOffset": scores.trip_id(1)}
    assert page["nextPageLink"] == (link if more else None)


HOUR_MS = 3_600_000
DAY_MS = 1_700_000_000_000
ANALYTICS = [
    f"/api/tre/{family}/analytics/{kind}"
    for family in (f"v1_3/vehicle/{VEHICLE}", f"v1_2/driver/{DRIVER}")
    for kind in ("drivingScore", "gpsEvent")
]


async def _late_data(rest: Rest) -> tuple[Login, list[str], list[str]]:
    """The owner, and ids of scores and events in the order in which they happened; they were judged in another one."""
    owner = await _owner(rest)
    happened = [5, 1, 9, 3, 3, 7]
    """Hours, in the order of analysis; two of them share an instant."""

    def work(tx: WriteTx) -> tuple[list[str], list[str]]:
        tx.run(delete(gps_event))
        tx.run(delete(driving_score))
        tx.run(delete(trip))
        trips, events = [], []
        for number, hour in enumerate(happened):
            at = {"start_ms": DAY_MS + hour * HOUR_MS}
            scores.add_trip(tx, number, VEHICLE, company_id=str(owner.company_id), user_id=DRIVER, **at)
            scored = scores.add_score(tx, number, VEHICLE, created_ms=support.NOW_MS + number, user_id=DRIVER)
            trips.append((hour, ids.no_of(scored), scored))
            made = scores.add_event(
                tx,
                number,
                VEHICLE,
                created_ms=support.NOW_MS + number,
                event_ms=DAY_MS + hour * HOUR_MS,
                user_id=DRIVER,
            )
            events.append((hour, ids.no_of(made), made))
        # Trips that are not scored stand between them and are not shown.
        for number in (20, 21):
            scores.add_trip(
                tx, number, VEHICLE, company_id=str(owner.company_id), user_id=DRIVER, start_ms=DAY_MS + 4 * HOUR_MS,
                not_scored="too_short",
            )  # fmt: skip
        return [name for *_, name in sorted(trips)], [name for *_, name in sorted(events)]

    return owner, *await rest.store.write(work)


@pytest.mark.parametrize("path", ANALYTICS)
async def test_pages_by_event_go_by_when_it_happened_and_their_links_carry_it(app, path):
    owner, trips, events = await _late_data(app)
    seen: dict[str, Any] = {"wanted": trips if path.endswith("drivingScore") else events}
    for ascending in ("true", "false"):
        walked, query = [], {"limit": "2", "ascOrder": ascending, "by": "event"}
        while query:
            page = await app.get(owner, path, **query)
            walked.append([record["id"]["id"] for record in page["data"]])
            link = page["nextPageLink"] or {}
            assert link.get("by", "event") == "event"
            query = {name: "null" if value is None else str(value) for name, value in link.items()}
        seen[ascending] = walked
    bounds = {"startTime": (DAY_MS + 3 * HOUR_MS) / 1000, "endTime": DAY_MS + 7 * HOUR_MS, "by": "event"}
    within = await app.get(owner, path, limit=9, **bounds)
    seen["within"] = [record["id"]["id"] for record in within["data"]]

    wanted = seen["wanted"]
    assert seen["true"] == [wanted[:2], wanted[2:4], wanted[4:]]
    assert seen["false"] == [wanted[:3:-1], wanted[3:1:-1], wanted[1::-1]]
    assert seen["within"] == wanted[4:0:-1]


@pytest.mark.parametrize("path", ANALYTICS)
async def test_pages_by_anything_else_are_refused_and_links_of_other_pages_carry_nothing(app, path):
    owner, *_ = await _late_data(app)
    plain = [await app.get(owner, path, limit=2, **by) for by in ({}, {"by": "null"}, {"by": ""})]
    refused, link = await app.refused(owner, "GET", path, limit=2, by="eventTs"), plain[0]["nextPageLink"].keys()

    assert refused == (400, 31, "Parameter 'by' must be one of event.")
    assert plain[0] == plain[1] == plain[2]
    assert link == {"limit", "startTime", "endTime", "ascOrder", "idOffset"}


@pytest.mark.parametrize("path", ANALYTICS)
async def test_offset_by_event_must_be_an_item_of_the_list(app, path):
    owner, *_ = await _late_data(app)

    assert (await app.refused(owner, "GET", path, limit=2, by="event", idOffset=UNKNOWN))[:2] == (400, 31)

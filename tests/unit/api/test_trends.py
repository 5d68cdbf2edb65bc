"""Trends and rankings over REST: what a period holds, pages, percentiles, who may read them, and what is refused."""

import datetime
import sys

import pytest
from tests.support import delegating, rest, scoring_rows, standings
from tests.support.limits import Roads, along
from tests.support.scoring_rows import ZONE

from tripline.domain import trends
from tripline.domain.ids import no_of
from tripline.domain.trends import Period, Subject
from tripline.scoring.rules import Rules
from tripline.services.scores import trends as service
from tripline.services.scores.scorer import Scorer
from tripline.store.tables import scoring_job, trip
from tripline.store.transactions import ReadTx

UNKNOWN = "11111111-1111-1111-8111-111111111111"
STARTS = [0.0, 0.0, 0.0, 0.0, 12.0, 24.0, 30.0, 30.0]
HARSH = scoring_rows.drive(0, 0, 0, 0, 12, 24, 30, 30)
VAGUE = [
    scoring_rows.sample(second, float("nan"), lat=36 + (14 * second + 7 * second % 5) / 111_195)
    for second in range(300)
]
"""Without speeds, and with rough positions: harsh driving is unknown."""
CALM = scoring_rows.drive(*[50.0] * 20)


def at(month, day, hour=12):
    """An instant of 2025 in the time zone of the service, epoch ms."""
    return round(datetime.datetime(2025, month, day, hour, tzinfo=ZONE).timestamp() * 1_000)


class Fleet:
    """An operator with vehicles and trips that were scored from samples."""

    def __init__(self, app, admin):
        self.app, self.admin = app, admin

    async def vehicle(self, number):
        """Another vehicle's id."""
        return await delegating.new_vehicle(self.app, self.admin, f"12가{1000 + number}")

    async def trip(self, vehicle_id, begun_ms, *, packed=HARSH, distance_m=10_000, driver=None):
        app = self.app
        trip_id = app.ids.next(now_ms=app.now_ms)

        def work(tx):
            row = {"no": no_of(trip_id), "id": trip_id, "created_ms": app.now_ms, "company_id": self.admin.company_id}
            row |= {"vehicle_id": vehicle_id, "user_id": driver, "service_type": "taxi", "start_ms": begun_ms}
            row |= {"device_type": "GPS", "parking": False, "state": "COMPLETE", "distance_m": distance_m}
            tx.run(trip.insert(), row)
            scoring_rows.add_microtrips(tx, app.ids, row["no"], packed)
            tx.run(scoring_job.insert(), {"trip_no": row["no"], "due_ms": 0})

        await app.store.write(work)

    async def score(self, roads=None):
        app = self.app
        scorer = Scorer(
            store=app.store,
            rules=Rules(),
            ids=app.ids,
            signals=scoring_rows.Hints(),
            clock=lambda: app.now_ms,
            zone=ZONE,
            roads=roads,
        )
        while await scorer.score_due():
            pass

    async def count(self):
        """Have a worker count percentiles, now and a minute later."""
        await standings.count(self.app.store, now_ms=self.app.now_ms)

    def trend(self, kind="vehicle", of=None):
        return f"/api/tre/v1_3/{kind}/{of or self.vehicle_id}/analytics/trend"

    @property
    def ranking(self):
        return f"/api/tre/v1_3/company/{self.admin.company_id}/analytics/ranking"


@pytest.fixture
async def own(app):
    """A fleet with a vehicle and a driver."""
    _, admin = await app.operator("taxi")
    made = Fleet(app, admin)
    made.vehicle_id = await made.vehicle(0)
    made.driver = await delegating.driver(app, admin, "driver")
    return made


async def walked(app, login, path, **query):
    """The pages of a list, one item each, gone through by their links."""
    found, link = [], {"limit": 1, **query}
    while link is not None:
        page = await app.get(login, path, **{name: value for name, value in link.items() if value is not None})
        assert page["hasNext"] == (page["nextPageLink"] is not None)
        found += page["data"]
        link = page["nextPageLink"]
        if link:
            link["ascOrder"] = str(link["ascOrder"]).lower() if "ascOrder" in link else None
    return found


async def test_day_holds_what_its_trips_add_up_to(app: rest.Rest, own):
    await own.trip(own.vehicle_id, at(3, 4, 0), driver=own.driver.user_id)
    await own.trip(own.vehicle_id, at(3, 4, 23), packed=CALM, distance_m=40_000)
    await own.trip(own.vehicle_id, at(3, 5, 0), packed=CALM)
    await own.score()
    of_vehicle = await app.get(own.admin, own.trend(), limit=5)
    of_driver = await app.get(own.driver, own.trend("driver", own.driver.user_id), limit=5)
    of_company = await app.get(own.admin, own.trend("company", own.admin.company_id), limit=5, period="month")

    newer, older = of_vehicle["data"]
    assert (newer["date"], newer["score"], newer["badge"]) == ("2025-03-05", 100.0, None)
    assert older == {
        "date": "2025-03-04",
        "startTime": at(3, 4, 0),
        "endTime": at(3, 5, 0),
        "score": pytest.approx(99.1040, abs=1e-4),
        "limitKnown": 0.0,
        "harshKnown": 1.0,
        "badge": None,
        "count": 2,
        "distance": 50_000,
        "driving": 26.0,
        "accel": 1,
        "deAccel": 0,
        "overSpeed": 0,
        "per100Km": {"accel": 2.0, "deAccel": 0.0, "overSpeed": 0.0},
        "over": 0.0,
        "overShare": 0.0,
        "percentile": None,
        "policies": [1],
    }
    assert [(each["date"], each["distance"]) for each in of_driver["data"]] == [("2025-03-04", 10_000)]
    assert [(each["date"], each["count"], each["distance"]) for each in of_company["data"]] == [
        ("2025-03-01", 3, 60_000)
    ]
    assert (of_vehicle["hasNext"], of_vehicle["nextPageLink"]) == (False, None)


async def test_summed_scores_name_the_share_of_known_limits(app: rest.Rest, own):
    driven = [([50.0] * 235, Roads()), ([90.0] * 150, Roads()), ([70.0] * 180, None)]
    for hour, (speeds, roads) in enumerate(driven):
        of_trip = {"packed": along(speeds), "distance_m": None, "driver": own.driver.user_id}
        await own.trip(own.vehicle_id, at(3, 4, hour), **of_trip)
        await own.score(roads)
    total = f"/api/tre/v1_3/vehicle/{own.vehicle_id}/analytics/drivingScore/stat"
    kept = await app.get(own.admin, total + "/explanation")
    month = {"limit": 5, "period": "month", "time": at(3, 4)}
    told = [
        (await app.get(own.admin, own.trend(), limit=5))["data"],
        (await app.get(own.driver, own.trend("driver", own.driver.user_id), limit=5, period="week"))["data"],
        (await app.get(own.admin, own.trend("company", own.admin.company_id), limit=5, period="month"))["data"],
        *[(await app.get(own.admin, own.ranking, of=of, **month))["data"] for of in ("vehicle", "driver")],
    ]
    told = [each["limitKnown"] for (each,) in told]

    of_trips = [(each["limitKnown"], each["dist"]) for each in kept["trips"]]
    expected = sum(known * metres for known, metres in of_trips) / sum(metres for _, metres in of_trips)
    assert sorted(known > 0.6 for known, _ in of_trips) == [False, True, True]
    assert told == [pytest.approx(expected, abs=1e-4)] * 5
    assert kept["limitKnown"] == told[0]


@pytest.mark.parametrize("ascending", ["true", "false"])
@pytest.mark.parametrize(
    ("period", "dates"),
    [
        ("day", ["2025-02-28", "2025-03-03", "2025-03-09", "2025-03-31"]),
        ("week", ["2025-02-24", "2025-03-03", "2025-03-31"]),
        ("month", ["2025-02-01", "2025-03-01"]),
    ],
)
async def test_pages_go_through_all_periods_once(app: rest.Rest, own, period, dates, ascending):
    for month, day in ((2, 28), (3, 3), (3, 9), (3, 31)):
        await own.trip(own.vehicle_id, at(month, day))
    await own.score()

    found = [each["date"] for each in (await walked(app, own.admin, own.trend(), period=period, ascOrder=ascending))]

    assert found == (dates if ascending == "true" else dates[::-1])


async def test_bounds_take_in_the_periods_that_hold_them(app: rest.Rest, own):
    for day in (3, 10, 17, 24):
        await own.trip(own.vehicle_id, at(3, day))
    await own.score()

    assert [
        each["date"]
        for each in (
            await app.get(own.admin, own.trend(), limit=9, period="week", startTime=at(3, 16), endTime=at(3, 17))
        )["data"]
    ] == ["2025-03-17", "2025-03-10"]


@pytest.mark.parametrize(("vehicles", "expected"), [(19, [None, None]), (20, [47.5, 97.5])])
async def test_percentile_is_told_in_a_group_of_20(app: rest.Rest, own, vehicles, expected):
    ids = [own.vehicle_id, *[await own.vehicle(each) for each in range(1, vehicles)]]
    for each in ids:
        await own.trip(each, at(3, 4), packed=CALM if each == ids[-1] else HARSH)
    await own.score()
    await own.count()
    pages = [await app.get(own.admin, own.trend(of=each), limit=5) for each in (ids[0], ids[-1])]

    assert [page["data"][0]["percentile"] for page in pages] == expected


async def test_page_of_a_trend_reads_as_many_rows_whatever_the_size_of_the_group(app: rest.Rest, own, monkeypatch):
    rows, hot = [], ReadTx.hot
    monkeypatch.setattr(ReadTx, "hot", lambda *asked: (rows.append(found := hot(*asked)), found)[1])

    read = []
    for more in (20, 40):
        for each in [own.vehicle_id, *[await own.vehicle(more + each) for each in range(20)]]:
            for day in (4, 5, 6):
                await own.trip(each, at(3, day, 12 + more // 20))
        await own.score()
        await own.count()
        rows.clear()
        page = await app.get(own.admin, own.trend(), limit=5)
        read.append((len(page["data"]), sum(map(len, rows))))
    first, second = read

    assert first == second
    assert first[0] == 3


async def test_ranking_has_the_best_first_and_equal_ones_share_a_rank(app: rest.Rest, own):
    ids = sorted([own.vehicle_id, *[await own.vehicle(each) for each in range(1, 5)]])
    for each, metres in zip(ids, (10_000, 20_000, 10_000, 5_000), strict=False):
        await own.trip(each, at(3, 4), distance_m=metres, driver=own.driver.user_id)
    await own.trip(ids[4], at(4, 4))
    await own.score()
    march = {"period": "month", "time": at(3, 31, 23)}
    ranked = await walked(app, own.admin, own.ranking, **march)
    driver_id = own.driver.user_id
    drivers = await app.get(own.admin, own.ranking, limit=9, of="driver", **march)
    none = await app.get(own.admin, own.ranking, limit=9, period="day", time=at(3, 5))

    assert [(each["rank"], each["id"]["id"]) for each in ranked] == [(1, ids[1]), (2, ids[0]), (2, ids[2]), (4, ids[3])]
    assert [(each["rank"], each["id"]["id"], each["count"]) for each in drivers["data"]] == [(1, driver_id, 4)]
    assert none == {"by": "score", "data": [], "nextPageLink": None, "hasNext": False}


async def test_ranking_compares_harsh_driving_where_a_member_lacks_limits(app: rest.Rest, own):
    ids = sorted([own.vehicle_id, await own.vehicle(1), await own.vehicle(2)])
    speeds = ([75.0] * 200, [*STARTS, *[30.0] * 400], [30.0] * 400)
    for each, driven in zip(ids, speeds, strict=True):
        await own.trip(each, at(3, 4), packed=along(driven), distance_m=None)
    await own.score(Roads())
    known = await walked(app, own.admin, own.ranking, time=at(3, 4))
    trend = await app.get(own.admin, own.trend(of=ids[2]), limit=5)
    await own.trip(ids[2], at(3, 4, 15), packed=along([30.0] * 900), distance_m=None)
    await own.score()
    unknown = await walked(app, own.admin, own.ranking, time=at(3, 4))
    by = await app.get(own.admin, own.ranking, limit=5, time=at(3, 4))

    assert [each["id"]["id"] for each in known] == [ids[2], ids[1], ids[0]]
    assert [each["badge"] for each in trend["data"]] == ["GOOD"]
    assert [(each["rank"], each["id"]["id"]) for each in unknown] == [(1, ids[0]), (1, ids[2]), (3, ids[1])]
    assert (by["by"], by["data"][1]["badge"]) == ("harsh", None)


@pytest.mark.parametrize("vague", [VAGUE, VAGUE[::2]], ids=["rough", "rough and far apart"])
async def test_trip_with_unknown_harsh_driving_takes_no_part_in_badges_and_rankings(app: rest.Rest, own, vague):
    ids = sorted([own.vehicle_id, await own.vehicle(1), await own.vehicle(2)])
    clear = along([30.0] * 400)
    for each, drives in zip(ids, ([vague], [vague, clear], [clear]), strict=True):
        for hour, packed in enumerate(drives):
            await own.trip(each, at(3, 4, hour), packed=packed, distance_m=None)
    await own.score(Roads())
    page = await app.get(own.admin, own.ranking, limit=9, time=at(3, 4))
    trends_of = [await app.get(own.admin, own.trend(of=each), limit=5) for each in ids]

    of_days = [each["data"][0] for each in trends_of]
    assert [(each["rank"], each["id"]["id"], each["compared"]) for each in page["data"]] == [
        *((1, each, 100.0) for each in ids[1:])
    ]
    assert [each["harshKnown"] for each in of_days] == [0.0, pytest.approx(0.443, abs=0.01), 1.0]
    assert [each["badge"] for each in of_days] == [None, None, "GOOD"]
    assert [each["count"] for each in of_days] == [1, 2, 1]


async def test_ranking_runs_no_code_of_ours_for_each_member(app: rest.Rest, own):
    """The database sorts: a company may have 100,000."""
    calls, first, asked = [], 0, (app.store, own.admin.company_id)
    for more in (10, 1, 40):  # the first compiles the statements
        for each in [await own.vehicle(first + each) for each in range(1, more + 1)]:
            await own.trip(each, at(3, 4))
        first += more
        await own.score()
        calls.append(await calls_of_a_ranking(*asked))
    _, few, many = calls

    assert abs(many - few) < 20  # of 40 more members; a driver prepares a statement now and then


async def calls_of_a_ranking(store, company_id):
    """How many functions of ours are called to read the ranking of the fourth of March."""
    day, calls = trends.day_of(at(3, 4), ZONE), 0

    def note(frame, event, _detail):
        nonlocal calls
        calls += event == "call" and frame.f_globals["__name__"].startswith("tripline.")

    def read(tx):
        sys.setprofile(note)
        try:
            service.ranking(tx, Subject.VEHICLE, company_id, Period.DAY, day=day, after=None, limit=5)
        finally:
            sys.setprofile(None)

    await store.read(read)
    return calls


@pytest.mark.parametrize(
    ("name", "value"),
    [("period", "year"), ("limit", "0"), ("startTime", "soon"), ("ascOrder", "perhaps")],
)
async def test_query_of_a_trend_that_cannot_be_read_is_refused(app: rest.Rest, own, name, value):
    assert (await app.refused(own.admin, "GET", own.trend(), **{"limit": 5, name: value}))[:2] == (400, 31)


@pytest.mark.parametrize(("name", "value"), [("of", "company"), ("time", "soon"), ("idOffset", UNKNOWN)])
async def test_query_of_a_ranking_that_cannot_be_read_is_refused(app: rest.Rest, own, name, value):
    assert (await app.refused(own.admin, "GET", own.ranking, **{"limit": 5, name: value}))[:2] == (400, 31)


async def test_deleted_vehicle_leaves_ranking_and_group(app: rest.Rest, own):
    await own.trip(own.vehicle_id, at(3, 4), driver=own.driver.user_id)
    await own.score()
    await app.call(own.admin, "DELETE", f"/vehicle/{own.vehicle_id}")
    ranked = await app.get(own.admin, own.ranking, limit=5, period="day", time=at(3, 4))
    refused = (await app.refused(own.admin, "GET", own.trend(), limit=5))[:2]

    assert ranked["data"] == []
    assert refused == (404, 32)


async def test_ranking_that_was_read_before_shows_who_is_there_now_with_their_scores(app: rest.Rest, own):
    ids = sorted([own.vehicle_id, *[await own.vehicle(each) for each in range(1, 4)]])
    for each in ids:
        await own.trip(each, at(3, 4), driver=own.driver.user_id)
    await own.score()

    async def ranked():
        page = await app.get(own.admin, own.ranking, limit=9, time=at(3, 4))
        return [(each["rank"], each["id"]["id"], each["count"]) for each in page["data"]]

    before = await ranked()
    await app.call(own.admin, "DELETE", f"/vehicle/{ids[1]}")
    deleted = await ranked()
    await own.trip(ids[2], at(3, 4, 9), packed=CALM)
    await own.score()
    driven = await ranked()

    assert before == [(1, each, 1) for each in ids]
    assert deleted == [(1, each, 1) for each in ids if each != ids[1]]
    assert driven == [(1, ids[2], 2), (2, ids[0], 1), (2, ids[3], 1)]


async def test_percentile_is_among_the_others_as_they_were_counted_last(app: rest.Rest, own):
    ids = [own.vehicle_id, *[await own.vehicle(each) for each in range(1, 20)]]
    for each in ids:
        await own.trip(each, at(3, 4))
    await own.score()

    async def told(of):
        page = await app.get(own.admin, own.trend(of=of), limit=5)
        return page["data"][0]["percentile"]

    uncounted = await told(ids[0])
    await own.count()
    before = await told(ids[0])
    await own.trip(ids[0], at(3, 4, 9), packed=CALM)
    await own.trip(ids[1], at(3, 4, 9), packed=CALM)
    await own.score()
    soon = await told(ids[0])
    await own.count()

    assert (uncounted, before, soon, await told(ids[0])) == (None, 50, 97.5, 95)


async def test_driver_reads_the_own_trend_and_not_that_of_the_company(app: rest.Rest, own):
    assert [
        (await app.refused(own.driver, "GET", path, limit=5))[:2]
        for path in (own.trend("company", own.admin.company_id), own.ranking)
    ] == [(403, 20)] * 2


async def test_borrower_reads_the_trend_of_a_vehicle_as_long_as_it_is_delegated(app: rest.Rest, of):
    own = Fleet(app, of.owner)
    own.vehicle_id = await own.vehicle(0)
    await own.trip(own.vehicle_id, at(3, 4))
    await own.score()
    asked = [own.trend(), own.trend("company", of.owner.company_id), own.ranking]

    async def answers():
        return [(await app.refused(of.borrower, "GET", path, limit=5))[:2] for path in asked]

    before = await answers()
    await delegating.register(app, of.owner, of.borrower)
    await delegating.delegate(app, of.owner, of.borrower, own.vehicle_id)
    seen = await app.get(of.borrower, own.trend(), limit=5)
    still = [(await app.refused(of.borrower, "GET", path, limit=5))[:2] for path in asked[1:]]
    await delegating.take_back(app, of.owner, of.borrower, own.vehicle_id)

    assert before == [(403, 20)] * 3
    assert [each["count"] for each in seen["data"]] == [1]
    assert still == [(403, 20)] * 2
    assert await answers() == [(403, 20)] * 3

"""A trip's page: its sentence in both languages, its score and costs, and what its states say."""

import re
from zoneinfo import ZoneInfo

import msgspec
import pytest
from sqlalchemy import update
from tests.support import day_world, rest
from tests.support.portal import Browser, Page, form_of
from tests.support.scored_fleet import fleet

from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.portal.frame import figures
from tripline.portal.trips import costs
from tripline.roads.located import Road
from tripline.scoring import quality, score
from tripline.scoring.measures import Measures
from tripline.scoring.quality import HarshSource, Limits, LimitSource, Quality
from tripline.scoring.rules import Column, EventType, Harsh, Rules, Scoring
from tripline.services.scores.explanation import Explanation
from tripline.services.scores.findings import LimitRun, Manoeuvre, Stretch
from tripline.services.scores.reads import Outcome
from tripline.store.tables import driving_score, trip

KNOWN = Limits(tagged=1, default=0)
MEASURES = Measures(
    driving_s=0, over_s=(0,), long_over_s=0, cornering=0, cornering_s=0, idle_s=0, night_share=0, longest_drive_s=0
)


def over(seconds, road="1", annulled=None, *, source=LimitSource.TAGGED, fastest=70.0, limit=50.0, counted=55.0):
    place = {
        "begin_ms": 0,
        "last_ms": 0,
        "end_ms": 0,
        "lat": 0,
        "lon": 0,
        "fastest_kmh": fastest,
        "limit_kmh": limit,
        "counted_kmh": counted,
    }
    on = None if road is None else Road(road, 1, road)
    return Stretch(**place, limit_source=source, road=on, seconds=seconds, annulled=annulled, cost=1.0, without_it=91.0)


def harsh(kind, annulled=None, *, rate=16.0, begin_ms=0):
    moment = {
        "at_ms": begin_ms,
        "begin_ms": begin_ms,
        "end_ms": begin_ms,
        "lat": 0,
        "lon": 0,
        "speed_kmh": 0,
        "begin_kmh": 0,
        "end_kmh": 0,
    }
    return Manoeuvre(
        type=kind,
        **moment,
        rate=rate,
        threshold=15,
        threshold_name="deceleration_to_50",
        annulled=annulled,
        cost=1.0,
        without_it=91.0,
    )


def explained(manoeuvres=(), stretches=(), limits=KNOWN, source=HarshSource.SPEEDS):
    return Explanation(
        manoeuvres=list(manoeuvres),
        stretches=list(stretches),
        brakings=[],
        corners=[],
        score=80.0,
        distance_m=9_100,
        measures=MEASURES,
        quality=Quality(samples=1, period_ms=1, limits=limits, harsh_source=source),
        limits=[],
        unexplained=[],
    )


@pytest.fixture
async def ours(app):
    return await fleet(app)


@pytest.mark.parametrize(
    ("found", "english", "korean"),
    [
        (
            explained(stretches=[over(120, str(no)) for no in range(6)]),
            "12 minutes more than 10% over the limit on six roads",
            "도로 6곳에서 12분 동안 제한 속도를 10% 넘게 초과",
        ),
        (
            explained(stretches=[over(1)]),
            "1 second more than 10% over the limit on one road",
            "도로 1곳에서 1초 동안 제한 속도를 10% 넘게 초과",
        ),
        (
            explained(stretches=[over(40, None)]),
            "40 seconds more than 10% over the limit",
            "40초 동안 제한 속도를 10% 넘게 초과",
        ),
        (
            explained(stretches=[over(60, "")]),
            "1 minute more than 10% over the limit",
            "1분 동안 제한 속도를 10% 넘게 초과",
        ),
        (
            explained(stretches=[over(89, "")]),
            "89 seconds more than 10% over the limit",
            "89초 동안 제한 속도를 10% 넘게 초과",
        ),
        (
            explained(stretches=[over(30, None, source=LimitSource.DEFAULT), over(10, source=LimitSource.ROAD_CLASS)]),
            "40 seconds more than 10% over an assumed limit",
            "40초 동안 추정 제한 속도를 10% 넘게 초과",
        ),
        (
            explained(stretches=[over(60, str(no)) for no in range(11)]),
            "11 minutes more than 10% over the limit on 11 roads",
            "도로 11곳에서 11분 동안 제한 속도를 10% 넘게 초과",
        ),
        (
            explained([harsh(EventType.STOP), harsh(EventType.START), harsh(EventType.STOP)]),
            "one sudden start, two sudden stops",
            "급출발 1회, 급정지 2회",
        ),
        (
            explained([harsh(EventType.STOP, "d")], [over(9, annulled="d")]),
            "nothing cost points",
            "감점된 항목이 없습니다",
        ),
        (
            explained(limits=Limits()),
            "nothing cost points, but the speed limits of its roads are not known",
            "감점된 항목이 없지만, 지나간 도로의 제한 속도를 알 수 없습니다",
        ),
        (
            explained(source=HarshSource.UNKNOWN),
            "nothing cost points, but sudden manoeuvres are not known",
            "감점된 항목이 없지만, 급조작은 알 수 없습니다",
        ),
    ],
)
def test_sentence_names_what_cost_points(found, english, korean):
    def why(language):
        return costs.why(found, rules=Rules(), say=lambda name, /, **named: catalogue.text(name, language, **named))

    assert (why(Language.ENGLISH), why(Language.KOREAN)) == (english, korean)


@pytest.mark.parametrize(
    ("found", "measured", "allowed"),
    [
        (
            explained([harsh(EventType.STOP)]),
            "0 to 0 km/h, in the hardest second by 16.0 km/h",
            "by less than 15.0 km/h in a second that begins at 30 to 50 km/h",
        ),
        (
            explained([harsh(EventType.STOP, rate=15.04)]),
            "0 to 0 km/h, in the hardest second by 15.04 km/h",
            "by less than 15.00 km/h",
        ),
        (
            explained([harsh(EventType.STOP, rate=15)]),
            "0 to 0 km/h, in the hardest second by 15.0 km/h",
            "by less than 15.0 km/h",
        ),
        (
            explained(stretches=[over(9)]),
            "up to 70 km/h, for 9 seconds above 55 km/h",
            "limit 50 km/h plus 10%, counts above 55 km/h",
        ),
        (
            explained(stretches=[over(9, source=LimitSource.DEFAULT)]),
            "up to 70 km/h",
            "assumed limit 50 km/h plus 10%, counts above 55 km/h",
        ),
        (
            explained(stretches=[over(9, fastest=55.3)]),
            "up to 55.3 km/h",
            "limit 50 km/h plus 10%, counts above 55.0 km/h",
        ),
        (
            explained(stretches=[over(9, fastest=44.3, limit=40.234, counted=44.257)]),
            "up to 44.30 km/h, for 9 seconds above 44.26 km/h",
            "limit 40.2 km/h plus 10%, counts above 44.26 km/h",
        ),
        (
            explained(stretches=[over(9, fastest=80.1, limit=64.374, counted=70.811)]),
            "up to 80.1 km/h, for 9 seconds above 70.8 km/h",
            "limit 64.4 km/h plus 10%, counts above 70.8 km/h",
        ),
    ],
)
def test_row_says_what_was_allowed_and_shows_that_it_was_exceeded(found, measured, allowed):
    english = figures.of(Language.ENGLISH, ZoneInfo("UTC"))
    (row,) = costs.rows(found, (), rules=Rules(), say=in_english, figures=english)

    assert row.measured.startswith(measured)
    assert row.allowed.startswith(allowed)


@pytest.mark.parametrize(("tolerance", "said"), [("factor", "10%"), ("kotsa", "20 km/h"), ("plus15", "15 km/h")])
def test_speeding_is_worded_by_the_tolerance_of_the_policy(tolerance, said):
    rules = Rules(scoring=Scoring(tolerance=tolerance))
    found = explained(stretches=[over(9)])

    (row,) = costs.rows(found, (), rules=rules, say=in_english, figures=figures.of(Language.ENGLISH, ZoneInfo("UTC")))

    assert costs.why(found, rules=rules, say=in_english) == f"9 seconds more than {said} over the limit on one road"
    assert row.allowed.startswith(f"limit 50 km/h plus {said}, ")


@pytest.mark.parametrize(
    ("threshold", "said"),
    [
        ("start", "that begins at up to 8 km/h"),
        ("acceleration_to_10", "that begins at 8 to 10 km/h"),
        ("stop", "that ends at up to 8 km/h"),
    ],
)
def test_speeds_of_a_threshold_are_those_of_the_policy(threshold, said):
    rules = Rules(harsh=Harsh(standing_kmh=8.0))
    found = explained([msgspec.structs.replace(harsh(EventType.START), threshold_name=threshold)])

    (row,) = costs.rows(found, (), rules=rules, say=in_english, figures=figures.of(Language.ENGLISH, ZoneInfo("UTC")))

    assert row.allowed == f"by less than 15.0 km/h in a second {said}"


@pytest.mark.parametrize(
    ("begin_ms", "said"),
    [
        (9_000, ""),
        (60_000, ", right after a gap in the reports"),
        (62_000, ", 2 seconds after a gap in the reports"),
        (66_000, ""),
    ],
)
def test_event_right_after_a_gap_says_so(begin_ms, said):
    none = {"limit_kmh": None, "limit_source": LimitSource.NONE, "road": None}
    runs = [
        LimitRun(begin_ms=begin, end_ms=end, **none) for begin, end in ((0, 5_000), (5_000, 20_000), (60_000, 90_000))
    ]
    found = msgspec.structs.replace(explained([harsh(EventType.START, begin_ms=begin_ms)]), limits=runs)

    (row,) = costs.rows(found, (), rules=Rules(), say=in_english, figures=figures.of(Language.ENGLISH, ZoneInfo("UTC")))

    assert row.measured == f"0 to 0 km/h, in the hardest second by 16.0 km/h{said}"


def test_everything_that_is_allowed_is_that_of_the_kind_of_vehicle():
    car, truck = (costs.allowed(column, Rules(), in_english) for column in (Column.CAR, Column.TRUCK))

    assert len(car) == len(truck) == 9
    assert car[3] == "Faster: by less than 8.0 km/h in a second that begins above 20 km/h"
    assert truck[4] == "Slower: by less than 8.0 km/h in a second that ends at up to 5 km/h"


@pytest.mark.parametrize("added_m", [0.0, 5_000.0])
def test_events_on_twice_the_distance_cost_what_scoring_says(added_m):
    rules = Rules(scoring=Scoring(added_m=added_m))
    counts = {"accel": 2, "de_accel": 1, "over_speed": 9}
    own, twice = (score.scored(counts, over_s=9.0, distance_m=metres, rules=rules) for metres in (4_000, 8_000))

    points = costs.on_twice_the_distance(Outcome(score=own.score, distance_m=4_000), rules)

    assert points == pytest.approx(100 - twice.score)


def test_trip_that_lost_nothing_has_no_other_cost_on_another_distance():
    assert costs.on_twice_the_distance(Outcome(score=100.0, distance_m=4_000), Rules()) is None


def in_english(name, /, **named):
    return catalogue.text(name, Language.ENGLISH, **named)


async def page_of(app, login, address, status=200):
    answer = await Browser(app, login).get(address)
    assert answer.status_code == status, answer.text
    return answer.text


async def test_scored_trip_shows_score_limits_and_costs_to_its_driver(app: rest.Rest, ours):
    text = await page_of(app, ours.driver, f"/trips/{ours.trip_id}")

    assert re.search(
        r"<h1>[^<]+, [\d.]+ km, [\d.]+ of 100 points: one sudden acceleration, one sudden deceleration</h1>", text
    )
    assert "The speed limits of this trip" in text
    assert text.count(">Dispute</span>") == 2
    lost = 100 - float(re.search(r"([\d.]+) of 100 points", text)[1])
    assert f"All events together cost {lost:.1f} points." in text
    assert "the score rises by less than that" in text
    assert re.search(
        r"on a longer trip: on one twice as long as this one of [\d.]+ km, they would have cost [\d.]+ points", text
    )
    assert "judged as a car" in text
    assert "(UTC+09:00)</dd>" in text
    assert "Dispute the whole trip" in text


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (HarshSource.SPEEDS, None),
        (HarshSource.UNKNOWN, "positions are too rough"),
        (HarshSource.SPARSE, "positions are too far apart in time"),
    ],
)
async def test_trip_of_unknown_harsh_driving_says_why_beside_its_score(app: rest.Rest, ours, source, why):
    body = quality.written(Quality(samples=600, period_ms=1_000, harsh_source=source, speed_step=1.0))
    await app.store.write(lambda tx: tx.run(update(trip).values(quality=body)))
    of_trip, of_vehicle = [
        await page_of(app, ours.driver, f"/trips/{ours.trip_id}"),
        await page_of(app, ours.admin, f"/fleet/vehicles/{ours.vehicle_id}"),
    ]

    unknown = "Sudden manoeuvres are unknown and not in this score: the device sends no speeds, and its "
    assert re.findall(f"{unknown}([^<]+)</li>", of_trip) == ([] if why is None else [why])
    assert (unknown in of_vehicle) is (why is not None)


async def test_reports_without_a_position_are_left_out_and_not_corrected(app: rest.Rest, ours):
    body = quality.written(Quality(samples=600, period_ms=1_000, dropped=24, repairs={"no_fix": 24, "merged": 2}))
    await app.store.write(lambda tx: tx.run(update(trip).values(quality=body)))
    text = await page_of(app, ours.driver, f"/trips/{ours.trip_id}")

    facts = dict(re.findall(r"<dt>([^<]+)</dt><dd[^>]*>([^<]+)</dd>", text))
    said = [facts[catalogue.text(f"portal.trip.quality.{name}", Language.ENGLISH)] for name in ("no_fix", "repairs")]
    assert said == ["24", "0"]


async def test_shares_of_limits_add_up_to_100(app: rest.Rest, ours):
    limits = Limits(tagged=0.255, implied=0.255, road_class=0.255, default=0.235)
    body = quality.written(Quality(samples=600, period_ms=1_000, limits=limits))
    await app.store.write(lambda tx: tx.run(update(trip).values(quality=body)))
    text = await page_of(app, ours.driver, f"/trips/{ours.trip_id}")

    assert re.findall(r"(\d+)% of the distance</dd>", text) == ["26", "25", "26", "23"]
    assert "Speed limits are known for 51% of the distance. For the rest, limits are assumed" in text


async def test_speeds_from_positions_are_named_and_are_no_corrections(app: rest.Rest, ours):
    repairs = {"filled_speeds": 600, "lone_speeds": 1}
    body = quality.written(Quality(samples=600, period_ms=1_000, repairs=repairs, harsh_source=HarshSource.UNKNOWN))
    await app.store.write(lambda tx: tx.run(update(trip).values(quality=body)))

    facts = dict(
        re.findall(
            r"<dt>([^<]+)</dt><dd[^>]*>([^<]+)</dd>", (await page_of(app, ours.driver, f"/trips/{ours.trip_id}"))
        )
    )

    assert [facts[f"{name}"] for name in ("Speeds worked out from positions", "Values corrected", "Distance from")] == [
        *("600", "1", "positions")
    ]


@pytest.mark.parametrize("reason", ["too_short", "sparse", "duplicate", "device_type", "unheard of"])
async def test_trip_without_score_says_why_and_what_that_means(app: rest.Rest, ours, reason):
    def spoil(tx):
        tx.run(driving_score.delete())
        tx.run(update(trip).values(not_scored=reason))

    await app.store.write(spoil)
    text = await page_of(app, ours.driver, f"/trips/{ours.trip_id}")

    known = reason if reason != "unheard of" else "unknown"
    assert catalogue.text(f"portal.trip.why.{known}", Language.ENGLISH).replace("'", "&#39;") in text
    assert ": no score</h1>" in text
    assert "Dispute the whole trip" not in text


async def test_trip_under_way_says_so_and_gets_its_score_when_it_ends(app: rest.Rest, ours):
    address = f"/trips/{ours.trip_id}"
    await app.store.write(lambda tx: tx.run(update(trip).values(state="OPEN")))
    before = await page_of(app, ours.driver, address)
    was = re.search(r'"was": "(\w+)"', before.replace("&#34;", '"'))[1]
    browser = Browser(app, ours.driver)
    poll = {"HX-Request": "true", "HX-Target": "changed", "X-Poll": "1"}
    same = await browser.get(f"{address}?was={was}", **poll)
    await app.store.write(lambda tx: tx.run(update(trip).values(state="COMPLETE")))
    changed = await browser.get(f"{address}?was={was}", **poll)

    assert "is on the way since" in before
    assert same.status_code == 204
    assert "Show the new state" in changed.text
    assert "<h1>" not in changed.text


async def test_driver_contests_an_event_and_the_manager_accepts_it(app: rest.Rest, ours):
    address = f"/trips/{ours.trip_id}"
    driver, manager = Browser(app, ours.driver), Browser(app, ours.admin)
    links = re.findall(r'href="(/trips/[^"]+/contest\?event=[^"]+)"', (await driver.get(address)).text)
    form = await driver.get(links[0])
    empty = await driver.post(f"{address}/contest", form_of(Page(form.text), f"{address}/contest"))
    sent = form_of(Page(form.text), f"{address}/contest") | {"reason": "TRAFFIC", "text": "A child ran into the road."}
    opened = await driver.post(f"{address}/contest", sent)
    of_driver = (await driver.get(address)).text
    to_decide = re.search(rf'href="({address}/disputes/[^"]+)"', (await manager.get(address)).text)[1]
    decision = await manager.get(to_decide)
    fields = form_of(Page(decision.text), to_decide)
    unanswered = await manager.post(to_decide, fields | {"decision": "reject"})
    accepted = await manager.post(to_decide, fields | {"decision": "accept", "answer": ""})
    await ours.score()
    decision, after = decision.text, (await driver.get(address)).text

    assert empty.status_code == 400
    assert opened.status_code == 303
    assert "waits for a decision" in of_driver
    assert "Withdraw" in of_driver
    before, then = re.findall(r"<dd>([\d.]+)</dd>", decision)[:2]
    assert float(then) > float(before)
    assert unanswered.status_code == 400
    assert accepted.status_code == 303
    assert f"Score {before}, then {then}" in after


async def test_person_who_contested_withdraws(app: rest.Rest, ours):
    address = f"/trips/{ours.trip_id}"
    driver = Browser(app, ours.driver)
    form = await driver.get(f"{address}/contest")
    sent = form_of(Page(form.text), f"{address}/contest") | {"reason": "NOT_DRIVER", "text": "My colleague drove."}
    await driver.post(f"{address}/contest", sent)
    withdrawal = re.search(rf'action="({address}/disputes/[^"]+/withdraw)"', (await driver.get(address)).text)[1]
    await driver.send(withdrawal, at=address)

    assert "withdrawn" in (await driver.get(address)).text


async def test_neighbours_are_the_trips_of_the_vehicle_before_and_behind_by_start(app: rest.Rest):
    world = await day_world.three_trips(app)
    # The device reported the second trip last.
    late = update(trip).where(trip.c.no == 2).values(created_ms=day_world.NOW_MS)
    await app.store.write(lambda tx: tx.run(late))
    browser = Browser(app, world.of("P"))
    pages = [(await browser.get(f"/trips/{day_world.trip_id(no)}")).text for no in (1, 2, 3)]

    links = [re.findall(r'rel="(\w+)" href="/trips/([^"]+)"', text) for text in pages]
    first, second, third = (day_world.trip_id(no) for no in (1, 2, 3))
    assert links == [[("next", second)], [("prev", first), ("next", third)], [("prev", second)]]


async def test_begin_end_and_events_are_named_by_road_and_place(app: rest.Rest, ours):
    app.contexts = rest.changed(app.contexts, places=day_world.Names())
    text = await page_of(app, ours.driver, f"/trips/{ours.trip_id}")

    assert len(re.findall(r"<dd>Main Road, en [\d.]+</dd>", text)) == 2
    assert len(re.findall(r'<td class="middle">Main Road, en [\d.]+</td>', text)) == 2

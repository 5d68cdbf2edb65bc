"""Score pages: figures as over REST, trips that cost most, the ranking, waiting disputes, and who may open which."""

from typing import Any

import pytest
from sqlalchemy import func, update
from tests.support.portal import Browser, Page
from tests.unit.api import test_trip_drivers as trips

from tripline.store.tables import score_sum, trip

KOREAN = {"Accept-Language": "ko"}


async def page(own: Any, login: Any, address: str, **headers: str) -> Page:
    answer = await Browser(own.app, login).get(address, **headers)
    assert answer.status_code == 200, answer.text
    return Page(answer.text)


@pytest.mark.parametrize("period", ["day", "week", "month"])
async def test_pages_show_what_rest_answers(app, period):
    own = await trips.cast(app)
    found = []
    for place, of, key in (
        ("vehicles", own.vehicle_id, "vehicle"),
        ("people", own.driver.user_id, "driver"),
        ("companies", own.admin.company_id, "company"),
    ):
        told = await own.app.get(own.admin, f"/api/tre/v1_3/{key}/{of}/analytics/trend", limit=9, period=period)
        address = f"/scores/{place}/{of}?period={period}"
        found.append((told["data"][0], await page(own, own.admin, address)))

    for told, shown in found:
        assert f"{told['score']:.1f} · " in shown.text
        assert f"{told['distance'] / 1000:.1f} km" in shown.text
        assert f"{told['per100Km']['accel']:.1f}" in shown.text
        assert [each["class"] for each in shown.all("circle")] == ["trend-dot"]


@pytest.mark.parametrize(
    ("share", "english", "korean"),
    [
        (0.5, ["Limits known", "50%", "; limits known: 50%", "· Good"], ["제한 속도 확인", "50%", "· 좋음"]),
        (
            0.0,
            ["Limits known", "none", "so this score says little about speeding", "· limits unknown"],
            ["제한 속도 확인", "없음", "이 점수에는 과속이 거의 반영되지 않았습니다", "· 제한 속도 미확인"],
        ),
    ],
)
async def test_summed_score_stands_with_its_known_limits(app, share, english, korean):
    own = await trips.cast(app)
    known_m = func.round(score_sum.c.distance_m * share)
    await own.app.store.write(lambda tx: tx.run(update(score_sum).values(known_m=known_m)))
    places = (
        *(f"/scores/vehicles/{own.vehicle_id}", f"/scores/people/{own.driver.user_id}"),
        *(f"/scores/companies/{own.admin.company_id}?of={of}&period=month" for of in ("vehicle", "driver")),
    )
    in_korean = [await page(own, own.admin, each, **KOREAN) for each in places]
    shown, own_page = [await page(own, own.admin, each) for each in places], await page(own, own.driver, "/drive")

    for each in shown:
        assert [word for word in english if word not in each.text] == []
    for each in in_korean:
        assert [word for word in korean if word not in each.text] == []
    assert ("known for 50% of the distance" if share else english[2]) in own_page.text


async def test_trips_that_cost_most_add_up_and_korean_says_the_same(app):
    own = await trips.cast(app)
    address = f"/scores/people/{own.driver.user_id}"
    await own.app.store.write(lambda tx: tx.run(update(trip).values(start_ms=1_780_000_000_000)))
    kept = await own.app.get(own.driver, trips.ANALYTICS.format(own.driver.user_id) + "drivingScore", limit=9)
    shown = await page(own, own.driver, address)
    kept, korean = kept["data"], await page(own, own.driver, address, **KOREAN)

    assert {f"{each['score']:.0f}" in shown.text for each in kept} == {True}
    assert shown.text.count("May 29, 2026, 05:26") == 2
    missing = 100 - kept[0]["score"]
    assert f"{missing / 2:.1f} points" in shown.text
    assert f"together have {kept[0]['score']:.1f} points" in shown.text
    assert "감점이 가장 큰 운행" in korean.text


async def test_company_ranks_its_drivers_with_ties_in_pages(app):
    own = await trips.cast(app)
    await trips.changed(own.app, own.admin, trips.of_driver(own), {"driverId": own.colleague.user_id})
    await own.app.post(own.driver, f"/api/tre/v1_3/trip/{own.first_id}/dispute", {"reason": "LIMIT", "text": "80."})
    address = f"/scores/companies/{own.admin.company_id}?of=driver&period=month"
    shown, start = await page(own, own.admin, address), await Browser(own.app, own.admin).get("/scores")

    assert {f"/scores/people/{each.user_id}" for each in (own.driver, own.colleague)} <= set(shown.hrefs)
    assert "1driver" in shown.text.replace("\n", "")
    assert "1colleague" in shown.text.replace("\n", "")
    assert "Disputes that wait for a decision" in shown.text
    assert "The speed limit was different" in shown.text
    assert "12가3456 · The speed limit was different" in Page(start.text).text
    assert f"/scores/companies/{own.admin.company_id}" in Page(start.text).hrefs


@pytest.mark.parametrize(
    ("who", "opened"), [("admin", "vpc"), ("director", "v"), ("driver", "p"), ("colleague", ""), ("stranger", "")]
)
async def test_pages_open_to_readers_of_the_scores(app, who, opened):
    own = await trips.cast(app)
    _, own.stranger = await own.app.operator("other")
    asked = Browser(own.app, getattr(own, who))
    ids = {"v": f"vehicles/{own.vehicle_id}", "p": f"people/{own.driver.user_id}"}
    ids["c"] = f"companies/{own.admin.company_id}"
    found = {key: (await asked.get(f"/scores/{place}")).status_code for key, place in ids.items()}
    start = (await asked.get("/scores")).status_code

    assert found == {key: 200 if key in opened else 403 for key in "vpc"}
    assert start == (303 if who in ("driver", "colleague") else 200)


async def test_page_without_scores_says_why(app):
    own = await trips.cast(app)
    found = await page(own, own.colleague, f"/scores/people/{own.colleague.user_id}")

    assert "No scored trips in this period" in found.text

"""Trips by start and a vehicle's day over REST."""

import pytest
from tests.support import day_world
from tests.support.day_world import HOUR_MS, MIDNIGHT_MS, address

from tripline.services.fleet import trip_lists

PERIOD = {"startTime": MIDNIGHT_MS - 24 * HOUR_MS, "endTime": MIDNIGHT_MS + 48 * HOUR_MS}


@pytest.fixture
async def world(app):
    return await day_world.three_trips(app)


async def walked(world, path, **query):
    """Every trip's number, page by page along the links."""
    found, asked = [], {"limit": 1, **PERIOD, **query}
    while True:
        answer = await world.app.get(world.of("P"), path, **asked)
        found += [int(each["id"]["id"][-12:]) for each in answer["data"]]
        if not answer["hasNext"]:
            return found
        asked = {name: str(value) for name, value in answer["nextPageLink"].items() if value is not None}


async def test_lists_follow_their_links_through_every_trip(world):
    path = address(world, "trips")
    driver = f"/api/tre/v1_3/driver/{world.ids['driver of P']}/trips"
    company = f"/api/tre/v1_3/company/{world.of('P').company_id}/trips"
    lists = [await walked(world, each) for each in (path, driver, company)]

    assert (lists, await walked(world, path, ascOrder="true")) == ([[3, 2, 1]] * 3, [1, 2, 3])


async def test_filters_leave_the_trips_they_name(world):
    path = address(world, "trips")
    queries = ({"state": "unscored", "notScored": "too_short"}, {"state": "scored"}, {"maxScore": "75"})

    assert [await walked(world, path, **each) for each in queries] == [[3, 2, 1], [], []]


REFUSED = (("state", "odd"), ("notScored", "odd"), ("minScore", "101"), ("maxScore", "x"), ("idOffset", "odd"))
DATES = ("2025-1-1", "20250101", "2025-02-30", "1969-12-31", "2100-01-01")


async def test_wrong_filters_and_dates_are_refused_by_their_names(world):
    asked = [("trips", {"limit": 1, name: value}) for name, value in REFUSED]
    asked += [(f"days/{date}", {}) for date in DATES]
    answers = [await world.app.call(world.of("P"), "GET", address(world, what), **query) for what, query in asked]

    assert {(each.status_code, each.json()["errorCode"]) for each in answers} == {(400, 31)}
    names = [name for name, _ in REFUSED] + ["date"] * len(DATES)
    assert [name for name, each in zip(names, answers, strict=True) if name not in each.json()["message"]] == []


async def test_day_has_drives_and_stops_and_its_part_of_a_trip_over_midnight(world):
    before, day = [
        await world.app.get(world.of("P"), address(world, f"days/{date}")) for date in ("2024-12-31", "2025-01-01")
    ]

    assert [each["kind"] for each in day["items"]] == ["drive", "stop", "drive", "stop"]
    first, stop, second, last = day["items"]
    assert [(each["kind"], each["distance"]) for each in before["items"]] == [("drive", pytest.approx(7_500, rel=0.01))]
    assert first["distance"] == pytest.approx(2_500, rel=0.01)
    assert (stop["beginTs"], stop["endTs"]) == (MIDNIGHT_MS + HOUR_MS, MIDNIGHT_MS + 3 * HOUR_MS)
    assert stop["place"] == {"lat": 37.5, "lon": 127.4, "name": None}
    assert (second["trip"]["state"], second["trip"]["beginPlace"]) == ("unscored", None)
    assert last["endTs"] == MIDNIGHT_MS + 30 * HOUR_MS
    assert (day["driving"], day["score"]) == (2 * 3_600, None)


async def test_sums_are_of_the_period_and_its_filters(world, monkeypatch):
    path = address(world, "trips/sums")
    queries = (PERIOD, PERIOD | {"state": "scored"}, PERIOD | {"endTime": MIDNIGHT_MS + 4 * HOUR_MS})
    sums = [await world.app.get(world.of("P"), path, **each) for each in queries]
    monkeypatch.setattr(trip_lists, "SUMMED", 2)
    (whole, scored, earlier), refused = sums, await world.app.call(world.of("P"), "GET", path, **PERIOD)

    nothing = {"scored": 0, "score": None, "limitKnown": None}
    assert whole == {"trips": 3, "distance": 30_000.0, "driving": 4 * 3_600} | nothing
    assert scored == {"trips": 0, "distance": 0.0, "driving": 0} | nothing
    assert earlier == {"trips": 2, "distance": 20_000.0, "driving": 3 * 3_600} | nothing
    assert (refused.status_code, refused.json()["errorCode"]) == (400, 31)
    assert "startTime" in refused.json()["message"]

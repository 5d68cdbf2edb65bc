"""Trips by start and a vehicle's day over REST."""

import pytest
from sqlalchemy import delete, insert, update
from tests.support import rest
from tests.support.access_world import settled

from tripline.domain.samples import FLAG_OWN_TIME, RECORD
from tripline.store.tables import driving_score, microtrip, trip

HOUR_MS = 3_600_000
MIDNIGHT_MS = 1_735_657_200_000
"""2025-01-01 in Seoul."""
NOW_MS = MIDNIGHT_MS + 72 * HOUR_MS


def row(world, no, *, start_ms, end_ms, **values):
    made = {
        "no": no,
        "id": f"00000000-a4ed-11f0-8000-{no:012d}",
        "created_ms": start_ms,
        "company_id": world.of("P").company_id,
        "vehicle_id": world.ids["V"],
        "user_id": world.ids["driver of P"],
        "service_type": "ace",
        "device_type": "GPS",
        "parking": False,
        "state": "COMPLETE" if end_ms else "OPEN",
        "start_ms": start_ms,
        "end_ms": end_ms,
        "distance_m": 10_000.0,
        "not_scored": "too_short",
    }
    return {**made, **values}


def samples(*moments):
    """Samples eastwards along one parallel: time, longitude."""
    return b"".join(RECORD.pack(ms, 37.5, lon, 50.0, -1, FLAG_OWN_TIME) for ms, lon in moments)


def run(folder, scenario):
    """What the scenario returns, of the world with three trips of one vehicle."""

    async def prepared(app):
        made = await settled(app)

        def write(tx):
            tx.run(delete(driving_score))
            tx.run(update(trip).values(start_ms=None))
            over_midnight = {"start_ms": MIDNIGHT_MS - HOUR_MS, "end_ms": MIDNIGHT_MS + HOUR_MS}
            tx.run(insert(trip), row(made, 1, **over_midnight))
            tx.run(insert(trip), row(made, 2, start_ms=MIDNIGHT_MS + 3 * HOUR_MS, end_ms=MIDNIGHT_MS + 4 * HOUR_MS))
            tx.run(insert(trip), row(made, 3, start_ms=MIDNIGHT_MS + 30 * HOUR_MS, end_ms=MIDNIGHT_MS + 31 * HOUR_MS))
            packed = samples(
                (over_midnight["start_ms"], 127.0), (MIDNIGHT_MS - 1, 127.3), (over_midnight["end_ms"], 127.4)
            )
            tx.run(
                insert(microtrip),
                {"no": 1, "trip_no": 1, "id": "m1", "ty": 1, "payload": b"[]", "samples": packed},
            )

        await app.store.write(write)
        return await scenario(made)

    return rest.run(folder, prepared)


def address(world, what):
    return f"/api/tre/v1_3/vehicle/{world.ids['V']}/{what}"


PERIOD = {"startTime": MIDNIGHT_MS - 24 * HOUR_MS, "endTime": MIDNIGHT_MS + 48 * HOUR_MS}


async def walked(world, path, **query):
    """Every trip's number, page by page along the links."""
    found, asked = [], {"limit": 1, **PERIOD, **query}
    while True:
        answer = await world.app.get(world.of("P"), path, **asked)
        found += [int(each["id"]["id"][-12:]) for each in answer["data"]]
        if not answer["hasNext"]:
            return found
        asked = {name: str(value) for name, value in answer["nextPageLink"].items() if value is not None}


def test_lists_follow_their_links_through_every_trip(tmp_path):
    async def scenario(world):
        path = address(world, "trips")
        driver = f"/api/tre/v1_3/driver/{world.ids['driver of P']}/trips"
        company = f"/api/tre/v1_3/company/{world.of('P').company_id}/trips"
        lists = [await walked(world, each) for each in (path, driver, company)]
        return lists, await walked(world, path, ascOrder="true")

    assert run(tmp_path, scenario) == ([[3, 2, 1]] * 3, [1, 2, 3])


def test_filters_leave_the_trips_they_name(tmp_path):
    async def scenario(world):
        path = address(world, "trips")
        queries = ({"state": "unscored", "notScored": "too_short"}, {"state": "scored"}, {"maxScore": "75"})
        return [await walked(world, path, **each) for each in queries]

    assert run(tmp_path, scenario) == [[3, 2, 1], [], []]


REFUSED = (("state", "odd"), ("notScored", "odd"), ("minScore", "101"), ("maxScore", "x"), ("idOffset", "odd"))
DATES = ("2025-1-1", "20250101", "2025-02-30", "1969-12-31", "2100-01-01")


def test_wrong_filters_and_dates_are_refused_by_their_names(tmp_path):
    async def scenario(world):
        asked = [("trips", {"limit": 1, name: value}) for name, value in REFUSED]
        asked += [(f"days/{date}", {}) for date in DATES]
        return [await world.app.call(world.of("P"), "GET", address(world, what), **query) for what, query in asked]

    answers = run(tmp_path, scenario)

    assert {(each.status_code, each.json()["errorCode"]) for each in answers} == {(400, 31)}
    names = [name for name, _ in REFUSED] + ["date"] * len(DATES)
    assert [name for name, each in zip(names, answers, strict=True) if name not in each.json()["message"]] == []


def test_day_has_drives_and_stops_and_its_part_of_a_trip_over_midnight(tmp_path):
    async def scenario(world):
        return [
            await world.app.get(world.of("P"), address(world, f"days/{date}")) for date in ("2024-12-31", "2025-01-01")
        ]

    before, day = run(tmp_path, scenario)

    assert [each["kind"] for each in day["items"]] == ["drive", "stop", "drive", "stop"]
    first, stop, second, last = day["items"]
    assert [(each["kind"], each["distance"]) for each in before["items"]] == [("drive", pytest.approx(7_500, rel=0.01))]
    assert first["distance"] == pytest.approx(2_500, rel=0.01)
    assert (stop["beginTs"], stop["endTs"]) == (MIDNIGHT_MS + HOUR_MS, MIDNIGHT_MS + 3 * HOUR_MS)
    assert stop["place"] == {"lat": 37.5, "lon": 127.4}
    assert (second["trip"]["state"], second["trip"]["beginPlace"]) == ("unscored", None)
    assert last["endTs"] == MIDNIGHT_MS + 30 * HOUR_MS
    assert (day["driving"], day["score"]) == (2 * 3_600, None)

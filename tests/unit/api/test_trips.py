"""Reading trips and microtrips back over REST."""

import json

import pytest
from tests.support import delegating, journeys, rest

from tripline.domain import ids
from tripline.domain.access import Authority

UNKNOWN = "ffffffff-a4ed-11f0-8000-010000000042"
FIRST_MS = rest.NOW_MS
"""2025-10-09 17:53:20 in Seoul."""


@pytest.fixture
async def on(app, admin):
    """The company's id, and the ids of a vehicle and a sensor on it."""
    vehicle = await delegating.new_vehicle(app, admin)
    sensor = await delegating.new_sensor(app, admin, on=vehicle)
    return {"company_id": admin.company_id, "vehicle_id": vehicle, "sensor_id": sensor}


async def keep(app, work):
    """What the work wrote."""
    return await app.store.write(work)


async def test_trip_records_open_and_closed_have_every_field_in_order(app, admin, on):
    driver = await app.person(admin, Authority.DRIVER, "oh")

    def two_trips(tx):
        closed = journeys.keep_trip(
            tx, app.ids, created_ms=FIRST_MS, payload={"tid": 1, "dis": 3505}, user_id=driver.user_id, **on
        )
        return closed, journeys.keep_trip(tx, app.ids, created_ms=FIRST_MS + 999, **on)

    (_, closed), (_, still_open) = await keep(app, two_trips)
    page = await app.get(admin, f"/vehicle/{on['vehicle_id']}/trips", limit=10)
    latest = await app.get(admin, f"/vehicle/{on['vehicle_id']}/trip/latest")
    driver = driver.user_id

    common = {
        "companyId": {"id": on["company_id"]},
        "vehicleId": {"id": on["vehicle_id"]},
        "sensorId": {"id": on["sensor_id"]},
    }
    newest = {
        "id": {"id": still_open},
        "createdTime": FIRST_MS + 999,
        **common,
        "userId": {"id": ids.PLACEHOLDER},
        "deviceType": "GPS",
        "serviceType": "ace",
        "startTs": FIRST_MS + 999,
        "endTs": None,
        "startDt": "2025-10-09 17:53:20",
        "endDt": None,
        "payload": None,
    }
    oldest = {
        "id": {"id": closed},
        "createdTime": FIRST_MS,
        **common,
        "userId": {"id": driver},
        "deviceType": "GPS",
        "serviceType": "ace",
        "startTs": FIRST_MS,
        "endTs": FIRST_MS + 60_000,
        "startDt": "2025-10-09 17:53:20",
        "endDt": "2025-10-09 17:54:20",
        "payload": {"tid": 1, "dis": 3505},
    }
    assert json.dumps(page) == json.dumps({"data": [newest, oldest], "nextPageLink": None, "hasNext": False})
    assert latest == newest


async def test_trip_of_an_unmounted_sensor_has_the_placeholder_and_no_vehicle_to_be_listed_under(app, admin, on):
    no, trip_id = await keep(
        app, lambda tx: journeys.keep_trip(tx, app.ids, created_ms=FIRST_MS, **{**on, "vehicle_id": None})
    )
    await keep(
        app, lambda tx: journeys.keep_microtrip(tx, app.ids, no, created_ms=FIRST_MS, payload={"lat": 1, "lon": 2})
    )

    (microtrip,) = (await app.get(admin, f"/trip/{trip_id}/microtrips", limit=20))["data"]

    assert microtrip["vehicleId"] == {"id": ids.PLACEHOLDER}


async def test_microtrips_are_answered_newest_first_with_numbers_where_clients_need_them(app, admin, on):
    array = [{"lat": 37.5, "lon": "127.0", "sp": "12"}, {"lat": 37.6, "lon": 127.1, "sp": 13, "em": "0A"}]

    def one_trip(tx):
        no, trip_id = journeys.keep_trip(tx, app.ids, created_ms=FIRST_MS, **on)
        first = journeys.keep_microtrip(tx, app.ids, no, created_ms=FIRST_MS + 1, payload={"lat": 1.5, "lon": 2})
        second = journeys.keep_microtrip(tx, app.ids, no, created_ms=FIRST_MS + 2, payload=array)
        return trip_id, first, second

    trip_id, first, second = await keep(app, one_trip)
    page = await app.get(admin, f"/trip/{trip_id}/microtrips", limit=20)
    latest = await app.get(admin, f"/vehicle/{on['vehicle_id']}/microtrip/latest")

    def record(microtrip_id, created_ms, payload):
        return {
            "id": {"id": microtrip_id},
            "createdTime": created_ms,
            "tripId": {"id": trip_id},
            "sensorId": {"id": on["sensor_id"]},
            "vehicleId": {"id": on["vehicle_id"]},
            "companyId": {"id": on["company_id"]},
            "deviceType": "GPS",
            "ts": created_ms - 500,
            "payload": payload,
        }

    numbers = [{"lat": 37.5, "lon": 127.0, "sp": 12}, {"lat": 37.6, "lon": 127.1, "sp": 13, "em": "0A"}]
    newest = record(second, FIRST_MS + 2, numbers)
    assert page["data"] == [newest, record(first, FIRST_MS + 1, {"lat": 1.5, "lon": 2})]
    assert list(page["data"][0]) == list(newest)
    assert latest == newest


async def test_pages_of_trips_and_microtrips_visit_every_row_once_in_both_directions(app, admin, on):
    async def visited(app, login, path, **query):
        seen, more = [], True
        while more:
            page = await app.get(login, path, **query)
            seen += [row["createdTime"] for row in page["data"]]
            more = page["hasNext"]
            assert (page["nextPageLink"] is None) is not more
            query = {key: value for key, value in (page["nextPageLink"] or {}).items() if value is not None}
        return seen

    expected = [FIRST_MS + at for at in (0, 0, 1, 1, 2)]
    one = [FIRST_MS + 1] * 2

    def rows(tx):
        kept = [journeys.keep_trip(tx, app.ids, created_ms=FIRST_MS + at // 2, **on) for at in range(5)]
        later = ids.TimeIds(node=0x43)
        for at in range(5):
            journeys.keep_microtrip(tx, later, kept[0][0], created_ms=FIRST_MS + at // 2, payload={})
        return kept[0][1]

    trip_id = await keep(app, rows)
    paths = [f"/vehicle/{on['vehicle_id']}/trips", f"/trip/{trip_id}/microtrips"]
    found = [
        [
            await visited(app, admin, path, limit=2),
            await visited(app, admin, path, limit=2, ascOrder="true"),
            await visited(app, admin, path, limit=1, startTime=FIRST_MS + 1, endTime=FIRST_MS + 1),
            await visited(app, admin, path, limit=1000, endTime=FIRST_MS - 1),
        ]
        for path in paths
    ]

    assert found == [[expected[::-1], expected, one, []]] * 2


async def test_latest_with_nothing_stored_is_not_found(app, admin, on):
    vehicle = f"/vehicle/{on['vehicle_id']}"
    found = [
        await app.refused(admin, "GET", f"{vehicle}/trip/latest"),
        await app.refused(admin, "GET", f"{vehicle}/microtrip/latest"),
        await app.refused(admin, "GET", f"/vehicle/{UNKNOWN}/trip/latest"),
        await app.refused(admin, "GET", f"/trip/{UNKNOWN}/microtrips", limit=1),
    ]

    assert found == [
        (404, 32, "The vehicle has no trip yet."),
        (404, 32, "The vehicle has no microtrip yet."),
        (404, 32, "There is no vehicle with this id."),
        (404, 32, "There is no trip with this id."),
    ]


async def test_limit_is_required(app, admin, on):
    assert await app.refused(admin, "GET", f"/vehicle/{on['vehicle_id']}/trips") == (
        400,
        31,
        "Parameter 'limit' can't be empty!",
    )


async def test_trip_by_its_id_says_why_it_has_no_score(app, admin, on):
    def trips(tx):
        return [
            journeys.keep_trip(tx, app.ids, created_ms=FIRST_MS + n, not_scored=reason, **on)[1]
            for n, reason in enumerate(("speed_implausible", None))
        ]

    refused, scored = await keep(app, trips)
    listed = await app.get(admin, f"/vehicle/{on['vehicle_id']}/trips", limit=10)
    (refused, scored) = [await app.get(admin, f"/trip/{each}") for each in (refused, scored)]

    assert (refused["notScored"], scored["notScored"]) == ("speed_implausible", None)
    assert {
        **listed["data"][1],
        "notScored": "speed_implausible",
        "limitKnown": None,
        "harshKnown": None,
        "quality": None,
    } == refused
    assert not {"notScored", "limitKnown", "harshKnown", "quality"} & listed["data"][0].keys()

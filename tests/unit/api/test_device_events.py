"""Reading device events of a vehicle and single trips over REST."""

import json

import pytest
from tests.support import delegating, journeys, rest

from tripline.domain import ids
from tripline.store.erasure import erasures

AT = rest.NOW_MS
"""2025-10-09 17:53:20 in Seoul."""
PLACEHOLDER = {"id": ids.PLACEHOLDER}


async def test_g4_event_record_has_every_field_in_order(app: rest.Rest, admin):
    vehicle_id = await delegating.new_vehicle(app, admin)

    def two(tx):
        bare = journeys.keep_event(tx, app.ids, created_ms=AT, vehicle_id=vehicle_id, payload={"wbv": "11.4"})
        placed = {"lat": 35.1577, "lon": 129.0591, "trip_id": "trip", "user_id": "user", "ty": 102}
        return bare, journeys.keep_event(tx, app.ids, created_ms=AT + 1_000, vehicle_id=vehicle_id, **placed)

    bare, full = await app.store.write(two)
    page = await app.get(admin, f"/vehicle/{vehicle_id}/events", limit=10)

    newest = {
        "id": {"id": full},
        "createdTime": AT + 1_000,
        "companyId": {"id": "company"},
        "vehicleId": {"id": vehicle_id},
        "sensorId": {"id": "sensor"},
        "tripId": {"id": "trip"},
        "userId": {"id": "user"},
        "deviceType": "OBD",
        "ty": 102,
        "eventTs": AT + 500,
        "eventDt": "2025-10-09 17:53:20",
        "payload": {},
        "posLat": 35.1577,
        "posLon": 129.0591,
    }
    oldest = {
        **newest,
        "id": {"id": bare},
        "createdTime": AT,
        "tripId": PLACEHOLDER,
        "userId": PLACEHOLDER,
        "ty": 104,
        "eventTs": AT - 500,
        "eventDt": "2025-10-09 17:53:19",
        "payload": {"wbv": 11.4},
        "posLat": None,
        "posLon": None,
    }
    assert json.dumps(page) == json.dumps({"data": [newest, oldest], "nextPageLink": None, "hasNext": False})


@pytest.mark.parametrize("ascending", [True, False])
async def test_pages_of_events_visit_every_event_of_the_vehicle_once(app: rest.Rest, admin, ascending):
    vehicle_id, other = [await delegating.new_vehicle(app, admin, number) for number in ("1", "2")]

    def seven(tx):
        journeys.keep_event(tx, app.ids, created_ms=AT, vehicle_id=other)
        return [journeys.keep_event(tx, app.ids, created_ms=AT + n // 3, vehicle_id=vehicle_id) for n in range(7)]

    kept = await app.store.write(seven)
    path, query, seen = f"/vehicle/{vehicle_id}/events", {"limit": 3, "ascOrder": ascending}, []
    while query:
        page = await app.get(admin, path, **query)
        seen += [row["id"]["id"] for row in page["data"]]
        query = {key: value for key, value in (page["nextPageLink"] or {}).items() if value is not None}
    within = await app.get(admin, path, limit=9, startTime=AT + 1, endTime=AT + 1)

    assert seen == (kept if ascending else kept[::-1])
    assert [row["createdTime"] for row in within["data"]] == [AT + 1] * 3


async def test_event_refusals_come_in_order(app: rest.Rest, admin):
    _, other = await app.operator("other")
    mine, second = [await delegating.new_vehicle(app, admin, number) for number in ("1", "2")]
    elsewhere = await app.store.write(lambda tx: journeys.keep_event(tx, app.ids, created_ms=AT, vehicle_id=second))
    path = f"/vehicle/{mine}/events"
    checks = [
        (None, "/vehicle/x/events", {}, (401, 10)),
        (admin, "/vehicle/x/events", {}, (400, 31)),
        (admin, f"/vehicle/{delegating.UNKNOWN}/events", {}, (404, 32)),
        (other, path, {}, (403, 20)),
        (admin, path, {}, (400, 31)),
        (admin, path, {"limit": 0}, (400, 31)),
        (admin, path, {"limit": 1, "idOffset": elsewhere}, (400, 31)),
    ]

    for login, where, query, refusal in checks:
        assert (await app.refused(login, "GET", where, **query))[:2] == refusal, where


async def test_trip_is_read_by_its_id(app: rest.Rest, admin):
    _, other = await app.operator("other")
    vehicle_id = await delegating.new_vehicle(app, admin)
    on = {"company_id": admin.company_id, "vehicle_id": vehicle_id}
    _, trip_id = await app.store.write(lambda tx: journeys.keep_trip(tx, app.ids, created_ms=AT, **on))
    read, latest, *refusals = (
        await app.get(admin, f"/trip/{trip_id.upper()}"),
        await app.get(admin, f"/vehicle/{vehicle_id}/trip/latest"),
        (await app.refused(other, "GET", f"/trip/{trip_id}"))[:2],
        (await app.refused(admin, "GET", f"/trip/{delegating.UNKNOWN}"))[:2],
        (await app.refused(admin, "GET", "/trip/x"))[:2],
    )

    assert read == {**latest, "notScored": None, "limitKnown": None, "harshKnown": None, "quality": None}
    assert refusals == [(403, 20), (404, 32), (400, 31)]


async def test_deleted_sensor_is_named_by_nothing_before_anything_is_erased(app: rest.Rest, admin):
    vehicle_id = await delegating.new_vehicle(app, admin)
    on = {"company_id": admin.company_id, "sensor_id": "gone"}

    def drive(tx):
        no, mapped = journeys.keep_trip(tx, app.ids, created_ms=AT, vehicle_id=vehicle_id, **on)
        journeys.keep_microtrip(tx, app.ids, no, created_ms=AT, payload={"lat": 1, "lon": 2})
        journeys.keep_event(tx, app.ids, created_ms=AT, vehicle_id=vehicle_id, **on)
        _, unmapped = journeys.keep_trip(tx, app.ids, created_ms=AT, vehicle_id=None, **on)
        erasures.begin(tx, "gone", erasures.Kind.SENSOR, now_ms=AT)
        return mapped, unmapped

    mapped, unmapped = await app.store.write(drive)
    shown = [
        await app.get(admin, f"/trip/{mapped}"),
        *(await app.get(admin, f"/vehicle/{vehicle_id}/trips", limit=1))["data"],
        *(await app.get(admin, f"/trip/{mapped}/microtrips", limit=1))["data"],
        *(await app.get(admin, f"/vehicle/{vehicle_id}/events", limit=1))["data"],
        await app.get(admin, f"/vehicle/{vehicle_id}/microtrip/latest"),
    ]

    assert [record["sensorId"] for record in shown] == [PLACEHOLDER] * 5
    assert (await app.refused(admin, "GET", f"/trip/{unmapped}"))[:2] == (404, 32)

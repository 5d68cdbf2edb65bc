"""The latest values of a sensor, and who is told its access token."""

import pytest
from sqlalchemy import insert, select
from tests.support import delegating, journeys, rest

from tripline.domain.access import Authority
from tripline.store import tables

TOKEN = "ACE01abcdefghijklmno"
AT = rest.NOW_MS
NOTHING = {"connected": False, "lastSeenTime": None, "lastMicrotrip": None, "attributes": {}}


async def mounted(app, login):
    """Ids of a new sensor and of the vehicle it is on."""
    vehicle_id = await delegating.new_vehicle(app, login, "V")
    return await delegating.new_sensor(app, login, "SN-1", on=vehicle_id, credentialsId=TOKEN), vehicle_id


def keep_value(tx, sensor_id, name, payload, updated_ms=AT):
    row = {"sensor_id": sensor_id, "name": name, "updated_ms": updated_ms, "payload": payload}
    tx.run(insert(tables.sensor_attribute), row)


def keep_event(tx, app, sensor_id, at_ms):
    no = app.ids.take(1, now_ms=at_ms)
    row = {"no": no, "id": app.ids.text(no), "company_id": "c", "sensor_id": sensor_id, "device_type": "GPS"}
    tx.run(insert(tables.device_event), {**row, "ty": 104, "event_ms": at_ms, "payload": b"{}"})


async def test_sensor_that_never_spoke_has_nothing(app, admin):
    sensor_id, _ = await mounted(app, admin)
    latest = await app.get(admin, f"/sensor/{sensor_id}/latest")

    assert latest == {"sensorId": {"id": sensor_id}, **NOTHING}
    assert list(latest) == ["sensorId", "connected", "lastSeenTime", "lastMicrotrip", "attributes"]


@pytest.mark.parametrize(
    ("held_by", "connected", "shown"),
    [("another", True, True), ("another", False, False), ("this", True, False), (None, True, False)],
)
async def test_device_of_another_process_is_connected_while_its_row_says_so(app, held_by, connected, shown):
    """A device of this process is connected while its session lives, whatever the row says."""

    _, admin = await app.operator("ace")
    sensor_id, _ = await mounted(app, admin)
    row = {"sensor_id": sensor_id, "connected": connected, "changed_ms": AT, "seen_ms": AT, "told": True}
    row |= {"node_id": app.contexts.fleet.node.id if held_by == "this" else held_by, "session_no": 1}
    await app.store.write(lambda tx: tx.run(insert(tables.device_connection).values(**row)))
    latest = await app.get(admin, f"/sensor/{sensor_id}/latest")

    assert (latest["connected"], latest["lastSeenTime"]) == (shown, AT)


async def test_newest_of_everything_is_shown(app, admin):
    sensor_id, vehicle_id = await mounted(app, admin)
    on = {"company_id": admin.company_id, "vehicle_id": vehicle_id, "sensor_id": sensor_id}

    def drive(tx):
        for start in (AT, AT + 60_000):
            no, _ = journeys.keep_trip(tx, app.ids, created_ms=start, **on)
            for step in (1, 2):
                payload = {"lat": 1, "lon": step}
                newest = journeys.keep_microtrip(tx, app.ids, no, created_ms=start + step, payload=payload)
        keep_value(tx, sensor_id, "104", b'{"wbv":"11.4"}')
        keep_value(tx, sensor_id, "latest", b'{"fw":"1.2"}')
        return newest

    newest = await app.store.write(drive)
    path = f"/sensor/{sensor_id}/latest"
    silent = await app.get(admin, path)
    app.connected.add(sensor_id)
    app.now_ms = AT + 90_000
    connected = await app.get(admin, path)

    assert silent["lastMicrotrip"]["id"] == {"id": newest}
    assert silent["lastMicrotrip"]["payload"] == {"lat": 1, "lon": 2}
    assert silent["attributes"] == {"104": {"wbv": 11.4}, "latest": {"fw": "1.2"}}
    assert (silent["connected"], silent["lastSeenTime"]) == (False, AT + 60_002)
    assert connected == {**silent, "connected": True, "lastSeenTime": AT + 90_000}


async def test_last_seen_is_the_receipt_of_the_newest_event_report_or_trip_and_not_a_time_the_device_gave(app, admin):
    sensor_id, _ = await mounted(app, admin)
    path, seen = f"/sensor/{sensor_id}/latest", []
    await app.store.write(lambda tx: keep_value(tx, sensor_id, "104", b"{}", AT + 200_000))
    for work in (
        lambda tx: keep_event(tx, app, sensor_id, AT + 5),
        lambda tx: keep_value(tx, sensor_id, "cm", b"{}", AT + 9),
        lambda tx: journeys.keep_trip(tx, app.ids, created_ms=AT + 10, sensor_id=sensor_id, payload={"tid": 1}),
    ):
        await app.store.write(work)
        seen.append((await app.get(admin, path))["lastSeenTime"])

    assert seen == [AT + 5, AT + 9, AT + 10]


async def test_whoever_sees_a_sensor_on_a_delegated_vehicle_does_not_see_where_it_was_before(app):
    c = await delegating.companies(app)
    sensor_id, before = await mounted(app, c.owner)
    delegated = await delegating.new_vehicle(app, c.owner, "delegated")
    await delegating.register(app, c.owner, c.borrower)
    await delegating.delegate(app, c.owner, c.borrower, delegated)
    on = {"company_id": c.owner.company_id, "vehicle_id": before, "sensor_id": sensor_id}

    def drive(tx):
        no, _ = journeys.keep_trip(tx, app.ids, created_ms=AT, **on)
        journeys.keep_microtrip(tx, app.ids, no, created_ms=AT, payload={"lat": 1, "lon": 2})
        keep_value(tx, sensor_id, "104", b'{"wbv":11,"lat":1}')
        keep_value(tx, sensor_id, "latest", b'{"lat":1}')
        keep_value(tx, sensor_id, "cm", b'{"fw":1}')

    await app.store.write(drive)
    await app.delete(c.owner, f"/sensor/{sensor_id}/vehicle")
    await app.post(c.owner, f"/sensor/{sensor_id}/vehicle/{delegated}")
    path = f"/sensor/{sensor_id}/latest"
    owner, borrower = await app.get(c.owner, path), await app.get(c.borrower, path)

    assert owner["lastMicrotrip"]["payload"] == {"lat": 1, "lon": 2}
    assert borrower == {**owner, "lastMicrotrip": None}
    assert owner["attributes"] == {"cm": {"fw": 1}}


async def test_refusals_come_in_order(app, admin):
    _, other = await app.operator("other")
    sensor_id, _ = await mounted(app, admin)
    driver = await app.person(admin, Authority.DRIVER, "oh")
    asked = [(None, "x"), (driver, "x"), (admin, "x"), (admin, delegating.UNKNOWN), (other, sensor_id)]
    found = [(await app.refused(login, "GET", f"/sensor/{asked_for}/latest"))[:2] for login, asked_for in asked]

    assert found == [(401, 10), (403, 20), (400, 31), (404, 32), (403, 20)]


async def test_token_is_told_to_owner_operator_and_managing_director_alone(app):
    c = await delegating.companies(app)
    sensor_id, vehicle_id = await mounted(app, c.owner)
    managing = await delegating.director(app, c.owner, "managing")
    delegated = await delegating.director(app, c.borrower, "delegated")
    await app.post(c.owner, f"/vehicle/{vehicle_id}/director/{managing.user_id}")
    await delegating.register(app, c.owner, c.borrower)
    await delegating.delegate(app, c.owner, c.borrower, vehicle_id)
    await app.post(c.borrower, f"/director/{delegated.user_id}/relation/vehicle", {"vehicleId": {"id": vehicle_id}})
    readers = {"owner": c.owner, "operator": c.operator, "managing director": managing, "borrower": c.borrower}
    readers["delegated director"] = delegated
    told = {}
    for name, login in readers.items():
        records = [await app.get(login, f"/sensor/{sensor_id}"), await app.get(login, "/sensor", serialNo="SN-1")]
        told[name] = {record["credentialsId"] for record in records}
    listed = await app.get(managing, "/sensors", limit=5)

    assert told == {
        "owner": {TOKEN},
        "operator": {TOKEN},
        "managing director": {TOKEN},
        "borrower": {None},
        "delegated director": {None},
    }
    assert [record["credentialsId"] for record in listed["data"]] == [TOKEN]


def keep_connection(tx, sensor_id, *, connected, seen_ms, lost_ms=None, reason=None):
    row = {"sensor_id": sensor_id, "connected": connected, "changed_ms": AT, "seen_ms": seen_ms, "told": connected}
    tx.run(insert(tables.device_connection), {**row, "lost_ms": lost_ms, "reason": reason})


async def test_end_of_the_last_session_is_shown_with_its_reason(app, admin):
    sensor_id, _ = await mounted(app, admin)
    await app.store.write(lambda tx: keep_value(tx, sensor_id, "latest", b"{}", AT + 3))
    ended = {"connected": False, "seen_ms": AT + 5, "lost_ms": AT + 9, "reason": "silent"}
    await app.store.write(lambda tx: keep_connection(tx, sensor_id, **ended))
    path = f"/sensor/{sensor_id}/latest"
    silent = await app.get(admin, path)
    app.connected.add(sensor_id)
    app.now_ms = AT + 90_000
    connected = await app.get(admin, path)

    end = {"lastDisconnectTime": AT + 9, "lastDisconnectReason": "silent"}
    assert {key: silent[key] for key in ("connected", "lastSeenTime", *end)} == {
        "connected": False,
        "lastSeenTime": AT + 5,
        **end,
    }
    assert connected == {**silent, "connected": True, "lastSeenTime": AT + 90_000}


async def test_live_session_counts_and_not_what_is_written_down(app, admin):
    sensor_id, _ = await mounted(app, admin)
    await app.store.write(lambda tx: keep_connection(tx, sensor_id, connected=True, seen_ms=AT))
    latest = await app.get(admin, f"/sensor/{sensor_id}/latest")

    assert (latest["connected"], latest["lastSeenTime"], "lastDisconnectTime" in latest) == (False, AT, False)


async def test_list_shows_only_those_that_are_connected_or_only_the_others(app, admin):
    found = {}
    for number, connected in enumerate((True, False, None, True), 1):
        body = {"serialNo": f"SN-{number}", "type": "GPS", "credentialsId": f"ACE01abcdefghijklmn{number}"}
        sensor_id = (await app.post(admin, "/sensor", body))["id"]["id"]
        if connected is not None:
            ended = {"connected": connected, "seen_ms": AT}
            await app.store.write(lambda tx, of=sensor_id, facts=ended: keep_connection(tx, of, **facts))
        if number == 4:
            await app.post(admin, f"/sensor/{sensor_id}/vehicle/{await delegating.new_vehicle(app, admin, 'V')}")
    for asked in ({}, {"connected": "true"}, {"connected": "false"}, {"connected": "true", "mounted": "false"}):
        page = await app.get(admin, "/sensors", limit=2, **asked)
        rest_of = page["nextPageLink"] and await app.get(
            admin, "/sensors", limit=9, idOffset=page["nextPageLink"]["idOffset"], **asked
        )
        rows = page["data"] + (rest_of["data"] if rest_of else [])
        found[tuple(asked.values())] = "".join(row["serialNo"][-1] for row in rows)
    refused = await app.refused(admin, "GET", "/sensors", limit=1, connected="yes")

    assert found == {(): "1234", ("true",): "14", ("false",): "23", ("true", "false"): "1"}
    assert refused[:2] == (400, 31)


async def test_connection_of_a_deleted_sensor_is_forgotten(app, admin):
    sensor_id, _ = await mounted(app, admin)
    await app.store.write(lambda tx: keep_connection(tx, sensor_id, connected=True, seen_ms=AT))
    await app.delete(admin, f"/sensor/{sensor_id}")

    assert await app.store.read(lambda tx: tx.all(select(tables.device_connection.c.sensor_id))) == []

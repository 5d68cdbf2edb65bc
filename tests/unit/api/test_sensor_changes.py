"""Changing, unmounting, deleting, counting and looking up sensors over REST."""

import pytest
from tests.support import rest

from tripline import observe
from tripline.domain import ids
from tripline.domain.access import Authority
from tripline.domain.lines import Line, NwStatus
from tripline.store.lines import lines

TOKEN = "ACE01abcdefghijklmno"
OTHER_TOKEN = "ACE02abcdefghijklmno"
UNKNOWN = "ffffffff-a4ed-11f0-8000-010000000042"
PLACEHOLDER = {"id": ids.PLACEHOLDER}


def sensor_body(**fields):
    return {"serialNo": "SN-1", "type": "GPS", "credentialsId": TOKEN, **fields}


async def registered(app, login, **fields):
    """Record of a new sensor."""
    return await app.post(login, "/sensor", sensor_body(**fields))


async def vehicle(app, login, number="12가3456"):
    """Id of a new vehicle."""
    body = {"vehicleNo": number, "mileage": 1, "fuelType": "LPG", "missionType": "AUTO"}
    return (await app.post(login, "/vehicle", body))["id"]["id"]


async def put(app, login, sensor, **changes):
    """Record after a change that must succeed."""
    answer = await app.call(login, "PUT", f"/sensor/{sensor['id']['id']}", changes)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def line_of(app, sensor, mdn="01212345678", status=NwStatus.NORMAL):
    """Open a line for the sensor, as the carrier would."""
    line = Line(
        sensor_id=sensor["id"]["id"], mdn=mdn, nw_status=status, subscription="LTEM", imsi="450061", iccid="8982"
    )
    await app.store.write(lambda tx: lines.put(tx, line, now_ms=app.now_ms))


async def test_change_names_what_changes_and_leaves_the_rest(app: rest.Rest, admin):
    before = await registered(app, admin, vendor="Maker", missionType="AUTO", additionalInfo="spare")
    after = await put(app, admin, before, serialNo="SN-9", vendor=None, unknown=1)
    unchanged = await put(app, admin, before)
    read, told = await app.get(admin, f"/sensor/{before['id']['id']}"), app.signals.told

    assert after == {**before, "serialNo": "SN-9", "vendor": None}
    assert unchanged == read == after
    assert told == []


async def test_change_of_the_token_ends_the_session_and_of_the_type_tells_the_pipeline(app: rest.Rest, admin):
    sensor = await registered(app, admin)
    await put(app, admin, sensor, credentialsId=TOKEN, type="GPS")
    unchanged = list(app.signals.told)
    record = await put(app, admin, sensor, credentialsId=OTHER_TOKEN)
    await put(app, admin, sensor, type="OBD")
    sensor_id, token, told = sensor["id"]["id"], record["credentialsId"], app.signals.told

    assert unchanged == []
    assert token == OTHER_TOKEN
    assert told == [(observe.SIGNAL_CREDENTIAL_ENDED, sensor_id), (observe.SIGNAL_SENSOR_CHANGED, sensor_id)]


async def test_h5_change_into_what_another_sensor_has_is_refused(app: rest.Rest, admin):
    sensor = await registered(app, admin)
    await registered(app, admin, serialNo="SN-2", credentialsId=OTHER_TOKEN)
    path = f"/sensor/{sensor['id']['id']}"
    form = "Parameter 'credentialsId' must be exactly 20 printable ASCII characters without '/', '+', '#' and blank."
    cases = [
        ({"serialNo": "SN-2"}, "Parameter 'serialNo': a sensor with the serial number SN-2 is already registered."),
        (
            {"credentialsId": OTHER_TOKEN},
            "Parameter 'credentialsId': a sensor with this access token is already registered.",
        ),
        ({"credentialsId": TOKEN[:19]}, form),
        ({"credentialsId": TOKEN + "x"}, form),
        ({"credentialsId": None}, "Parameter 'credentialsId' can't be empty!"),
        ({"serialNo": ""}, "Parameter 'serialNo' can't be empty!"),
        ({"type": 1}, "Parameter 'type' has the wrong type: expected text, got a whole number."),
    ]

    for change, told in cases:
        assert await app.refused(admin, "PUT", path, change) == (400, 31, told)
    assert await app.get(admin, path) == sensor


async def test_sensor_on_a_vehicle_stays_on_it_when_it_needs_activation_from_now_on(app: rest.Rest, admin):
    sensor, vehicle_id = await registered(app, admin), await vehicle(app, admin)
    mounted = await app.post(admin, f"/sensor/{sensor['id']['id']}/vehicle/{vehicle_id}")
    after = await put(app, admin, sensor, activationRequired=True)
    await app.delete(admin, f"/sensor/{sensor['id']['id']}/vehicle")
    again = await app.refused(admin, "POST", f"/sensor/{sensor['id']['id']}/vehicle/{vehicle_id}")

    assert after == {**mounted, "activationRequired": True}
    assert again[:2] == (409, 2)


async def test_who_may_change_and_delete_is_told_before_what_is_wrong_with_the_body(app: rest.Rest, admin):
    _, partner = await app.partner(admin, "p@partner.example")
    sensor = await registered(app, partner)
    director = await app.person(partner, Authority.DIRECTOR, "han")
    path = f"/sensor/{sensor['id']['id']}"
    asked = [(None, path), (director, path), (admin, path), (partner, "/sensor/x"), (partner, f"/sensor/{UNKNOWN}")]
    found = [
        [(await app.refused(login, method, where, b"{"))[:2] for login, where in asked] for method in ("PUT", "DELETE")
    ]

    assert found == [[(401, 10), (403, 20), (403, 20), (400, 31), (404, 32)]] * 2


@pytest.mark.parametrize("named", [True, False])
async def test_g8_unmounting_gives_the_sensor_back_as_it_was(app: rest.Rest, admin, named):
    sensor, vehicle_id = await registered(app, admin), await vehicle(app, admin)
    path = f"/sensor/{sensor['id']['id']}/vehicle"
    await app.post(admin, f"{path}/{vehicle_id}")
    answer = await app.delete(admin, f"{path}/{vehicle_id}" if named else path)
    count = (await app.get(admin, f"/vehicle/{vehicle_id}"))["sensorCount"]
    before, after, told = sensor, await app.get(admin, f"/sensor/{sensor['id']['id']}"), app.signals.told

    assert answer == after == before
    assert (after["status"], after["vehicleId"], after["vehicleNo"], count) == ("DEACTIVATED", PLACEHOLDER, None, 0)
    assert told == [(observe.SIGNAL_SENSOR_CHANGED, before["id"]["id"])] * 2


async def test_unmounting_refusals_come_in_order_and_change_nothing(app: rest.Rest, admin):
    _, other = await app.operator("other")
    sensor, free = await registered(app, admin), await registered(app, admin, serialNo="2", credentialsId=OTHER_TOKEN)
    here, there = await vehicle(app, admin), await vehicle(app, admin, "2")
    foreign = await vehicle(app, other)
    director = await app.person(admin, Authority.DIRECTOR, "han")
    path = f"/sensor/{sensor['id']['id']}/vehicle"
    await app.post(admin, f"{path}/{here}")
    refusals = [
        await app.refused(director, "DELETE", "/sensor/x/vehicle"),
        await app.refused(admin, "DELETE", "/sensor/x/vehicle"),
        await app.refused(admin, "DELETE", f"{path}/x"),
        await app.refused(admin, "DELETE", f"{path}/{UNKNOWN}"),
        await app.refused(admin, "DELETE", f"/sensor/{UNKNOWN}/vehicle/{here}"),
        await app.refused(other, "DELETE", path),
        await app.refused(admin, "DELETE", f"{path}/{foreign}"),
        await app.refused(admin, "DELETE", f"{path}/{there}"),
        await app.refused(admin, "DELETE", f"/sensor/{free['id']['id']}/vehicle"),
        await app.refused(admin, "DELETE", f"/sensor/{free['id']['id']}/vehicle/{here}"),
    ]
    mounted_on = (await app.get(admin, f"/sensor/{sensor['id']['id']}"))["vehicleId"]

    assert [refusal[:2] for refusal in refusals[:7]] == [
        (403, 20),
        (400, 31),
        (400, 31),
        (404, 32),
        (404, 32),
        (403, 20),
        (403, 20),
    ]
    assert refusals[7:] == [
        (400, 30, "The sensor is mounted on another vehicle."),
        (400, 30, "The sensor is not mounted on a vehicle."),
        (400, 30, "The sensor is not mounted on a vehicle."),
    ]
    assert mounted_on == {"id": here}


async def test_h12_deleted_sensor_is_gone_and_its_names_are_free_again(app: rest.Rest, admin):
    sensor, vehicle_id = await registered(app, admin), await vehicle(app, admin)
    sensor_id = sensor["id"]["id"]
    await line_of(app, sensor)
    await app.post(admin, f"/sensor/{sensor_id}/vehicle/{vehicle_id}")
    app.signals.told.clear()
    answer = await app.delete(admin, f"/sensor/{sensor_id}")
    told = list(app.signals.told)

    assert answer == {}
    assert {subject for subject, _ in told} == {
        observe.SIGNAL_CREDENTIAL_ENDED,
        observe.SIGNAL_SENSOR_CHANGED,
        observe.SIGNAL_SCORING_DUE,
        observe.SIGNAL_ERASURE_DUE,
    }
    assert (await app.refused(admin, "GET", f"/sensor/{sensor_id}"))[:2] == (404, 32)
    assert (await app.refused(admin, "GET", "/sensor", mdn="01212345678"))[:2] == (404, 32)
    assert (await app.refused(admin, "DELETE", f"/sensor/{sensor_id}"))[:2] == (404, 32)
    assert (await app.get(admin, "/sensors", limit=9))["data"] == []
    assert (await app.get(admin, f"/vehicle/{vehicle_id}"))["sensorCount"] == 0
    assert (await registered(app, admin))["serialNo"] == "SN-1"


async def test_lists_and_counts_tell_mounted_from_unmounted_and_keep_to_the_reach(app: rest.Rest):
    _, ace = await app.operator("ace")
    partner_record, partner = await app.partner(ace, "p@partner.example")
    _, other = await app.operator("other")
    mounted = await registered(app, partner)
    await app.post(partner, f"/sensor/{mounted['id']['id']}/vehicle/{await vehicle(app, partner)}")
    await registered(app, partner, serialNo="SN-2", credentialsId=OTHER_TOKEN)
    await registered(app, ace, serialNo="SN-3", credentialsId="x" * 20)
    await registered(app, other, serialNo="SN-4", credentialsId="y" * 20)
    director = await app.person(partner, Authority.DIRECTOR, "han")
    driver = await app.person(partner, Authority.DRIVER, "oh")
    mine = partner_record["id"]["id"]

    async def count(login, **query):
        return (await app.get(login, "/sensors/count", **query))["count"]

    async def refused(login, **query):
        return (await app.refused(login, "GET", "/sensors/count", **query))[:2]

    pages = {
        flag: [row["serialNo"] for row in (await app.get(partner, "/sensors", limit=5, mounted=flag))["data"]]
        for flag in ("true", "false")
    }
    flag_of_a_list = await app.refused(ace, "GET", "/sensors", limit=1, mounted="no")

    assert await count(partner) == 2
    assert await count(partner, mounted="false") == 1
    assert await count(partner, mounted="TRUE") == 1
    assert await count(ace, companyId=mine) == 2
    assert await count(ace, serviceType="ace") == 3
    assert await count(ace, serviceType="ace", mounted="false") == 2
    assert await count(partner, serviceType="ace") == 2
    assert await count(ace, serviceType="ace", companyId=mine) == 2
    assert await count(director) == 0
    assert pages == {"true": ["SN-1"], "false": ["SN-2"]}
    assert await refused(ace, serviceType="other") == (403, 20)
    assert await refused(ace, serviceType="none") == (403, 20)
    assert await refused(partner, companyId=ace.company_id) == (403, 20)
    assert await refused(partner, companyId=UNKNOWN) == (404, 32)
    assert await refused(ace, mounted="1") == (400, 31)
    assert flag_of_a_list[:2] == (400, 31)
    assert await refused(driver) == (403, 20)


async def test_unmounted_list_goes_on_after_its_last_item(app: rest.Rest, admin):
    for number in range(3):
        await registered(app, admin, serialNo=f"SN-{number}", credentialsId=f"{number:020d}")
    first = await app.get(admin, "/sensors", limit=2, mounted="false")
    second = await app.get(admin, "/sensors", limit=2, mounted="false", idOffset=first["nextPageLink"]["idOffset"])

    assert [row["serialNo"] for row in first["data"]] == ["SN-0", "SN-1"]
    assert [row["serialNo"] for row in second["data"]] == ["SN-2"]
    assert (first["hasNext"], second["hasNext"]) == (True, False)


async def test_carrier_linked_sensor_has_its_line_in_the_record_and_is_found_by_number(app: rest.Rest, admin):
    _, other = await app.operator("other")
    plain = await registered(app, admin, additionalInfo="spare")
    await line_of(app, plain)
    path = f"/sensor/{plain['id']['id']}"
    found = {
        "plain": plain,
        "linked": await app.get(admin, path),
        "by number": await app.get(admin, "/sensor", mdn="01212345678"),
        "listed": (await app.get(admin, "/sensors", limit=1))["data"][0],
        "foreign": (await app.refused(other, "GET", "/sensor", mdn="01212345678"))[:2],
        "unknown": (await app.refused(admin, "GET", "/sensor", mdn="01200000000"))[:2],
        "both": (await app.refused(admin, "GET", "/sensor", mdn="01212345678", serialNo="SN-1"))[:2],
        "no token": await put(app, admin, plain, credentialsId=None, additionalInfo={"extra": "van"}),
        "as text": (await put(app, admin, plain, additionalInfo="lorry"))["additionalInfo"]["extra"],
        "echoed": (await put(app, admin, plain, additionalInfo={"imsi": "450061"}))["additionalInfo"]["extra"],
        "cleared": (await put(app, admin, plain, additionalInfo={"extra": None}))["additionalInfo"]["extra"],
    }

    info = {"extra": "spare", "subscription": "LTEM", "imsi": "450061", "iccid": "8982"}
    linked = {**found["plain"], "additionalInfo": info, "mdn": "01212345678", "nwStatus": "01"}
    assert not {"mdn", "nwStatus"} & found["plain"].keys()
    assert found["linked"] == found["by number"] == found["listed"] == linked
    assert (found["foreign"], found["unknown"], found["both"]) == ((403, 20), (404, 32), (400, 31))
    assert found["no token"] == {**linked, "credentialsId": None, "additionalInfo": {**info, "extra": "van"}}
    assert (found["as text"], found["echoed"], found["cleared"]) == ("lorry", "lorry", None)


async def test_registration_with_an_object_is_of_a_carrier_linked_device_and_needs_no_token(app: rest.Rest, admin):
    record = await registered(app, admin, credentialsId=None, additionalInfo={"extra": "van", "iccid": ""})

    assert (record["credentialsId"], record["additionalInfo"]) == (None, "van")

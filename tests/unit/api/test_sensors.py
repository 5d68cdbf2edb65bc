"""Registering, finding, listing and mounting sensors over REST."""

import pytest
from tests.support import rest

from tripline import observe
from tripline.domain.access import Authority

TOKEN = "ACE01abcdefghijklmno"
OTHER_TOKEN = "ACE02abcdefghijklmno"
UNKNOWN = "ffffffff-a4ed-11f0-8000-010000000042"


def sensor_body(**fields):
    return {"serialNo": "SN-1", "type": "GPS", "credentialsId": TOKEN, **fields}


async def vehicle_and_sensor(app, admin, **fields):
    """Ids of a new vehicle and a new sensor."""
    body = {"vehicleNo": "12가3456", "mileage": 1, "fuelType": "LPG", "missionType": "AUTO"}
    vehicle = await app.post(admin, "/vehicle", body)
    sensor = await app.post(admin, "/sensor", sensor_body(**fields))
    return vehicle["id"]["id"], sensor["id"]["id"]


async def test_registration_refusals_name_the_parameter(app: rest.Rest):
    form = "Parameter 'credentialsId' must be exactly 20 printable ASCII characters without '/', '+', '#' and blank."
    _, admin = await app.operator("ace")
    cases = [
        ({"serialNo": None}, "Parameter 'serialNo' can't be empty!"),
        ({"type": ""}, "Parameter 'type' can't be empty!"),
        ({"credentialsId": None}, "Parameter 'credentialsId' can't be empty!"),
        ({"credentialsId": "x" * 19}, form),
        (
            {"activationRequired": "false"},
            "Parameter 'activationRequired' has the wrong type: expected true or false, got text.",
        ),
        ({"missionType": "auto"}, "Parameter 'missionType' must be one of AUTO, MANUAL."),
    ]

    for fields, told in cases:
        assert await app.refused(admin, "POST", "/sensor", sensor_body(**fields)) == (400, 31, told)


async def test_mission_type_is_returned_only_when_it_was_sent(app: rest.Rest, admin):
    without = await app.post(admin, "/sensor", sensor_body())
    with_it = await app.post(
        admin, "/sensor", sensor_body(serialNo="SN-2", credentialsId=OTHER_TOKEN, missionType="MANUAL")
    )

    assert "missionType" not in without
    assert with_it["missionType"] == "MANUAL"


async def test_h5_serial_is_unique_in_the_service_type_and_the_token_everywhere(app: rest.Rest):
    _, ace = await app.operator("ace")
    _, partner = await app.partner(ace, "admin@partner.example")
    _, other = await app.operator("other")
    await app.post(ace, "/sensor", sensor_body())
    await app.post(other, "/sensor", sensor_body(credentialsId=OTHER_TOKEN))
    found = [
        await app.refused(partner, "POST", "/sensor", sensor_body(credentialsId="x" * 20)),
        await app.refused(other, "POST", "/sensor", sensor_body(serialNo="SN-2")),
    ]

    assert found == [
        (400, 31, "Parameter 'serialNo': a sensor with the serial number SN-1 is already registered."),
        (400, 31, "Parameter 'credentialsId': a sensor with this access token is already registered."),
    ]


async def test_x1_director_may_not_register_a_sensor(app: rest.Rest, admin):
    director = await app.person(admin, Authority.DIRECTOR, "han")

    assert (await app.refused(director, "POST", "/sensor", sensor_body()))[:2] == (403, 20)


async def test_g12_mounting_answers_the_sensor_and_tells_the_pipeline_once(app: rest.Rest, admin):
    vehicle_id, sensor_id = await vehicle_and_sensor(app, admin)
    path = f"/sensor/{sensor_id}/vehicle/{vehicle_id}"
    registered = await app.get(admin, f"/sensor/{sensor_id}")
    mounted = await app.post(admin, path)
    again = await app.post(admin, path, {"any": ["body"]})
    vehicle = await app.get(admin, f"/vehicle/{vehicle_id}")
    read = await app.get(admin, f"/sensor/{sensor_id}")

    assert mounted == {**registered, "status": "ACTIVATED", "vehicleId": vehicle["id"], "vehicleNo": "12가3456"}
    assert again == mounted
    assert read == mounted
    assert (vehicle["sensorCount"], vehicle["status"]) == (1, "DEACTIVATED")
    assert app.signals.told == [(observe.SIGNAL_SENSOR_CHANGED, mounted["id"]["id"])]


async def test_g11_mounting_ignores_a_body_that_is_no_json(app: rest.Rest, admin):
    vehicle_id, sensor_id = await vehicle_and_sensor(app, admin)

    assert (await app.post(admin, f"/sensor/{sensor_id}/vehicle/{vehicle_id}", b"{"))["status"] == "ACTIVATED"


async def test_mounting_refusals_come_in_order_and_change_nothing(app: rest.Rest, admin):
    _, other = await app.operator("other")
    vehicle_id, sensor_id = await vehicle_and_sensor(app, admin)
    foreign = (await app.post(other, "/vehicle", {"vehicleNo": "9", "mileage": 1}))["id"]["id"]
    second = (await app.post(admin, "/vehicle", {"vehicleNo": "2", "mileage": 1}))["id"]["id"]
    director = await app.person(admin, Authority.DIRECTOR, "han")
    refusals = [
        await app.refused(director, "POST", f"/sensor/x/vehicle/{vehicle_id}"),
        await app.refused(admin, "POST", f"/sensor/x/vehicle/{vehicle_id}"),
        await app.refused(admin, "POST", f"/sensor/{UNKNOWN}/vehicle/x"),
        await app.refused(admin, "POST", f"/sensor/{UNKNOWN}/vehicle/{vehicle_id}"),
        await app.refused(other, "POST", f"/sensor/{sensor_id}/vehicle/{UNKNOWN}"),
        await app.refused(admin, "POST", f"/sensor/{sensor_id}/vehicle/{foreign}"),
        await app.refused(other, "POST", f"/sensor/{sensor_id}/vehicle/{foreign}"),
    ]
    await app.post(admin, f"/sensor/{sensor_id}/vehicle/{vehicle_id}")
    refusals.append(await app.refused(admin, "POST", f"/sensor/{sensor_id}/vehicle/{second}"))
    vehicle, told = (await app.get(admin, f"/sensor/{sensor_id}"))["vehicleId"], app.signals.told

    assert [refusal[:2] for refusal in refusals] == [
        (403, 20),
        (400, 31),
        (400, 31),
        (404, 32),
        (404, 32),
        (403, 20),
        (403, 20),
        (400, 31),
    ]
    assert vehicle == {"id": vehicle_id}
    assert len(told) == 1


async def test_mounting_a_sensor_whose_device_is_absent_is_refused_until_it_needs_no_activation(app: rest.Rest, admin):
    vehicle_id, sensor_id = await vehicle_and_sensor(app, admin, activationRequired=True)
    refusal = await app.refused(admin, "POST", f"/sensor/{sensor_id}/vehicle/{vehicle_id}")
    sensor, told = await app.get(admin, f"/sensor/{sensor_id}"), [*app.signals.told]
    await app.call(admin, "PUT", f"/sensor/{sensor_id}", {"activationRequired": False})
    mounted = await app.post(admin, f"/sensor/{sensor_id}/vehicle/{vehicle_id}")

    assert refusal == (409, 2, "The device is not connected.")
    assert (sensor["status"], sensor["activationRequired"]) == ("DEACTIVATED", True)
    assert {subject for subject, _ in told} == {observe.SIGNAL_RPC_ANSWERED}
    assert mounted["status"] == "ACTIVATED"


@pytest.mark.parametrize(
    ("vehicle", "sensor", "outcome"),
    [
        ({}, {}, ("Parameters 'fuelType' and 'missionType' of the vehicle can't be empty", 400, 31)),
        ({"fuelType": "", "missionType": ""}, {}, ("Parameters 'fuelType' and 'missionType' of", 400, 31)),
        ({"missionType": "AUTO"}, {}, ("Parameter 'fuelType' of the vehicle can't be empty", 400, 31)),
        ({"fuelType": "LPG"}, {}, ("Parameter 'missionType' of the vehicle can't be empty", 400, 31)),
        ({"fuelType": "LPG", "missionType": "AUTO"}, {}, ("The device is not connected.", 409, 2)),
        ({"fuelType": "LPG"}, {"missionType": "AUTO"}, ("The device is not connected.", 409, 2)),
    ],
)
async def test_activation_with_a_vehicle_that_lacks_what_the_device_must_be_told_is_refused_by_name(
    app: rest.Rest, admin, vehicle, sensor, outcome
):
    made = await app.post(admin, "/vehicle", {"vehicleNo": "1", "mileage": 1, **vehicle})
    device = await app.post(admin, "/sensor", sensor_body(activationRequired=True, **sensor))
    path = f"/sensor/{device['id']['id']}"
    refusal = await app.refused(admin, "POST", f"{path}/vehicle/{made['id']['id']}")
    (status, code, message), calls = refusal, len((await app.get(admin, f"{path}/rpcs", limit=9))["data"])

    words, *numbers = outcome
    assert [status, code] == numbers
    assert message.startswith(words)
    assert calls == (status == 409)


async def test_look_up_of_what_is_not_there_names_what_was_looked_for(app: rest.Rest, admin):
    found = [await app.refused(admin, "GET", "/sensor", **{name: "9"}) for name in ("serialNo", "mdn")]

    assert found == [
        (404, 32, "There is no sensor with this serial number."),
        (404, 32, "There is no sensor whose line has this telephone number."),
    ]


async def test_find_by_serial_number_looks_in_the_callers_service_type(app: rest.Rest):
    _, ace = await app.operator("ace")
    _, partner = await app.partner(ace, "admin@partner.example")
    _, other = await app.operator("other")
    registered = await app.post(partner, "/sensor", sensor_body())
    operators = await app.post(ace, "/sensor", sensor_body(serialNo="SN-2", credentialsId=OTHER_TOKEN))
    found = {
        "registered": registered,
        "owner": await app.get(partner, "/sensor", serialNo="SN-1"),
        "operator": await app.get(ace, "/sensor", serialNo="SN-1"),
        "another service type": await app.refused(other, "GET", "/sensor", serialNo="SN-1"),
        "another company": await app.refused(partner, "GET", "/sensor", serialNo=operators["serialNo"]),
        "no number": await app.refused(ace, "GET", "/sensor"),
    }

    assert found["owner"] == found["operator"] == found["registered"]
    assert found["another service type"][:2] == (404, 32)
    assert found["another company"][:2] == (403, 20)
    assert found["no number"] == (400, 31, "Parameter 'serialNo' can't be empty!")


async def test_list_without_company_shows_the_callers_and_never_a_null_vehicle(app: rest.Rest):
    _, ace = await app.operator("ace")
    partner_record, partner = await app.partner(ace, "admin@partner.example")
    await app.post(ace, "/sensor", sensor_body())
    await app.post(partner, "/sensor", sensor_body(serialNo="SN-2", credentialsId=OTHER_TOKEN))
    company_id = partner_record["id"]["id"]
    lists, refused = (
        [
            await app.get(ace, "/sensors", limit=10),
            await app.get(ace, "/sensors", limit=10, companyId=company_id.upper()),
            await app.get(partner, "/sensors", limit=10, companyId=company_id),
        ],
        await app.refused(partner, "GET", "/sensors", limit=10, companyId=ace.company_id),
    )

    assert [[sensor["serialNo"] for sensor in page["data"]] for page in lists] == [["SN-1"], ["SN-2"], ["SN-2"]]
    assert all(sensor["vehicleId"]["id"] for page in lists for sensor in page["data"])
    assert refused[:2] == (403, 20)

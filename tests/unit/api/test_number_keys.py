"""Numbers of vehicles and serial numbers of sensors in other forms: one registration, found by each, echoed as sent."""

import unicodedata

import pytest
from tests.support import rest

PLATE = "77라1234"
FORMS = (unicodedata.normalize("NFD", PLATE), "77라 1234", "77라1234\u200b", "\ufeff77라1234", " 77라1234")
SERIAL = "sn-ä1"
SERIALS = (unicodedata.normalize("NFD", SERIAL), "SN-Ä1", "sn -ä1", "sn-\u00adä1")


def device(serial_no, letter):
    return {"serialNo": serial_no, "type": "GPS", "credentialsId": letter * 20}


async def bulk(app, login, rows, noun="vehicles"):
    header = "vehicleNo,mileage" if noun == "vehicles" else "serialNo,type,credentialsId"
    answer = await app.call(login, "POST", f"/{noun}/bulk", "\n".join([header, *rows]).encode(), skipBadRows="true")
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("form", FORMS)
async def test_h5_number_in_another_form_is_taken_and_found_and_the_text_is_echoed_as_sent(app: rest.Rest, admin, form):
    _, other = await app.operator("bee")
    made = await app.post(admin, "/vehicle", {"vehicleNo": form, "mileage": 1})
    taken = await app.refused(admin, "POST", "/vehicle", {"vehicleNo": PLATE, "mileage": 1})
    elsewhere = await app.post(other, "/vehicle", {"vehicleNo": PLATE, "mileage": 1})
    found = [await app.get(admin, "/vehicle", vehicleNo=each) for each in (PLATE, form)]

    assert made["vehicleNo"] == form
    assert taken[:2] == (400, 31)
    assert "'vehicleNo'" in taken[2]
    assert elsewhere["vehicleNo"] == PLATE
    assert [(each["id"], each["vehicleNo"]) for each in found] == [(made["id"], form)] * 2


@pytest.mark.parametrize("form", SERIALS)
async def test_h5_serial_number_in_another_form_is_taken_and_found(app: rest.Rest, admin, form):
    made = await app.post(admin, "/sensor", device(form, "a"))
    taken = await app.refused(admin, "POST", "/sensor", device(SERIAL, "b"))
    found = await app.get(admin, "/sensor", serialNo=SERIAL)

    assert made["serialNo"] == form
    assert taken[:2] == (400, 31)
    assert "'serialNo'" in taken[2]
    assert found["id"] == made["id"]


async def test_access_tokens_that_differ_in_case_are_two(app: rest.Rest, admin):
    await app.post(admin, "/sensor", device("1", "a"))
    await app.post(admin, "/sensor", device("2", "A"))
    rows = [f"3,GPS,{'b' * 20}", f"4,GPS,{'B' * 20}", f"5,GPS,{'a' * 20}"]
    answer = await bulk(app, admin, rows, "sensors")

    assert (answer["created"], [each["row"] for each in answer["errors"]]) == (2, [4])


async def test_import_finds_numbers_in_other_forms_in_the_file_and_in_the_store(app: rest.Rest, admin):
    await app.post(admin, "/vehicle", {"vehicleNo": PLATE, "mileage": 1})
    vehicles = await bulk(app, admin, [f"{FORMS[0]},5", "K2,5", "K2\u200b,5", " k2,5", "K3,5"])
    again = await bulk(app, admin, ["k 3,5", "K4,5"])
    boxes = [f"{each},GPS,{letter * 20}" for each, letter in zip(SERIALS, "abcd", strict=True)]
    sensors = await bulk(app, admin, boxes, "sensors")

    assert (vehicles["created"], [each["row"] for each in vehicles["errors"]]) == (2, [2, 4, 5])
    assert (again["created"], [each["row"] for each in again["errors"]]) == (1, [2])
    assert (sensors["created"], [each["row"] for each in sensors["errors"]]) == (1, [3, 4, 5])


async def test_number_changes_its_form_and_not_to_that_of_another_vehicle(app: rest.Rest, admin):
    made = await app.post(admin, "/vehicle", {"vehicleNo": PLATE, "mileage": 1})
    await app.post(admin, "/vehicle", {"vehicleNo": "K2", "mileage": 1})
    at = f"/vehicle/{made['id']['id']}"
    changed = (await app.call(admin, "PUT", at, {"vehicleNo": FORMS[1]})).json()
    taken = await app.refused(admin, "PUT", at, {"vehicleNo": "k2\u200b"})
    await app.call(admin, "PUT", at, {"vehicleNo": "K9"})
    free = await app.post(admin, "/vehicle", {"vehicleNo": FORMS[0], "mileage": 1})

    assert (changed["vehicleNo"], taken[:2], free["vehicleNo"]) == (FORMS[1], (400, 31), FORMS[0])


async def test_serial_number_changes_its_form_and_not_to_that_of_another_sensor(app: rest.Rest, admin):
    made = await app.post(admin, "/sensor", device(SERIAL, "a"))
    await app.post(admin, "/sensor", device("S2", "b"))
    at = f"/sensor/{made['id']['id']}"
    changed = (await app.call(admin, "PUT", at, {"serialNo": SERIALS[1]})).json()
    taken = await app.refused(admin, "PUT", at, {"serialNo": "s2\u200b"})
    await app.call(admin, "PUT", at, {"serialNo": "S9"})
    free = await app.post(admin, "/sensor", device(SERIALS[0], "c"))

    assert (changed["serialNo"], taken[:2], free["serialNo"]) == (SERIALS[1], (400, 31), SERIALS[0])


@pytest.mark.parametrize("number", ["\u200b", "\u3164\u00a0", "\u2060"])
async def test_number_that_nobody_sees_is_missing(app: rest.Rest, admin, number):
    found = [
        await app.refused(admin, "POST", "/vehicle", {"vehicleNo": number, "mileage": 1}),
        await app.refused(admin, "POST", "/sensor", device(number, "a")),
    ]

    assert found == [
        (400, 31, "Parameter 'vehicleNo' can't be empty!"),
        (400, 31, "Parameter 'serialNo' can't be empty!"),
    ]

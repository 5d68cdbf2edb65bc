"""Values that nobody would type: each is kept as sent or refused by name, none is an error of ours."""

from collections.abc import Sequence
from typing import Any

import pytest
from tests.support import rest as support
from tests.support.rest import Rest

from tripline.domain import ids
from tripline.domain.access import Authority

DIGITS_400 = b"1" + b"0" * 400


def _vehicle_with(field: str, value: bytes) -> bytes:
    fields = {"vehicleNo": b'"1"', "mileage": b"1", field: value}
    return b"{" + b",".join(b'"%b":%b' % (name.encode(), sent) for name, sent in fields.items()) + b"}"


async def _refusals(rest: Rest, field: str, values: Sequence[bytes]) -> list[Any]:
    _, admin = await rest.operator("taxi")
    return [await rest.refused(admin, "POST", "/vehicle", _vehicle_with(field, value)) for value in values]


@pytest.mark.parametrize("field", ["mileage", "displacement", "modelYear"])
async def test_number_that_is_none_is_refused(app: Rest, field: str) -> None:
    no_json = [b"1e400", b"NaN", b"Infinity"]
    no_number = [b"-1", b"true", b"[]", b"{}", b"[1]", b'"x"', DIGITS_400, b"-" + DIGITS_400]

    refusals = await _refusals(app, field, [*no_json, *no_number])

    assert [refusal[:2] for refusal in refusals] == [(400, 31)] * len(refusals)
    assert all(f"'{field}'" in message or "JSON object" in message for _, _, message in refusals)


@pytest.mark.parametrize("field", ["vehicleNo", "vendor", "additionalInfo", "category"])
async def test_text_that_is_none_is_refused(app: Rest, field: str) -> None:
    values = [b"12", b'["a"]', b'{"a":1}', b"true", b'"\\ud800"', b'"\\u0000"', b'"\\u001b[2J"']

    refusals = await _refusals(app, field, values)

    assert [refusal[:2] for refusal in refusals] == [(400, 31)] * len(values)


async def test_text_is_data_and_comes_back_as_sent(app: Rest) -> None:
    texts = sorted(
        ["\u202ecba", "\ufeffx", "e\u0301", "'; DROP TABLE vehicle; --", "<script>", "%s{0}", "\U0001f69a", "\u00f6"]
    )

    _, admin = await app.operator("taxi")
    made = [(await app.post(admin, "/vehicle", {"vehicleNo": text, "mileage": 1}))["vehicleNo"] for text in texts]
    listed = await app.get(admin, f"/company/{admin.company_id}/vehicles", limit=len(texts))

    assert [made, [row["vehicleNo"] for row in listed["data"]]] == [texts, texts]


async def test_what_a_registration_does_not_know_is_not_heard(app: Rest) -> None:
    forged = {
        "ID": {"id": "11111111-1111-1111-8111-111111111111"},
        "created_ms": 1,
        "company_id": {"id": "22222222-2222-1222-8222-222222222222"},
        "Status": "ACTIVATED",
        "master_id": {"id": "33333333-3333-1333-8333-333333333333"},
        "role": "SYS_ADMIN",
        "director_id": {"id": "44444444-4444-1444-8444-444444444444"},
        "serviceType": "taxi",
        "service_type": "bus",
        "enabled": False,
    }

    operator, admin = await app.operator("taxi")
    partner = await app.post(admin, "/company", {**support.company_body("taxi", "p@x.example"), **forged})
    vehicle = await app.post(admin, "/vehicle", {**forged, "vehicleNo": "1", "mileage": 1})
    body = {"serialNo": "1", "type": "GPS", "credentialsId": "x" * 20}
    sensor = await app.post(admin, "/sensor", {**forged, **body})
    person = {"name": "Oh", "email": "oh@x.example", "password": "pass phrase"}
    driver = await app.post(admin, "/driver", {**forged, **person})
    own = {"companyId": operator["id"]}
    unset = {"id": ids.PLACEHOLDER}
    assert {"master": False, "masterId": operator["id"], "serviceType": "taxi"}.items() <= partner.items()
    assert {**own, "status": "DEACTIVATED", "directorId": unset, "serviceType": "taxi"}.items() <= vehicle.items()
    assert {**own, "status": "DEACTIVATED", "vehicleId": unset}.items() <= sensor.items()
    assert {**own, "authority": Authority.DRIVER, "vehicleId": None}.items() <= driver.items()

    for record in [partner, vehicle, sensor, driver]:
        assert record["id"] != forged["ID"]
        assert record["createdTime"] == support.NOW_MS


async def test_empty_texts_of_a_form_count_as_not_sent(app: Rest) -> None:
    empty = dict.fromkeys(("modelYear", "missionType", "fuelType", "category", "displacement"), "")

    _, admin = await app.operator("taxi", rpcNotifyPort="")
    vehicle = await app.post(admin, "/vehicle", {"vehicleNo": "1", "mileage": 1, "vendor": "", **empty})
    body = {"serialNo": "1", "type": "GPS", "credentialsId": "x" * 20}
    sensor = await app.post(admin, "/sensor", {**body, "activationRequired": "", "missionType": ""})
    found = [
        [vehicle[name] for name in ("vendor", *empty)],
        (sensor["activationRequired"], "missionType" in sensor),
        await app.refused(admin, "POST", "/vehicle", {"vehicleNo": "2", "mileage": ""}),
    ]

    assert found == [
        ["", None, None, None, None, 0],
        (False, False),
        (400, 31, "Parameter 'mileage' can't be empty!"),
    ]


async def test_token_of_any_other_shape_is_unreadable(app: Rest) -> None:
    shapes = ["a.b", "a.b.c", "a.b.c.d", "....", "..", "a.b.c.d.e", "é.é.é", "e30.e30.e30"]

    answers = []
    for shape in shapes:
        headers = {"X-Authorization": f"Bearer {shape}".encode("latin-1")}
        answers.append(await app.http.get("/api/auth/user", headers=headers))  # type: ignore[arg-type]
        answers.append(await app.http.post("/api/auth/token", json={"refreshToken": shape}))

    assert [(answer.status_code, answer.json()["errorCode"]) for answer in answers] == [(401, 10)] * 2 * len(shapes)

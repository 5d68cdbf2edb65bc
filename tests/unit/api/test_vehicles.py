"""Registering and reading vehicles over REST."""

import pytest
from tests.support import rest

from tripline.domain.access import Authority

UNKNOWN = "ffffffff-a4ed-11f0-8000-010000000042"


async def test_registration_refusals_name_the_parameter(app: rest.Rest):
    cases = {
        "no mileage": {"vehicleNo": "1"},
        "null mileage": {"vehicleNo": "1", "mileage": None},
        "mileage 0": {"vehicleNo": "1", "mileage": 0},
        "mileage as text": {"vehicleNo": "1", "mileage": "10"},
        "mileage as flag": {"vehicleNo": "1", "mileage": True},
        "number as number": {"vehicleNo": 1, "mileage": 1},
        "number as array": {"vehicleNo": ["1"], "mileage": 1},
        "NUL in the number": {"vehicleNo": "1\x00", "mileage": 1},
        "half a surrogate": rb'{"vehicleNo": "1", "mileage": 1, "vendor": "\ud800"}',
        "mileage beyond doubles": b'{"vehicleNo": "1", "mileage": 1e999}',
        "negative mileage of 400 digits": b'{"vehicleNo": "1", "mileage": -' + b"9" * 400 + b"}",
        "fuel": {"vehicleNo": "1", "mileage": 1, "fuelType": "STEAM"},
        "year": {"vehicleNo": "1", "mileage": 1, "modelYear": {"y": 1}},
        "array": [1],
        "nothing": None,
    }

    _, admin = await app.operator("ace")
    refusals = {name: await app.refused(admin, "POST", "/vehicle", body) for name, body in cases.items()}

    wrong = "Parameter '{}' has the wrong type: expected {}, got {}."
    missing = "Parameter 'mileage' can't be empty!"
    for name in ("half a surrogate", "mileage beyond doubles", "negative mileage of 400 digits"):
        assert refusals.pop(name)[:2] == (400, 31)
    assert refusals == {
        "no mileage": (400, 31, missing),
        "null mileage": (400, 31, missing),
        "mileage 0": (400, 31, missing),
        "mileage as text": (400, 31, wrong.format("mileage", "a number", "text")),
        "mileage as flag": (400, 31, wrong.format("mileage", "a number", "true or false")),
        "number as number": (400, 31, wrong.format("vehicleNo", "text", "a whole number")),
        "number as array": (400, 31, wrong.format("vehicleNo", "text", "an array")),
        "NUL in the number": (400, 31, "Parameter 'vehicleNo' must not contain control characters."),
        "fuel": (400, 31, "Parameter 'fuelType' must be one of DIESEL, GASOLINE, LPG."),
        "year": (400, 31, wrong.format("modelYear", "a number or text", "an object")),
        "array": (400, 31, "The body must be a JSON object, in braces."),
        "nothing": (400, 31, "The body must be a JSON object; it is empty."),
    }


@pytest.mark.parametrize("number", ["1e308", "1E400", "-1E400", "1" * 400, "[1e400]", '{"a": [1e400]}'])
async def test_number_that_no_field_may_have_is_refused_by_name(app: rest.Rest, admin, number):
    body = f'{{"vehicleNo": "1", "mileage": 1, "displacement": {number}}}'
    status, code, message = await app.refused(admin, "POST", "/vehicle", body.encode())

    assert (status, code, message.split(" ")[:2]) == (400, 31, ["Parameter", "'displacement'"])


async def test_registration_ignores_unknown_fields_and_keeps_values_as_data(app: rest.Rest):
    number = "'; DROP TABLE vehicle; --"

    _, admin = await app.operator("ace")
    body = {"vehicleNo": number, "mileage": 1, "usage": "<script>&amp;%s{}", "Status": "ACTIVATED", "x": {"y": 1}}
    vehicle = await app.post(admin, "/vehicle", body)
    vehicle = await app.get(admin, f"/vehicle/{vehicle['id']['id']}")

    assert (vehicle["vehicleNo"], vehicle["usage"], vehicle["status"]) == (number, "<script>&amp;%s{}", "DEACTIVATED")


async def test_h5_number_is_unique_in_the_service_type_and_free_in_another(app: rest.Rest):
    body = {"vehicleNo": "12가3456", "mileage": 1}

    _, ace = await app.operator("ace")
    _, partner = await app.partner(ace, "admin@partner.example")
    _, other = await app.operator("other")
    await app.post(ace, "/vehicle", body)
    await app.post(other, "/vehicle", body)
    refusals = [await app.refused(login, "POST", "/vehicle", body) for login in (ace, partner)]

    taken = (400, 31, "Parameter 'vehicleNo': a vehicle with the number 12가3456 is already registered.")
    assert refusals == [taken, taken]


async def test_rule_2_vehicle_of_a_director_is_managed_by_that_director(app: rest.Rest, admin):
    director = await app.person(admin, Authority.DIRECTOR, "han")
    vehicle = await app.post(director, "/vehicle", {"vehicleNo": "1", "mileage": 1})

    assert vehicle["directorId"] == {"id": director.user_id}


async def test_rule_3_vehicle_of_a_partner_can_be_read_by_the_operator(app: rest.Rest):
    _, ace = await app.operator("ace")
    _, partner = await app.partner(ace, "admin@partner.example")
    vehicle = await app.post(partner, "/vehicle", {"vehicleNo": "1", "mileage": 1})

    assert await app.get(ace, f"/vehicle/{vehicle['id']['id']}") == vehicle


async def test_checks_run_in_order_token_role_id_existence_ownership_body(app: rest.Rest, admin):
    _, other = await app.operator("other")
    driver = await app.person(admin, Authority.DRIVER, "oh")
    foreign = await app.post(other, "/vehicle", {"vehicleNo": "1", "mileage": 1})
    granted = await app.account("granted@x.example", Authority.COMPANY_ADMIN)
    checks = [
        ((None, "POST", "/vehicle", [1]), (401, 10)),
        ((driver, "POST", "/vehicle", [1]), (403, 20)),
        ((granted, "POST", "/vehicle", [1]), (403, 20)),
        ((admin, "POST", "/vehicle", [1]), (400, 31)),
        ((admin, "GET", "/vehicle/not-a-uuid"), (400, 31)),
        ((admin, "GET", f"/vehicle/{UNKNOWN}"), (404, 32)),
        ((admin, "GET", f"/vehicle/{foreign['id']['id']}"), (403, 20)),
    ]

    for call, refusal in checks:
        assert (await app.refused(*call))[:2] == refusal, call


async def test_read_accepts_the_id_in_upper_case(app: rest.Rest, admin):
    vehicle = await app.post(admin, "/vehicle", {"vehicleNo": "1", "mileage": 1})

    assert await app.get(admin, f"/vehicle/{vehicle['id']['id'].upper()}") == vehicle


async def test_list_of_a_company_pages_by_number_with_exact_has_next(app: rest.Rest):
    company, ace = await app.operator("ace")
    for number in ("B-2", "a-1", "B-1"):
        await app.post(ace, "/vehicle", {"vehicleNo": number, "mileage": 1})
    path = f"/company/{company['id']['id']}/vehicles"
    first = await app.get(ace, path, limit=2)
    link = {key: value for key, value in first["nextPageLink"].items() if value is not None}
    pages = {
        "first": first,
        "second": await app.get(ace, path, **link),
        "exactly full": await app.get(ace, path, limit=3),
        "search": await app.get(ace, path, limit=3, textSearch="b-"),
        "by id alone": await app.get(ace, path, limit=2, idOffset=link["idOffset"]),
    }

    def numbers(page):
        return [vehicle["vehicleNo"] for vehicle in page["data"]], page["hasNext"]

    assert {name: numbers(page) for name, page in pages.items()} == {
        "first": (["B-1", "B-2"], True),
        "second": (["a-1"], False),
        "exactly full": (["B-1", "B-2", "a-1"], False),
        "search": (["B-1", "B-2"], False),
        "by id alone": (["a-1"], False),
    }
    assert pages["first"]["nextPageLink"] == {
        "limit": 2,
        "textSearch": None,
        "textSearchBound": None,
        "textOffset": "B-2",
        "idOffset": pages["first"]["data"][1]["id"]["id"],
    }
    assert pages["second"]["nextPageLink"] is None

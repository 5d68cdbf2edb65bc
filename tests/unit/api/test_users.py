"""Registering directors and drivers, and reading drivers, over REST."""

import pytest
from tests.support import rest

from tripline.domain import ids
from tripline.domain.access import Authority

BODY = {"name": "Jung", "email": "jung@ace.example", "phone": "010", "password": "pass phrase"}


async def test_rule_6_person_logs_in_with_the_email(app: rest.Rest, admin):
    for path, email in (("/director", "d@ace.example"), ("/driver", "r@ace.example")):
        await app.post(admin, path, {**BODY, "email": email})
    found = [
        (await app.http.post("/api/auth/login", json={"username": email, "password": password})).status_code
        for email in ("d@ace.example", "R@ACE.example")
        for password in ("pass phrase", "wrong")
    ]

    assert found == [200, 401, 200, 401]


async def test_registration_refusals_name_the_parameter(app: rest.Rest):
    cases = {
        "name": {**BODY, "name": None},
        "email": {**BODY, "email": "jung"},
        "password": {**BODY, "password": ""},
        "phone": {**BODY, "phone": 10},
    }

    _, admin = await app.operator("ace")

    assert {name: await app.refused(admin, "POST", "/driver", body) for name, body in cases.items()} == {
        "name": (400, 31, "Parameter 'name' can't be empty!"),
        "email": (400, 31, "Parameter 'email' must be an e-mail address."),
        "password": (400, 31, "Parameter 'password' can't be empty!"),
        "phone": (400, 31, "Parameter 'phone' has the wrong type: expected text, got a whole number."),
    }


async def test_h5_email_is_unique_among_all_accounts(app: rest.Rest):
    _, ace = await app.operator("ace")
    _, other = await app.operator("other")
    await app.post(ace, "/driver", BODY)
    found = [
        await app.refused(other, "POST", "/director", {**BODY, "email": "JUNG@ace.example"}),
        await app.refused(ace, "POST", "/driver", {**BODY, "email": "admin@other.example"}),
    ]

    assert found == [
        (400, 31, "Parameter 'email': an account with the e-mail address JUNG@ace.example already exists."),
        (400, 31, "Parameter 'email': an account with the e-mail address admin@other.example already exists."),
    ]


async def test_only_administrators_register_people(app: rest.Rest, admin):
    people = [await app.person(admin, role, role.lower()) for role in (Authority.DIRECTOR, Authority.DRIVER)]
    people.append(await app.account("root@x.example", Authority.SYS_ADMIN))
    people.append(await app.account("granted@x.example", Authority.COMPANY_ADMIN))
    found = [await app.refused(login, "POST", path, BODY) for login in people for path in ("/director", "/driver")]

    assert [refusal[:2] for refusal in found] == [(403, 20)] * 8


async def test_driver_with_the_placeholder_id_or_an_administrators_is_unknown(app: rest.Rest, admin):
    found = [await app.refused(admin, "GET", f"/driver/{user_id}") for user_id in (ids.PLACEHOLDER, admin.user_id)]

    assert found == [(404, 32, "There is no driver with this id.")] * 2


async def test_records_never_show_a_password(app: rest.Rest, admin):
    registered = await app.call(admin, "POST", "/driver", BODY)
    found = registered.text, (await app.call(admin, "GET", f"/driver/{registered.json()['id']['id']}")).text

    for text in found:
        assert "pass phrase" not in text
        assert "argon2" not in text


ROLES = (Authority.DIRECTOR, Authority.DRIVER)
UNKNOWN = "ffffffff-a4ed-11f0-8000-010000000042"


def names(page):
    return [user["name"] for user in page["data"]]


@pytest.mark.parametrize("role", ROLES)
async def test_people_of_a_company_are_listed_by_name_then_id(app: rest.Rest, admin, role):
    path = f"/{role.lower()}"
    same = []
    for number, name in enumerate(("b", "A", "c", "b")):
        body = {"name": name, "email": f"{number}@ace.example", "password": "pass phrase"}
        record = await app.post(admin, path, body)
        if name == "b":
            same.append(record["id"]["id"])
    for other in (*ROLES, Authority.COMPANY_ADMIN):
        if other is not role:
            await app.account(f"{other}@ace.example", other, admin.company_id)
    pages = [await app.get(admin, f"{path}s?limit=2")]
    link = pages[0]["nextPageLink"]
    pages.append(await app.get(admin, f"{path}s?limit=2&idOffset={link['idOffset']}&textOffset={link['textOffset']}"))
    found = await app.get(admin, f"{path}s?limit=2&textSearch=B")

    assert [names(page) for page in pages] == [["A", "b"], ["b", "c"]]
    assert [user["id"]["id"] for user in found["data"]] == sorted(same)


@pytest.mark.parametrize("role", ROLES)
async def test_people_are_listed_and_counted_for_their_company_and_its_operator(app: rest.Rest, role):
    root = await app.account("root@x.example", Authority.SYS_ADMIN)
    _, operator = await app.operator("ace")
    _, p = await app.partner(operator, "p@p.example")
    _, q = await app.partner(p, "q@q.example")
    _, other = await app.operator("other")
    director = await app.person(p, Authority.DIRECTOR, "one")
    driver = await app.person(p, Authority.DRIVER, "two")
    await app.person(p, role, "three")
    answers = {}
    for name, login in {
        "root": root, "operator": operator, "p": p, "q": q, "other": other, "director": director, "driver": driver
    }.items():  # fmt: skip
        listed = await app.call(login, "GET", f"/{role.lower()}s?limit=9&companyId={p.company_id}")
        counted = await app.call(login, "GET", f"/{role.lower()}s/count?companyId={p.company_id}")
        answers[name] = listed.status_code, counted.json().get("count", counted.status_code)
    own = await app.get(p, f"/{role.lower()}s?limit=9"), await app.get(p, f"/{role.lower()}s/count")
    own = [names(own[0]), own[1]]

    seen, denied = (200, 2), (403, 403)
    assert answers == {
        "root": denied, "operator": seen, "p": seen, "q": denied, "other": denied, "director": seen, "driver": denied
    }  # fmt: skip
    first = "one" if role is Authority.DIRECTOR else "two"
    assert own == [sorted([first, "three"]), {"count": 2}]


@pytest.mark.parametrize("path", ["/directors", "/drivers", "/directors/count", "/drivers/count"])
async def test_order_of_checks_of_lists_of_people(app: rest.Rest, admin, path):
    _, other = await app.operator("other")
    granted = await app.account("granted@x.example", Authority.COMPANY_ADMIN)
    queries = [f"companyId={each}&limit=0" for each in ("x", UNKNOWN, other.company_id)]
    found = [
        *[(await app.refused(admin, "GET", f"{path}?{query}"))[:2] for query in queries],
        (await app.refused(granted, "GET", f"{path}?limit=0"))[:2],
    ]

    assert found == [(400, 31), (404, 32), (403, 20), (403, 20)]


async def test_vehicles_that_a_director_manages_are_those_the_caller_may_see(app: rest.Rest):
    _, operator = await app.operator("ace")
    _, p = await app.partner(operator, "p@p.example")
    _, q = await app.partner(p, "q@q.example")
    director = await app.person(p, Authority.DIRECTOR, "one")
    colleague = await app.person(p, Authority.DIRECTOR, "two")
    driver = await app.person(p, Authority.DRIVER, "three")
    for number in ("2", "1", "3"):
        await app.post(director, "/vehicle", {"vehicleNo": number, "mileage": 1})
    await app.post(p, "/vehicle", {"vehicleNo": "4", "mileage": 1})
    path = f"/director/{director.user_id}/vehicles?limit=2"
    numbers = {}
    for name, login in {"operator": operator, "p": p, "director": director, "colleague": colleague}.items():
        page = await app.get(login, path)
        numbers[name] = [vehicle["vehicleNo"] for vehicle in page["data"]], page["hasNext"]
    link = (await app.get(p, path))["nextPageLink"]
    following = await app.get(p, f"{path}&idOffset={link['idOffset']}")
    refused = [(await app.refused(login, "GET", path))[:2] for login in (q, driver)]

    assert numbers == {
        "operator": (["1", "2"], True),
        "p": (["1", "2"], True),
        "director": (["1", "2"], True),
        "colleague": ([], False),
    }
    assert [vehicle["vehicleNo"] for vehicle in following["data"]] == ["3"]
    assert refused == [(403, 20)] * 2


async def test_record_of_who_drives_a_vehicle_names_it(app: rest.Rest, admin):
    driver = await app.person(admin, Authority.DRIVER, "han")
    vehicle = (await app.post(admin, "/vehicle", {"vehicleNo": "1", "mileage": 1}))["id"]
    path = f"/driver/{driver.user_id}"
    seen = [(await app.get(admin, path))["vehicleId"]]
    # A driver drives what a right was given for.
    await app.post(admin, f"{path}/relation/vehicle", {"vehicleId": vehicle})
    for method in ("POST", "DELETE"):
        await app.call(admin, method, f"/vehicle/{vehicle['id']}/driver/{driver.user_id}")
        seen.append((await app.get(admin, path))["vehicleId"])
        seen.append((await app.get(admin, "/drivers?limit=1"))["data"][0]["vehicleId"])

    assert seen == [None, vehicle, vehicle, None, None]

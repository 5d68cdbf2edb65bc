"""Changing, deleting and finding directors and drivers over REST."""

import pytest
from tests.support import dangling, rest
from tests.support.portal import Browser

from tripline.domain.access import Authority
from tripline.services.accounts import links

ROLES = (Authority.DIRECTOR, Authority.DRIVER)
UNKNOWN = "ffffffff-a4ed-11f0-8000-010000000042"


async def log_in(app, email, password):
    """The answer to a log-in."""
    return await app.http.post("/api/auth/login", json={"username": email, "password": password})


@pytest.mark.parametrize("role", ROLES)
async def test_change_replaces_the_named_fields_alone(app: rest.Rest, admin, role):
    person = await app.person(admin, role, "han")
    path = f"/{role.lower()}/{person.user_id}"
    before = await app.get(admin, path)
    app.now_ms += 1_000
    answers = [
        await app.call(admin, "PUT", path, body)
        for body in ({}, before, {"phone": "011", "name": "Han 2", "Authority": "SYS_ADMIN"}, {"phone": None})
    ]
    answers, after = [answer.json() for answer in answers], await app.get(admin, path)

    renamed = {**before, "phone": "011", "name": "Han 2"}
    assert answers == [before, before, renamed, {**renamed, "phone": None}]
    assert after == answers[-1]


@pytest.mark.parametrize("role", ROLES)
async def test_new_password_and_email_by_the_administrator(app: rest.Rest, admin, role):
    person = await app.person(admin, role, "han")
    tokens = (await log_in(app, "han@people.example", "pass phrase")).json()
    app.now_ms += 1_000
    body = {"password": "another phrase", "email": "Han@new.example"}
    changed = await app.call(admin, "PUT", f"/{role.lower()}/{person.user_id}", body)
    refreshed = await app.http.post("/api/auth/token", json={"refreshToken": tokens["refreshToken"]})
    changed, refreshed, log_ins = (
        changed.json(),
        refreshed.status_code,
        [
            (await log_in(app, email, password)).status_code
            for email in ("han@people.example", "han@NEW.example")
            for password in ("pass phrase", "another phrase")
        ],
    )

    assert (changed["email"], changed["passwordUpdatedTime"]) == ("Han@new.example", rest.NOW_MS + 1_000)
    assert refreshed == 401
    assert log_ins == [401, 401, 401, 200]


async def test_email_alone_leaves_log_ins_that_can_be_prolonged(app: rest.Rest, admin):
    person = await app.person(admin, Authority.DRIVER, "han")
    tokens = (await log_in(app, "han@people.example", "pass phrase")).json()
    await app.call(admin, "PUT", f"/driver/{person.user_id}", {"email": "han@new.example"})
    found = (await app.http.post("/api/auth/token", json={"refreshToken": tokens["refreshToken"]})).status_code

    assert found == 200


@pytest.mark.parametrize("named", [{"email": "han@new.example"}, {"password": "another phrase"}])
async def test_link_mailed_before_a_new_email_or_password_is_good_no_more(app: rest.Rest, admin, named):
    person = await app.person(admin, Authority.DRIVER, "han")
    mailed = [await app.store.write(lambda tx: links.make(tx, user_id=person.user_id, hours=24, now_ms=app.now_ms))]
    path = f"/driver/{person.user_id}"
    await app.call(admin, "PUT", path, {"name": "Han", "phone": "011", "email": "han@people.example"})
    still = await Browser(app).get(f"/account/set-password?token={mailed[0]}")
    await app.call(admin, "PUT", path, named)
    body = {"token": mailed[0], "password": "a thief's phrase"}

    assert still.status_code == 200
    assert (await app.refused(None, "POST", "/api/noauth/setPassword", body))[:2] == (400, 31)


@pytest.mark.parametrize("role", ROLES)
async def test_people_change_their_own_name_and_phone_but_not_their_log_in(app: rest.Rest, admin, role):
    person = await app.person(admin, role, "han")
    path = f"/{role.lower()}/{person.user_id}"
    other = await app.person(admin, role, "kang")
    changed, password, email, other = (
        (await app.call(person, "PUT", path, {"name": "Han 2", "phone": "011"})).json(),
        await app.refused(person, "PUT", path, {"password": "another"}),
        await app.refused(person, "PUT", path, {"email": "han@new.example"}),
        await app.refused(person, "PUT", f"/{role.lower()}/{other.user_id}", {"name": "x"}),
    )

    assert (changed["name"], changed["phone"]) == ("Han 2", "011")
    assert password[:2] == email[:2] == (400, 30)
    assert other == (403, 20, f"This {role.lower()} is outside your reach.")


async def test_g5_bounds_hold_in_a_change_too(app: rest.Rest):
    longest = "a" * 249 + "@b.com"
    at = {"name": "a" * 255, "phone": "0" * 255, "email": longest, "password": "p" * 255}
    above = {
        "name": "a" * 256,
        "phone": "0" * 256,
        "email": f"a{longest}",
        "password": "p" * 256,
    }
    below = {"name": "", "email": "han", "password": ""}

    _, admin = await app.operator("ace")
    person = await app.person(admin, Authority.DRIVER, "han")
    path = f"/driver/{person.user_id}"
    taken = await app.call(admin, "PUT", path, at)
    refusals = [
        await app.refused(admin, "PUT", path, {name: value})
        for fields in (above, below, {"name": 7, "phone": 7, "email": 7, "password": 7})
        for name, value in fields.items()
    ]
    taken, after = taken.json(), await app.get(admin, path)

    assert len(longest) == 255
    assert {name: taken[name] for name in ("name", "phone", "email")} == {
        name: at[name] for name in ("name", "phone", "email")
    }
    assert [refusal[:2] for refusal in refusals] == [(400, 31)] * 11
    assert after == taken


async def test_h5_email_of_another_account_is_refused_in_a_change(app: rest.Rest, admin):
    await app.operator("other")
    han = await app.person(admin, Authority.DRIVER, "han")
    await app.person(admin, Authority.DRIVER, "kang")
    refusals = [
        await app.refused(admin, "PUT", f"/driver/{han.user_id}", {"email": email})
        for email in ("KANG@people.example", "admin@other.example", " admin@other.example")
    ]

    taken = "Parameter 'email': an account with the e-mail address {} already exists."
    assert refusals[:2] == [(400, 31, taken.format(email)) for email in ("KANG@people.example", "admin@other.example")]
    assert refusals[2][:2] == (400, 31)


async def test_director_is_found_among_the_drivers_but_a_driver_is_no_director(app: rest.Rest, admin):
    director = await app.person(admin, Authority.DIRECTOR, "director")
    driver = await app.person(admin, Authority.DRIVER, "driver")
    wrong = f"/director/{driver.user_id}"
    found, wrong, hanging, deleted = (
        [(await app.get(admin, f"/{role}/{director.user_id}"))["authority"] for role in ("director", "driver")],
        [await app.refused(admin, method, wrong) for method in ("GET", "PUT", "DELETE")],
        [await app.refused(admin, "GET", f"{wrong}/{what}?limit=1") for what in ("vehicles", "trips", "trip/latest")],
        (await app.call(admin, "DELETE", f"/driver/{director.user_id}")).json(),
    )

    assert found == ["DIRECTOR"] * 2
    assert wrong + hanging == [(404, 32, "There is no director with this id.")] * 6
    assert deleted == {}


@pytest.mark.parametrize("role", ROLES)
async def test_only_the_own_company_deletes_its_people(app: rest.Rest, admin, role):
    _, p = await app.partner(admin, "p@p.example")
    person = await app.person(p, role, "han")
    path = f"/{role.lower()}/{person.user_id}"
    refused, deleted, token, again, found, log_in_again = (
        [(await app.refused(login, "DELETE", path))[:2] for login in (admin, person)],
        (await app.call(p, "DELETE", path)).json(),
        (await app.refused(person, "GET", path))[:2],
        await app.refused(p, "DELETE", path),
        await dangling.left(app.store, person.user_id),
        (await log_in(app, "han@people.example", "pass phrase")).status_code,
    )

    assert refused == [(403, 20)] * 2
    assert (deleted, token) == ({}, (401, 10))
    assert again == (404, 32, f"There is no {role.lower()} with this id.")
    assert (found, log_in_again) == ({}, 401)


async def test_email_of_a_deleted_person_is_free_again(app: rest.Rest, admin):
    for _ in range(2):
        person = await app.person(admin, Authority.DRIVER, "han")
        await app.call(admin, "DELETE", f"/driver/{person.user_id}")

    assert (await app.person(admin, Authority.DRIVER, "han")).user_id


async def test_user_is_found_by_email_within_reach_and_else_called_unknown(app: rest.Rest):
    _, operator = await app.operator("ace")
    _, p = await app.partner(operator, "p@p.example")
    _, other = await app.operator("other")
    driver = await app.person(p, Authority.DRIVER, "han")
    await app.account("root@x.example", Authority.SYS_ADMIN)
    emails = ("HAN@people.example", "admin@ace.example", "p@p.example", "root@x.example", "nobody@x.example")
    table = {}
    for name, login in (("operator", operator), ("p", p), ("other", other)):
        answers = [await app.call(login, "GET", "/user", email=email) for email in emails]
        table[name] = [answer.status_code for answer in answers]
    texts = {(await app.call(other, "GET", "/user", email=email)).json()["message"] for email in emails}
    same, by_driver, unnamed = (
        (await app.get(operator, "/user", email="han@people.example"))["id"]["id"] == driver.user_id,
        (await app.refused(driver, "GET", "/user", email="han@people.example"))[:2],
        await app.refused(p, "GET", "/user"),
    )

    assert table == {
        "operator": [200, 200, 200, 404, 404],
        "p": [200, 404, 200, 404, 404],
        "other": [404, 404, 404, 404, 404],
    }
    assert texts == {"There is no user with this e-mail address within your reach."}
    assert same
    assert by_driver == (403, 20)
    assert unnamed == (400, 31, "Parameter 'email' can't be empty!")

"""Registering directors and drivers, and reading drivers, over REST."""

from tests.support import rest

from tripline.domain import ids
from tripline.domain.access import Authority

BODY = {"name": "Jung", "email": "jung@ace.example", "phone": "010", "password": "pass phrase"}


def test_rule_6_person_logs_in_with_the_email(tmp_path):
    async def scenario(app):
        _, admin = await app.operator("ace")
        for path, email in (("/director", "d@ace.example"), ("/driver", "r@ace.example")):
            await app.post(admin, path, {**BODY, "email": email})
        return [
            (await app.http.post("/api/auth/login", json={"username": email, "password": password})).status_code
            for email in ("d@ace.example", "R@ACE.example")
            for password in ("pass phrase", "wrong")
        ]

    assert rest.run(tmp_path, scenario) == [200, 401, 200, 401]


def test_registration_refusals_name_the_parameter(tmp_path):
    cases = {
        "name": {**BODY, "name": None},
        "email": {**BODY, "email": "jung"},
        "password": {**BODY, "password": ""},
        "phone": {**BODY, "phone": 10},
    }

    async def scenario(app):
        _, admin = await app.operator("ace")
        return {name: await app.refused(admin, "POST", "/driver", body) for name, body in cases.items()}

    assert rest.run(tmp_path, scenario) == {
        "name": (400, 31, "Parameter 'name' can't be empty!"),
        "email": (400, 31, "Parameter 'email' must be an e-mail address."),
        "password": (400, 31, "Parameter 'password' can't be empty!"),
        "phone": (400, 31, "Parameter 'phone' has the wrong type: expected text, got a whole number."),
    }


def test_h5_email_is_unique_among_all_accounts(tmp_path):
    async def scenario(app):
        _, ace = await app.operator("ace")
        _, other = await app.operator("other")
        await app.post(ace, "/driver", BODY)
        return [
            await app.refused(other, "POST", "/director", {**BODY, "email": "JUNG@ace.example"}),
            await app.refused(ace, "POST", "/driver", {**BODY, "email": "admin@other.example"}),
        ]

    assert rest.run(tmp_path, scenario) == [
        (400, 31, "Parameter 'email': an account with the e-mail address JUNG@ace.example already exists."),
        (400, 31, "Parameter 'email': an account with the e-mail address admin@other.example already exists."),
    ]


def test_only_administrators_register_people(tmp_path):
    async def scenario(app):
        _, ace = await app.operator("ace")
        people = [await app.person(ace, role, role.lower()) for role in (Authority.DIRECTOR, Authority.DRIVER)]
        people.append(await app.account("root@x.example", Authority.SYS_ADMIN))
        people.append(await app.account("granted@x.example", Authority.COMPANY_ADMIN))
        return [await app.refused(login, "POST", path, BODY) for login in people for path in ("/director", "/driver")]

    assert [refusal[:2] for refusal in rest.run(tmp_path, scenario)] == [(403, 20)] * 8


def test_driver_with_the_placeholder_id_or_an_administrators_is_unknown(tmp_path):
    async def scenario(app):
        _, ace = await app.operator("ace")
        return [await app.refused(ace, "GET", f"/driver/{user_id}") for user_id in (ids.PLACEHOLDER, ace.user_id)]

    assert rest.run(tmp_path, scenario) == [(404, 32, "There is no driver with this id.")] * 2


def test_records_never_show_a_password(tmp_path):
    async def scenario(app):
        _, ace = await app.operator("ace")
        registered = await app.call(ace, "POST", "/driver", BODY)
        return registered.text, (await app.call(ace, "GET", f"/driver/{registered.json()['id']['id']}")).text

    for text in rest.run(tmp_path, scenario):
        assert "pass phrase" not in text
        assert "argon2" not in text

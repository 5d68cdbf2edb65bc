"""Registering and reading companies over REST."""

import pytest
from sqlalchemy import select
from tests.support import rest, stores

from tripline.domain.access import Authority
from tripline.services.accounts import links, registry
from tripline.store.accounts import accounts
from tripline.store.tables import account_link

PASSWORD = "pass phrase"


async def log_in(app, email, password=PASSWORD):
    """Status of a log-in."""
    answer = await app.http.post("/api/auth/login", json={"username": email, "password": password})
    return answer.status_code


async def test_rule_6_administrator_logs_in_with_pic_email_and_pic_passwd(app: rest.Rest):
    root = await app.account("root@x.example", Authority.SYS_ADMIN)
    await app.post(root, "/company", rest.company_body("ace", "kim@ace.example"))

    assert await log_in(app, "kim@ace.example") == 200


async def test_password_is_never_stored_in_clear(app: rest.Rest, tmp_path):
    await app.operator("ace", picPasswd="a very particular phrase")

    stored = stores.Database(tmp_path).everything()
    assert b"admin@ace.example" in stored
    assert b"a very particular phrase" not in stored


async def test_granted_account_that_names_itself_becomes_the_administrator(app: rest.Rest):
    granted = await app.account("kim@ace.example", Authority.COMPANY_ADMIN)
    body = rest.company_body("ace", "KIM@ace.example", picName="Kim", picPhone="010-1")
    company = await app.post(granted, "/company", body)
    user = await app.store.read(lambda tx: accounts.actor(tx, granted.user_id))
    actor, mine, status = user, await app.get(granted, "/company/me"), await log_in(app, "kim@ace.example")

    assert actor.company_id == company["id"]["id"] == mine["id"]["id"]
    assert status == 200


async def test_granted_account_that_names_itself_has_a_new_password_and_the_log_ins_of_the_old_one_end(app: rest.Rest):
    old = app.passwords.hash_now("the old phrase")
    granting = {"email": "kim@ace.example", "password_hash": old, "ids": app.ids, "now_ms": app.now_ms}
    user_id = await app.store.write(lambda tx: registry.create_alone(tx, Authority.COMPANY_ADMIN, **granting))
    tokens = await app.post(None, "/api/auth/login", {"username": "kim@ace.example", "password": "the old phrase"})
    await app.store.write(lambda tx: links.make(tx, user_id=user_id, hours=24, now_ms=app.now_ms))
    granted = await app.login(user_id, "kim@ace.example", Authority.COMPANY_ADMIN, None)
    await app.post(granted, "/company", rest.company_body("ace", "kim@ace.example"))
    refreshed = await app.call(None, "POST", "/api/auth/token", {"refreshToken": tokens["refreshToken"]})
    left = await app.store.read(lambda tx: tx.all(select(account_link)))
    passwords = ("the old phrase", PASSWORD)
    found = refreshed.status_code, left, [await log_in(app, "kim@ace.example", each) for each in passwords]

    assert found == (401, [], [401, 200])


async def test_granted_account_that_names_another_is_an_administrator_beside_it(app: rest.Rest):
    granted = await app.account("owner@ace.example", Authority.COMPANY_ADMIN)
    company = await app.post(granted, "/company", rest.company_body("ace", "kim@ace.example"))
    named = await app.http.post("/api/auth/login", json={"username": "kim@ace.example", "password": PASSWORD})
    headers = {"X-Authorization": f"Bearer {named.json()['token']}"}
    seen_by_granted, seen_by_named = (
        await app.get(granted, "/company/me"),
        await app.http.get("/api/tre/v1/company/me", headers=headers),
    )

    assert seen_by_granted["id"] == seen_by_named.json()["id"] == company["id"]


async def test_granted_account_with_a_company_registers_partners_from_then_on(app: rest.Rest):
    operator, admin = await app.operator("ace")
    refused, partner = (
        await app.refused(admin, "POST", "/company", rest.company_body("beta", "b@b.example")),
        await app.post(admin, "/company", rest.company_body(None, "b@b.example")),
    )

    assert refused == (400, 31, "Parameter 'serviceType' must be ace, the service type of the registering company.")
    assert (partner["master"], partner["masterId"], partner["serviceType"]) == (False, operator["id"], "ace")


async def test_h2_partner_of_a_partner_belongs_to_the_operator(app: rest.Rest):
    operator, admin = await app.operator("ace")
    _, partner = await app.partner(admin, "p@p.example")
    record, _ = await app.partner(partner, "q@q.example")

    assert (record["master"], record["masterId"], record["serviceType"]) == (False, operator["id"], "ace")


async def test_g32_second_operator_of_a_service_type_is_refused_and_leaves_nothing(app: rest.Rest):
    await app.operator("ace")
    root = await app.account("root@x.example", Authority.SYS_ADMIN)
    granted = await app.account("second@x.example", Authority.COMPANY_ADMIN)
    body = rest.company_body("ace", "new@x.example")
    refusals = [await app.refused(login, "POST", "/company", body) for login in (root, granted)]
    status, without = await log_in(app, "new@x.example"), await app.refused(granted, "GET", "/company/me")

    taken = (400, 31, "Parameter 'serviceType': ace already has an operator company.")
    assert refusals == [taken, taken]
    assert status == 401
    assert without[:2] == (404, 32)


async def test_h5_pic_email_of_another_account_is_refused_in_any_letter_case(app: rest.Rest):
    message = "Parameter 'picEmail': an account with the e-mail address ADMIN@ace.example already exists."
    _, admin = await app.operator("ace")
    found = await app.refused(admin, "POST", "/company", rest.company_body(None, "ADMIN@ace.example"))

    assert found == (400, 31, message)


@pytest.mark.parametrize("role", [Authority.DIRECTOR, Authority.DRIVER])
async def test_directors_and_drivers_register_no_company(role, app: rest.Rest, admin):
    person = await app.person(admin, role, "han")

    assert (await app.refused(person, "POST", "/company", [1]))[:2] == (403, 20)


async def test_refusals_of_wrong_types_name_the_parameter(app: rest.Rest):
    cases = {
        "rpcNotifyPort": "80",
        "notifyMsgType": {"a": 1},
        "picName": 7,
        "description": False,
    }

    root = await app.account("root@x.example", Authority.SYS_ADMIN)
    body = rest.company_body("ace", "kim@ace.example")
    refusals = {
        name: await app.refused(root, "POST", "/company", {**body, name: value}) for name, value in cases.items()
    }

    assert {name: (status, code) for name, (status, code, _) in refusals.items()} == dict.fromkeys(cases, (400, 31))
    assert all(message.startswith(f"Parameter '{name}' ") for name, (_, _, message) in refusals.items())


async def test_n2_notify_msg_type_is_echoed_as_sent_at_registration_and_later(app: rest.Rest):
    forms = ["7, 8,101", 300, [7, "8", 101], "0f", 10**30]

    seen = []
    for number, sent in enumerate(forms):
        registered, admin = await app.operator(f"type-{number}", notifyMsgType=sent, rpcNotifyHost="rpc.example")
        seen.append((registered["notifyMsgType"], (await app.get(admin, "/company/me"))["notifyMsgType"]))

    assert seen == [(sent, sent) for sent in forms]


async def test_token_prefixes_differ_and_are_shown_to_administrators_alone(app: rest.Rest):
    records = []
    for number in range(3):
        _, admin = await app.operator(f"type-{number}")
        records.append(await app.get(admin, f"/company/{admin.company_id}"))
    driver = await app.person(admin, Authority.DRIVER, "oh")
    plain, mine = await app.get(driver, f"/company/{admin.company_id}"), await app.get(driver, "/company/me")

    assert len({record["tokenPrefix"] for record in records}) == 3
    assert "tokenPrefix" not in plain
    assert mine["tokenPrefix"] == records[2]["tokenPrefix"]

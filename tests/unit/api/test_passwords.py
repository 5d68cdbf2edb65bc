"""Changing, forgetting and setting passwords."""

import asyncio
import hashlib
from typing import Any

import httpx
import pytest
from sqlalchemy import select, update
from tests.support import accounts
from tests.support import rest as support
from tests.support.rest import Login, Rest, changed

from tripline import config, observe
from tripline.domain.access import Authority
from tripline.domain.ids import UserId
from tripline.services.accounts import links
from tripline.services.accounts.limits import RESETS_PER_HOUR, Limits
from tripline.store.tables import account, account_link, account_session, mail_outbox

EMAIL = "kim@fleet.example"
OLD, NEW = "old pass phrase", "new pass phrase"


async def make(rest: Rest) -> Login:
    user_id = await accounts.with_password(rest, EMAIL, OLD)
    return await rest.login(user_id, EMAIL, Authority.COMPANY_ADMIN, None)


async def link(rest: Rest, user_id: UserId) -> str:
    return await rest.store.write(lambda tx: links.make(tx, user_id=user_id, hours=24, now_ms=rest.now_ms))


async def opens(rest: Rest, password: str) -> bool:
    answer = await rest.call(None, "POST", "/api/auth/login", {"username": EMAIL, "password": password})
    return answer.status_code == 200


async def code(rest: Rest, login: Login | None, path: str, body: Any) -> tuple[int, int]:
    status, error, _ = await rest.refused(login, "POST", path, body)
    return status, error


async def test_changed_password_works_and_ends_every_session(app):
    login = await make(app)
    pair = await app.post(None, "/api/auth/login", {"username": EMAIL, "password": OLD})
    app.now_ms += 1
    body = {"currentPassword": OLD, "newPassword": NEW}
    answer = await app.post(login, "/api/auth/changePassword", body)
    refresh = await code(app, None, "/api/auth/token", {"refreshToken": pair["refreshToken"]})
    own = await code(app, login, "/api/auth/changePassword", body)
    me = await app.get(await app.login(login.user_id, EMAIL, login.authority, None), "/api/auth/user")
    changed_ms = me["passwordUpdatedTime"] - support.NOW_MS
    found = answer, refresh, own, changed_ms, await opens(app, OLD), await opens(app, NEW)

    assert found == ({}, (401, 10), (401, 10), 1, False, True)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            {"currentPassword": "wrong", "newPassword": NEW},
            "Parameter 'currentPassword' is not the account's password.",
        ),
        ({"newPassword": NEW}, "Parameter 'currentPassword' can't be empty!"),
        ({"currentPassword": OLD}, "Parameter 'newPassword' can't be empty!"),
        (
            {"currentPassword": OLD, "newPassword": "1234567"},
            "Parameter 'newPassword' must have at least 8 characters.",
        ),
        (
            {"currentPassword": OLD, "newPassword": "x" * 256},
            "Parameter 'newPassword' must have at most 255 characters.",
        ),
        ({"currentPassword": 7, "newPassword": NEW}, None),
    ],
)
async def test_change_that_cannot_be_made_says_why_and_changes_nothing(app, body, message):
    login = await make(app)
    status, error, text = await app.refused(login, "POST", "/api/auth/changePassword", body)

    assert (status, error, message is None or text == message, await opens(app, OLD)) == (400, 31, True, True)


async def test_change_without_a_token_is_refused(app):
    found = await code(app, None, "/api/auth/changePassword", {"currentPassword": OLD, "newPassword": NEW})

    assert found == (401, 10)


async def test_wrong_current_passwords_make_the_account_wait(app):
    login = await make(app)
    body = {"currentPassword": "wrong", "newPassword": NEW}
    found = [await code(app, login, "/api/auth/changePassword", body) for _ in range(6)]

    assert found == [(400, 31)] * 5 + [(429, 2)]


async def test_two_changes_at_once_have_one_winner(app):
    login = await make(app)
    bodies = [{"currentPassword": OLD, "newPassword": f"new pass phrase {n}"} for n in range(4)]
    answers = await asyncio.gather(*(app.call(login, "POST", "/api/auth/changePassword", b) for b in bodies))
    codes = [answer.status_code for answer in answers]
    by_code = sorted(zip(codes, (body["newPassword"] for body in bodies), strict=True))
    # The one that was taken first: a third wrong password would have to wait.
    opened = [await opens(app, password) for _, password in by_code[:2]]

    # A change ends all sessions: a request that is authenticated after it gets 401.
    # On SQLite all four are authenticated before the first change.
    refusals = {400, 401} if app.store.shared else {400}
    losers = {code for code, _ in by_code[1:]}
    assert (by_code[0][0], losers - refusals, opened) == (200, set(), [True, False])


async def outbox(rest: Rest) -> list[tuple[str, str]]:
    rows = await rest.store.read(
        lambda tx: tx.all(select(mail_outbox.c.kind, mail_outbox.c.recipient).order_by(mail_outbox.c.no))
    )
    return [tuple(row) for row in rows]


async def test_reset_of_a_known_and_an_unknown_address_does_the_same(app):
    await make(app)
    emails = [EMAIL, "nobody@fleet.example"]
    answers = [await app.post(None, "/api/noauth/resetPasswordByEmail", {"email": email}) for email in emails]

    assert answers == [{}, {}]
    assert await outbox(app) == [("password.reset", EMAIL), ("password.reset", "nobody@fleet.example")]
    assert app.signals.told == [(observe.SIGNAL_MAIL_DUE, "")] * 2


async def test_resets_of_one_account_stop_in_silence(app):
    answers = [
        await app.post(None, "/api/noauth/resetPasswordByEmail", {"email": email})
        for email in (EMAIL, EMAIL.upper(), f" {EMAIL}"[1:], EMAIL)
    ]
    before = len(await outbox(app))
    app.now_ms += 3_600_000
    await app.post(None, "/api/noauth/resetPasswordByEmail", {"email": EMAIL})

    assert (answers, before, len(await outbox(app))) == ([{}] * 4, RESETS_PER_HOUR, RESETS_PER_HOUR + 1)


@pytest.mark.parametrize("body", [{}, {"email": ""}, {"email": "no address"}, {"email": 7}])
async def test_reset_without_an_address_is_refused(app, body):
    assert await code(app, None, "/api/noauth/resetPasswordByEmail", body) == (400, 31)


async def test_forms_of_one_address_are_limited_together(app):
    limits = Limits(accounts=config.Accounts(applications_per_hour=2), rest=config.Rest())
    limited = support.application(changed(app.contexts, limits=limits))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=limited), base_url="http://x") as http:  # type: ignore[arg-type]
        seen = []
        for n in range(3):
            answer = await http.post("/api/noauth/resetPasswordByEmail", json={"email": f"k{n}@x.example"})
            seen.append((answer.json().get("errorCode", 0), answer.headers.get("retry-after", "")))

    assert seen == [(0, ""), (0, ""), (2, "1800")]


async def test_link_sets_the_password_once_and_ends_every_session(app):
    login = await make(app)
    await opens(app, OLD)
    token = await link(app, login.user_id)
    rows = await app.store.read(lambda tx: tx.all(select(account_link.c.token_hash)))
    answer = await app.post(None, "/api/noauth/setPassword", {"token": token, "password": NEW})
    again = await code(app, None, "/api/noauth/setPassword", {"token": token, "password": NEW + "2"})
    sessions = await app.store.read(lambda tx: tx.all(select(account_session.c.id)))
    kept = [row.token_hash for row in rows] == [hashlib.sha256(token.encode()).hexdigest()]

    assert (kept, answer, again, sessions, await opens(app, NEW)) == (True, {}, (400, 31), [], True)


@pytest.mark.parametrize(("later_ms", "good"), [(24 * 3_600_000 - 1, True), (24 * 3_600_000, False)])
async def test_link_is_good_for_its_hours(app, later_ms, good):
    token = await link(app, (await make(app)).user_id)
    app.now_ms += later_ms
    body = {"token": token, "password": NEW}

    assert (await app.call(None, "POST", "/api/noauth/setPassword", body)).status_code == (200 if good else 400)


async def test_newer_link_replaces_the_older(app):
    login = await make(app)
    tokens = [await link(app, login.user_id) for _ in range(2)]
    bodies = [{"token": token, "password": NEW} for token in tokens]
    found = [(await app.call(None, "POST", "/api/noauth/setPassword", body)).status_code for body in bodies]

    assert found == [400, 200]


async def test_link_of_a_disabled_account_is_refused(app):
    user_id = (await make(app)).user_id
    token = await link(app, user_id)
    await app.store.write(lambda tx: tx.run(update(account).where(account.c.id == user_id).values(enabled=False)))

    assert await code(app, None, "/api/noauth/setPassword", {"token": token, "password": NEW}) == (400, 31)


async def test_short_password_does_not_use_the_link_up(app):
    token = await link(app, (await make(app)).user_id)
    short = await code(app, None, "/api/noauth/setPassword", {"token": token, "password": "1234567"})

    assert short == (400, 31)
    assert await app.post(None, "/api/noauth/setPassword", {"token": token, "password": "12345678"}) == {}


async def test_link_used_twice_at_once_sets_one_password(app):
    token = await link(app, (await make(app)).user_id)
    bodies = [{"token": token, "password": f"new pass phrase {n}"} for n in range(4)]
    answers = await asyncio.gather(*(app.call(None, "POST", "/api/noauth/setPassword", b) for b in bodies))
    opened = [await opens(app, body["password"]) for body in bodies]

    assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400]
    assert opened == [a.status_code == 200 for a in answers]


async def test_owner_who_set_a_password_does_not_wait_for_earlier_failures(app):
    login = await make(app)
    for _ in range(5):
        await opens(app, "wrong")
    waiting = await opens(app, OLD)
    token = await link(app, login.user_id)
    await app.post(None, "/api/noauth/setPassword", {"token": token, "password": NEW})

    assert (waiting, await opens(app, NEW)) == (False, True)

"""Refresh tokens that rotate, waits after wrong passwords, and the limit on an account's requests."""

import asyncio
from typing import Any

import httpx
import pytest
from sqlalchemy import select, update
from tests.support import accounts
from tests.support import rest as support
from tests.support.rest import Rest, changed

from tripline import config
from tripline.domain.access import Authority
from tripline.domain.ids import UserId
from tripline.services.accounts.limits import Limits
from tripline.services.accounts.login import GRACE_MS
from tripline.store.accounts import sessions
from tripline.store.tables import account, account_session

EMAIL = "kim@fleet.example"
GOOD = {"username": EMAIL, "password": "pass"}


async def make(rest: Rest, email: str = EMAIL) -> UserId:
    return await accounts.with_password(rest, email, "pass")


async def log_in(rest: Rest) -> str:
    return (await rest.post(None, "/api/auth/login", GOOD))["refreshToken"]  # type: ignore[no-any-return]


async def use(rest: Rest, token: str) -> str | tuple[int, int]:
    """The next refresh token, or HTTP status and errorCode of the refusal."""
    body = (await rest.call(None, "POST", "/api/auth/token", {"refreshToken": token})).json()
    return body["refreshToken"] if "refreshToken" in body else (body["status"], body["errorCode"])


def session_of(rest: Rest, token: str) -> tuple[str, str]:
    ticket = rest.tokens.ticket_of_refresh(token, now_ms=rest.now_ms)
    return ticket.session_id, ticket.token_id


async def test_each_use_gives_the_next_token_of_one_session(app):
    await make(app)
    tokens = [await log_in(app)]
    for _ in range(3):
        app.now_ms += 60_000
        tokens.append(str(await use(app, tokens[-1])))
    seen = [session_of(app, token) for token in tokens]

    assert len({session for session, _ in seen}) == 1
    assert len({token for _, token in seen}) == 4


@pytest.mark.parametrize(("later_ms", "good"), [(0, True), (GRACE_MS - 1, True), (GRACE_MS, False)])
async def test_token_before_is_good_for_a_moment_and_then_ends_the_session(app, later_ms, good):
    await make(app)
    first = await log_in(app)
    second = str(await use(app, first))
    app.now_ms += later_ms
    again = await use(app, first)
    known = session_of(app, again) == session_of(app, second) if isinstance(again, str) else again

    assert (known, isinstance(await use(app, second), str)) == ((True, True) if good else ((401, 10), False))


async def test_token_before_the_last_ends_the_session_at_once(app):
    await make(app)
    first, other = await log_in(app), await log_in(app)
    second = str(await use(app, first))
    third = str(await use(app, second))
    found = await use(app, first), await use(app, third), isinstance(await use(app, other), str)

    assert found == ((401, 10), (401, 10), True)


async def test_thief_who_was_first_is_out_when_the_owner_comes_back(app):
    await make(app)
    stolen = await log_in(app)
    thiefs = str(await use(app, stolen))
    app.now_ms += 3_600_000

    assert (await use(app, stolen), await use(app, thiefs)) == ((401, 10), (401, 10))


async def test_two_uses_at_once_get_the_same_next_token(app):
    await make(app)
    first = await log_in(app)
    answers = await asyncio.gather(*(use(app, first) for _ in range(8)))

    assert len({session_of(app, str(each)) for each in answers}) == 1
    assert isinstance(await use(app, str(answers[3])), str)


async def test_token_without_a_session_is_refused(app):
    user_id = await make(app)
    token = await log_in(app)
    await app.store.write(lambda tx: sessions.revoke_all(tx, user_id))

    assert await use(app, token) == (401, 10)


async def test_disabled_account_gets_no_new_tokens(app):
    user_id = await make(app)
    token = await log_in(app)
    await app.store.write(lambda tx: tx.run(update(account).where(account.c.id == user_id).values(enabled=False)))

    assert await use(app, token) == (401, 10)


async def test_session_lives_as_long_as_its_newest_token(app):
    await make(app)
    token = await log_in(app)
    app.now_ms += 604_799_000
    token = str(await use(app, token))
    (row,) = await app.store.read(lambda tx: tx.all(select(account_session.c.expires_ms)))
    app.now_ms += 604_800_000

    assert (row.expires_ms - app.now_ms, await use(app, token)) == (0, (401, 11))


def limited(rest: Rest, *, behind_proxy: bool = False, **settings: Any) -> httpx.AsyncClient:
    """A client of the application with other limits, connecting from 127.0.0.1."""
    limits = Limits(accounts=config.Accounts(**settings), rest=config.Rest())
    app = support.application(changed(rest.contexts, limits=limits, behind_proxy=behind_proxy))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://127.0.0.1")  # type: ignore[arg-type]


async def attempt(
    http: httpx.AsyncClient, password: str, *, email: str = EMAIL, via: str | None = None
) -> int | tuple[int, int, str]:
    """200, or status, errorCode and Retry-After of the refusal."""
    headers = {} if via is None else {"X-Forwarded-For": via}
    answer = await http.post("/api/auth/login", json={"username": email, "password": password}, headers=headers)
    if answer.status_code == 200:
        return 200
    return answer.status_code, answer.json()["errorCode"], answer.headers.get("retry-after", "")


WRONG = (401, 10, "")


async def test_right_password_waits_after_too_many_wrong_ones(app):
    expected = [WRONG, WRONG, (429, 2, "31"), (429, 2, "1"), 200, WRONG, 200]
    await make(app)
    async with limited(app, failures=2, wait_s=30.5) as http:
        seen = [await attempt(http, word) for word in ("a", "b", "pass")]
        app.now_ms += 30_499
        seen.append(await attempt(http, "pass"))
        app.now_ms += 1
        found = [*seen, await attempt(http, "pass"), await attempt(http, "a"), await attempt(http, "pass")]

    assert found == expected


async def test_account_that_does_not_exist_waits_alike(app):
    async with limited(app, failures=1) as http:
        found = [await attempt(http, "a", email=name) for name in ("no@x.example", "NO@x.example ")]

    assert found == [WRONG, (429, 2, "30")]


async def test_stranger_elsewhere_does_not_lock_the_owner_out(app):
    await make(app)
    async with limited(app, behind_proxy=True, failures=2) as http:
        seen = [await attempt(http, "guess", via="203.0.113.9") for _ in range(4)]
        found = [*seen, await attempt(http, "pass", via="192.0.2.1")]

    assert found == [WRONG, WRONG, (429, 2, "30"), (429, 2, "30"), 200]


@pytest.mark.parametrize(
    ("behind_proxy", "vias", "counted_together"),
    [
        (False, ("192.0.2.1", "192.0.2.2"), True),
        (True, ("192.0.2.1", "192.0.2.2"), False),
        (True, ("6.6.6.6, 192.0.2.1", "7.7.7.7,192.0.2.1"), True),
        (True, ("192.0.2.1:5000", "192.0.2.1:6000"), True),
        (True, ("::ffff:192.0.2.1", "192.0.2.1"), True),
        (True, ("2001:db8:1:2:3::4", "[2001:db8:1:2:9::9]:80"), True),
        (True, ("2001:db8:1:2::4", "2001:db8:1:3::4"), False),
        (True, ("nonsense", "what"), True),
    ],
)
async def test_address_is_the_last_hop_that_our_proxy_wrote(app, behind_proxy, vias, counted_together):
    async with limited(app, behind_proxy=behind_proxy, failures=1) as http:
        await attempt(http, "guess", via=vias[0])
        found = await attempt(http, "guess", via=vias[1])

    assert found == ((429, 2, "30") if counted_together else WRONG)


@pytest.mark.parametrize(("settings", "last"), [({}, (429, 2, "30")), ({"trusted_addresses": ("192.0.2.0/24",)}, 200)])
async def test_application_server_is_held_up_by_many_accounts_that_fail_unless_it_is_trusted(app, settings, last):
    await make(app)
    async with limited(app, behind_proxy=True, failures=3, address_failures=10, **settings) as http:
        for n in range(9):
            for _ in range(2):
                assert await attempt(http, "typo", email=f"user{n}@x.example", via="192.0.2.1") == WRONG
        before = await attempt(http, "pass", via="192.0.2.1")
        assert await attempt(http, "typo", email="user9@x.example", via="192.0.2.1") == WRONG
        elsewhere = await attempt(http, "pass", via="198.51.100.1")
        found = [before, elsewhere, await attempt(http, "pass", via="192.0.2.1")]

    assert found == [200, 200, last]


async def test_one_form_login_counts_once_although_it_is_read_two_ways(app):
    async with limited(app, failures=3) as http:
        content = f'{{"username":"{EMAIL}","password":"a%21b"}}'
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        found = [(await http.post("/api/auth/login", content=content, headers=headers)).status_code for _ in "1234"]

    assert found == [401, 401, 401, 429]


async def test_g33_requests_of_an_account_are_limited_when_set(app):
    logins = [await app.account(f"{name}@x.example", Authority.COMPANY_ADMIN) for name in "ab"]
    limits = Limits(accounts=config.Accounts(), rest=config.Rest(requests_per_minute=3))
    limited = support.application(changed(app.contexts, limits=limits))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=limited), base_url="http://x") as http:  # type: ignore[arg-type]

        async def ask(who: int) -> tuple[int, str]:
            headers = {"X-Authorization": f"Bearer {logins[who].token}"}
            answer = await http.get("/api/auth/user", headers=headers)
            return answer.json().get("errorCode", 0), answer.headers.get("retry-after", "")

        first = [await ask(0) for _ in range(4)]
        other = await ask(1)
        app.now_ms += 20_000
        later = await ask(0)

    assert first == [(0, ""), (0, ""), (0, ""), (2, "20")]
    assert other == later == (0, "")


async def test_g33_requests_are_not_limited_by_default(app):
    login = await app.account("a@x.example", Authority.COMPANY_ADMIN)

    assert {(await app.call(login, "GET", "/api/auth/user")).status_code for _ in range(300)} == {200}

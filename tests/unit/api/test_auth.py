"""Log-in, refresh, and the token header, as clients use them."""

import asyncio
import threading
from typing import Any

import httpx
import pytest
from msgspec import structs
from sqlalchemy import update
from tests.support import accounts
from tests.support import rest as support
from tests.support.rest import Login, Rest, changed

from tripline import config
from tripline.domain.access import Authority
from tripline.domain.ids import CompanyId, UserId
from tripline.services.accounts.hash_turns import Requester
from tripline.services.accounts.limits import Limits
from tripline.services.accounts.passwords import Passwords
from tripline.services.accounts.tokens import Pair
from tripline.store.tables import account
from tripline.wire.rest.base import CAME_WHOLE

FORM = "application/x-www-form-urlencoded"
EMAIL = "kim@fleet.example"
WRONG = (401, 10, "Invalid username or password.")


async def _account(rest: Rest, password: str, email: str = EMAIL) -> UserId:
    return await accounts.with_password(rest, email, password)


async def _log_in(rest: Rest, content: str, kind: str | None = "application/json") -> tuple[Any, ...]:
    headers = {} if kind is None else {"Content-Type": kind}
    answer = await rest.http.post("/api/auth/login", content=content.encode(), headers=headers)
    body = answer.json()
    if "errorCode" in body:
        return answer.status_code, body["errorCode"], body["message"]
    return answer.status_code, {key: type(value) for key, value in body.items()}


SUCCESS = (200, {"token": str, "refreshToken": str})


async def test_login_answers_two_strings_and_nothing_else(app):
    await _account(app, "pass")

    assert await _log_in(app, '{"username":"kim@fleet.example","password":"pass","more":1}') == SUCCESS


@pytest.mark.parametrize("kind", [None, FORM, "text/plain", "application/json; charset=euc-kr", "nonsense"])
async def test_h13_login_body_is_json_whatever_its_content_type(app, kind):
    await _account(app, "pass")

    assert await _log_in(app, '{"username":"KIM@fleet.example ","password":"pass"}', kind) == SUCCESS


@pytest.mark.parametrize(
    ("password", "sent", "kind", "expected"),
    [
        ("a!'()*b", "a%21%27%28%29%2Ab", FORM, SUCCESS),
        ("a!'()*b", "a%21%27%28%29%2ab", FORM + "; charset=utf-8", SUCCESS),
        ("a%21b", "a%21b", FORM, SUCCESS),
        ("a!b", "a%21b", "application/json", WRONG),
        ("a b", "a%20b", FORM, WRONG),
        ("a!b", "c%21b", FORM, WRONG),
    ],
)
async def test_form_login_is_tried_again_with_the_five_characters_decoded(app, password, sent, kind, expected):
    await _account(app, password)

    assert await _log_in(app, f'{{"username":"{EMAIL}","password":"{sent}"}}', kind) == expected


async def test_g26_unknown_user_wrong_password_and_disabled_account_get_one_answer(app):
    await _account(app, "pass")
    gone = await _account(app, "pass", "gone@fleet.example")
    await app.store.write(lambda tx: tx.run(update(account).where(account.c.id == gone).values(enabled=False)))
    tries = [(EMAIL, "wrong"), ("nobody@fleet.example", "pass"), ("gone@fleet.example", "pass")]
    found = [await _log_in(app, f'{{"username":"{name}","password":"{word}"}}') for name, word in tries]

    assert found == [WRONG] * 3


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", "The body must be a JSON object; it is empty."),
        ("\ufeff", "The body must be a JSON object; it is empty."),
        ('\ufeff{"username":"x"}', "Parameter 'password' can't be empty!"),
        ("[]", "The body must be a JSON object, in braces."),
        ('{"username":"x"', "The body must be a JSON object: Input data was truncated."),
        ('{"username":"x"}', "Parameter 'password' can't be empty!"),
        pytest.param("[" * 10_000, "The body must be a JSON object; this one is nested too deeply.", id="arrays"),
        pytest.param('{"a":' * 3_000, "The body must be a JSON object; this one is nested too deeply.", id="objects"),
        ('{"username":null,"password":"x"}', "Parameter 'username' can't be empty!"),
        ('{"username":"","password":"x"}', "Parameter 'username' can't be empty!"),
        ('{"username":["x"],"password":"x"}', "Parameter 'username' must be a string."),
        ("username=x&password=y", "The body must be a JSON object: JSON is malformed: invalid character (byte 0)."),
    ],
)
async def test_login_with_an_unusable_body_says_what_to_mend(app, body, message):
    assert await _log_in(app, body) == (400, 31, message)


async def test_login_with_bytes_that_are_no_text_is_refused(app):
    answer = await app.http.post("/api/auth/login", content=b'{"username":"\xff","password":"x"}')

    assert (answer.status_code, answer.json()["errorCode"]) == (400, 31)


async def _pair(rest: Rest) -> tuple[UserId, Pair]:
    user_id = await _account(rest, "pass")
    answer = await rest.post(None, "/api/auth/login", {"username": EMAIL, "password": "pass"})
    return user_id, Pair(answer["token"], answer["refreshToken"])


async def test_g25_refresh_token_gives_a_pair_that_works(app):
    _, pair = await _pair(app)
    seen = [pair.token, pair.refresh_token]
    for _ in range(2):
        new = await app.post(None, "/api/auth/token", {"refreshToken": seen[-1]})
        seen += [new["token"], new["refreshToken"]]
    answer = await app.http.get("/api/auth/user", headers={"X-Authorization": f"Bearer {seen[-2]}"})
    seen = [*seen, answer.json()["email"]]

    assert len(set(seen)) == 7
    assert seen[-1] == EMAIL


async def test_refresh_with_a_token_of_no_use_is_refused(app):
    user_id, pair = await _pair(app)

    async def refused(body: Any) -> tuple[int, int]:
        status, code, _ = await app.refused(None, "POST", "/api/auth/token", body)
        return status, code

    outcomes = [
        await refused({}),
        await refused({"refreshToken": 7}),
        await refused({"refreshToken": "x.y.z"}),
        await refused({"refreshToken": pair.token}),
    ]
    await app.store.write(lambda tx: tx.run(update(account).where(account.c.id == user_id).values(enabled=False)))
    outcomes.append(await refused({"refreshToken": pair.refresh_token}))
    app.now_ms += 604_800_000

    assert [*outcomes, await refused({"refreshToken": pair.refresh_token})] == [
        (400, 31),
        (400, 31),
        (401, 10),
        (401, 10),
        (401, 10),
        (401, 11),
    ]


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER ", "Bearer   ", " Bearer \t"])
async def test_token_header_takes_any_letter_case_and_any_blanks(app, scheme):
    _, pair = await _pair(app)
    headers = {"x-AUTHORIZATION": scheme + pair.token}

    assert (await app.http.get("/api/auth/user", headers=headers)).status_code == 200


async def test_request_without_a_good_token_is_refused(app):
    user_id, pair = await _pair(app)

    async def refused(headers: dict[str, str]) -> tuple[int, int]:
        answer = await app.http.get("/api/auth/user", headers=headers)
        return answer.status_code, answer.json()["errorCode"]

    good = {"X-Authorization": f"Bearer {pair.token}"}
    outcomes = [
        await refused({}),
        await refused({"X-Authorization": ""}),
        await refused({"X-Authorization": pair.token}),
        await refused({"X-Authorization": f"Basic {pair.token}"}),
        await refused({"Authorization": f"Bearer {pair.token}"}),
        await refused({"X-Authorization": f"Bearer {pair.refresh_token}"}),
    ]
    app.now_ms += 9_000_000
    outcomes.append(await refused(good))
    app.now_ms = support.NOW_MS
    assert (await app.http.get("/api/auth/user", headers=good)).status_code == 200
    await app.store.write(lambda tx: tx.run(update(account).where(account.c.id == user_id).values(enabled=False)))

    assert [*outcomes, await refused(good)] == [(401, 10)] * 6 + [(401, 11), (401, 10)]


async def test_own_record_is_shown_to_every_role(app):
    company, admin = await app.operator("taxi")
    company_id = CompanyId(company["id"]["id"])
    people: list[Login] = [admin, await app.account("root@x.example", Authority.SYS_ADMIN)]
    people += [
        await app.account(f"{role}@x.example", role, company_id) for role in (Authority.DIRECTOR, Authority.DRIVER)
    ]
    shown = [await app.get(login, "/api/auth/user") for login in people]

    assert [record["id"]["id"] for record in shown] == [login.user_id for login in people]


async def test_login_storm_above_the_waiting_room_is_answered_429_and_the_rest_is_served(app):
    await _account(app, "pass")
    small = Passwords(structs.replace(support.CHEAP, workers=1, waiting=1))
    transport = httpx.ASGITransport(app=support.application(changed(app.contexts, passwords=small)))  # type: ignore[arg-type]
    gate = threading.Event()
    small._threads.submit(gate.wait)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        body = {"username": EMAIL, "password": "pass"}
        waiting = {asyncio.ensure_future(http.post("/api/auth/login", json=body)) for _ in range(5)}
        early: list[httpx.Response] = []
        while len(early) < 3:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            early += [one.result() for one in done]
        gate.set()
        late = await asyncio.gather(*waiting)
    small.close()

    assert [answer.status_code for answer in early] == [429, 429, 429]
    assert [answer.status_code for answer in late] == [200, 200]


HOME = "192.0.2.1"


class Arrivals(Passwords):
    """Passwords that count the attempts that come to their hash."""

    def __init__(self, settings: config.Passwords) -> None:
        super().__init__(settings)
        self.arrived = asyncio.Semaphore(0)

    async def matches(self, password: str, kept: str | None, requester: Requester) -> bool:
        self.arrived.release()
        return await super().matches(password, kept, requester)


async def _attempt(http: httpx.AsyncClient, email: str, address: str) -> int:
    body = {"username": email, "password": "pass"}
    return (await http.post("/api/auth/login", json=body, headers={"X-Forwarded-For": address})).status_code


async def _flooded(rest: Rest, strangers: list[tuple[str, str]], last: tuple[str, str]) -> tuple[list[int], int]:
    """Statuses of strangers' attempts (account, address) that all wait for the one thread, and of one behind them.

    Each begins once the one before has come to its hash.
    """
    small = Arrivals(structs.replace(support.CHEAP, workers=1, waiting=8))
    gate = threading.Event()
    small._threads.submit(gate.wait)
    rest.change(behind_proxy=True, passwords=small)
    transport = httpx.ASGITransport(app=support.application(rest.contexts))  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
        attempts = []
        for each in (*strangers, last):
            attempts.append(asyncio.ensure_future(_attempt(http, *each)))
            await asyncio.wait_for(small.arrived.acquire(), 10)
        gate.set()
        *statuses, status = await asyncio.gather(*attempts)
    small.close()
    return statuses, status


@pytest.mark.parametrize("named", ["owner", "anybody"])
@pytest.mark.parametrize("restarted", [False, True])
async def test_owner_gets_in_from_a_known_address_while_strangers_flood_the_hashes(app, named, restarted):
    strangers = [(EMAIL if named == "owner" else f"u{n}@x.example", f"198.51.100.{n}") for n in range(30)]

    await _account(app, "pass")
    app.change(behind_proxy=True)
    assert await _attempt(app.http, EMAIL, HOME) == 200
    if restarted:
        app.change(limits=Limits(accounts=config.Accounts(), rest=config.Rest()))
        await app.contexts.accounts.limits.known.read(app.store, now_ms=app.now_ms)

    assert (await _flooded(app, strangers, (EMAIL, HOME)))[1] == 200


async def test_flooding_strangers_learn_nothing_of_the_accounts_that_they_name(app):
    """An account that signed in lately and a name that no account has are served and turned away alike."""

    user_id = await _account(app, "right")
    app.contexts.accounts.limits.known.add(user_id, HOME)
    outcomes = []
    for names in ((EMAIL, "nobody@x.example"), ("nobody@x.example", EMAIL)):
        flood = [(names[n % 2], f"198.51.100.{n}") for n in range(30)]
        statuses, last = await _flooded(app, flood, (names[0], "203.0.113.9"))
        outcomes.append([*statuses, last])
    first, second = outcomes

    assert first == second
    assert set(first) == {401, 429}


@pytest.mark.parametrize("whole", [False, True], ids=["in pieces", "with its head"])
@pytest.mark.parametrize(("path", "most"), [("/api/auth/login", 16_384), ("/api/noauth/resetPasswordByEmail", 65_536)])
def test_body_that_needs_no_account_is_bounded(tmp_path, path, most, whole):
    async def scenario(rest: Rest) -> list[int]:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            await served({**scope, "extensions": {CAME_WHOLE: {}} if whole else {}}, receive, send)

        served: Any = support.application(rest.contexts)
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://127.0.0.1")
        bodies = [b'{"username":"a","email":"a@b.example","password":"c"}'.ljust(size) for size in (most, most + 1)]
        return [(await client.post(path, content=body)).status_code for body in bodies]

    below, above = support.run(tmp_path, scenario)

    assert below != 413
    assert above == 413

"""Cookies of browsers as credentials: what they are good for, until when, and what a change needs besides."""

from typing import Any

import httpx
import pytest
from sqlalchemy import select, update
from tests.support import rest as support
from tests.support.rest import Login, Rest, changed

from tripline import config
from tripline.domain.access import Actor, Authority
from tripline.domain.ids import UserId
from tripline.services.accounts import sessions
from tripline.services.accounts.sessions import Client, Cookie, Prolonger
from tripline.store.accounts.accounts import Account
from tripline.store.accounts.sessions import Visit
from tripline.store.tables import account, account_session

SETTINGS = config.Sessions()
IDLE_MS, LONGEST_MS = SETTINGS.idle_s * 1000, SETTINGS.longest_s * 1000
ME = "/api/auth/user"
ALL = "/api/tre/v1/sessions"


async def signed_in(rest: Rest, login: Login, before: Cookie | None = None) -> Cookie:
    return await rest.store.write(
        lambda tx: sessions.opened(
            tx,
            user_id=login.user_id,
            client=Client("Browser", "192.0.2.1"),
            settings=SETTINGS,
            before=before,
            now_ms=rest.now_ms,
        )
    )


async def visitor(rest: Rest) -> tuple[Login, Cookie]:
    login = await rest.account("kim@fleet.example", Authority.COMPANY_ADMIN)
    return login, await signed_in(rest, login)


async def ask(rest: Rest, cookie: Cookie | str, method: str = "GET", path: str = ME, **headers: str) -> tuple[int, int]:
    """HTTP status and errorCode (0: none) of a request with this cookie."""
    text = cookie if isinstance(cookie, str) else f"tripline={cookie.text}"
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = await rest.http.request(method, path, headers={"Cookie": text, **sent})
    return answer.status_code, answer.json().get("errorCode", 0)


GOOD, SIGNED_OUT, FOREIGN = (200, 0), (401, 10), (403, 20)


@pytest.fixture
async def cookie(app: Rest) -> Cookie:
    """That of a visitor."""
    return (await visitor(app))[1]


async def test_cookie_says_who_asks(app):
    login, cookie = await visitor(app)
    answer = await app.http.get(ME, headers={"Cookie": f"other=1; tripline={cookie.text}; more=2"})

    assert login.user_id == answer.json()["id"]["id"]


@pytest.mark.parametrize(
    "text",
    [
        "tripline=",
        "tripline=x.y",
        "tripline={id}.{wrong}",
        "tripline={other}.{secret}",
        "tripline={id}.{secret}x",
        "tripline={upper}.{secret}",
        "tripline={secret}",
        "other={id}.{secret}",
        "__Host-tripline={id}.{secret}",
        "tripline={id}.{secret}; tripline={id}.{wrong}",
        "tripline={id}.é{secret}",
        "tripline",
    ],
)
async def test_anything_but_the_whole_cookie_is_nobody(app, text):
    login, cookie = await visitor(app)
    other = await signed_in(app, login)
    values = {"id": cookie.session_id, "secret": cookie.secret, "wrong": other.secret, "other": other.session_id}
    sent = text.format(**values, upper=cookie.session_id.upper()).encode()
    answer = await app.http.get(ME, headers={b"Cookie": sent})

    assert (answer.status_code, answer.json().get("errorCode", 0)) == SIGNED_OUT


async def test_same_cookie_sent_twice_is_one(app, cookie):
    assert await ask(app, f"tripline={cookie.text}; tripline={cookie.text}") == GOOD


async def test_secret_is_kept_as_its_hash_only(app, cookie):
    rows = await app.store.read(lambda tx: tx.all(select(account_session)))
    kept = repr(rows)

    assert (cookie.session_id in kept, cookie.hash in kept) == (True, True)
    assert (cookie.secret in kept, cookie.csrf in kept) == (False, False)


async def test_sign_in_ends_the_session_that_the_browser_had_and_takes_over_nothing(app):
    login, planted = await visitor(app)
    elsewhere = await signed_in(app, login)
    victim = await app.account("lee@fleet.example", Authority.DRIVER)
    fresh = await signed_in(app, victim, before=planted)

    assert {planted.session_id, planted.secret}.isdisjoint({fresh.session_id, fresh.secret}) is True
    assert [await ask(app, each) for each in (planted, fresh, elsewhere)] == [SIGNED_OUT, GOOD, GOOD]


async def test_sign_in_with_the_id_of_a_session_ends_it_only_with_its_secret(app):
    login, cookie = await visitor(app)
    await signed_in(app, login, before=Cookie(cookie.session_id, "x" * 43))

    assert await ask(app, cookie) == GOOD


COOKIES: list[tuple[str, dict[str, str], tuple[int, int]]] = [
    ("GET", {}, GOOD),
    ("HEAD", {}, GOOD),
    ("DELETE", {}, FOREIGN),
    ("DELETE", {"X_CSRF_Token": "wrong"}, FOREIGN),
    ("DELETE", {"X_CSRF_Token": "of another session"}, FOREIGN),
    ("DELETE", {"X_CSRF_Token": "own"}, GOOD),
    ("DELETE", {"X_CSRF_Token": "own", "Sec_Fetch_Site": "same-origin"}, GOOD),
    ("DELETE", {"X_CSRF_Token": "own", "Sec_Fetch_Site": "none"}, GOOD),
    ("DELETE", {"X_CSRF_Token": "own", "Sec_Fetch_Site": "same-site"}, FOREIGN),
    ("DELETE", {"X_CSRF_Token": "own", "Sec_Fetch_Site": "cross-site"}, FOREIGN),
    ("DELETE", {"X_CSRF_Token": "own", "Origin": "http://127.0.0.1"}, GOOD),
    ("DELETE", {"X_CSRF_Token": "own", "Origin": "http://127.0.0.1:81"}, FOREIGN),
    ("DELETE", {"X_CSRF_Token": "own", "Origin": "https://evil.example"}, FOREIGN),
    ("DELETE", {"X_CSRF_Token": "own", "Origin": "null"}, FOREIGN),
    ("DELETE", {"X_CSRF_Token": "own", "Origin": "http://[half"}, FOREIGN),
    ("DELETE", {"X_CSRF_Token": "own", "Origin": ""}, FOREIGN),
    ("DELETE", {"X_CSRF_Token": "own", "Origin": "null", "Sec_Fetch_Site": "same-origin"}, GOOD),
    ("DELETE", {"X_CSRF_Token": "own", "Origin": "http://127.0.0.1", "Sec_Fetch_Site": "cross-site"}, FOREIGN),
]


async def test_cookie_is_good_for_a_change_only_with_the_token_of_its_session_and_from_our_own_page(app):
    found = []
    login, cookie = await visitor(app)
    other = await signed_in(app, login)
    for method, headers, expected in COOKIES:
        tokens = {"own": cookie.csrf, "of another session": other.csrf}
        sent = {name: tokens.get(value, value) for name, value in headers.items()}
        if method == "HEAD":
            answer = await app.http.head(ME, headers={"Cookie": f"tripline={cookie.text}"})
            outcome = answer.status_code, 0
        else:
            outcome = await ask(app, cookie, method, ME if method == "GET" else ALL, **sent)
        rows = await app.store.read(lambda tx: tx.all(select(account_session.c.id)))
        assert len(rows) == (0 if method == "DELETE" and expected == GOOD else 3), headers
        if not rows:
            await app.login(login.user_id, "kim@x.example", login.authority, None)
            cookie, other = await signed_in(app, login), await signed_in(app, login)
        found.append((method, headers, outcome))

    assert found == COOKIES


async def test_token_in_the_header_needs_no_proof_and_wins_over_a_cookie(app, cookie):
    lee = await app.account("lee@fleet.example", Authority.DRIVER)
    headers = {"Cookie": f"tripline={cookie.text}", "X-Authorization": f"Bearer {lee.token}"}
    who = (await app.http.get(ME, headers=headers)).json()["id"]["id"]
    ended = await app.http.delete(ALL, headers={**headers, "Sec-Fetch-Site": "cross-site"})
    wrong = await app.http.get(ME, headers={**headers, "X-Authorization": "Bearer x"})
    found = who == lee.user_id, ended.status_code, wrong.status_code, await ask(app, cookie)

    assert found == (True, 200, 401, GOOD)


@pytest.mark.parametrize(
    ("later_ms", "expected"), [(IDLE_MS - 1, GOOD), (IDLE_MS, SIGNED_OUT), (IDLE_MS + 1, SIGNED_OUT)]
)
async def test_session_ends_after_its_time_without_a_request(app, cookie, later_ms, expected):
    app.now_ms += later_ms

    assert await ask(app, cookie) == expected


@pytest.mark.parametrize(
    ("used_ms", "later_ms", "expected"),
    [
        (59_999, IDLE_MS - 59_999 - 1, GOOD),
        (59_999, IDLE_MS - 59_999, SIGNED_OUT),
        (60_000, IDLE_MS - 1, GOOD),
        (60_000, IDLE_MS, SIGNED_OUT),
        (60_001, IDLE_MS, SIGNED_OUT),
    ],
)
async def test_request_prolongs_a_session_that_was_not_within_the_minute(app, cookie, used_ms, later_ms, expected):
    app.now_ms += used_ms
    assert await ask(app, cookie) == GOOD
    await app.contexts.accounts.browsers.write(app.store)
    app.now_ms += later_ms

    assert await ask(app, cookie) == expected


@pytest.mark.parametrize(("polls", "expected"), [(True, SIGNED_OUT), (False, GOOD)])
async def test_what_a_page_asks_by_itself_keeps_nobody_signed_in(app, cookie, polls, expected):
    sent = {"X_Poll": "1"} if polls else {}

    for _ in range(4):
        app.now_ms += IDLE_MS // 4 - 1
        assert await ask(app, cookie, **sent) == GOOD
        await app.contexts.accounts.browsers.write(app.store)
    app.now_ms += 4

    assert await ask(app, cookie, **sent) == expected


async def test_request_of_its_user_prolongs_a_session_whose_page_asks_by_itself(app, cookie):
    app.now_ms += IDLE_MS // 2
    answers = [await ask(app, cookie, X_Poll="1"), await ask(app, cookie), await ask(app, cookie, X_Poll="1")]
    await app.contexts.accounts.browsers.write(app.store)
    app.now_ms += IDLE_MS - 1
    answers.append(await ask(app, cookie, X_Poll="1"))
    app.now_ms += 1

    assert [*answers, await ask(app, cookie, X_Poll="1")] == [GOOD] * 4 + [SIGNED_OUT]


@pytest.mark.parametrize(("off_ms", "expected"), [(-1, GOOD), (0, SIGNED_OUT), (1, SIGNED_OUT)])
async def test_session_ends_in_any_case_however_much_it_is_used(app, cookie, off_ms, expected):
    end_ms = app.now_ms + LONGEST_MS
    while app.now_ms + IDLE_MS // 2 < end_ms - 1:
        app.now_ms += IDLE_MS // 2
        assert await ask(app, cookie) == GOOD
        await app.contexts.accounts.browsers.write(app.store)
    app.now_ms = end_ms + off_ms

    assert await ask(app, cookie) == expected


async def test_what_was_noted_to_be_prolonged_does_not_bring_back_an_ended_session(app, cookie):
    app.now_ms += 60_000
    await ask(app, cookie)
    await ask(app, cookie, "POST", "/api/auth/logout", X_CSRF_Token=cookie.csrf)
    await app.contexts.accounts.browsers.write(app.store)

    assert await ask(app, cookie) == SIGNED_OUT


async def test_reading_within_the_minute_writes_nothing(app, cookie):
    prolonged = []
    for _ in range(3):
        app.now_ms += 30_000
        await ask(app, cookie)
        await app.contexts.accounts.browsers.write(app.store)
        (row,) = await app.store.read(
            lambda tx: tx.all(select(account_session.c.rotated_ms).where(account_session.c.kind == "browser"))
        )
        prolonged.append(row.rotated_ms - support.NOW_MS)

    assert prolonged == [0, 60_000, 60_000]


async def test_stolen_cookie_is_good_for_nothing_after_signing_out(app, cookie):
    thief = Cookie(cookie.session_id, cookie.secret)
    before = await ask(app, thief)
    await ask(app, cookie, "POST", "/api/auth/logout", X_CSRF_Token=cookie.csrf)
    change = await ask(app, thief, "DELETE", ALL, X_CSRF_Token=thief.csrf)

    assert [before, await ask(app, thief), change] == [GOOD, SIGNED_OUT, SIGNED_OUT]


async def test_cookie_of_a_disabled_account_is_good_for_nothing(app):
    login, cookie = await visitor(app)
    off = update(account).where(account.c.id == login.user_id).values(enabled=False)
    await app.store.write(lambda tx: tx.run(off))

    assert await ask(app, cookie) == SIGNED_OUT


async def test_sessions_tell_browsers_from_programs(app, cookie):
    page = (await app.http.get(f"{ALL}?limit=9", headers={"Cookie": f"tripline={cookie.text}"})).json()
    found = [f"{each['kind']} {each['current']} {each['agent']}" for each in page["data"]]

    assert sorted(found) == ["browser True Browser", "rest False None"]


def proxied(rest: Rest, **parts: Any) -> httpx.AsyncClient:
    """A client that comes through a proxy by HTTPS, as the proxy says."""
    app = support.application(changed(rest.contexts, behind_proxy=True, **parts))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://inside:8080")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("forwarded", "public_url", "name", "expected"),
    [
        ("https", "", "__Host-tripline", 200),
        ("https", "", "tripline", 401),
        ("http, https", "", "__Host-tripline", 200),
        ("https, http", "https://fleet.example", "tripline", 200),
        (None, "https://fleet.example", "__Host-tripline", 200),
        (None, "https://fleet.example", "tripline", 401),
        (None, "http://fleet.example", "tripline", 200),
        ("", "https://fleet.example", "__Host-tripline", 200),
        ("", "https://fleet.example", "tripline", 401),
        (" ", "", "tripline", 200),
        (None, "", "tripline", 200),
    ],
)
async def test_cookie_has_the_name_that_only_https_may_have_where_the_browser_uses_https(
    app, cookie, forwarded, public_url, name, expected
):
    headers = {"Cookie": f"{name}={cookie.text}"}
    if forwarded is not None:
        headers["X-Forwarded-Proto"] = forwarded
    async with proxied(app, public_url=public_url) as http:
        found = (await http.get(ME, headers=headers)).status_code

    assert found == expected


@pytest.mark.parametrize(
    ("origin", "headers", "expected"),
    [
        ("https://inside:8080", {}, 200),
        ("http://inside:8080", {}, 403),
        ("https://fleet.example", {}, 200),
        ("https://seen.example", {}, 403),
        ("https://seen.example", {"X-Forwarded-Host": "seen.example"}, 200),
        ("https://FLEET.example", {}, 200),
    ],
)
async def test_page_of_ours_is_where_people_reach_the_proxy(app, cookie, origin, headers, expected):
    sent = {"Cookie": f"__Host-tripline={cookie.text}", "X-CSRF-Token": cookie.csrf, "Origin": origin}
    async with proxied(app, public_url="https://fleet.example") as http:
        found = (await http.delete(ALL, headers=sent | headers | {"X-Forwarded-Proto": "https"})).status_code

    assert found == expected


async def test_settings_decide_when_a_session_ends(app):
    login = await app.account("kim@fleet.example", Authority.COMPANY_ADMIN)
    ends = []
    for idle_s, longest_s in ((60, 600), (600, 60)):
        settings = config.Sessions(idle_s=idle_s, longest_s=longest_s)
        client, now_ms = Client(None, None), app.now_ms
        cookie = await app.store.write(
            lambda tx, settings=settings, client=client, now_ms=now_ms: sessions.opened(
                tx, user_id=login.user_id, client=client, settings=settings, before=None, now_ms=now_ms
            )
        )
        statement = select(account_session.c.expires_ms).where(account_session.c.id == cookie.session_id)
        (row,) = await app.store.read(lambda tx, statement=statement: tx.all(statement))
        ends.append(row.expires_ms - now_ms)

    assert ends == [60_000, 60_000]


def test_what_is_noted_is_bounded(monkeypatch):
    monkeypatch.setattr(sessions, "_NOTED_MAX", 2)
    prolonger = Prolonger(SETTINGS)
    account = Account("Kim", "kim@ace.example", None, None, None)
    visit = Visit(Actor(UserId("kim"), Authority.DRIVER, None), 0, 0, account)

    for number in range(3):
        prolonger.used(str(number), visit, now_ms=60_000)

    assert list(prolonger._noted) == ["0", "1"]

"""Account sessions over REST: listing one's own, ending one, all others and all; what ends access tokens."""

from typing import Any

import pytest
from tests.support import accounts
from tests.support import rest as support
from tests.support.rest import Login, Rest

from tripline.domain.access import Authority
from tripline.domain.ids import UserId
from tripline.services.accounts import links

EMAIL = "kim@fleet.example"
PASSWORD = "a long pass phrase"
KIM = {"username": EMAIL, "password": PASSWORD}


async def make(rest: Rest, email: str = EMAIL) -> UserId:
    return await accounts.with_password(rest, email, PASSWORD)


async def pair_of(rest: Rest, email: str = EMAIL) -> dict[str, Any]:
    return await rest.post(None, "/api/auth/login", {"username": email, "password": PASSWORD})


def bearer(user_id: UserId, token: str) -> Login:
    return Login(user_id, Authority.COMPANY_ADMIN, None, token)


async def logins(rest: Rest, count: int) -> list[Login]:
    """So many log-ins of one account, a second apart."""
    user_id = await make(rest)
    found = []
    for _ in range(count):
        rest.now_ms += 1_000
        found.append(bearer(user_id, (await pair_of(rest))["token"]))
    return found


async def good(rest: Rest, *asked: Login) -> list[bool]:
    """Which of the tokens are."""
    return [(await rest.call(each, "GET", "/api/auth/user")).status_code == 200 for each in asked]


async def ids(rest: Rest, login: Login) -> list[str]:
    page = await rest.get(login, "/sessions", limit=100)
    return [record["id"]["id"] for record in page["data"]]


async def test_own_sessions_are_listed_newest_first_and_the_current_is_marked(app):
    first, second = await logins(app, 2)
    await make(app, "lee@fleet.example")
    await pair_of(app, "lee@fleet.example")
    page = await app.get(first, "/sessions", limit=100)
    now_ms, _ = app.now_ms, await good(app, second)

    assert (page["hasNext"], page["nextPageLink"]) == (False, None)
    assert [record["current"] for record in page["data"]] == [False, True]
    record = page["data"][0]
    assert len(record.pop("id")["id"]) == 36
    assert record == {
        "createdTime": now_ms,
        "kind": "rest",
        "prolongedTime": now_ms,
        "expiresTime": now_ms + 604_800_000,
        "agent": record["agent"],
        "address": "127.0.0.1",
        "current": False,
    }
    assert record["agent"].startswith("python-httpx/")


def test_sessions_come_in_pages_by_key(tmp_path):
    async def scenario(rest: Rest) -> tuple[list[str], list[str]]:
        login = (await logins(rest, 5))[-1]
        found: list[str] = []
        after: dict[str, str] = {}
        while True:
            page = await rest.get(login, "/sessions", limit=2, ascOrder="true", **after)
            found += [record["id"]["id"] for record in page["data"]]
            if not page["hasNext"]:
                return found, await ids(rest, login)
            after = {"idOffset": page["nextPageLink"]["idOffset"]}

    found, at_once = support.run(tmp_path, scenario)

    assert found == at_once[::-1]
    assert len(set(found)) == 5


@pytest.mark.parametrize(("later_ms", "listed"), [(604_799_999, 2), (604_800_000, 1), (604_800_001, 1)])
async def test_expired_session_is_listed_no_more(app, later_ms, listed):
    user_id = await make(app)
    await pair_of(app)
    app.now_ms += later_ms

    assert len(await ids(app, bearer(user_id, (await pair_of(app))["token"]))) == listed


async def test_another_log_in_ends_none_and_logging_out_ends_its_own_alone(app):
    first, second, third = await logins(app, 3)
    before = await good(app, first, second, third)
    answer = await app.post(second, "/api/auth/logout")
    after, refused = await good(app, first, second, third), await app.refused(second, "GET", "/sessions")

    assert (before, answer, after) == ([True] * 3, {}, [True, False, True])
    assert refused[:2] == (401, 10)


async def test_logging_out_ends_the_refresh_token_too(app):
    user_id = await make(app)
    pair = await pair_of(app)
    await app.post(bearer(user_id, pair["token"]), "/api/auth/logout")
    found = await app.refused(None, "POST", "/api/auth/token", {"refreshToken": pair["refreshToken"]})

    assert found[:2] == (401, 10)


async def test_refreshed_tokens_are_of_the_same_session(app):
    user_id = await make(app)
    pair = await pair_of(app)
    later = await app.post(None, "/api/auth/token", {"refreshToken": pair["refreshToken"]})
    first, second = (bearer(user_id, each["token"]) for each in (pair, later))
    before = await good(app, first, second), len(await ids(app, first))
    await app.post(second, "/api/auth/logout")

    assert (before, await good(app, first, second)) == (([True, True], 1), [False, False])


async def test_stolen_refresh_token_ends_the_access_tokens_of_its_session(app):
    user_id = await make(app)
    pair, other = await pair_of(app), await pair_of(app)
    await app.post(None, "/api/auth/token", {"refreshToken": pair["refreshToken"]})
    app.now_ms += 10_000
    await app.refused(None, "POST", "/api/auth/token", {"refreshToken": pair["refreshToken"]})

    assert await good(app, *(bearer(user_id, each["token"]) for each in (pair, other))) == [False, True]


async def test_one_session_is_ended_by_its_id(app):
    first, second = await logins(app, 2)
    newest = (await ids(app, first))[0]
    await app.delete(first, f"/session/{newest}")
    again = await app.refused(first, "DELETE", f"/session/{newest}")

    assert await good(app, first, second) == [True, False]
    assert again == (404, 32, "There is no session of yours with this id.")


async def test_session_of_somebody_else_is_none(app):
    (kim,) = await logins(app, 1)
    stranger = await make(app, "lee@fleet.example")
    lee = bearer(stranger, (await pair_of(app, "lee@fleet.example"))["token"])
    (wanted,) = await ids(app, kim)
    refused = await app.refused(lee, "DELETE", f"/session/{wanted}")
    malformed = await app.refused(lee, "DELETE", "/session/no-id")
    await app.delete(lee, "/sessions")

    assert (refused[:2], malformed[:2], await good(app, kim, lee)) == ((404, 32), (400, 31), [True, False])


@pytest.mark.parametrize(("query", "left"), [({}, [False] * 3), ({"keepCurrent": "true"}, [False, True, False])])
async def test_all_sessions_or_all_others_are_ended(app, query, left):
    three = await logins(app, 3)
    assert (await app.call(three[1], "DELETE", "/sessions", **query)).status_code == 200

    assert await good(app, *three) == left


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("ending", ["link", "change", "end", "delete"])
async def test_whatever_ends_the_sessions_of_somebody_ends_the_access_tokens(app, admin, ending, warm):
    driver = await app.person(admin, Authority.DRIVER, "lee")
    if warm:
        await good(app, driver)
    match ending:
        case "link":
            token = await app.store.write(lambda tx: links.make(tx, user_id=driver.user_id, hours=1, now_ms=app.now_ms))
            await app.post(None, "/api/noauth/setPassword", {"token": token, "password": PASSWORD})
        case "change":
            await app.call(admin, "PUT", f"/driver/{driver.user_id}", {"password": PASSWORD})
        case "end":
            await app.delete(driver, "/sessions")
        case "delete":
            await app.delete(admin, f"/driver/{driver.user_id}")

    assert await good(app, driver, admin) == [False, True]


async def test_change_of_a_person_without_a_password_ends_nothing(app, admin):
    driver = await app.person(admin, Authority.DRIVER, "lee")
    await app.call(admin, "PUT", f"/driver/{driver.user_id}", {"name": "Lee"})

    assert await good(app, driver) == [True]


async def test_granted_account_goes_on_in_the_session_in_which_it_registers_its_company(app):
    first, second = await logins(app, 2)
    await app.post(second, "/company", support.company_body("ace", EMAIL))

    assert await good(app, first, second) == [False, True]


async def test_two_servers_refuse_at_once_what_one_of_them_ended(tmp_path):
    async with support.two(tmp_path) as (here, there):
        login, other = await logins(here, 2)
        before = await good(there, login, other)
        await here.post(login, "/api/auth/logout")

        assert (before, await good(there, login, other)) == ([True, True], [False, True])

"""Account sessions over REST: listing one's own, ending one, all others and all; what ends access tokens."""

from pathlib import Path
from typing import Any

import pytest
from tests.support import rest as support
from tests.support.rest import Login, Rest

from tripline.domain.access import Authority
from tripline.domain.ids import UserId
from tripline.services.accounts import links, registry

EMAIL = "kim@fleet.example"
PASSWORD = "a long pass phrase"
KIM = {"username": EMAIL, "password": PASSWORD}


async def make(rest: Rest, email: str = EMAIL) -> UserId:
    hashed = rest.passwords.hash_now(PASSWORD)
    return await rest.store.write(
        lambda tx: registry.create_alone(
            tx, Authority.COMPANY_ADMIN, email=email, password_hash=hashed, ids=rest.ids, now_ms=1
        )
    )


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


def test_own_sessions_are_listed_newest_first_and_the_current_is_marked(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> tuple[Any, ...]:
        first, second = await logins(rest, 2)
        await make(rest, "lee@fleet.example")
        await pair_of(rest, "lee@fleet.example")
        page = await rest.get(first, "/sessions", limit=100)
        return page, rest.now_ms, await good(rest, second)

    page, now_ms, _ = support.run(tmp_path, scenario)

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


def test_sessions_come_in_pages_by_key(tmp_path: Path) -> None:
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
def test_expired_session_is_listed_no_more(tmp_path: Path, later_ms: int, listed: int) -> None:
    async def scenario(rest: Rest) -> int:
        user_id = await make(rest)
        await pair_of(rest)
        rest.now_ms += later_ms
        return len(await ids(rest, bearer(user_id, (await pair_of(rest))["token"])))

    assert support.run(tmp_path, scenario) == listed


def test_another_log_in_ends_none_and_logging_out_ends_its_own_alone(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> tuple[Any, ...]:
        first, second, third = await logins(rest, 3)
        before = await good(rest, first, second, third)
        answer = await rest.post(second, "/api/auth/logout")
        return before, answer, await good(rest, first, second, third), await rest.refused(second, "GET", "/sessions")

    before, answer, after, refused = support.run(tmp_path, scenario)

    assert (before, answer, after) == ([True] * 3, {}, [True, False, True])
    assert refused[:2] == (401, 10)


def test_logging_out_ends_the_refresh_token_too(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> Any:
        user_id = await make(rest)
        pair = await pair_of(rest)
        await rest.post(bearer(user_id, pair["token"]), "/api/auth/logout")
        return await rest.refused(None, "POST", "/api/auth/token", {"refreshToken": pair["refreshToken"]})

    assert support.run(tmp_path, scenario)[:2] == (401, 10)


def test_refreshed_tokens_are_of_the_same_session(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> tuple[Any, ...]:
        user_id = await make(rest)
        pair = await pair_of(rest)
        later = await rest.post(None, "/api/auth/token", {"refreshToken": pair["refreshToken"]})
        first, second = (bearer(user_id, each["token"]) for each in (pair, later))
        before = await good(rest, first, second), len(await ids(rest, first))
        await rest.post(second, "/api/auth/logout")
        return before, await good(rest, first, second)

    assert support.run(tmp_path, scenario) == (([True, True], 1), [False, False])


def test_stolen_refresh_token_ends_the_access_tokens_of_its_session(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> list[bool]:
        user_id = await make(rest)
        pair, other = await pair_of(rest), await pair_of(rest)
        await rest.post(None, "/api/auth/token", {"refreshToken": pair["refreshToken"]})
        rest.now_ms += 10_000
        await rest.refused(None, "POST", "/api/auth/token", {"refreshToken": pair["refreshToken"]})
        return await good(rest, *(bearer(user_id, each["token"]) for each in (pair, other)))

    assert support.run(tmp_path, scenario) == [False, True]


def test_one_session_is_ended_by_its_id(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> tuple[Any, ...]:
        first, second = await logins(rest, 2)
        newest = (await ids(rest, first))[0]
        await rest.delete(first, f"/session/{newest}")
        again = await rest.refused(first, "DELETE", f"/session/{newest}")
        return await good(rest, first, second), again

    left, again = support.run(tmp_path, scenario)

    assert left == [True, False]
    assert again == (404, 32, "There is no session of yours with this id.")


def test_session_of_somebody_else_is_none(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> tuple[Any, ...]:
        (kim,) = await logins(rest, 1)
        stranger = await make(rest, "lee@fleet.example")
        lee = bearer(stranger, (await pair_of(rest, "lee@fleet.example"))["token"])
        (wanted,) = await ids(rest, kim)
        refused = await rest.refused(lee, "DELETE", f"/session/{wanted}")
        malformed = await rest.refused(lee, "DELETE", "/session/no-id")
        await rest.delete(lee, "/sessions")
        return refused[:2], malformed[:2], await good(rest, kim, lee)

    assert support.run(tmp_path, scenario) == ((404, 32), (400, 31), [True, False])


@pytest.mark.parametrize(("query", "left"), [({}, [False] * 3), ({"keepCurrent": "true"}, [False, True, False])])
def test_all_sessions_or_all_others_are_ended(tmp_path: Path, query: dict[str, str], left: list[bool]) -> None:
    async def scenario(rest: Rest) -> list[bool]:
        three = await logins(rest, 3)
        assert (await rest.call(three[1], "DELETE", "/sessions", **query)).status_code == 200
        return await good(rest, *three)

    assert support.run(tmp_path, scenario) == left


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("ending", ["link", "change", "end", "delete"])
def test_whatever_ends_the_sessions_of_somebody_ends_the_access_tokens(tmp_path: Path, ending: str, warm: bool) -> None:
    async def scenario(rest: Rest) -> list[bool]:
        _, admin = await rest.operator("ace")
        driver = await rest.person(admin, Authority.DRIVER, "lee")
        if warm:
            await good(rest, driver)
        match ending:
            case "link":
                token = await rest.store.write(
                    lambda tx: links.make(tx, user_id=driver.user_id, hours=1, now_ms=rest.now_ms)
                )
                await rest.post(None, "/api/noauth/setPassword", {"token": token, "password": PASSWORD})
            case "change":
                await rest.call(admin, "PUT", f"/driver/{driver.user_id}", {"password": PASSWORD})
            case "end":
                await rest.delete(driver, "/sessions")
            case "delete":
                await rest.delete(admin, f"/driver/{driver.user_id}")
        return await good(rest, driver, admin)

    assert support.run(tmp_path, scenario) == [False, True]


def test_change_of_a_person_without_a_password_ends_nothing(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> list[bool]:
        _, admin = await rest.operator("ace")
        driver = await rest.person(admin, Authority.DRIVER, "lee")
        await rest.call(admin, "PUT", f"/driver/{driver.user_id}", {"name": "Lee"})
        return await good(rest, driver)

    assert support.run(tmp_path, scenario) == [True]


def test_granted_account_goes_on_in_the_session_in_which_it_registers_its_company(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> list[bool]:
        first, second = await logins(rest, 2)
        await rest.post(second, "/company", support.company_body("ace", EMAIL))
        return await good(rest, first, second)

    assert support.run(tmp_path, scenario) == [False, True]


def test_two_servers_refuse_at_once_what_one_of_them_ended(tmp_path: Path) -> None:
    async def scenario(servers: list[Rest]) -> tuple[Any, ...]:
        here, there = servers
        login, other = await logins(here, 2)
        before = await good(there, login, other)
        await here.post(login, "/api/auth/logout")
        return before, await good(there, login, other)

    assert support.run_two(tmp_path, scenario) == ([True, True], [False, True])

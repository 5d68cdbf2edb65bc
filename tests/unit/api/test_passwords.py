"""Changing, forgetting and setting passwords."""

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select, update
from tests.support import rest as support
from tests.support.rest import Login, Rest, changed

from tripline import config, observe
from tripline.domain.access import Authority
from tripline.domain.ids import UserId
from tripline.services.accounts import links, registry
from tripline.services.accounts.limits import RESETS_PER_HOUR, Limits
from tripline.store.tables import account, account_link, account_session, mail_outbox

EMAIL = "kim@fleet.example"
OLD, NEW = "old pass phrase", "new pass phrase"


async def make(rest: Rest) -> Login:
    hashed = rest.passwords.hash_now(OLD)
    user_id = await rest.store.write(
        lambda tx: registry.create_alone(
            tx, Authority.COMPANY_ADMIN, email=EMAIL, password_hash=hashed, ids=rest.ids, now_ms=1
        )
    )
    return await rest.login(user_id, EMAIL, Authority.COMPANY_ADMIN, None)


async def link(rest: Rest, user_id: UserId) -> str:
    return await rest.store.write(lambda tx: links.make(tx, user_id=user_id, hours=24, now_ms=rest.now_ms))


async def opens(rest: Rest, password: str) -> bool:
    answer = await rest.call(None, "POST", "/api/auth/login", {"username": EMAIL, "password": password})
    return answer.status_code == 200


async def code(rest: Rest, login: Login | None, path: str, body: Any) -> tuple[int, int]:
    status, error, _ = await rest.refused(login, "POST", path, body)
    return status, error


def test_changed_password_works_and_ends_every_session(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> tuple[Any, ...]:
        login = await make(rest)
        pair = await rest.post(None, "/api/auth/login", {"username": EMAIL, "password": OLD})
        rest.now_ms += 1
        body = {"currentPassword": OLD, "newPassword": NEW}
        answer = await rest.post(login, "/api/auth/changePassword", body)
        refresh = await code(rest, None, "/api/auth/token", {"refreshToken": pair["refreshToken"]})
        own = await code(rest, login, "/api/auth/changePassword", body)
        me = await rest.get(await rest.login(login.user_id, EMAIL, login.authority, None), "/api/auth/user")
        changed_ms = me["passwordUpdatedTime"] - support.NOW_MS
        return answer, refresh, own, changed_ms, await opens(rest, OLD), await opens(rest, NEW)

    assert support.run(tmp_path, scenario) == ({}, (401, 10), (401, 10), 1, False, True)


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
def test_change_that_cannot_be_made_says_why_and_changes_nothing(
    tmp_path: Path, body: dict[str, Any], message: str | None
) -> None:
    async def scenario(rest: Rest) -> tuple[Any, ...]:
        login = await make(rest)
        status, error, text = await rest.refused(login, "POST", "/api/auth/changePassword", body)
        return status, error, message is None or text == message, await opens(rest, OLD)

    assert support.run(tmp_path, scenario) == (400, 31, True, True)


def test_change_without_a_token_is_refused(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> tuple[int, int]:
        return await code(rest, None, "/api/auth/changePassword", {"currentPassword": OLD, "newPassword": NEW})

    assert support.run(tmp_path, scenario) == (401, 10)


def test_wrong_current_passwords_make_the_account_wait(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> list[tuple[int, int]]:
        login = await make(rest)
        body = {"currentPassword": "wrong", "newPassword": NEW}
        return [await code(rest, login, "/api/auth/changePassword", body) for _ in range(6)]

    assert support.run(tmp_path, scenario) == [(400, 31)] * 5 + [(429, 2)]


def test_two_changes_at_once_have_one_winner(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> tuple[Any, ...]:
        login = await make(rest)
        bodies = [{"currentPassword": OLD, "newPassword": f"new pass phrase {n}"} for n in range(4)]
        answers = await asyncio.gather(*(rest.call(login, "POST", "/api/auth/changePassword", b) for b in bodies))
        codes = [answer.status_code for answer in answers]
        by_code = sorted(zip(codes, (body["newPassword"] for body in bodies), strict=True))
        # The one that was taken first: a third wrong password would have to wait.
        opened = [await opens(rest, password) for _, password in by_code[:2]]
        return [code for code, _ in by_code], opened

    assert support.run(tmp_path, scenario) == ([200, 400, 400, 400], [True, False])


async def outbox(rest: Rest) -> list[tuple[str, str]]:
    rows = await rest.store.read(
        lambda tx: tx.all(select(mail_outbox.c.kind, mail_outbox.c.recipient).order_by(mail_outbox.c.no))
    )
    return [tuple(row) for row in rows]


def test_reset_of_a_known_and_an_unknown_address_does_the_same(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> tuple[Any, ...]:
        await make(rest)
        emails = [EMAIL, "nobody@fleet.example"]
        answers = [await rest.post(None, "/api/noauth/resetPasswordByEmail", {"email": email}) for email in emails]
        return answers, await outbox(rest), rest.signals.told

    assert support.run(tmp_path, scenario) == (
        [{}, {}],
        [("password.reset", EMAIL), ("password.reset", "nobody@fleet.example")],
        [(observe.SIGNAL_MAIL_DUE, "")] * 2,
    )


def test_resets_of_one_account_stop_in_silence(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> tuple[Any, ...]:
        answers = [
            await rest.post(None, "/api/noauth/resetPasswordByEmail", {"email": email})
            for email in (EMAIL, EMAIL.upper(), f" {EMAIL}"[1:], EMAIL)
        ]
        before = len(await outbox(rest))
        rest.now_ms += 3_600_000
        await rest.post(None, "/api/noauth/resetPasswordByEmail", {"email": EMAIL})
        return answers, before, len(await outbox(rest))

    assert support.run(tmp_path, scenario) == ([{}] * 4, RESETS_PER_HOUR, RESETS_PER_HOUR + 1)


@pytest.mark.parametrize("body", [{}, {"email": ""}, {"email": "no address"}, {"email": 7}])
def test_reset_without_an_address_is_refused(tmp_path: Path, body: dict[str, Any]) -> None:
    async def scenario(rest: Rest) -> tuple[int, int]:
        return await code(rest, None, "/api/noauth/resetPasswordByEmail", body)

    assert support.run(tmp_path, scenario) == (400, 31)


def test_forms_of_one_address_are_limited_together(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> list[tuple[int, str]]:
        limits = Limits(accounts=config.Accounts(applications_per_hour=2), rest=config.Rest())
        app = support.application(changed(rest.contexts, limits=limits))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://x") as http:  # type: ignore[arg-type]
            seen = []
            for n in range(3):
                answer = await http.post("/api/noauth/resetPasswordByEmail", json={"email": f"k{n}@x.example"})
                seen.append((answer.json().get("errorCode", 0), answer.headers.get("retry-after", "")))
            return seen

    assert support.run(tmp_path, scenario) == [(0, ""), (0, ""), (2, "1800")]


def test_link_sets_the_password_once_and_ends_every_session(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> tuple[Any, ...]:
        login = await make(rest)
        await opens(rest, OLD)
        token = await link(rest, login.user_id)
        rows = await rest.store.read(lambda tx: tx.all(select(account_link.c.token_hash)))
        answer = await rest.post(None, "/api/noauth/setPassword", {"token": token, "password": NEW})
        again = await code(rest, None, "/api/noauth/setPassword", {"token": token, "password": NEW + "2"})
        sessions = await rest.store.read(lambda tx: tx.all(select(account_session.c.id)))
        kept = [row.token_hash for row in rows] == [hashlib.sha256(token.encode()).hexdigest()]
        return kept, answer, again, sessions, await opens(rest, NEW)

    assert support.run(tmp_path, scenario) == (True, {}, (400, 31), [], True)


@pytest.mark.parametrize(("later_ms", "good"), [(24 * 3_600_000 - 1, True), (24 * 3_600_000, False)])
def test_link_is_good_for_its_hours(tmp_path: Path, later_ms: int, good: bool) -> None:
    async def scenario(rest: Rest) -> int:
        token = await link(rest, (await make(rest)).user_id)
        rest.now_ms += later_ms
        body = {"token": token, "password": NEW}
        return (await rest.call(None, "POST", "/api/noauth/setPassword", body)).status_code

    assert support.run(tmp_path, scenario) == (200 if good else 400)


def test_newer_link_replaces_the_older(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> list[int]:
        login = await make(rest)
        tokens = [await link(rest, login.user_id) for _ in range(2)]
        bodies = [{"token": token, "password": NEW} for token in tokens]
        return [(await rest.call(None, "POST", "/api/noauth/setPassword", body)).status_code for body in bodies]

    assert support.run(tmp_path, scenario) == [400, 200]


def test_link_of_a_disabled_account_is_refused(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> tuple[int, int]:
        user_id = (await make(rest)).user_id
        token = await link(rest, user_id)
        await rest.store.write(lambda tx: tx.run(update(account).where(account.c.id == user_id).values(enabled=False)))
        return await code(rest, None, "/api/noauth/setPassword", {"token": token, "password": NEW})

    assert support.run(tmp_path, scenario) == (400, 31)


def test_short_password_does_not_use_the_link_up(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> tuple[Any, ...]:
        token = await link(rest, (await make(rest)).user_id)
        short = await code(rest, None, "/api/noauth/setPassword", {"token": token, "password": "1234567"})
        return short, await rest.post(None, "/api/noauth/setPassword", {"token": token, "password": "12345678"})

    assert support.run(tmp_path, scenario) == ((400, 31), {})


def test_link_used_twice_at_once_sets_one_password(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> tuple[Any, ...]:
        token = await link(rest, (await make(rest)).user_id)
        bodies = [{"token": token, "password": f"new pass phrase {n}"} for n in range(4)]
        answers = await asyncio.gather(*(rest.call(None, "POST", "/api/noauth/setPassword", b) for b in bodies))
        opened = [await opens(rest, body["password"]) for body in bodies]
        return sorted(answer.status_code for answer in answers), opened == [a.status_code == 200 for a in answers]

    assert support.run(tmp_path, scenario) == ([200, 400, 400, 400], True)


def test_owner_who_set_a_password_does_not_wait_for_earlier_failures(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> tuple[bool, bool]:
        login = await make(rest)
        for _ in range(5):
            await opens(rest, "wrong")
        waiting = await opens(rest, OLD)
        token = await link(rest, login.user_id)
        await rest.post(None, "/api/noauth/setPassword", {"token": token, "password": NEW})
        return waiting, await opens(rest, NEW)

    assert support.run(tmp_path, scenario) == (False, True)

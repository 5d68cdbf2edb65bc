"""Pages of platform administrators: applications to review, accounts of every kind."""

import re
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from msgspec.structs import replace
from sqlalchemy import select
from tests.support import rest as support
from tests.support.portal import HTMX, Browser, Page
from tests.support.rest import Login, Rest

from tripline.config import Config
from tripline.config_files import Origin
from tripline.domain.access import Authority
from tripline.services import settings
from tripline.store.tables import account, mail_outbox, service_application

FORM = dict.fromkeys(("serviceName", "companyName", "contactName", "mobile", "introduction"), "Night taxis")


async def root(rest: Rest) -> Login:
    return await rest.account("root@x.example", Authority.SYS_ADMIN)


async def applied(rest: Rest, email: str = "kim@x.example") -> str:
    assert (await Browser(rest).post("/apply", {**FORM, "email": email})).status_code == 303
    statement = select(service_application.c.id).where(service_application.c.email == email)
    (row,) = await rest.store.read(lambda tx: tx.all(statement))
    return str(row.id)


async def states(rest: Rest) -> list[tuple[str, str | None]]:
    statement = select(service_application.c.state, service_application.c.reason)
    return [(row.state, row.reason) for row in await rest.store.read(lambda tx: tx.all(statement))]


async def mails(rest: Rest) -> list[str]:
    return [row.kind for row in await rest.store.read(lambda tx: tx.all(select(mail_outbox.c.kind)))]


def test_application_is_approved_once(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> tuple[Any, ...]:
        browser = Browser(rest, await root(rest))
        wanted = await applied(rest)
        waiting = "Night taxis" in (await browser.get("/admin/applications")).text
        answers = [await browser.post(f"/admin/applications/{wanted}/approve") for _ in range(2)]
        left = "Night taxis" in Page((await browser.get("/admin/applications")).text).text
        return waiting, [each.status_code for each in answers], left, await states(rest), await mails(rest)

    approved = (True, [303, 400], False, [("APPROVED", None)], ["application.approved"])
    assert support.run(tmp_path, scenario) == approved


@pytest.mark.parametrize("reason", ["", " \r\n", "x" * 4_097])
def test_rejection_needs_a_reason_and_keeps_what_was_typed(tmp_path: Path, reason: str) -> None:
    async def scenario(rest: Rest) -> tuple[Any, ...]:
        browser = Browser(rest, await root(rest))
        wanted = await applied(rest)
        refused = await browser.post(f"/admin/applications/{wanted}/reject", {"reason": reason})
        kept = reason.strip() in Page(refused.text).text
        done = await browser.post(f"/admin/applications/{wanted}/reject", {"reason": "No\r\nvehicles."})
        return refused.status_code, kept, done.status_code, await states(rest), await mails(rest)

    rejected = (400, True, 303, [("REJECTED", "No\nvehicles.")], ["application.rejected"])
    assert support.run(tmp_path, scenario) == rejected


def test_account_is_disabled_and_enabled_and_never_the_own(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> tuple[Any, ...]:
        admin = await root(rest)
        browser = Browser(rest, admin)
        kim = await rest.account("kim@x.example", Authority.DRIVER)

        async def status() -> int:
            return (await rest.call(kim, "GET", "/api/auth/user")).status_code

        seen = [await status()]
        for word in ("disable", "enable"):
            assert (await browser.post(f"/admin/accounts/{kim.user_id}/{word}")).status_code == 303
            seen.append(await status())
        own = await browser.post(f"/admin/accounts/{admin.user_id}/disable")
        page = Page((await browser.get(f"/admin/accounts/{admin.user_id}")).text)
        rows = await rest.store.read(lambda tx: tx.all(select(account.c.enabled)))
        buttons = [each for each in page.all("form") if "disable" in (each.get("action") or "")]
        return seen, own.status_code, buttons, {row.enabled for row in rows}

    assert support.run(tmp_path, scenario) == ([200, 401, 401], 400, [], {True})


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", {"root", "kim", "lee"}),
        ("q=KI", {"kim"}),
        ("role=DRIVER", {"kim", "lee"}),
        ("role=DRIVER&q=l", {"lee"}),
        ("state=disabled", set()),
        ("state=enabled&role=SYS_ADMIN", {"root"}),
    ],
)
def test_accounts_are_found_by_beginning_role_and_state(tmp_path: Path, query: str, found: set[str]) -> None:
    async def scenario(rest: Rest) -> set[str]:
        browser = Browser(rest, await root(rest))
        for name in ("kim", "lee"):
            await rest.account(f"{name}@x.example", Authority.DRIVER)
        text = Page((await browser.get(f"/admin/accounts?{query}")).text)
        links = [each for each in text.hrefs if each.startswith("/admin/accounts/")]
        rows = await rest.store.read(lambda tx: tx.all(select(account.c.id, account.c.email)))
        names = {f"/admin/accounts/{row.id}": row.email.partition("@")[0] for row in rows}
        return {names[each] for each in links}

    assert support.run(tmp_path, scenario) == found


@pytest.mark.parametrize("path", ["/admin/applications", "/admin/accounts"])
@pytest.mark.parametrize("role", [Authority.COMPANY_ADMIN, Authority.DIRECTOR, Authority.DRIVER, Authority.CARRIER])
def test_page_of_the_platform_is_closed_to_every_other_role(tmp_path: Path, path: str, role: Authority) -> None:
    async def scenario(rest: Rest) -> int:
        return (await Browser(rest, await rest.account("kim@x.example", role)).get(path)).status_code

    assert support.run(tmp_path, scenario) == 403


SETTINGS = {"mail.password": "hush", "store.url": "postgresql://kim:hush@db.example/fleet"}


async def shows_settings(rest: Rest) -> Browser:
    config = msgspec.convert({"mail": {"password": "hush"}, "store": {"url": SETTINGS["store.url"]}}, Config)
    origins = {"mail.password": Origin.FILE, "store.url": Origin.VARIABLE}
    rest.rim = replace(rest.rim, settings=partial(settings.in_force, config, origins))
    return Browser(rest, await root(rest))


@pytest.mark.parametrize(
    ("language", "told"),
    [("en", ("Set, not shown", "Settings file", "Environment")), ("ko", ("표시 안 함", "설정 파일", "환경 변수"))],
)
def test_settings_in_force_are_shown_without_their_secrets(
    tmp_path: Path, language: str, told: tuple[str, ...]
) -> None:
    async def scenario(rest: Rest) -> str:
        browser = await shows_settings(rest)
        return (await browser.get("/admin/settings", **{"Accept-Language": language})).text

    text = support.run(tmp_path, scenario)

    assert "hush" not in text
    assert "postgresql://…@db.example/fleet" in text
    assert [each for each in told if each not in text] == []


@pytest.mark.parametrize(
    ("search", "found"),
    [("MAIL.PASS", ["mail.password"]), ("db.example", ["store.url"]), ("least severity", ["log.level"]), ("zz", [])],
)
def test_settings_are_found_by_name_value_and_meaning(tmp_path: Path, search: str, found: list[str]) -> None:
    async def scenario(rest: Rest) -> tuple[str, str]:
        browser = await shows_settings(rest)
        path = f"/admin/settings?{urlencode({'q': search})}"
        return (await browser.get(path)).text, (await browser.get(path, **HTMX, **{"HX-Target": "list"})).text

    whole, part = support.run(tmp_path, scenario)

    for text in (whole, part):
        assert re.findall("<code>([a-z._]+)</code>", text) == found
    assert "<h1>" not in part

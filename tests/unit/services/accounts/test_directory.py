"""Every account of the installation: pages by address, and what disabling ends."""

from typing import Any

import pytest
from tests.support.refused import refused
from tests.support.rest import Rest

from tripline.domain.access import Authority
from tripline.domain.refusals import NotFound
from tripline.services.accounts import directory, links
from tripline.services.accounts.links import LinkUnusable
from tripline.store.accounts import directory as rows
from tripline.store.accounts.directory import Which
from tripline.store.accounts.links import Purpose


async def people(rest: Rest) -> None:
    """A platform administrator, a company with its administrator, and three drivers of it."""
    await rest.account("root@x.example", Authority.SYS_ADMIN)
    _, admin = await rest.operator("ace")
    for name in ("a1", "a2", "b1"):
        await rest.person(admin, Authority.DRIVER, name)


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        ({}, ["a1", "a2", "admin", "b1", "root"]),
        ({"beginning": "A"}, ["a1", "a2", "admin"]),
        ({"beginning": "a2@"}, ["a2"]),
        ({"beginning": "c"}, []),
        ({"authority": Authority.DRIVER}, ["a1", "a2", "b1"]),
        ({"authority": Authority.DRIVER, "beginning": "b"}, ["b1"]),
        ({"enabled": False}, ["a2"]),
        ({"enabled": True, "authority": Authority.DRIVER}, ["a1", "b1"]),
    ],
)
async def test_accounts_are_found_by_role_state_and_beginning(app, which, expected):
    await people(app)
    asked = Which(**which)

    def work(tx: Any) -> list[str]:
        found = rows.page(tx, asked, after=None, limit=99)
        return [entry.email.partition("@")[0] for entry in found]

    off = await app.store.read(lambda tx: rows.find_by_email(tx, "a2@people.example"))
    assert off is not None
    await app.store.write(lambda tx: directory.disable(tx, user_id=off.id, now_ms=app.now_ms))

    assert await app.store.read(work) == expected


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6])
async def test_pages_begin_behind_the_last_address(app, limit):
    await people(app)
    found: list[str] = []
    after = None
    while page := await app.store.read(
        lambda tx, after=after: rows.page(tx, Which(), after=after, limit=limit)  # type: ignore[misc]
    ):
        found += [entry.email.partition("@")[0] for entry in page]
        after = page[-1].login

    assert found == ["a1", "a2", "admin", "b1", "root"]


async def test_entry_names_the_company(app):
    await people(app)
    found = await app.store.read(lambda tx: rows.page(tx, Which(), after=None, limit=99))
    seen = [(entry.authority.value, entry.company_name) for entry in found if entry.email[:2] in ("a1", "ro")]

    assert seen == [("DRIVER", "Company"), ("SYS_ADMIN", None)]


async def test_disabling_ends_sessions_and_links_and_enabling_brings_none_back(app):
    login = await app.account("kim@x.example", Authority.COMPANY_ADMIN)

    def make(tx: Any) -> tuple[str, str]:
        user_id, now_ms = login.user_id, app.now_ms
        return links.make(tx, user_id=user_id, hours=1, now_ms=now_ms), links.make(
            tx, user_id=user_id, hours=links.SIGN_IN_HOURS, now_ms=now_ms, purpose=Purpose.SIGN_IN
        )

    password, sign_in = await app.store.write(make)
    seen = [(await app.call(login, "GET", "/api/auth/user")).status_code]
    await app.store.write(lambda tx: directory.disable(tx, user_id=login.user_id, now_ms=app.now_ms))
    seen.append((await app.call(login, "GET", "/api/auth/user")).status_code)
    await app.store.write(lambda tx: directory.enable(tx, user_id=login.user_id))
    seen.append((await app.call(login, "GET", "/api/auth/user")).status_code)
    for look in (
        lambda tx: links.holder(tx, token=password, now_ms=app.now_ms),
        lambda tx: links.holder(tx, token=sign_in, now_ms=app.now_ms, purpose=Purpose.SIGN_IN),
    ):
        with refused(LinkUnusable, match="ask for a new one"):
            await app.store.read(look)

    assert seen == [200, 401, 401]


async def test_installation_without_an_account_is_told_from_one_with_a_disabled_one(app):
    seen = [await app.store.read(rows.any_made)]
    login = await app.account("kim@x.example", Authority.COMPANY_ADMIN)
    await app.store.write(lambda tx: directory.disable(tx, user_id=login.user_id, now_ms=1))

    assert [*seen, await app.store.read(rows.any_made)] == [False, True]


async def test_link_to_sign_in_is_below_the_address_of_the_server(app):
    login = await app.account("kim@x.example", Authority.COMPANY_ADMIN)
    link = await app.store.write(
        lambda tx: directory.sign_in_link(tx, email="KIM@x.example", base="https://fleet.example/", now_ms=app.now_ms)
    )
    token = link.partition("?token=")[2]
    holder = await app.store.read(lambda tx: links.holder(tx, token=token, now_ms=app.now_ms, purpose=Purpose.SIGN_IN))
    assert holder == login.user_id

    assert (link.removesuffix(token), str(len(token))) == ("https://fleet.example/sign-in/link?token=", "43")


@pytest.mark.parametrize("made", [False, True])
async def test_no_link_lets_in_who_is_not_there_or_disabled(app, made):
    if made:
        login = await app.account("kim@x.example", Authority.COMPANY_ADMIN)
        await app.store.write(lambda tx: directory.disable(tx, user_id=login.user_id, now_ms=1))
    with refused(NotFound, match="There is no"):
        await app.store.write(lambda tx: directory.sign_in_link(tx, email="kim@x.example", base="http://x", now_ms=1))

"""Every account of the installation: pages by address, and what disabling ends."""

from pathlib import Path
from typing import Any

import pytest
from tests.support import rest as support
from tests.support.refused import refused
from tests.support.rest import Rest

from tripline.domain.access import Authority
from tripline.domain.refusals import NotFound
from tripline.services.accounts import directory, links
from tripline.services.accounts.links import LinkUnusable
from tripline.store.accounts import directory as rows
from tripline.store.accounts.directory import Which


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
def test_accounts_are_found_by_role_state_and_beginning(
    tmp_path: Path, which: dict[str, Any], expected: list[str]
) -> None:
    async def scenario(rest: Rest) -> list[str]:
        await people(rest)
        asked = Which(**which)

        def work(tx: Any) -> list[str]:
            found = rows.page(tx, asked, after=None, limit=99)
            return [entry.email.partition("@")[0] for entry in found]

        off = await rest.store.read(lambda tx: rows.find_by_email(tx, "a2@people.example"))
        assert off is not None
        await rest.store.write(lambda tx: directory.disable(tx, user_id=off.id, now_ms=rest.now_ms))
        return await rest.store.read(work)

    assert support.run(tmp_path, scenario) == expected


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6])
def test_pages_begin_behind_the_last_address(tmp_path: Path, limit: int) -> None:
    async def scenario(rest: Rest) -> list[str]:
        await people(rest)
        found: list[str] = []
        after = None
        while page := await rest.store.read(
            lambda tx, after=after: rows.page(tx, Which(), after=after, limit=limit)  # type: ignore[misc]
        ):
            found += [entry.email.partition("@")[0] for entry in page]
            after = page[-1].login
        return found

    assert support.run(tmp_path, scenario) == ["a1", "a2", "admin", "b1", "root"]


def test_entry_names_the_company(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> list[tuple[str, str | None]]:
        await people(rest)
        found = await rest.store.read(lambda tx: rows.page(tx, Which(), after=None, limit=99))
        return [(entry.authority.value, entry.company_name) for entry in found if entry.email[:2] in ("a1", "ro")]

    assert support.run(tmp_path, scenario) == [("DRIVER", "Company"), ("SYS_ADMIN", None)]


def test_disabling_ends_sessions_and_links_and_enabling_brings_none_back(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> list[int]:
        login = await rest.account("kim@x.example", Authority.COMPANY_ADMIN)

        def make(tx: Any) -> tuple[str, str]:
            user_id, now_ms = login.user_id, rest.now_ms
            return links.make(tx, user_id=user_id, hours=1, now_ms=now_ms), links.make_sign_in(
                tx, user_id=user_id, now_ms=now_ms
            )

        password, sign_in = await rest.store.write(make)
        seen = [(await rest.call(login, "GET", "/api/auth/user")).status_code]
        await rest.store.write(lambda tx: directory.disable(tx, user_id=login.user_id, now_ms=rest.now_ms))
        seen.append((await rest.call(login, "GET", "/api/auth/user")).status_code)
        await rest.store.write(lambda tx: directory.enable(tx, user_id=login.user_id))
        seen.append((await rest.call(login, "GET", "/api/auth/user")).status_code)
        for look in (
            lambda tx: links.holder(tx, token=password, now_ms=rest.now_ms),
            lambda tx: links.sign_in_holder(tx, token=sign_in, now_ms=rest.now_ms),
        ):
            with refused(LinkUnusable, match="ask for a new one"):
                await rest.store.read(look)
        return seen

    assert support.run(tmp_path, scenario) == [200, 401, 401]


def test_installation_without_an_account_is_told_from_one_with_a_disabled_one(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> list[bool]:
        seen = [await rest.store.read(rows.any_made)]
        login = await rest.account("kim@x.example", Authority.COMPANY_ADMIN)
        await rest.store.write(lambda tx: directory.disable(tx, user_id=login.user_id, now_ms=1))
        return [*seen, await rest.store.read(rows.any_made)]

    assert support.run(tmp_path, scenario) == [False, True]


def test_link_to_sign_in_is_below_the_address_of_the_server(tmp_path: Path) -> None:
    async def scenario(rest: Rest) -> tuple[str, str]:
        login = await rest.account("kim@x.example", Authority.COMPANY_ADMIN)
        link = await rest.store.write(
            lambda tx: directory.sign_in_link(
                tx, email="KIM@x.example", base="https://fleet.example/", now_ms=rest.now_ms
            )
        )
        token = link.partition("?token=")[2]
        holder = await rest.store.read(lambda tx: links.sign_in_holder(tx, token=token, now_ms=rest.now_ms))
        assert holder == login.user_id
        return link.removesuffix(token), str(len(token))

    assert support.run(tmp_path, scenario) == ("https://fleet.example/sign-in/link?token=", "43")


@pytest.mark.parametrize("made", [False, True])
def test_no_link_lets_in_who_is_not_there_or_disabled(tmp_path: Path, made: bool) -> None:
    async def scenario(rest: Rest) -> None:
        if made:
            login = await rest.account("kim@x.example", Authority.COMPANY_ADMIN)
            await rest.store.write(lambda tx: directory.disable(tx, user_id=login.user_id, now_ms=1))
        with refused(NotFound, match="There is no"):
            await rest.store.write(
                lambda tx: directory.sign_in_link(tx, email="kim@x.example", base="http://x", now_ms=1)
            )

    support.run(tmp_path, scenario)

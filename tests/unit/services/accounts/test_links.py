"""One-time links: for how long, for what, and how often they are good."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support import rest as support
from tests.support.refused import refused
from tests.support.rest import Login, Rest

from tripline import config
from tripline.domain.access import Authority
from tripline.services.accounts import links
from tripline.services.accounts.links import LinkUnusable
from tripline.services.accounts.sessions import Client, Cookie
from tripline.store.accounts.links import Purpose
from tripline.store.transactions import WriteTx

EMAIL = "kim@x.example"


async def linked(rest: Rest) -> tuple[Login, str]:
    login = await rest.account(EMAIL, Authority.COMPANY_ADMIN)
    made_ms = rest.now_ms
    return login, await rest.store.write(
        lambda tx: links.make(
            tx, user_id=login.user_id, hours=links.SIGN_IN_HOURS, now_ms=made_ms, purpose=Purpose.SIGN_IN
        )
    )


def spending(rest: Rest, token: str) -> Callable[[WriteTx], Cookie]:
    now_ms = rest.now_ms
    client, settings = Client(None, None), config.Sessions()
    return lambda tx: links.sign_in(tx, token=token, client=client, settings=settings, before=None, now_ms=now_ms)


@pytest.mark.parametrize(("later_ms", "good"), [(899_999, True), (900_000, False), (900_001, False)])
def test_link_to_sign_in_is_good_for_a_quarter_of_an_hour(tmp_path: Path, later_ms: int, good: bool) -> None:
    async def scenario(rest: Rest) -> bool:
        _, token = await linked(rest)
        rest.now_ms += later_ms
        try:
            await rest.store.write(spending(rest, token))
        except LinkUnusable:
            return False
        return True

    assert support.run(tmp_path, scenario) is good


async def test_link_signs_in_once_and_ends_nothing_else(app: Rest) -> None:
    login, token = await linked(app)
    cookie = await app.store.write(spending(app, token))
    with refused(LinkUnusable, match="ask for a new one"):
        await app.store.write(spending(app, token))
    by_cookie = await app.http.get("/api/auth/user", headers={"Cookie": f"tripline={cookie.text}"})

    assert [by_cookie.status_code, (await app.call(login, "GET", "/api/auth/user")).status_code] == [200, 200]


async def test_newer_link_ends_the_earlier_one_of_its_sort_alone(app: Rest) -> None:
    login, first = await linked(app)
    now_ms = app.now_ms
    password = await app.store.write(lambda tx: links.make(tx, user_id=login.user_id, hours=1, now_ms=now_ms))
    second = await app.store.write(
        lambda tx: links.make(
            tx, user_id=login.user_id, hours=links.SIGN_IN_HOURS, now_ms=now_ms, purpose=Purpose.SIGN_IN
        )
    )
    with refused(LinkUnusable, match="ask for a new one"):
        await app.store.write(spending(app, first))
    await app.store.write(spending(app, second))
    assert await app.store.read(lambda tx: links.holder(tx, token=password, now_ms=now_ms)) == login.user_id


async def test_link_of_one_sort_is_good_for_nothing_else(app: Rest) -> None:
    login, sign_in = await linked(app)
    now_ms = app.now_ms
    password = await app.store.write(lambda tx: links.make(tx, user_id=login.user_id, hours=1, now_ms=now_ms))
    with refused(LinkUnusable, match="ask for a new one"):
        await app.store.read(lambda tx: links.holder(tx, token=sign_in, now_ms=now_ms))
    with refused(LinkUnusable, match="ask for a new one"):
        await app.store.write(spending(app, password))


async def test_new_password_ends_links_of_both_sorts(app: Rest) -> None:
    login, token = await linked(app)
    now_ms = app.now_ms
    await app.store.write(lambda tx: links.set_password(tx, user_id=login.user_id, password_hash="h", now_ms=now_ms))
    with refused(LinkUnusable, match="ask for a new one"):
        await app.store.write(spending(app, token))

"""Requests of REST and portal take places of their account, or of a visitor's address, for reads and for changes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.support import accounts
from tests.support.portal import Browser
from tests.support.rest import Login, Rest

from tripline.domain.access import Authority
from tripline.domain.ids import UserId
from tripline.http import turns
from tripline.store.transactions import ReadTooLong

LIST = "/companies?limit=100"
ADDRESS = "127.0.0.1"
NOBODY = "11111111-1111-1111-8111-111111111111"
FORM = {"email": "kim@x.example", "password": "a long pass phrase"}


@pytest.fixture
def holders(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """For whom places were taken."""
    taken: list[str] = []
    place = turns.Turns.place

    @contextlib.asynccontextmanager
    async def noted(of: turns.Turns, name: str) -> AsyncIterator[None]:
        taken.append(name)
        async with place(of, name):
            yield

    monkeypatch.setattr(turns.Turns, "place", noted)
    return taken


async def admin(rest: Rest) -> Login:
    """Somebody with a password."""
    user_id = await accounts.with_password(rest, FORM["email"], FORM["password"], Authority.SYS_ADMIN)
    return await rest.login(user_id, FORM["email"], Authority.SYS_ADMIN, None)


async def test_reads_and_changes_of_rest_and_portal_count_for_the_account(app, holders):
    login = await admin(app)
    browser = Browser(app)
    assert (await browser.post("/sign-in", FORM)).status_code == 303
    await browser.get("/account")
    holders.clear()
    assert (await app.call(login, "GET", LIST)).status_code == 200
    assert (await browser.get("/admin/health")).status_code == 200
    assert (await app.call(login, "DELETE", f"/session/{NOBODY}")).status_code == 404

    assert set(holders) == {login.user_id}
    assert len(holders) >= 3


async def test_visitors_count_by_their_address_whatever_credential_they_make_up(app, holders):
    made_up = Login(UserId(NOBODY), Authority.DRIVER, None, "made.up.token")
    await app.call(made_up, "GET", LIST)
    browser = Browser(app)
    browser.http.cookies.set("tripline", f"{NOBODY}.{'x' * 43}")
    await browser.get("/admin/health")
    await browser.post("/password", {"email": "nobody@x.example"})

    assert set(holders) == {ADDRESS}


@pytest.mark.parametrize(("waiting", "status"), [(1, 200), (2, 429)], ids=["at the bound", "above it"])
async def test_read_beyond_the_bound_of_an_account_is_told_to_come_again(app, monkeypatch, waiting, status):
    monkeypatch.setattr(turns, "WAITING_OF_HOLDER", 1)

    login, other = await admin(app), await app.account("b@x.example", Authority.SYS_ADMIN)
    reads = app.contexts.context.store._reads
    async with asyncio.TaskGroup() as tasks, contextlib.AsyncExitStack() as held:
        for _ in range(reads._of_holder):
            await held.enter_async_context(reads.place(login.user_id))
        asked = [tasks.create_task(app.call(login, "GET", LIST)) for _ in range(waiting)]
        done = asked[1:] if waiting > 1 else ()
        if done:
            await asyncio.wait(done)
        # Nobody else waits.
        assert (await app.call(other, "GET", LIST)).status_code == 200
        assert [each.done() for each in asked] == [False, *(True for _ in done)]
    last = asked[-1].result()
    told = [(last.status_code, last.json().get("errorCode"), last.headers.get("retry-after"))]

    assert told == [(200, None, None) if status == 200 else (429, 2, "1")]


async def test_read_that_takes_too_long_is_refused_in_words(app, monkeypatch):
    login = await admin(app)

    async def too_long(*_: Any, **__: Any) -> None:
        raise ReadTooLong

    monkeypatch.setattr(app.contexts.context.store.database, "read", too_long)
    answer = await app.call(login, "GET", LIST)
    body = answer.json()

    assert (answer.status_code, body["errorCode"], answer.headers["retry-after"]) == (503, 2, "20")
    assert body["message"].startswith("The request took longer than 20 s")

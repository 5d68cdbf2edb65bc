"""Forms of a browser's session: believed with the session's own token alone, and never lost with the session."""

from typing import Any, TypeVar

import httpx
import pytest
from tests.support import access_world
from tests.support.access_world import World
from tests.support.portal import Browser, Page
from tests.support.rest import Login, Rest
from tests.unit.portal import test_every_page as every

from tripline import config
from tripline.domain.access import Gate
from tripline.portal.frame import forms
from tripline.services.accounts import sessions as account_sessions
from tripline.services.accounts.sessions import Client, Cookie
from tripline.store.accounts import sessions

T = TypeVar("T")
CHANGES = [each for each in every.DECLARED if each.method != "GET" and each.access is not Gate.ANYONE]
NEW_VEHICLE = "/fleet/vehicles/new"


async def signed_in(rest: Rest, login: Login) -> Cookie:
    """The cookie of a new session of this account."""
    return await rest.store.write(
        lambda tx: account_sessions.opened(
            tx,
            user_id=login.user_id,
            client=Client("Browser", "192.0.2.1"),
            settings=config.Sessions(),
            before=None,
            now_ms=rest.now_ms,
        )
    )


def browser(rest: Rest, cookie: Cookie) -> Browser:
    """A browser that keeps the cookie."""
    asked = Browser(rest)
    asked.http.cookies.set("tripline", cookie.text)
    return asked


@pytest.fixture
async def world(app: Rest) -> World:
    return await access_world.settled(app)


@pytest.mark.parametrize("token", [None, "", "x", "of another session"])
async def test_no_page_takes_a_change_without_the_token_of_the_session(world: World, token: str | None) -> None:
    mine, other = [await signed_in(world.app, world.of("P")) for _ in range(2)]
    fields = {} if token is None else {forms.CSRF: other.csrf if token == "of another session" else token}
    asked = browser(world.app, mine)
    answers = {each.path: await asked.post(every.addressed(world, each), fields) for each in CHANGES}

    assert {
        path: status
        for path, status in {path: answer.status_code for path, answer in answers.items()}.items()
        if status != 403
    } == {}


async def test_every_form_of_a_page_carries_the_token_of_its_session(world: World) -> None:
    cookie = await signed_in(world.app, world.of("P"))
    asked = browser(world.app, cookie)
    shown = {}
    for each in every.PAGES:
        if each.method == "GET":
            address = every.addressed(world, each)
            shown[address] = Page((await asked.get(address)).text).elements
    token, found = cookie.csrf, {address: _forms(elements) for address, elements in shown.items()}

    assert any(found.values())
    assert {address: each for address, each in found.items() if any(form.get("csrf") != token for form in each)} == {}


def _forms(elements: list[tuple[str, dict[str, str | None]]]) -> list[dict[str, str | None]]:
    """Forms that change something, each with the token in it."""
    found: list[dict[str, str | None]] = []
    is_change = False
    for tag, attributes in elements:
        if tag == "form":
            is_change = (attributes.get("method") or "get").lower() == "post"
            if is_change:
                found.append({"action": attributes.get("action")})
        elif tag == "input" and attributes.get("name") == forms.CSRF and is_change:
            found[-1]["csrf"] = attributes["value"]
    return found


def hidden(answer: httpx.Response) -> dict[str, Any]:
    """The values that a page keeps to be sent again."""
    fields = Page(answer.text).all("input")
    return {str(each["name"]): each["value"] for each in fields if each.get("type") == "hidden"}


async def test_form_that_outlived_its_session_is_sent_after_signing_in_again(world: World) -> None:
    """As nobody it is kept; signed in, it is shown with the new token; sent once more, it is done."""
    typed = {"vehicleNo": "77하7777", "mileage": "12"}

    old = await signed_in(world.app, world.of("P"))
    asked = browser(world.app, old)
    await world.app.store.write(lambda tx: sessions.revoke(tx, old.session_id))
    signed_out = await asked.post(NEW_VEHICLE, {**typed, forms.CSRF: old.csrf})

    new = await signed_in(world.app, world.of("P"))
    asked.http.cookies.set("tripline", new.text)
    stale = await asked.post(NEW_VEHICLE, hidden(signed_out))
    done = await asked.post(NEW_VEHICLE, hidden(stale))
    signed_out, stale, done = [
        (each.status_code, hidden(each) if each is not done else {}) for each in (signed_out, stale, done)
    ]

    assert (signed_out[0], stale[0], done[0]) == (401, 403, 303)
    for _, kept in (signed_out, stale):
        assert typed.items() <= kept.items()

"""Pages for what is refused, missing, too much or broken; and the way to the sign-in and back."""

import uuid
from typing import TypeVar
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
from litestar.response import Response
from tests.support import portal
from tests.support.portal import HTMX, OWN, Browser, Page
from tests.support.rest import Rest, changed

from tripline.domain.access import Action, Authority, Gate
from tripline.http.authentication import ForeignForm
from tripline.http.context import Call
from tripline.portal.frame import forms, views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import visitor_of
from tripline.ports.outages import Outage
from tripline.services.accounts.limits import TooManyRequests

pytestmark = pytest.mark.once("what pages show")

T = TypeVar("T")
TROUBLES = {
    "outage": Outage("disk"),
    "bug": RuntimeError("internal detail"),
    "busy": TooManyRequests(after_s=7),
    "stale": ForeignForm("token"),
}


@page("GET", "/test/vehicles", access=Action.VEHICLE_READ)
async def read(request: Call) -> Response[bytes]:
    """A page for some roles."""
    await visitor_of(request)
    return views.show(request, "offline.html", title="portal.frame.now")


@page("POST", "/test/vehicles", access=Action.VEHICLE_CREATE)
async def change(request: Call) -> Response[bytes]:
    """A change for some roles."""
    await forms.read(request)
    await visitor_of(request)
    raise TROUBLES["stale"]


@page("GET", "/test/trouble/{which}", access=Gate.ANYONE)
async def fail(request: Call) -> Response[bytes]:
    """Goes wrong."""
    raise TROUBLES[request.path_params["which"]]


PAGES = (portal.family(read, change, fail),)
TYPED = {"vehicleNo": "12가 <3456>", "ids": ["1", "2"], "password": "hidden word", "csrf": "old"}


async def visited(app: Rest, role: Authority | None = None) -> Browser:
    login = None if role is None else await app.account("kim@fleet.example", role)
    return Browser(app, login, pages=PAGES)


@pytest.mark.parametrize(
    ("method", "address", "status", "title"),
    [
        ("GET", "/nowhere", 404, "Page not found"),
        ("GET", "/fleet/none/x", 404, "Page not found"),
        ("DELETE", "/offline", 405, "This page cannot do that"),
        ("GET", "/test/trouble/outage", 503, "The service cannot answer now"),
        ("GET", "/test/trouble/bug", 500, "Something went wrong"),
        ("GET", "/test/trouble/busy", 429, "Too many requests"),
    ],
)
async def test_trouble_is_a_page_with_a_way_on(app, method, address, status, title):
    answer = await (await visited(app)).http.request(method, address, headers=OWN)

    assert answer.status_code == status
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == views.POLICY
    page = Page(answer.text)
    assert title in page.text
    assert "/" in page.hrefs
    assert "internal detail" not in answer.text
    if status == 429:
        assert answer.headers["retry-after"] == "7"
    if status == 405:
        assert answer.headers["allow"] == "GET, HEAD, OPTIONS"


@pytest.mark.parametrize(
    ("language", "told"), [("en", "The page /nowhere does not exist."), ("ko", "/nowhere 주소에는 페이지가 없습니다.")]
)
async def test_path_of_no_page_is_named(app, language, told):
    answer = await (await visited(app)).get("/nowhere", **{"Accept-Language": language})

    assert told in Page(answer.text).text


@pytest.mark.parametrize("address", ["/api", "/api/none", "/health/none", "/metrics/none"])
async def test_programs_are_told_in_json(app, address):
    answer = await (await visited(app)).get(address)

    assert (answer.status_code, answer.json()["errorCode"]) == (404, 32)


async def test_role_that_may_not_is_told_so_within_its_own_frame(app):
    answer = await (await visited(app, Authority.SYS_ADMIN)).get("/test/vehicles")

    assert answer.status_code == 403
    assert "You may not do this" in answer.text


@pytest.mark.parametrize(
    ("address", "next_"),
    [
        ("/test/vehicles", "/test/vehicles"),
        ("/test/vehicles?q=12%EA%B0%80&sort=-number", "/test/vehicles?q=12%EA%B0%80&sort=-number"),
    ],
)
async def test_somebody_who_is_not_signed_in_is_led_to_the_sign_in_and_back(app, address, next_):
    answer = await (await visited(app)).get(address)

    assert answer.status_code == 303
    there = urlsplit(answer.headers["location"])
    assert (there.path, dict(parse_qsl(there.query))) == ("/sign-in", {"next": next_})


@pytest.mark.parametrize("script", [{}, HTMX, {**HTMX, "X-Poll": "1"}])
@pytest.mark.parametrize(
    ("language", "told"),
    [("en", "Your session has ended. Sign in again to go on."), ("ko", "계속하려면 다시 로그인해 주십시오.")],
)
async def test_sign_in_says_that_a_session_has_ended(app, script, language, told):
    status = 401 if script else 303
    ended = f"tripline={uuid.UUID(int=1)}.{'x' * 43}"

    browser = await visited(app)
    pages = []
    for cookie in (ended, "other=1"):
        answer = await browser.get("/test/vehicles", Cookie=cookie, **script)
        there = answer.headers.get("hx-redirect" if script else "location")
        cookies = "; ".join([cookie, *(f"{name}={value}" for name, value in answer.cookies.items())])
        browser.http.cookies.clear()
        page = await browser.get(there, Cookie=cookies, **{"Accept-Language": language})
        again = await browser.get(there, Cookie=cookie, **{"Accept-Language": language})
        pages.append((answer.status_code, told in Page(page.text).text, told in Page(again.text).text))

    assert pages == [(status, True, False), (status, False, False)]


async def test_script_of_somebody_who_is_not_signed_in_leads_the_whole_page_there(app):
    there = {**HTMX, "HX-Current-URL": "http://127.0.0.1/fleet/vehicles?q=1"}

    answer = await (await visited(app)).get("/test/vehicles", **there)

    assert answer.status_code == 401
    assert answer.headers["hx-redirect"] == "/sign-in?next=%2Ffleet%2Fvehicles%3Fq%3D1"


async def test_script_gets_a_trouble_in_place_of_the_content(app):
    answer = await (await visited(app)).get("/test/trouble/outage", **HTMX)

    assert (answer.status_code, answer.headers["hx-retarget"]) == (503, "#content")
    assert "<html" not in answer.text


def form_to(answer: httpx.Response, action: str) -> list[tuple[str, dict[str, str | None]]]:
    """The form that is sent there, and every element behind its beginning."""
    elements = Page(answer.text).elements
    begins = next(at for at, (tag, each) in enumerate(elements) if tag == "form" and each["action"] == action)
    ends = next((at for at, (tag, _) in enumerate(elements) if tag == "form" and at > begins), None)
    return elements[begins:ends]


def hidden(elements: list[tuple[str, dict[str, str | None]]]) -> list[tuple[str | None, str | None]]:
    return [(each["name"], each["value"]) for tag, each in elements if tag == "input" and each["type"] == "hidden"]


@pytest.mark.parametrize(
    ("role", "status", "title"),
    [(None, 401, "You are signed out"), (Authority.COMPANY_ADMIN, 403, "You signed in again")],
)
async def test_form_outlives_its_session_with_everything_but_secrets(app, role, status, title):
    answer = await (await visited(app, role)).post("/test/vehicles?x=1", TYPED)

    assert answer.status_code == status
    assert title in answer.text
    (_, form), *inside = form_to(answer, "/test/vehicles?x=1")
    kept = [pair for pair in hidden(inside) if pair[0] != "csrf"]
    assert kept == [("vehicleNo", "12가 <3456>"), ("ids", "1"), ("ids", "2")]
    assert form["method"] == "post"
    assert "hidden word" not in answer.text


async def test_portal_is_not_on_the_analytics_port(app):
    app.contexts = changed(app.contexts, api_port=81)
    browser = Browser(app, pages=PAGES)
    answers = [await browser.get("/offline"), await browser.get("http://127.0.0.1:81/offline")]

    assert [(answer.status_code, answer.headers["content-type"]) for answer in answers] == [
        (404, "application/json;charset=UTF-8"),
        (200, "text/html; charset=utf-8"),
    ]

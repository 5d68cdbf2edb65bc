"""Pages, parts of them, ways on, and what their headers forbid."""

import gc
import json
import re
import weakref
from typing import TypeVar

import pytest
from litestar.response import Response
from tests.support import portal
from tests.support.portal import HTMX, Browser, Page
from tests.support.rest import Rest

from tripline.domain.access import Authority, Gate
from tripline.domain.refusals import BadParameter
from tripline.domain.vehicles import NumberTaken
from tripline.http.context import Call, context_of
from tripline.portal.frame import notices, views
from tripline.portal.frame.environment import FormError
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import guest_in, visitor_of

pytestmark = pytest.mark.once("what pages show")

T = TypeVar("T")
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{ 7*7 }}{% raw %}"


async def _guest(request: Call) -> None:
    await context_of(request).store.read_short(lambda tx: guest_in(tx, request))


@page("GET", "/test/page", access=Gate.ANYONE)
async def open_page(request: Call) -> Response[bytes]:
    """A page with a title and a text from the query."""
    text = request.query_params.get("text", "x")
    await _guest(request)
    return views.show(request, "trouble.html", title=views.Plain(text), message=text, can_repeat=True)


@page("GET", "/test/refused", access=Gate.ANYONE)
async def refused_page(request: Call) -> Response[bytes]:
    """The page of a form that was refused."""
    error = (
        NumberTaken(field="vehicleNo", vehicle_no=HOSTILE)
        if "taken" in request.query_params
        else BadParameter.missing("vehicleNo")
    )
    labels = {"vehicleNo": "portal.mounting.vehicle"}
    await _guest(request)
    return views.show(
        request,
        "trouble.html",
        title="portal.frame.now",
        error=error,
        labels=labels,
        message="",
        can_repeat=False,
    )


@page("POST", "/test/change", access=Gate.ACCOUNT)
async def change(request: Call) -> Response[bytes]:
    """Leads on with a notice."""
    await visitor_of(request)
    return views.moved(request, "/test/page", notice="portal.test.done", n=1)


@page("GET", "/test/file", access=Gate.ANYONE)
async def keep(request: Call) -> Response[bytes]:
    """A file."""
    return views.download(b"a,b", name='차량 "1".csv', media_type="text/csv")


class Shown:
    """Something that a page shows."""


SHOWN: "list[weakref.ref[Shown]]" = []


@page("GET", "/test/shown", access=Gate.ANYONE)
async def show_something(request: Call) -> Response[bytes]:
    """A page of macros, one of them with a block of its own, that is given something of which is known when it goes."""
    given = Shown()
    SHOWN.append(weakref.ref(given))
    await _guest(request)
    return views.show(
        request,
        "exports/list.html",
        title=views.Plain("T"),
        exports=(),
        unfinished=False,
        g=given,
    )


PAGES = (portal.family(open_page, refused_page, change, keep, show_something),)


async def visited(app: Rest, role: Authority | None = None) -> Browser:
    login = None if role is None else await app.account(f"{HOSTILE}@x.example", role)
    return Browser(app, login, pages=PAGES)


async def test_page_forbids_what_it_does_not_need(app):
    answer = await (await visited(app)).get("/test/page")

    assert answer.status_code == 200
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert {policy[name] for name in ("script-src", "style-src", "connect-src", "form-action")} == {"'self'"}
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


async def test_page_holds_no_script_style_or_handler_and_loads_from_here_alone(app):
    page = Page((await (await visited(app)).get("/test/page")).text)

    assert [each for each in page.all("script") if "src" not in each] == []
    assert page.all("style") == []
    for _, attributes in page.elements:
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        for name in ("src", "href", "action"):
            assert not re.match(r"[a-z]+:|//", attributes.get(name) or "")


@pytest.mark.parametrize("headers", [{}, HTMX])
async def test_page_leaves_nothing_to_the_garbage_collector(app, headers):
    browser = await visited(app, Authority.COMPANY_ADMIN)
    SHOWN.clear()
    gc.collect()
    gc.disable()
    try:
        assert {(await browser.get("/test/shown", **headers)).status_code for _ in range(3)} == {200}
        gone = [each() is None for each in SHOWN]
    finally:
        gc.enable()

    assert gone == [True] * 3


async def test_text_of_others_is_never_markup(app):
    browser = await visited(app, Authority.COMPANY_ADMIN)
    whole = await browser.http.get("/test/page", params={"text": HOSTILE})
    part = await browser.http.get("/test/page", params={"text": HOSTILE}, headers=HTMX)

    for answer in [whole, part, await browser.get("/test/refused?taken=1")]:
        assert "<img" not in answer.text
        assert "<script>" not in answer.text


async def test_script_is_given_the_content_with_its_title_alone(app):
    browser = await visited(app)
    whole = await browser.get("/test/page?text=T")
    part = await browser.get("/test/page?text=T", **HTMX)
    boosted = await browser.get("/test/page?text=T", **HTMX, **{"HX-Boosted": "true"})
    again = await browser.get("/test/page?text=T", **HTMX, **{"HX-History-Restore-Request": "true"})
    assert "HX-Request" in part.headers["vary"]
    whole, part, boosted, again = [whole.text, part.text, boosted.text, again.text]

    assert part.startswith("<title>T</title>")
    assert part.removeprefix("<title>T</title>").strip() in whole
    assert "<html" not in part
    assert whole == boosted == again


@pytest.mark.parametrize(("language", "sentence"), [("en", "Vehicle is missing."), ("ko", "차량: 필수 항목입니다.")])
def test_refusal_of_a_form_names_its_field_as_the_form_does(tmp_path, language, sentence):
    labels = {"vehicleNo": "portal.mounting.vehicle"}

    error = views._form_error(BadParameter.missing("vehicleNo"), views.Language(language), labels)

    assert error == FormError(sentence, "parameter.bad", {"vehicleNo": sentence})


async def test_refused_form_is_answered_with_the_refusals_status(app):
    browser = await visited(app)
    addresses = ("/test/refused", "/test/refused?taken=1")

    assert [(await browser.get(address)).status_code for address in addresses] == [400, 400]


async def test_notice_is_shown_once_on_the_next_page(app, monkeypatch):
    texts = {"portal.test.done.one": "{n} vehicle saved", "portal.test.done.other": "{n} vehicles saved"}
    monkeypatch.setitem(
        views.catalogue.of_portal(views.Language.ENGLISH), "portal.test.done.one", texts["portal.test.done.one"]
    )

    browser = await visited(app, Authority.COMPANY_ADMIN)
    moved = await browser.post("/test/change")
    moved, first, second = [moved, await browser.get("/test/page"), await browser.get("/test/page")]

    assert (moved.status_code, moved.headers["location"]) == (303, "/test/page")
    cookie = moved.headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=lax", "Path=/", "Max-Age=60"))
    assert "1 vehicle saved" in first.text
    assert "Max-Age=0" in first.headers["set-cookie"]
    assert "vehicle saved" not in second.text


async def test_script_is_led_on_and_gets_the_notice_beside_the_content(app, monkeypatch):
    monkeypatch.setitem(views.catalogue.of_portal(views.Language.ENGLISH), "portal.test.done.one", "saved")

    browser = await visited(app, Authority.COMPANY_ADMIN)
    moved, part = [await browser.post("/test/change", **HTMX), await browser.get("/test/page", **HTMX)]

    assert (moved.status_code, json.loads(moved.headers["hx-location"])) == (
        200,
        {"path": "/test/page", "target": "#content"},
    )
    (stray,) = [each for each in Page(part.text).elements if "hx-swap-oob" in each[1]]
    assert stray[1]["id"] == "notices"
    assert "saved" in part.text


@pytest.mark.parametrize(
    "cookie",
    [
        "x",
        "====",
        "W10=",
        "bnVsbA==",
        "WyJub3RoaW5nIiwgImdvb2QiLCB7fV0=",
        "WyJwb3J0YWwubm9uZSIsICJnb29kIiwge31d",
        "a" * 9_000,
    ],
)
async def test_cookie_that_is_no_notice_of_ours_says_nothing(app, cookie):
    answer = await (await visited(app)).get("/test/page", Cookie=f"{notices.COOKIE}={cookie}")

    assert answer.status_code == 200
    assert 'role="status"' not in answer.text.partition("<h1>")[0].partition('id="notices"')[2]


async def test_file_is_kept_under_its_name_and_shown_by_no_browser(app):
    answer = await (await visited(app)).get("/test/file")

    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''%EC%B0%A8%EB%9F%89%20%221%22.csv"
    assert answer.headers["content-type"].startswith("text/csv")


@pytest.mark.parametrize(("asked", "title"), [("ko", "방금"), ("en", "just now"), ("fr", "just now")])
async def test_page_speaks_the_language_asked_for(app, asked, title):
    answer = await (await visited(app)).get("/test/refused", **{"Accept-Language": asked})

    assert f"<h1>{title}</h1>" in answer.text
    assert answer.headers["content-language"] == ("ko" if asked == "ko" else "en")
    assert Page(answer.text).all("html")[0]["lang"] == answer.headers["content-language"]

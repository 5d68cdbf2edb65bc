"""The way into the portal, and the page for when no server answers."""

from typing import TypeVar

import pytest
from tests.support.portal import Browser, Page
from tests.support.rest import Rest

from tripline.domain.access import Authority
from tripline.portal.frame.static import STATIC

T = TypeVar("T")


async def visited(app: Rest, role: Authority | None = None) -> Browser:
    login = None if role is None else await app.account("kim@fleet.example", role)
    return Browser(app, login)


@pytest.mark.parametrize("address", ["/", "/fleet"])
async def test_somebody_who_is_not_signed_in_is_led_to_the_sign_in(app, address):
    answer = await (await visited(app)).get(address)

    assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "/sign-in")


@pytest.mark.parametrize("address", ["/", "/fleet"])
@pytest.mark.parametrize("role", Authority)
async def test_visitor_is_led_to_a_page_of_the_own_role(app, address, role):
    browser = await visited(app, role)
    begun = await browser.get(address)
    opened = await browser.get(begun.headers["location"])

    assert begun.status_code == 303
    assert begun.headers["location"] != "/sign-in"
    assert opened.status_code != 403


async def test_page_for_when_no_server_answers_loads_nothing_that_is_not_kept(app):
    answer = await (await visited(app)).get("/offline")

    page = Page(answer.text)
    loaded = [each["href"] for each in page.all("link") if each["rel"] != "manifest"] + [
        each["src"] for each in page.all("script")
    ]
    assert answer.status_code == 200
    assert [address for address in loaded if not str(address).startswith(f"/static/{STATIC.version}/")] == []


async def test_script_that_keeps_it_names_the_version_of_what_it_keeps(app):
    browser = await visited(app)
    script = await browser.get("/service-worker.js")
    again = await browser.get("/service-worker.js", **{"If-None-Match": script.headers["etag"]})

    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert script.text.startswith(f'const VERSION = "{STATIC.version}";\n')
    assert again.status_code == 304


@pytest.mark.parametrize(("language", "said"), [("en", "driving scores"), ("ko", "안전운전 점수")])
async def test_manifest_names_icons_that_are_served_and_starts_at_the_visitors_page(app, language, said):
    browser = await visited(app)
    page = Page((await browser.get("/sign-in", **{"Accept-Language": language})).text)
    (link,) = (each["href"] or "" for each in page.all("link") if each["rel"] == "manifest")
    answer = await browser.get(link)
    icons = [await browser.get(each["src"]) for each in answer.json()["icons"]]

    told = answer.json()
    assert answer.headers["content-type"].startswith("application/manifest+json")
    assert (told["lang"], told["start_url"], told["display"]) == (language, "/", "standalone")
    assert said in told["description"]
    assert [(each["sizes"], each["purpose"]) for each in told["icons"]] == [
        ("192x192", "any"),
        ("512x512", "any"),
        ("512x512", "maskable"),
    ]
    sizes = [int.from_bytes(each.content[16:20], "big") for each in icons]
    assert [each.headers["content-type"] for each in icons] == ["image/png"] * 3
    assert sizes == [192, 512, 512], "widths in the heads of the PNG files"

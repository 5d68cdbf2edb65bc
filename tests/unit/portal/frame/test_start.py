"""The way into the portal, and the page for when no server answers."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import httpx
import pytest
from tests.support import rest as support
from tests.support.portal import Browser, Page
from tests.support.rest import Rest

from tripline.domain.access import Authority
from tripline.portal.frame.static import STATIC

T = TypeVar("T")


def browsed(tmp_path: Path, ask: Callable[[Browser], Awaitable[T]], role: Authority | None = None) -> T:
    async def scenario(rest: Rest) -> T:
        login = None if role is None else await rest.account("kim@fleet.example", role)
        return await ask(Browser(rest, login))

    return support.run(tmp_path, scenario)


@pytest.mark.parametrize("address", ["/", "/fleet"])
def test_somebody_who_is_not_signed_in_is_led_to_the_sign_in(tmp_path: Path, address: str) -> None:
    answer = browsed(tmp_path, lambda browser: browser.get(address))

    assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "/sign-in")


@pytest.mark.parametrize("address", ["/", "/fleet"])
@pytest.mark.parametrize("role", Authority)
def test_visitor_is_led_to_a_page_of_the_own_role(tmp_path: Path, address: str, role: Authority) -> None:
    async def ask(browser: Browser) -> tuple[httpx.Response, httpx.Response]:
        begun = await browser.get(address)
        return begun, await browser.get(begun.headers["location"])

    begun, opened = browsed(tmp_path, ask, role)
    assert begun.status_code == 303
    assert begun.headers["location"] != "/sign-in"
    assert opened.status_code != 403


def test_page_for_when_no_server_answers_loads_nothing_that_is_not_kept(tmp_path: Path) -> None:
    answer = browsed(tmp_path, lambda browser: browser.get("/offline"))

    page = Page(answer.text)
    loaded = [each["href"] for each in page.all("link") if each["rel"] != "manifest"] + [
        each["src"] for each in page.all("script")
    ]
    assert answer.status_code == 200
    assert [address for address in loaded if not str(address).startswith(f"/static/{STATIC.version}/")] == []


def test_script_that_keeps_it_names_the_version_of_what_it_keeps(tmp_path: Path) -> None:
    async def ask(browser: Browser) -> tuple[httpx.Response, httpx.Response]:
        script = await browser.get("/service-worker.js")
        return script, await browser.get("/service-worker.js", **{"If-None-Match": script.headers["etag"]})

    script, again = browsed(tmp_path, ask)
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert script.text.startswith(f'const VERSION = "{STATIC.version}";\n')
    assert again.status_code == 304


@pytest.mark.parametrize(("language", "said"), [("en", "driving scores"), ("ko", "안전운전 점수")])
def test_manifest_names_icons_that_are_served_and_starts_at_the_visitors_page(
    tmp_path: Path, language: str, said: str
) -> None:
    async def ask(browser: Browser) -> tuple[httpx.Response, list[httpx.Response]]:
        page = Page((await browser.get("/sign-in", **{"Accept-Language": language})).text)
        (link,) = (each["href"] or "" for each in page.all("link") if each["rel"] == "manifest")
        answer = await browser.get(link)
        return answer, [await browser.get(each["src"]) for each in answer.json()["icons"]]

    answer, icons = browsed(tmp_path, ask)

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

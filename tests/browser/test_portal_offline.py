"""The page for when no server answers, in a real browser: kept from the first visit, shown in place of its own."""

from pathlib import Path

import pytest
from tests.support import browser, portal_browser, servers

pytestmark = [pytest.mark.deep, pytest.mark.once("what a browser keeps"), pytest.mark.slow]
STORED = """caches.keys()
    .then((names) => Promise.all(names.map((name) => caches.open(name).then((cache) => cache.keys()))))
    .then((found) => found.flat().map((each) => new URL(each.url).pathname))"""
READY = "navigator.serviceWorker.ready.then(() => caches.match('/offline')).then((kept) => kept !== undefined)"


def test_page_is_shown_when_the_server_is_gone(tmp_path: Path) -> None:
    with (
        portal_browser.browsing(program=browser.WHOLE) as opened,  # only the whole browser installs pages
        servers.serving(tmp_path) as server,
        portal_browser.watching(opened, server.api) as watched,
    ):
        page = watched.page
        page.goto(f"{server.api}/offline")
        assert page.evaluate(READY)
        found = page.context.new_cdp_session(page).send("Page.getInstallabilityErrors")["installabilityErrors"]
        assert [each["errorId"] for each in found] == ["in-incognito"], "the window of the test alone hinders it"
        assert [each for each in page.evaluate(STORED) if each != "/offline" and "/static/" not in each] == []
        assert watched.troubles() == []
        server.stop()

        page.goto(f"{server.api}/fleet/vehicles")

        assert page.locator("h1").inner_text() == "No connection"
        assert "sans-serif" in page.evaluate("getComputedStyle(document.body).fontFamily")

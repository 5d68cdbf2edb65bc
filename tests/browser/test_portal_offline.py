"""The page for when no server answers, in a real browser: kept from the first visit, shown in place of its own."""

from pathlib import Path

import pytest
from tests.support import portal_browser, servers

pytestmark = [pytest.mark.deep, pytest.mark.once("what a browser keeps"), pytest.mark.slow]
READY = "navigator.serviceWorker.ready.then(() => caches.match('/offline')).then((kept) => kept !== undefined)"


def test_page_is_shown_when_the_server_is_gone(tmp_path: Path) -> None:
    with (
        portal_browser.browsing() as browser,
        servers.serving(tmp_path) as server,
        portal_browser.watching(browser, server.api) as watched,
    ):
        page = watched.page
        page.goto(f"{server.api}/offline")
        assert page.evaluate(READY)
        assert watched.troubles() == []
        server.stop()

        page.goto(f"{server.api}/fleet/vehicles")

        assert page.locator("h1").inner_text() == "No connection"
        assert "sans-serif" in page.evaluate("getComputedStyle(document.body).fontFamily")

"""The page of maps in a real browser, with the base map drawn by software: what it asks for, keys and buttons, and what
it says where nothing can be drawn.
"""

from contextlib import contextmanager

import pytest
from playwright.sync_api import expect
from tests.support import map_files, portal_browser, portal_life, servers

from tripline.maintenance import maps

pytestmark = [pytest.mark.deep, pytest.mark.once("what a page shows"), pytest.mark.slow]

EMAIL = "root@x.example"
PAGE = "/admin/maps"
DRAWN = "[data-map][data-state=drawn]"
DRAWN_MS = 30_000


@pytest.fixture(scope="module")
def browser(street, nothing):  # a server is made before: an account needs a loop of its own
    with portal_browser.browsing() as opened:
        yield opened


@pytest.fixture(scope="module")
def street(tmp_path_factory):
    folder = tmp_path_factory.mktemp("maps")
    file = map_files.street(folder / "street.osm.pbf")
    maps.imported(folder / "there", file, name="street", country="", progress=lambda _count: None)
    with signed_in(folder / "data", folder / "there") as place:
        yield place


@pytest.fixture(scope="module")
def nothing(tmp_path_factory):
    folder = tmp_path_factory.mktemp("none")
    with signed_in(folder / "data", folder) as place:
        yield place


@contextmanager
def signed_in(data, there):
    """A server with the maps of a folder: its address, and the session of a platform administrator."""
    with servers.serving(data, variables={"TRIPLINE_MAP_DIR": str(there)}) as server:
        portal_life.make_account(data, "create", EMAIL)
        with portal_life.Visit(server.api, EMAIL) as visit:
            yield server.api, visit.session


@pytest.mark.parametrize("turn", range(3))
def test_map_is_drawn_without_trouble_and_asks_nobody_else(browser, street, turn):
    origin, session = street
    look = portal_browser.rotated(turn)
    with portal_browser.watching(browser, origin, look, session=session) as watched:
        asked = []
        watched.page.on("request", lambda each: asked.append(each.url.removeprefix(origin).partition("?")[0]))
        watched.page.goto(f"{origin}{PAGE}")
        watched.page.wait_for_selector(DRAWN, timeout=DRAWN_MS)

        assert (look.name, watched.troubles()) == (look.name, [])
    assert "/map/style.json" in asked
    assert [each for each in asked if each.endswith(".mvt")] != []
    assert [each for each in asked if each.startswith(("http", "blob"))] == []


def test_buttons_and_keys_zoom_and_the_address_keeps_the_place(browser, street):
    origin, session = street
    with portal_browser.watching(browser, origin, session=session) as watched:
        page = watched.page
        page.goto(f"{origin}{PAGE}#12.00/47.01350/9.50000")
        page.wait_for_selector(DRAWN, timeout=DRAWN_MS)
        zooms = []
        for press in (
            lambda: page.get_by_role("button", name="Zoom in").press("Enter"),
            lambda: page.get_by_role("region", name="Map", exact=True).press("-"),
            lambda: page.get_by_role("button", name="Zoom out").click(),
        ):
            before = page.url
            press()
            page.wait_for_url(lambda url, before=before: url != before)
            zooms.append(float(page.evaluate("location.hash").lstrip("#").split("/")[0]))

        assert zooms == [13, 12, 11]


def test_theme_of_the_device_changes_the_style(browser, street):
    origin, session = street
    with portal_browser.watching(browser, origin, session=session) as watched:
        watched.page.goto(f"{origin}{PAGE}")
        watched.page.wait_for_selector(DRAWN, timeout=DRAWN_MS)

        with watched.page.expect_request("**/map/style.json?theme=dark"):
            watched.page.emulate_media(color_scheme="dark")


def test_browser_that_draws_nothing_is_told_so(browser, street):
    origin, session = street
    with portal_browser.watching(browser, origin, session=session) as watched:
        watched.page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
        watched.page.goto(f"{origin}{PAGE}")
        watched.page.wait_for_selector("[data-map][data-state=undrawn]")

        expect(watched.page.get_by_text("This browser does not draw maps")).to_be_visible()
        expect(watched.page.get_by_role("button", name="Zoom in")).to_be_hidden()
        assert watched.troubles() == []


def test_page_without_a_map_says_how_to_get_one(browser, nothing):
    origin, session = nothing
    with portal_browser.watching(browser, origin, session=session) as watched:
        watched.page.goto(f"{origin}{PAGE}")

        expect(watched.page.get_by_text("tripline map import FILE.osm.pbf")).to_be_visible()
        expect(watched.page.locator("[data-map]")).to_have_count(0)
        assert watched.troubles() == []

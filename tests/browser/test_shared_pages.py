"""A shared vehicle in a real browser without an account: it appears, and is gone within 3 s of the end of its link."""

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import expect
from tests.browser.test_live_map_pages import DRAWN, PATIENCE_MS, RENEWED_S, World
from tests.support import drives, map_files, portal_browser, servers
from tests.support.fleet import Company
from tests.system.test_live_positions import play

from tripline.maintenance import maps

pytestmark = [pytest.mark.deep, pytest.mark.once("what a share link shows"), pytest.mark.slow]

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
GONE_MS = 4_000
"""Three seconds, and one for a busy machine."""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    file = map_files.street(folder / "street.osm.pbf")
    maps.imported(folder / "maps", file, name="street", country="", progress=lambda _count: None)
    with (
        servers.serving(folder / "data", variables={"TRIPLINE_MAP_DIR": str(folder / "maps")}) as server,
        Company(server.api, folder / "data") as company,
    ):
        yield World(server, company)


@pytest.fixture(scope="module")
def browser(world):
    with portal_browser.browsing() as opened:
        yield opened


def end(world, link):
    """End the link as its maker does over REST."""
    address = f"{world.server.api}/api/tre/v1_3/sharelink/{link['id']['id']}"
    assert world.company.http.delete(address).status_code == 200


@pytest.mark.parametrize("turn", range(3))
def test_guest_sees_the_vehicle_until_the_link_ends(world, browser, turn):
    look, vehicle = portal_browser.rotated(turn), world.vehicles[turn]
    world.report(vehicle)
    time.sleep(3)
    link = world.company.post(f"/api/tre/v1_3/vehicle/{vehicle.vehicle_id}/sharelink", {"trail": True, "number": True})
    with portal_browser.watching(browser, world.server.api, look) as watched:
        page = watched.page
        page.goto(link["url"])
        expect(page.locator("[data-part=number]")).to_have_text(vehicle.vehicle_no)
        page.wait_for_selector(DRAWN, timeout=PATIENCE_MS)
        expect(page.locator("[data-part=heading]")).to_contain_text("90°")
        problems = portal_browser.axe(page), portal_browser.too_wide(page)
        troubles = watched.troubles()
        end(world, link)
        expect(page.locator("[data-part=number]")).to_be_hidden(timeout=GONE_MS)

    assert (look.name, problems, troubles) == (look.name, ([], []), [])


def test_guest_sees_the_trip_without_its_ends_until_the_link_ends(world, browser):
    vehicle, look = world.company.vehicle_with_sensor(9), portal_browser.rotated(3)
    noon_ms = (int(time.time() * 1_000) // DAY_MS - 1) * DAY_MS + 3 * HOUR_MS  # in Seoul
    bodies = [json.loads(each) for each in drives.straight_trip(1, noon_ms)]
    with ThreadPoolExecutor(1) as threads:
        threads.submit(play, world.server, vehicle, bodies).result()
    (trip,) = world.company.get(f"/api/tre/v1/vehicle/{vehicle.vehicle_id}/trips", limit=1)["data"]
    link = world.company.post(f"/api/tre/v1_3/trip/{trip['id']['id']}/sharelink", {"number": True})
    with portal_browser.watching(browser, world.server.api, look) as watched:
        page = watched.page
        page.goto(link["url"])
        expect(page.locator("[data-part=number]")).to_have_text(vehicle.vehicle_no)
        page.wait_for_selector(DRAWN, timeout=PATIENCE_MS)
        expect(page.locator("[data-part=heading]")).to_contain_text(re.compile("200 ?m"))
        times = page.locator("[data-part=age]").inner_text()
        assert re.findall(r"\b\d{4}\b", times) == [str(time.gmtime(noon_ms // 1_000).tm_year)]
        assert re.findall(r"\d\d:\d\d|[AP]M|오[전후]", times) == ["12:00", "12:02"]
        troubles = watched.troubles()
        end(world, link)
        expect(page.locator("[data-part=number]")).to_be_hidden(timeout=GONE_MS)
        expect(page.locator("[data-map]")).to_be_hidden()
        troubles += portal_browser.axe(page)

    assert (look.name, troubles) == (look.name, [])


def test_page_whose_first_requests_fail_says_why_and_goes_on_by_itself(world, browser):
    vehicle = world.vehicles[0]
    world.report(vehicle)
    link = world.company.post(f"/api/tre/v1_3/vehicle/{vehicle.vehicle_id}/sharelink", {"number": True})
    with portal_browser.watching(browser, world.server.api) as watched:
        page = watched.page
        said = page.locator("[data-part=state]")
        answers = {
            # As the server answers an address with too many wrong secrets.
            "**/opening": lambda route: route.fulfill(status=429, headers={"Retry-After": "2"}, body="{}"),
            "**/shows": lambda route: route.abort(),
            "**/position": lambda route: route.fulfill(status=503, body="{}"),
            "**/map/style.json*": lambda route: route.abort(),
        }
        for path, answer in answers.items():
            page.route(path, answer, times=1)
        page.add_init_script(portal_browser.NOTE_DRAWINGS)
        page.goto(link["url"])
        expect(said).to_have_text("Too many attempts from your network. The page tries again by itself.")
        expect(page.locator("[data-part=wait]")).to_have_text(re.compile("Next attempt in [12] seconds?."))
        expect(said).to_have_text("No connection yet. The page tries again by itself.")
        expect(page.locator("[data-part=number]")).to_have_text(vehicle.vehicle_no)
        for place in (said, page.locator("[data-part=wait]")):
            expect(place).to_be_hidden()
        page.wait_for_selector(DRAWN, timeout=PATIENCE_MS)
        portal_browser.rest(page, seconds=RENEWED_S)
        page.route("**/position", lambda route: route.abort(), times=1)
        expect(said).to_have_text("No connection. The page shows the last known state.")
        expect(page.locator("[data-part=number]")).to_have_text(vehicle.vehicle_no)
        expect(said).to_be_hidden()

"""A shared vehicle in a real browser without an account: it appears, and is gone within 3 s of the end of its link."""

import time

import pytest
from playwright.sync_api import expect
from tests.browser.test_live_map_pages import DRAWN, PATIENCE_MS, World
from tests.support import map_files, portal_browser, servers
from tests.support.fleet import Company

from tripline.maintenance import maps

pytestmark = [pytest.mark.deep, pytest.mark.once("what a share link shows"), pytest.mark.slow]

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

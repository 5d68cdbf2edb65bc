"""The live map in a real browser: vehicles move while devices report over MQTTS, by keyboard and without WebGL; one
stream for all tabs; a cut stream, a sign-out, a restart.
"""

import math
import os
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import expect
from tests.support import map_files, portal_browser, portal_life, servers
from tests.support.fleet import Company
from tests.system.test_live_positions import play

from tripline.maintenance import maps

pytestmark = [pytest.mark.deep, pytest.mark.once("what the live map shows"), pytest.mark.slow]

EMAIL = "admin@test-fleet.example"
LIVE = ".live[data-stream=live]"
DRAWN = "[data-map][data-state=drawn]"
CUT_MS = 6_000
"""Five seconds, and one for a busy machine."""
PATIENCE_MS = 30_000
RENEWED_S = 3.0
"""Longer than the 2 s after which the page renews its ages without a report."""
MIDDLE_LAT, MIDDLE_LON = 47.01, 9.5


class World:
    """A server with a map, and a company with three vehicles."""

    def __init__(self, server, company):
        self.server, self.company = server, company
        self.vehicles = [company.vehicle_with_sensor(number) for number in (1, 2, 3)]

    def report(self, vehicle, *, speed=60.0, seconds=3, server=None):
        """Have the vehicle's device drive east for some seconds until now."""
        end_ms = int(time.time() * 1000)
        step = speed / 3.6 / 111_195 / math.cos(math.radians(MIDDLE_LAT))
        bodies = []
        for back in reversed(range(seconds)):
            at = {"clt": end_ms - 1_000 * back, "lat": MIDDLE_LAT, "lon": MIDDLE_LON - step * back}
            bodies.append({"ty": 2, "ts": at["clt"], "pld": {"tid": 1, "sp": speed, **at}})
        # On a thread: the browser's driver has the event loop of this one.
        with ThreadPoolExecutor(1) as threads:
            threads.submit(play, server or self.server, vehicle, bodies).result()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("live")
    file = map_files.street(folder / "street.osm.pbf", maxspeed="50")
    maps.imported(folder / "maps", file, name="street", country="", progress=lambda _count: None)
    variables = {"TRIPLINE_MAP_DIR": str(folder / "maps")}
    with (
        servers.serving(folder / "data", variables=variables) as server,
        Company(server.api, folder / "data") as company,
    ):
        yield World(server, company)


@pytest.fixture(scope="module")
def browser(world):
    with portal_browser.browsing() as opened:
        yield opened


@pytest.fixture
def visit(world):
    with portal_life.Visit(world.server.api, EMAIL) as signed_in:
        yield signed_in


def opened(watched, api):
    watched.page.goto(f"{api}/")
    watched.page.wait_for_url("**/map")
    watched.page.wait_for_selector(LIVE, timeout=PATIENCE_MS)


def row(page, vehicle):
    return page.locator(".live-list li", has_text=vehicle.vehicle_no)


@pytest.mark.parametrize("turn", range(3))
def test_vehicle_that_reports_moves_in_the_list_and_on_the_map(world, browser, visit, turn):
    vehicle = world.vehicles[0]
    look = portal_browser.rotated(turn)
    with portal_browser.watching(browser, world.server.api, look, session=visit.session) as watched:
        opened(watched, world.server.api)
        page = watched.page
        page.wait_for_selector(DRAWN, timeout=PATIENCE_MS)
        if look.width < 1024:
            page.locator("[data-do=list]").click()
        world.report(vehicle, speed=40.0 + turn)
        speed = re.compile(rf"{40 + turn} ?km/h")  # Korean writes no space
        expect(row(page, vehicle)).to_contain_text(speed)
        row(page, vehicle).get_by_role("button").click()
        expect(page.locator("[data-part=card]")).to_contain_text(speed)

        assert (look.name, watched.troubles()) == (look.name, [])


def test_map_is_drawn_again_only_when_a_vehicle_reports(world, browser, visit):
    vehicle = world.vehicles[2]
    world.report(vehicle, speed=0.0)
    with portal_browser.watching(browser, world.server.api, session=visit.session) as watched:
        page = watched.page
        page.add_init_script(portal_browser.NOTE_DRAWINGS)
        opened(watched, world.server.api)
        page.wait_for_selector(DRAWN, timeout=PATIENCE_MS)
        portal_browser.rest(page, seconds=RENEWED_S)
        rested = page.evaluate("window.drawnAt")
        world.report(vehicle, speed=45.0)
        expect(row(page, vehicle)).to_contain_text("45 km/h")
        portal_browser.rest(page, seconds=RENEWED_S)

        assert page.evaluate("window.drawnAt") > rested


def test_everything_is_reached_by_keyboard_without_webgl(world, browser, visit):
    first, second, _ = world.vehicles
    world.report(first)
    world.report(second, speed=0.0)
    with portal_browser.watching(browser, world.server.api, session=visit.session) as watched:
        watched.page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
        opened(watched, world.server.api)
        page = watched.page
        expect(page.get_by_text("This browser does not draw maps")).to_be_visible()
        expect(row(page, second)).to_be_visible()
        row(page, first).get_by_role("button").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        card = page.locator("[data-part=card]")
        expect(card).to_be_focused()
        expect(card.get_by_role("link", name="Share")).to_be_visible()
        told = card.inner_text()
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        leads = page.evaluate("document.activeElement.getAttribute('href')")
        more = card.get_by_role("link").evaluate_all("links => links.map((each) => each.getAttribute('href'))")
        page.keyboard.press("Escape")
        expect(row(page, second).get_by_role("button")).to_be_focused()
        page.get_by_role("searchbox", name="Number or driver").fill(first.vehicle_no)
        expect(page.locator(".live-list li")).to_have_count(1)

        assert watched.troubles() == []
    assert second.vehicle_no in told
    assert re.search(r"Stopped.+0 km/h, limit 50 km/h.+No driver.+at High Street", told, re.DOTALL)
    assert leads.startswith(f"/fleet/vehicles/{second.vehicle_id}/days/")
    assert {f"/fleet/vehicles/{second.vehicle_id}", f"/fleet/vehicles/{second.vehicle_id}/share"} < set(more)


def test_vehicles_at_one_spot_open_a_list_and_the_trail_of_one_is_told(world, browser, visit):
    first, second, third = world.vehicles
    for each in (first, second, third):
        world.report(each, speed=0.0)
    with portal_browser.watching(browser, world.server.api, session=visit.session) as watched:
        opened(watched, world.server.api)
        page = watched.page
        page.wait_for_selector(DRAWN, timeout=PATIENCE_MS)
        expect(page.locator(".live-list li")).to_have_count(3)
        canvas = page.locator("canvas").bounding_box()
        # The right margin of what is shown is wider by 56 px, for the buttons.
        middle = canvas["x"] + (canvas["width"] - 56) / 2, canvas["y"] + canvas["height"] / 2
        spot = page.locator("[data-part=spot]")

        def tapped():
            page.mouse.click(*middle)
            page.wait_for_timeout(500)
            return spot.is_visible()

        assert any(tapped() for _ in range(20))
        expect(spot.get_by_role("button")).to_have_count(4)
        spot.get_by_role("button", name=third.vehicle_no).click()
        page.get_by_role("button", name="Today's trail").click()
        expect(page.locator("[data-card=said]")).to_contain_text("Today's trail since")
        # Two drives of 1 km, an hour and 10 km apart: the vehicle was moved with its device off.
        way = [(0, 47.0), (60, 47.009), (3_660, 47.1), (3_720, 47.109)]
        points = [{"ts": 1_700_000_000_000 + 1000 * at, "lat": lat, "lon": 9.5, "speed": 60.0} for at, lat in way]
        page.route("**/trail", lambda route: route.fulfill(json={"data": points}))
        for _ in range(2):
            page.get_by_role("button", name="Today's trail").click()
        expect(page.locator("[data-card=said]")).to_contain_text("2.0 km")

        assert watched.troubles() == []


def test_tabs_of_a_browser_have_one_stream_and_the_next_tab_takes_it_over(world, browser, visit):
    vehicle = world.vehicles[0]
    with portal_browser.watching(browser, world.server.api, session=visit.session) as watched:
        asked = []
        watched.page.context.on("request", lambda each: "/map/stream" in each.url and asked.append(each.url))
        opened(watched, world.server.api)
        other = watched.page.context.new_page()
        other.goto(f"{world.server.api}/map")
        other.wait_for_selector(LIVE)
        world.report(vehicle, speed=71.0)
        for page in (watched.page, other):
            page.bring_to_front()
            expect(row(page, vehicle)).to_contain_text("71 km/h")
        shared = len(asked)
        watched.page.close()
        world.report(vehicle, speed=72.0)
        expect(row(other, vehicle)).to_contain_text("72 km/h")

        assert (shared, len(asked)) == (1, 2)


def test_cut_stream_is_told_within_five_seconds_and_goes_on_without_loss(world, browser, visit):
    vehicle = world.vehicles[0]
    with portal_browser.watching(browser, world.server.api, session=visit.session) as watched:
        opened(watched, world.server.api)
        page = watched.page
        world.report(vehicle, speed=80.0)
        expect(row(page, vehicle)).to_contain_text("80 km/h")
        os.kill(world.server.process.pid, signal.SIGSTOP)
        try:
            page.wait_for_selector(".live[data-stream=cut]", timeout=CUT_MS)
            expect(page.locator("[data-part=stream-text]")).to_contain_text("No connection for")
            expect(row(page, vehicle)).to_contain_text("80 km/h")
        finally:
            os.kill(world.server.process.pid, signal.SIGCONT)
        page.wait_for_selector(LIVE, timeout=PATIENCE_MS)
        world.report(vehicle, speed=81.0)
        expect(row(page, vehicle)).to_contain_text("81 km/h")


def test_page_that_never_had_a_stream_says_that_the_server_does_not_answer(world, browser, visit):
    with portal_browser.watching(browser, world.server.api, session=visit.session) as watched:
        page = watched.page
        page.route("**/map/stream*", lambda route: route.abort())
        page.goto(f"{world.server.api}/map")
        page.wait_for_selector(".live[data-stream=cut]", timeout=CUT_MS)
        expect(page.locator("[data-part=stream-text]")).to_contain_text("The server does not answer")
        expect(page.locator("[data-part=none]")).to_be_hidden()
        page.unroute("**/map/stream*")
        page.wait_for_selector(LIVE, timeout=PATIENCE_MS)


def test_sign_out_ends_the_map_and_says_so(world, browser, visit):
    with portal_browser.watching(browser, world.server.api, session=visit.session) as watched:
        opened(watched, world.server.api)
        visit.post("/sign-out", {})
        watched.page.wait_for_selector(".live[data-stream=signed_out]", timeout=CUT_MS)

        expect(watched.page.get_by_role("link", name="Sign in")).to_be_visible()
        assert [each for each in watched.troubles() if "401" not in each] == []


def test_map_goes_on_after_a_sleep_and_a_restart_of_the_server(world, browser, visit):
    vehicle = world.vehicles[1]
    with portal_browser.watching(browser, world.server.api, session=visit.session) as watched:
        asked = []
        watched.page.on("request", lambda each: "/map/stream" in each.url and asked.append(each.url))
        opened(watched, world.server.api)
        # As after a sleep: the clock of the machine jumps, while timers and connections stood still.
        os.kill(world.server.process.pid, signal.SIGSTOP)
        try:
            with watched.page.expect_request("**/map/stream"):
                watched.page.evaluate("{ const now = Date.now; Date.now = () => now() + 60_000; }")
        finally:
            os.kill(world.server.process.pid, signal.SIGCONT)
        watched.page.wait_for_selector(LIVE, timeout=PATIENCE_MS)
        before = len(asked)

        world.server.process.send_signal(signal.SIGTERM)
        world.server.process.wait(30)
        flags = servers.same_listeners(world.server)
        with servers.serving(world.server.data, *flags) as again:
            world.report(vehicle, speed=66.0, server=again)
            watched.page.wait_for_selector(LIVE, timeout=PATIENCE_MS)
            expect(row(watched.page, vehicle)).to_contain_text("66 km/h", timeout=PATIENCE_MS)

        assert before == 2

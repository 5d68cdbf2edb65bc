"""The live map in a real browser whose network is lost for a minute, in silence or with refusals, with one process and
with processes of several roles on PostgreSQL: the page says so within five seconds, and is right again afterwards.

`LOST_S` stands for the minute: longer than the 10 s after which the server drops a reader that does not read, and than
three attempts of the page, one in 4 s. The 30 s after which the server gives up a peer that the network does not reach
have a test with the real bound's mechanism (`integration/test_http_times.py`).
"""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

import pytest
from playwright.sync_api import expect
from tests.browser.test_live_map_pages import EMAIL, LIVE, PATIENCE_MS, World, row
from tests.support import clusters, portal_browser, portal_life, postgres, relays, servers, waits
from tests.support.fleet import Company

pytestmark = [pytest.mark.deep, pytest.mark.once("what the live map shows"), pytest.mark.slow]

LOST_S = 13
CUT_S = 6
"""Five seconds, and one for a busy machine."""
STREAM = "/map/stream"
COLOUR = "getComputedStyle(document.querySelector('.live-list')).color"
WATCH = """new MutationObserver((changes) => {
    for (const { target, attributeName: name } of changes) {
        if (target.getAttribute(name) === "cut") (window.cuts ??= []).push(Date.now() / 1000);
    }
}).observe(document, { subtree: true, attributeFilter: ["data-stream"] })"""
"""Notes when the page said that its stream was cut."""


@contextmanager
def one_process(folder):
    with servers.serving(folder / "data") as server, Company(server.api, folder / "data") as company:
        yield World(server, company)


@contextmanager
def roles(folder):
    postgres.need("processes of several roles")
    with (
        postgres.cluster() as database,
        clusters.deployed(folder, database, gateways=1, apis=1, workers=1) as deployment,
    ):
        host, port = deployment.gateways[0].devices
        api = deployment.apis[0].api
        yield World(SimpleNamespace(api=api, device_host=host, device_port=port, ca=deployment.ca), deployment.company)


class Window:
    """A browser with two tabs on the live map, behind a relay."""

    def __init__(self, opened, browser, world, visit):
        self.relay = opened.enter_context(relays.relayed(world.server.api))
        watched = opened.enter_context(portal_browser.watching(browser, self.relay.address, session=visit.session))
        watched.page.context.add_init_script(WATCH)
        first, second = watched.page, watched.page.context.new_page()
        for page in (first, second):
            page.goto(f"{self.relay.address}/map")
            page.wait_for_selector(LIVE, timeout=PATIENCE_MS)
        self.tabs = (first, second)

    def colours(self):
        return [page.evaluate(COLOUR) for page in self.tabs]

    def shows(self, told):
        """Wait until each tab lists these vehicles, and no other."""
        for page in self.tabs:
            page.bring_to_front()
            for vehicle, text in told.items():
                expect(row(page, vehicle)).to_contain_text(text, timeout=PATIENCE_MS)
            expect(page.locator(".live-list li")).to_have_count(len(told))


@pytest.mark.parametrize("made", [one_process, roles], ids=["one process", "roles"])
def test_map_is_right_again_after_a_minute_without_network(made, tmp_path):
    with (
        made(tmp_path) as world,
        portal_browser.browsing() as browser,
        portal_life.Visit(world.server.api, EMAIL) as visit,
        ExitStack() as opened,
    ):
        moves, leaves, stands = world.vehicles
        for each in world.vehicles:
            world.report(each, speed=50.0)
        silent, refusing = windows = [Window(opened, browser, world, visit) for _ in range(2)]
        for window in windows:
            window.shows(dict.fromkeys(world.vehicles, "50 km/h"))
        before = [window.colours() for window in windows]

        lost = time.time()
        silent.relay.lose_silently()
        refusing.relay.refuse()
        for window in windows:
            for page in window.tabs:
                page.wait_for_selector(".live[data-stream=cut]", timeout=PATIENCE_MS)
                expect(page.locator("[data-part=stream-text]")).to_contain_text("No connection for")
        cuts = [page.evaluate("cuts[0]") - lost for window in windows for page in window.tabs]
        cut = [window.colours() for window in windows]
        kept = [row(page, leaves).inner_text() for window in windows for page in window.tabs]
        for speed in (60.0, 70.0):
            world.report(moves, speed=speed)
        world.report(stands, speed=0.0)
        with ThreadPoolExecutor(1) as threads:
            gone = threads.submit(world.company.http.delete, f"/api/tre/v1/vehicle/{leaves.vehicle_id}").result()
        time.sleep(max(lost + LOST_S - time.time(), 0))

        for window in windows:
            window.relay.restore()
        for window in windows:
            window.shows({moves: "70 km/h", stands: "Stopped"})
        world.report(moves, speed=80.0)
        for window in windows:
            window.shows({moves: "80 km/h", stands: "Stopped"})
        # One stream for both tabs; the server has let go of those that were lost.
        waits.seen(lambda: [window.relay.waiting_for(STREAM) for window in windows], [1, 1].__eq__)
        after = [window.colours() for window in windows]

    assert gone.status_code == 200
    assert max(cuts) < CUT_S, cuts
    assert all("50 km/h" in text for text in kept), kept
    assert all(each not in was for now, was in zip(cut, before, strict=True) for each in now), (before, cut)
    assert after == before

"""Every page of the portal in a real browser, as its visitors find it: axe, console, network and width. Each run draws
a theme, a language and a width for every page; `make screenshots` shows all of them.
"""

import pytest
from tests.support import portal_browser, portal_tour, portal_world

from tripline.portal import frame

pytestmark = [pytest.mark.once("what a page shows"), pytest.mark.slow]

VISITORS = ("nobody", "full", "platform")
"""Who sees a page first: each is examined once."""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with portal_world.serving(tmp_path_factory.mktemp("portal") / "data") as filled:
        yield filled


@pytest.fixture(scope="module")
def browser(world):
    """Opened behind the world: the browser's loop runs in this thread, where commands want one of their own."""
    with portal_browser.browsing() as opened:
        yield opened


@pytest.mark.timeout(900)
def test_pages_have_no_trouble_and_those_of_the_navigation_are_found(browser, world):
    found = {}
    seen = set()
    for guest in (each for each in world.guests if each.name in VISITORS):
        with portal_browser.watching(browser, world.origin, session=guest.session) as watched:
            stops = portal_tour.walk(watched.page, world.origin, guest.starts)
        new = [stop for stop in stops if stop.pattern not in seen]
        looks = {stop.pattern: portal_browser.rotated(len(seen) + turn) for turn, stop in enumerate(new)}
        for look in dict.fromkeys(looks.values()):
            with portal_browser.watching(browser, world.origin, look, session=guest.session) as watched:
                for stop in (each for each in new if looks[each.pattern] == look):
                    watched.page.goto(f"{world.origin}{stop.address}")
                    if troubles := watched.troubles():
                        found[f"{stop.pattern} as {guest.name} in {look.name}"] = troubles
                    watched.complaints.clear()
                    watched.outside.clear()
        seen |= looks.keys()

    assert found == {}
    assert {href for section in frame.SECTIONS.values() for href in section} & set(
        portal_tour.patterns()
    ) - seen == set()


def test_quick_search_shows_what_begins_so_while_somebody_types_and_leads_there_by_keyboard(browser, world):
    (guest,) = (each for each in world.guests if each.name == "full")
    look = portal_browser.rotated(1)
    with portal_browser.watching(browser, world.origin, look, session=guest.session) as watched:
        page = watched.page
        page.goto(f"{world.origin}/fleet/drivers")
        page.keyboard.press("Control+k")
        page.keyboard.type("10가3456")
        found = page.locator("#quick-found")
        found.get_by_role("link").first.wait_for()
        troubles = watched.troubles()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Escape")
        closed = not found.is_visible()
        page.keyboard.type("x")
        page.keyboard.press("Backspace")
        found.get_by_role("link").first.wait_for()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_url("**/fleet/vehicles/*-*")
        heading = page.locator("h1").inner_text()
        page.keyboard.press("Control+k")
        page.keyboard.type("10가")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search?q=10*")

    assert (look.name, troubles) == (look.name, [])
    assert closed
    assert heading == "10가3456"

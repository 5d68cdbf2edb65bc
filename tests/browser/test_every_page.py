"""Every page of the portal in a real browser, as its visitors find it: axe, console, network and width. Each run draws
a visitor for every page, and a theme, a language and a width for every visitor: opening a window takes as long as two
pages in it. `make screenshots` shows all of them.
"""

from collections import defaultdict
from urllib.parse import urlsplit

import pytest
from tests.support import portal_browser, portal_tour, portal_world

pytestmark = [pytest.mark.deep, pytest.mark.once("what a page shows"), pytest.mark.slow]

PARTS = {
    *(f"/fleet/{kind}/count" for kind in ("companies", "directors", "drivers")),
    *("/admin/maps/{area}/progress", "/admin/accounts/count", "/admin/services/count", "/admin/applications/count"),
    *("/import/{draftId}/columns", "/import/{draftId}/progress", "/import/{draftId}/rows/{row}"),
    *("/", "/fleet", "/lines/count", "/delegation/count", "/delegation/received/count", "/pushes/messages/count"),
    # What a link opens needs its cookie (test_shared_pages.py).
    *("/trips/count", "/trips/sums", "/share/{linkId}"),
    *(f"/scores/companies/{{companyId}}/policy/{part}" for part in ("preview", "rescoring")),
    # It leads to a day.
    "/fleet/vehicles/{vehicleId}/days",
    # Its world has no dispute; a unit test walks it (tests/unit/portal/trips).
    "/trips/{tripId}/disputes/{disputeId}",
}
"""Addresses that no window shows by themselves: parts of pages, states of a draft or a trip, ways that lead on."""


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
def test_every_page_is_found_and_has_no_trouble(browser, world):
    """Each page once, as somebody drawn from all who find it."""
    seen = by_page(world)
    drawn = defaultdict(list)
    for turn, visits in enumerate(seen.values()):
        place, guest, stop = visits[(portal_browser.SEED + turn) % len(visits)]
        drawn[guest, portal_browser.rotated(place)].append(stop)
    found = {}
    for (guest, look), stops in drawn.items():
        with portal_browser.watching(browser, guest.origin, look, session=guest.session) as watched:
            for stop in stops:
                watched.page.goto(f"{guest.origin}{stop.address}")
                if troubles := watched.troubles():
                    found[f"{stop.pattern} as {guest.name} in {look.name}"] = troubles
                watched.complaints.clear()
                watched.outside.clear()

    assert found == {}, f"TRIPLINE_TESTS_SEED={portal_browser.SEED}"
    pages = {portal_tour.pattern_of(urlsplit(stop.address).path) for visits in seen.values() for *_, stop in visits}
    assert set(portal_tour.patterns()) - pages == PARTS


def by_page(world):
    """Of each page and each state of one: who finds it, by place among the guests, and where."""
    seen = defaultdict(list)
    for place, guest in enumerate(world.guests):
        for stop in (*portal_tour.walk(guest.origin, guest.session, guest.starts), *guest.states):
            seen[stop.pattern].append((place, guest, stop))
    return seen

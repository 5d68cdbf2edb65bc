"""The story of a map in a real browser: uploaded, followed without a reload, cancelled, gone on with, removed.

What the base map looks like is in `test_map_pages.py`.
"""

import os
import signal
import time

import pytest
from tests.support import map_files, portal_browser, portal_life, reference, servers
from tests.support.portal_browser import Look

from tripline.maintenance import maps

pytestmark = [pytest.mark.deep, pytest.mark.once("what pages show and their scripts do"), pytest.mark.slow]

EMAIL = "root@x.example"
LIECHTENSTEIN = reference.ROOT / "evaluation" / "maps" / "liechtenstein.osm.pbf"
PATIENCE_S = 30


@pytest.fixture
def place(tmp_path):
    """A server without maps, and the session of a platform administrator."""
    with servers.serving(tmp_path / "data") as server:
        portal_life.make_account(server.data, "create", EMAIL)
        with portal_life.Visit(server.api, EMAIL) as visit:
            yield server, visit.session


def uploaded(page, area, file):
    """Fill in the form of the page by keyboard, and send it."""
    page.get_by_role("link", name="Upload a map").first.press("Enter")
    page.wait_for_url("**/admin/maps/new")
    page.locator("[name=area]").fill(area)
    page.set_input_files("input[type=file]", str(file))
    page.get_by_role("button", name="Upload and import").press("Enter")


def killed(folder):
    """Kill the process that imports a file of this folder."""
    os.kill(map_files.process_of(folder), signal.SIGKILL)


def test_map_is_uploaded_interrupted_continued_and_removed_without_a_reload(place, tmp_path):
    server, session = place
    cut = tmp_path / "cut.osm.pbf"
    cut.write_bytes(map_files.street(tmp_path / "street.osm.pbf").read_bytes()[:-20])
    troubles = []
    with portal_browser.browsing() as browser, portal_browser.watching(browser, server.api, session=session) as watched:
        page = watched.page
        page.set_default_timeout(PATIENCE_S * 1_000)
        page.goto(f"{server.api}/admin/maps")
        troubles += watched.troubles()
        uploaded(page, "liechtenstein", LIECHTENSTEIN)
        page.get_by_role("heading", name="The map of “liechtenstein” is being imported").wait_for()
        troubles += watched.troubles()
        page.get_by_role("button", name="Cancel the import").press("Enter")
        page.get_by_text("The import of “liechtenstein” is cancelled").wait_for()
        page.get_by_text("No map is imported").wait_for()
        uploaded(page, "liechtenstein", LIECHTENSTEIN)
        page.get_by_role("heading", name="The map of “liechtenstein” is being imported").wait_for()
        page.evaluate("window.untouched = true")
        troubles += watched.troubles()
        killed(server.data / "maps")
        page.get_by_text("The import of “liechtenstein” was interrupted").wait_for()
        troubles += watched.troubles()
        stayed = page.evaluate("window.untouched")
        page.get_by_role("button", name="Continue the import").press("Enter")
        page.get_by_role("heading", name="The map of “liechtenstein” is being imported").wait_for()
        page.evaluate("window.untouched = true")
        page.get_by_text("The map of “liechtenstein” is imported.").wait_for()
        stayed = stayed and page.evaluate("window.untouched")
        row = page.locator("#areas tbody tr").inner_text()
        page.wait_for_selector("[data-map][data-state=drawn]")
        troubles += watched.troubles()
        uploaded(page, "street", cut)
        page.get_by_text("The import of “street” failed").wait_for()
        failed = page.locator("#map-import").inner_text()
        troubles += watched.troubles()
        page.get_by_role("button", name="Discard this import").press("Enter")
        page.get_by_text("The import of “street” is discarded.").wait_for()
        page.get_by_role("link", name="Remove liechtenstein").press("Enter")
        page.wait_for_url("**/delete")
        troubles += watched.troubles()
        page.locator("[name=confirm]").fill("liechtenstein")
        page.get_by_role("button", name="Remove liechtenstein").press("Enter")
        page.get_by_text("No map is imported").wait_for()
        troubles += watched.troubles()

    assert troubles == []
    assert stayed
    assert [each for each in ("liechtenstein.osm.pbf", "5,122") if each not in row] == []
    assert "street.osm.pbf is damaged or cut off" in failed
    assert maps.listed(server.data / "maps") == []


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "plain"])
def test_form_that_is_refused_keeps_what_was_typed_and_a_good_one_is_taken_and_can_be_cancelled(
    place, tmp_path, scripts
):
    server, session = place
    foreign = tmp_path / "foreign.osm.pbf"
    foreign.write_bytes(b"x" * 3_000_000)
    street = map_files.street(tmp_path / "street.osm.pbf")
    look = Look("dark", "en", 360)
    with (
        portal_browser.browsing() as browser,
        portal_browser.watching(browser, server.api, look, session=session, scripts=scripts) as watched,
    ):
        page = watched.page
        page.goto(f"{server.api}/admin/maps")
        uploaded(page, "street", foreign)
        page.locator(".field.invalid input[type=file]").wait_for()
        watched.complaints.clear()  # the browser complains of the refusal's status
        troubles = watched.troubles() if scripts else []
        kept = page.locator("[name=area]").input_value()
        page.set_input_files("input[type=file]", str(LIECHTENSTEIN))
        page.get_by_role("button", name="Upload and import").press("Enter")
        page.wait_for_url("**/admin/maps")
        page.get_by_role("button", name="Cancel the import").press("Enter")
        page.get_by_text("The import of “street” is cancelled").wait_for()
        uploaded(page, "street", street)
        page.wait_for_url("**/admin/maps")
        until = time.monotonic() + PATIENCE_S
        while not scripts and "is being imported" in page.locator("#content").inner_text():
            assert time.monotonic() < until
            page.get_by_role("link", name="Check again").click()
        page.locator("#areas tbody tr").wait_for()

    assert (kept, troubles) == ("street", [])
    assert [each.name for each in maps.listed(server.data / "maps")] == ["street"]

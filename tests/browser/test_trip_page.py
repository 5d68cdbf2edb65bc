"""A trip's page in a browser: read by keyboard, replayed, without scripts, in every state, without complaints."""

import asyncio
import json
import ssl

import pytest
from tests.support import drives, portal_browser, servers
from tests.support.device import CarefulDevice
from tests.support.fleet import Company
from tests.support.portal_browser import Look, watching
from tests.support.portal_life import Visit
from tests.support.spec import world
from tests.system.test_explanation import judged

START_MS = 1_780_000_000_000
PATIENCE_S = 30
PARTS = ("print", "samples", "contest")
LOOKS = [Look("light", "en", 1440), Look("dark", "ko", 360)]


@pytest.fixture(scope="module")
def driven(tmp_path_factory):
    """A browser, and the trips of a vehicle: one with events, one too short for a score that loses its fix."""
    with (
        servers.serving(tmp_path_factory.mktemp("trip") / "data") as server,
        Company(server.api, server.data) as company,
        Visit(server.api, "admin@test-fleet.example") as visit,
    ):
        vehicle = company.vehicle_with_sensor(1)
        tls = ssl.create_default_context(cafile=str(server.ca))
        box = CarefulDevice(vehicle.token, server.device_host, server.device_port, tls)
        short = without_fix(drives.straight_trip(2, START_MS + 7_200_000, samples=40))
        asyncio.run(box.play([*world.drive(START_MS, 1), *short]))
        ids = judged(company, vehicle)
        # Playwright has an event loop of its own.
        with portal_browser.browsing() as browser:
            yield browser, server.api, visit.session, ids


def without_fix(bodies):
    """The same samples, but for four with the last position and speed 0."""
    found = [json.loads(body) for body in bodies]
    for each in found[20:24]:
        each["pld"] |= {"lat": found[19]["pld"]["lat"], "sp": 0}
    return [json.dumps(each).encode() for each in found]


def test_trip_is_read_by_keyboard_and_replayed(driven):
    browser, api, session, (trip_id, _) = driven

    with watching(browser, api, session=session) as watched:
        page = watched.page
        page.goto(f"{api}/trips/{trip_id}")
        at, chart = (page.locator(f"[data-part={each}]") for each in ("at", "chart"))
        begin, point = (page.locator(each).first.bounding_box() for each in (".u-over", ".u-cursor-pt"))
        assert point["x"] + point["width"] / 2 == pytest.approx(begin["x"], abs=2)
        chart.focus()
        first = at.inner_text()
        chart.press("Shift+ArrowRight")
        later = at.inner_text()
        assert later != first
        assert "km/h, assumed limit 110 km/h" in later
        assert chart.get_attribute("aria-valuetext") == later
        assert "#t=" in page.url
        page.locator("[data-do=next-event]").click()
        assert "Sudden" in at.inner_text()
        box = chart.bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + 60, steps=4)
        page.mouse.up()
        page.wait_for_selector("tr.outside")
        chart.press("Escape")
        assert page.locator("tr.outside").count() == 0
        page.locator("[data-do=next-event]").click()
        assert page.locator("tr.at").count() == 1
        moment = page.url
        page.locator("[data-do=play]").click()
        page.wait_for_function(
            "(was) => document.querySelector('[data-part=at]').textContent !== was", arg=at.inner_text()
        )
        page.locator("[data-do=play]").click()
        page.goto("about:blank")
        page.goto(moment)
        page.wait_for_selector("tr.at")
        assert watched.troubles() == []


@pytest.mark.deep
@pytest.mark.parametrize("look", LOOKS, ids=[look.name for look in LOOKS])
def test_no_state_of_a_trip_has_troubles(driven, look):
    browser, api, session, (scored, unscored) = driven
    found = {}

    with watching(browser, api, look, session=session) as watched:
        for path in (f"/trips/{scored}", f"/trips/{unscored}", *(f"/trips/{scored}/{each}" for each in PARTS)):
            watched.page.goto(f"{api}{path}")
            if watched.page.locator("[data-trip]").count():
                watched.page.wait_for_selector('[data-map][data-state="drawn"]')
            found[path] = watched.troubles()
            watched.complaints.clear()
            watched.outside.clear()

    assert {path: troubles for path, troubles in found.items() if troubles} == {}


def test_chart_names_the_span_without_gps_and_the_limit_that_is_assumed(driven):
    browser, api, session, trips = driven
    keys = {}

    for trip_id in trips:
        with watching(browser, api, session=session) as watched:
            watched.page.goto(f"{api}/trips/{trip_id}")
            watched.page.wait_for_selector(".uplot canvas")
            keys[trip_id] = [each.inner_text() for each in watched.page.locator("[data-key]:visible").all()]

    assumed, counted = "Assumed limit, where the map states none", "Counts as speeding: more than 10% over the limit"
    assert keys == dict(zip(trips, ([assumed, counted], [assumed, "No GPS, or no reports"]), strict=True))


def test_events_at_one_place_of_the_map_are_apart_and_each_is_chosen(driven):
    browser, api, session, (trip_id, _) = driven

    with watching(browser, api, session=session) as watched:
        page = watched.page
        page.goto(f"{api}/trips/{trip_id}")
        page.wait_for_selector('[data-map][data-state="drawn"]')
        # Far away, all of the trip is one place.
        for _ in range(6):
            page.locator("[data-map-do=out]").click()
            page.wait_for_timeout(400)
        page.locator(".trip-group").wait_for()
        marks = page.locator(".trip-marker")
        groups, boxes = page.locator(".trip-group").count(), [each.bounding_box() for each in marks.all()]
        chosen = []
        for mark in marks.all():
            for _ in range(int(mark.inner_text() or 1)):
                mark.click()
                chosen.append(chosen_rows(page))
        followed = []
        for _ in range(5):
            page.locator("[data-do=next-event]").click()
            followed.append(chosen_rows(page))
        links = page.locator("#cost-rows th a")
        by_link = []
        for link in links.all():
            link.press("Enter")
            by_link.append(chosen_rows(page))

    rows = [(no,) for no in range(5)]
    assert groups == 1
    assert max(abs(one["x"] - other["x"]) for one in boxes for other in boxes) < 100
    assert all(
        max(abs(one["x"] - other["x"]), abs(one["y"] - other["y"])) > 15
        for no, one in enumerate(boxes)
        for other in boxes[:no]
    )
    assert sorted(chosen) == sorted(followed) == by_link == rows


def chosen_rows(page):
    """The numbers of the marked rows."""
    rows = page.locator("#cost-rows tbody tr")
    return tuple(no for no in range(rows.count()) if "at" in (rows.nth(no).get_attribute("class") or "").split())


def test_without_scripts_sentence_score_and_costs_stand(driven):
    browser, api, session, (trip_id, _) = driven

    with watching(browser, api, scripts=False, session=session) as watched:
        watched.page.goto(f"{api}/trips/{trip_id}")
        assert "one sudden start" in watched.page.locator("h1").inner_text()
        assert watched.page.locator("#cost-rows tbody tr").count() == 5
        assert watched.page.locator(".trip-number").is_visible()


def test_day_of_the_trip_is_read_by_keyboard_and_leads_to_the_days_around(driven):
    browser, api, session, (trip_id, _) = driven

    with watching(browser, api, session=session) as watched:
        page = watched.page
        page.goto(f"{api}/trips/{trip_id}")
        page.get_by_role("link", name="The whole day").click()
        page.wait_for_url("**/days/**")
        at, chart = (page.locator(f"[data-part={each}]") for each in ("at", "chart"))
        # What is hidden until the track is there has a text, though an empty one, and takes keys to nowhere.
        at.wait_for()
        first = at.inner_text()
        chart.press("Shift+ArrowRight")
        assert at.inner_text() != first
        assert page.locator("#day-rows").get_by_role("link").count() == 2
        page.wait_for_selector('[data-map][data-state="drawn"]')
        assert watched.troubles() == []
        day = page.url
        page.locator("h1").click()
        page.keyboard.press("]")
        page.wait_for_url(lambda url: url != day)
        page.get_by_role("link", name="Last trip before").click()
        page.wait_for_url(day)

"""The list of trips as a page: its period, filters and files."""

import re

import pytest
from sqlalchemy import update
from tests.support import access_world, day_world
from tests.support import rest as support
from tests.support.portal import Browser, Page
from tests.support.rest import changed

from tripline.portal.lists import exports
from tripline.services.exports import Exporter
from tripline.services.fleet import trip_lists
from tripline.store.tables import trip

DAY_MS = 86_400_000


def seen(folder, address, name="P"):
    """The page at the address, in a world whose trip began a day ago, and the number of its vehicle."""

    async def scenario(rest):
        world = await access_world.settled(rest)
        await rest.store.write(lambda tx: tx.run(update(trip).values(start_ms=support.NOW_MS - DAY_MS)))
        return world, await Browser(rest, world.logins[name]).get(address.format_map(world.ids))

    return support.run(folder, scenario)


@pytest.mark.parametrize("name", ["operator", "P", "managing director", "driver of P"])
def test_trip_of_the_last_seven_days_is_listed_with_its_link(tmp_path, name):
    world, answer = seen(tmp_path, "/trips", name)

    assert answer.status_code == 200
    assert f"/trips/{world.ids['T']}" in Page(answer.text).hrefs


@pytest.mark.parametrize(
    ("query", "listed"),
    [
        ("vehicle={V}&state=scored", True),
        ("driver={driver of P}&company={P}", True),
        ("state=unscored", False),
        ("disputed=yes", True),
        ("from=2020-01-01&to=2020-01-31", False),
    ],
)
def test_filters_and_period_leave_the_trips_they_name(tmp_path, query, listed):
    world, answer = seen(tmp_path, f"/trips?{query}")

    assert (f"/trips/{world.ids['T']}" in Page(answer.text).hrefs) is listed


@pytest.mark.parametrize("query", ["from=odd", "from=20250101", "to=2100-01-01", "state=odd"])
def test_wrong_period_or_filter_is_refused(tmp_path, query):
    _, answer = seen(tmp_path, f"/trips?{query}")

    assert answer.status_code == 400


def test_page_of_a_vehicle_leads_to_its_trips(tmp_path):
    world, answer = seen(tmp_path, "/fleet/vehicles/{V}")

    assert f"/trips?vehicle={world.ids['V']}" in Page(answer.text).hrefs


@pytest.mark.parametrize(
    ("names", "begin", "end"),
    [
        (day_world.Names(), "Main Road, en 127.0", "Main Road, en 127.4"),
        (None, "37.5000, 127.0000", "37.5000, 127.4000"),
    ],
)
async def test_ends_are_words_on_the_page_and_beside_coordinates_in_the_file(app: support.Rest, names, begin, end):
    world = await day_world.three_trips(app)
    app.contexts = changed(app.contexts, places=names)
    query = "from=2024-12-31&to=2024-12-31"
    browser = Browser(app, world.of("P"))
    listed = await browser.get(f"/trips?{query}")
    asked = {"list": "trips", "form": "csv", "query": query, "columns": "start.begin.end.begin_at.end_at"}
    begun = await browser.post("/exports", asked)
    context = app.contexts.context
    maker = Exporter(
        store=context.store,
        signals=context.signals,
        clock=context.clock,
        maker_id="one",
        books=exports.books(context.time_zone, names),
    )
    await maker.make_next()
    file = await browser.get(f"{begun.headers['location']}/file")

    assert re.findall(r'<span class="clip" title="([^"]*\d)"', listed.text) == [begin, end]
    row = file.content.decode("utf-8-sig").splitlines()[1]
    assert row == f'2024-12-31 23:00,"{begin}","{end}","37.5000, 127.0000","37.5000, 127.4000"'


async def test_reason_stored_by_another_version_is_in_general_words(app: support.Rest):
    world = await access_world.settled(app)
    stored = update(trip).values(start_ms=support.NOW_MS - DAY_MS, not_scored="reason_of_another_version")
    await app.store.write(lambda tx: tx.run(stored))
    answer = await Browser(app, world.logins["P"]).get("/trips?columns=reason")

    assert answer.status_code == 200
    assert '<span class="clip" title="The trip cannot be scored."' in answer.text


def test_no_state_is_empty(tmp_path):
    _, answer = seen(tmp_path, "/trips?columns=score&columns=state")

    (row,) = re.findall(r"<tr data-row>(.*?)</tr>", answer.text, re.DOTALL)
    assert re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", row)).strip().endswith("Scored")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("vehicle={V}", "Trips 1 Distance 4.0 km Driving"),
        ("driver={driver of P}", "Trips 1 Distance 4.0 km Driving"),
        ("company={P}&state=unscored", "Trips 0 Distance 0.0 km Driving"),
    ],
)
def test_sums_are_of_the_trips_of_one_subject_in_the_period(tmp_path, query, words):
    _, listed = seen(tmp_path, f"/trips?{query.replace('&state=unscored', '')}")
    _, answer = seen(tmp_path, f"/trips/sums?{query}")

    assert 'hx-get="/trips/sums?' in listed.text
    assert words in re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", answer.text))


def test_list_of_everything_in_reach_has_no_sums(tmp_path):
    _, listed = seen(tmp_path, "/trips")
    _, answer = seen(tmp_path, "/trips/sums")

    assert "/trips/sums" not in listed.text
    assert answer.status_code == 400


def test_too_many_trips_have_no_sums(tmp_path, monkeypatch):
    monkeypatch.setattr(trip_lists, "SUMMED", 0)

    _, answer = seen(tmp_path, "/trips/sums?vehicle={V}")

    assert answer.status_code == 200
    assert "more than 0 trips" in answer.text

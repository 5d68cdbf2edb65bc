"""The list of trips as a page: its period, filters and files."""

import pytest
from sqlalchemy import update
from tests.support import access_world
from tests.support import rest as support
from tests.support.portal import Browser, Page

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

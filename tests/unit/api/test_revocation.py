"""A right taken back is gone at the very next request: every route that a delegation or a right had opened."""

import copy
from typing import Any

import pytest
from tests.support import delegating, rest
from tests.support.rest import Rest

ON_VEHICLE = (
    "GET /vehicle/{v}",
    "GET /vehicle/{v}/trips?limit=1",
    "GET /vehicle/{v}/trip/latest",
    "GET /vehicle/{v}/microtrip/latest",
    "GET /vehicle/{v}/events?limit=1",
    "GET /trip/{t}",
    "GET /trip/{t}/microtrips?limit=1",
    "GET /api/tre/v1_3/vehicle/{v}/analytics/drivingScore?limit=1",
    "GET /api/tre/v1_3/vehicle/{v}/analytics/drivingScore/stat",
    "GET /api/tre/v1_3/vehicle/{v}/analytics/gpsEvent?limit=1",
    "GET /api/tre/v1_3/trip/{t}/analytics/drivingScore",
)
"""What everybody who may drive the vehicle may ask."""
OF_DIRECTORS = (
    "GET /vehicle/{v}/companies?limit=1",
    "GET /sensor/{s}",
    "GET /sensor/{s}/latest",
    "GET /sensor/{s}/rpcs?limit=1",
    "GET /sensor/{s}/rpc/latest",
    "GET /sensor/{s}/rpc/{c}",
    "POST /vehicle/{v}/activate",
    "POST /vehicle/{v}/deactivate",
)
"""What directors and administrators may beside that."""
OF_ITS_DRIVER = (
    "GET /api/tre/v1_2/driver/{d}/analytics/drivingScore?limit=1",
    "GET /api/tre/v1_2/driver/{d}/analytics/gpsEvent?limit=1",
    "GET /driver/{d}/trips?limit=1",
)
"""What the person who drove may ask about the person, and the administrators of that company."""


class Story:
    """The owner's vehicle, delegated to the borrower; people of both with rights on it; one trip by each."""

    def __init__(self, app: Rest) -> None:
        self.app = app

    async def tell(self) -> "Story":
        """Make it so."""
        app = self.app
        self.of = await delegating.companies(app)
        self.v = await delegating.new_vehicle(app, self.of.owner)
        await delegating.register(app, self.of.owner, self.of.borrower)
        await delegating.delegate(app, self.of.owner, self.of.borrower, self.v)
        self.people = {
            "director of owner": await delegating.director(app, self.of.owner, "director-owner"),
            "driver of owner": await delegating.driver(app, self.of.owner, "driver-owner"),
            "director of borrower": await delegating.director(app, self.of.borrower, "director-borrower"),
            "driver of borrower": await delegating.driver(app, self.of.borrower, "driver-borrower"),
        }
        for name, person in self.people.items():
            admin = self.of.owner if name.endswith("owner") else self.of.borrower
            await delegating.give(app, admin, person, self.v, drive=name.startswith("driver"))
        self.sensor = await delegating.new_sensor(app, self.of.owner, on=self.v)
        call = await app.call(self.of.owner, "POST", f"/api/plugins/rpc/twoway/{self.sensor}", {"method": "reset"})
        assert call.status_code == 409  # nobody is connected; the call is on record all the same
        self.call = (await app.get(self.of.owner, f"/sensor/{self.sensor}/rpc/latest"))["id"]["id"]
        self.drove = self.people["driver of owner"]
        self.trip = await app.store.write(delegating.scored_trip(app, self.of.owner, self.v, self.drove))
        self.logins = {"owner": self.of.owner, "borrower": self.of.borrower, **self.people}
        return self

    async def open_to(self, name: str) -> set[str]:
        """The routes on which this one is answered; every other one refuses with 403."""
        values = {"v": self.v, "t": self.trip, "s": self.sensor, "c": self.call, "d": self.drove.user_id}
        answers: dict[str, int] = {}
        for route in (*ON_VEHICLE, *OF_DIRECTORS, *OF_ITS_DRIVER):
            method, path = route.format_map(values).split(" ", 1)
            answers[route] = (await self.app.call(self.logins[name], method, path)).status_code
        assert {route: status for route, status in answers.items() if status not in {200, 403}} == {}
        return {route for route, status in answers.items() if status == 200}

    async def open_to_each(self) -> dict[str, set[str]]:
        """As `open_to`, by everybody's name."""
        return {name: await self.open_to(name) for name in self.logins}


async def _told(app: Rest) -> Story:
    story = copy.copy(await app.staged(_first_told))
    story.app = app
    return story


async def _first_told(app: Rest) -> Story:
    return await Story(app).tell()


DRIVERS = set(ON_VEHICLE)
DIRECTORS = {*ON_VEHICLE, *OF_DIRECTORS}
ALL = {*DIRECTORS, *OF_ITS_DRIVER}
OWN_TRIP = {"GET /trip/{t}", "GET /trip/{t}/microtrips?limit=1", "GET /api/tre/v1_3/trip/{t}/analytics/drivingScore"}

BEFORE: dict[str, set[str]] = {
    "owner": ALL,
    "borrower": DIRECTORS,
    "director of owner": DIRECTORS,
    "driver of owner": {*DRIVERS, *OF_ITS_DRIVER},
    "director of borrower": DIRECTORS,
    "driver of borrower": DRIVERS,
}


def _story(folder: Any, take_back: Any) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    async def scenario(app: Rest) -> Any:
        story = await _told(app)
        before = await story.open_to_each()
        await take_back(app, story)
        return before, await story.open_to_each()

    before, after = rest.run(folder, scenario)
    return before, after


@pytest.fixture
async def story(app: Rest) -> Story:
    return await _told(app)


def test_vehicle_taken_back_is_closed_to_everybody_of_the_company_that_had_it(tmp_path):
    async def take_back(app, story):
        await delegating.take_back(app, story.of.owner, story.of.borrower, story.v)

    before, after = _story(tmp_path, take_back)

    assert after == {**before, **{name: set() for name in before if name.endswith("borrower")}}
    assert before == BEFORE


@pytest.mark.parametrize("name", ["director of owner", "director of borrower", "driver of borrower"])
def test_right_taken_back_is_closed_to_its_holder_alone(tmp_path, name):
    async def take_back(app, story):
        path = delegating.rights(story.people[name], drive=name.startswith("driver"))
        answer = await app.call(story.of.owner, "DELETE", f"{path}/{story.v}")
        assert answer.status_code == 200

    before, after = _story(tmp_path, take_back)

    assert after == {**before, name: set()}
    assert before[name] >= DRIVERS


def test_driver_whose_right_is_taken_back_keeps_what_that_driver_drove(tmp_path):
    async def take_back(app, story):
        path = delegating.rights(story.drove, drive=True)
        await app.call(story.of.owner, "DELETE", f"{path}/{story.v}")

    before, after = _story(tmp_path, take_back)

    assert after == {**before, "driver of owner": {*OWN_TRIP, *OF_ITS_DRIVER}}


async def test_company_keeps_the_pages_of_its_own_drivers_when_the_vehicle_is_taken_back(app: rest.Rest, story):
    story.drove = story.people["driver of borrower"]
    await app.store.write(lambda tx: delegating.now_drove(tx, story.trip, story.drove))
    await delegating.take_back(app, story.of.owner, story.of.borrower, story.v)
    admin, driver = await story.open_to("borrower"), await story.open_to("driver of borrower")

    assert admin == set(OF_ITS_DRIVER)
    assert driver == {*OWN_TRIP, *OF_ITS_DRIVER}


@pytest.mark.parametrize(("name", "opened"), [("borrower", 403), ("driver of borrower", 200), ("owner", 200)])
async def test_trip_of_a_vehicle_taken_back_opens_by_its_id_to_its_driver_and_not_to_the_drivers_company(
    app: rest.Rest, story, name, opened
):
    driver = story.people["driver of borrower"]
    await app.store.write(lambda tx: delegating.now_drove(tx, story.trip, driver))
    await delegating.take_back(app, story.of.owner, story.of.borrower, story.v)
    page = await app.call(story.logins[name], "GET", f"/driver/{driver.user_id}/trips?limit=9")
    listed = [trip["id"]["id"] for trip in page.json()["data"]] if page.status_code == 200 else page.status_code
    trip = await app.call(story.logins[name], "GET", f"/trip/{story.trip}")
    status, trips = trip.status_code, [story.trip]

    assert (listed, status) == (403 if name == "owner" else trips, opened)


async def test_vehicle_taken_back_has_no_driver_of_that_company_and_no_right_of_its_people(app: rest.Rest, story):
    await app.store.write(delegating.drives_now(story.v, story.people["driver of borrower"]))
    before = await app.get(story.of.owner, f"/vehicle/{story.v}")
    await delegating.take_back(app, story.of.owner, story.of.borrower, story.v)
    after = await app.get(story.of.owner, f"/vehicle/{story.v}")
    lists = [
        (await app.get(story.of.operator, f"{delegating.rights(person, drive=name.startswith('driver'))}s", limit=9))
        for name, person in story.people.items()
    ]
    driver = story.people["driver of borrower"].user_id
    held = [len(page["data"]) for page in lists]

    assert (before["currentDriverId"]["id"], before["delegateUserCount"]) == (driver, 4)
    assert after == {**before, "currentDriverId": after["currentDriverId"], "delegateUserCount": 2}
    assert after["currentDriverId"]["id"] == "13814000-1dd2-11b2-8080-808080808080"
    assert held == [1, 1, 0, 0]


async def test_vehicle_taken_back_keeps_a_driver_of_another_company(app: rest.Rest, story):
    await app.store.write(delegating.drives_now(story.v, story.drove))
    await delegating.take_back(app, story.of.owner, story.of.borrower, story.v)
    vehicle = await app.get(story.of.owner, f"/vehicle/{story.v}")

    assert vehicle["currentDriverId"]["id"] == story.drove.user_id


async def test_right_on_one_vehicle_outlives_the_delegation_of_another(app: rest.Rest, story):
    second = await delegating.new_vehicle(app, story.of.owner, "second")
    await delegating.delegate(app, story.of.owner, story.of.borrower, second)
    person = story.people["director of borrower"]
    await delegating.give(app, story.of.borrower, person, second)
    await delegating.take_back(app, story.of.owner, story.of.borrower, story.v)
    found = [(await app.call(person, "GET", f"/vehicle/{each}")).status_code for each in (story.v, second)]

    assert found == [403, 200]


async def test_delegating_again_brings_no_right_back(app: rest.Rest, story):
    await delegating.take_back(app, story.of.owner, story.of.borrower, story.v)
    await delegating.delegate(app, story.of.owner, story.of.borrower, story.v)

    assert {name: await story.open_to(name) for name in story.logins if name.endswith("borrower")} == {
        "borrower": DIRECTORS,
        "director of borrower": set(),
        "driver of borrower": set(),
    }

"""Every state of the pages about driving in a browser: axe, console, policy, width, and requests to this server alone.

A state is a row of `STATES`. Each run draws a theme, a language and a width for every visitor, since opening a window
takes as long as two pages in it, and three of the reasons for which a trip has no score.
"""

import asyncio
import contextlib
import datetime
import os
import random
import signal
import ssl
import time
from collections import defaultdict
from zoneinfo import ZoneInfo

import httpx
import pytest
from tests.support import drives, fleet, map_files, portal_browser, servers, stores, waits
from tests.support.device import CarefulDevice
from tests.support.fleet import Company
from tests.support.portal_life import Visit
from tests.support.spec import world as spec

from tripline.domain.scores import WhyNot
from tripline.maintenance import maps

pytestmark = [pytest.mark.deep, pytest.mark.once("what a page shows"), pytest.mark.slow, pytest.mark.timeout(600)]

HOUR_MS = 3_600_000
MANY = 5
PATIENCE_S = 60
PATIENCE_MS = 30_000
NO_WEBGL = "--disable-3d-apis"
ZONE = ZoneInfo("Asia/Seoul")
UNSCORED = random.Random(portal_browser.SEED).sample([each.value for each in WhyNot if each is not WhyNot.ANNULLED], 3)
"""The reasons for no score in this run: their pages differ in a sentence."""
HARSH = [*[60.0] * 100, 65.0, 85.0, 85.0, 60.0, *[60.0] * 100]
MAP = "[data-map]:not([data-state=drawing])"
SAID = "main [data-part=state]:not([hidden])"
LIVE = ".live[data-stream=live]"
ANYBODY = "nobody"


class Fleet:
    """A company whose vehicles drove: the first this many trips, the others one each."""

    def __init__(self, server, service_type, vehicles, trips=1):
        self.server, self.origin = server, server.api
        self.company = Company(server.api, server.data, service_type=service_type)
        self.visit = Visit(server.api, f"admin@{service_type}.example")
        self.vehicles = [self.company.vehicle_with_sensor(number) for number in range(1, vehicles + 1)]
        self.service_type = service_type
        self.people = [self._person(service_type, name) for name in ("kim", "lee")]
        self.now_ms = int(time.time() * 1000)
        for number, vehicle in enumerate(self.vehicles):
            for person in self.people:
                allowed = {"vehicleId": {"id": vehicle.vehicle_id}}
                self.company.post(f"/api/tre/v1/driver/{person}/relation/vehicle", allowed)
            self.company.post(f"/api/tre/v1/vehicle/{vehicle.vehicle_id}/driver/{self.people[number % 2]}")
            self._drive(vehicle, trips if number == 0 else 1)

    def _person(self, service_type, name):
        body = {"name": name.title(), "email": f"{name}@{service_type}.example", "password": fleet.PASSWORD}
        return self.company.post("/api/tre/v1/driver", body)["id"]["id"]

    def _drive(self, vehicle, trips):
        """Trips with a harsh acceleration, half an hour apart, the last one over a minute ago."""
        bodies = []
        for back in range(trips, 0, -1):
            bodies += spec.drive(self.now_ms - back * HOUR_MS // 2, trips - back + 1, speeds=HARSH)
        self.publish(vehicle, bodies)

    def publish(self, vehicle, bodies):
        tls = ssl.create_default_context(cafile=str(self.server.ca))
        box = CarefulDevice(vehicle.token, self.server.device_host, self.server.device_port, tls)
        asyncio.run(box.play(bodies))

    def trips(self):
        """Ids of the first vehicle's trips, oldest first, once each is judged."""
        path = f"/api/tre/v1/vehicle/{self.vehicles[0].vehicle_id}/trips"
        waits.seen(
            lambda: not stores.Database(self.server.data).rows("SELECT trip_no FROM scoring_job"), within_s=PATIENCE_S
        )
        page = self.company.get(path, limit=100)["data"]
        return [each["id"]["id"] for each in sorted(page, key=lambda each: each["startTs"])]

    def share(self, path, **chosen):
        return self.company.post(f"/api/tre/v1_3/{path}/sharelink", chosen)


class Driver:
    """A driver of a fleet, signed in."""

    def __init__(self, fleet, name):
        self.origin = fleet.origin
        self.visit = Visit(fleet.origin, f"{name}@{fleet.service_type}.example")


class World:
    """Companies without, with one and with many drives on a server with a map, and one on a server without."""

    def __init__(self, server, bare):
        self.fleets = {
            "none": Fleet(server, "none-yet", 0),
            "one": Fleet(server, "one-van", 1),
            "many": Fleet(server, "many-vans", MANY, trips=len(UNSCORED) + 4),
            "bare": Fleet(bare, "no-map", 1),
        }
        self.none, self.one, self.many, self.bare = self.fleets.values()
        self.drivers = {"driver": Driver(self.many, "kim"), "driver, no vehicle": Driver(self.none, "kim")}
        self.one_trip, self.bare_trip = (each.trips()[0] for each in (self.one, self.bare))
        scored, disputed, annulled, corrected, *unscored = self.many.trips()
        self.scored, self.disputed, self.annulled, self.corrected = scored, disputed, annulled, corrected
        self.event = self._harsh_event(scored)
        self.dispute = self._contested(disputed)
        self._accepted(annulled)
        answer = self.many.company.http.put(
            f"/api/tre/v1_3/trip/{corrected}/driver", json={"driverId": self.many.people[1]}
        )
        assert answer.status_code == 200, answer.text
        self.unscored = dict(zip(UNSCORED, unscored, strict=True))
        self.many.trips()
        self._unscored()
        self.under_way = self._under_way()
        self.quiet = self.many.company.vehicle_with_sensor(90)
        self.links = {
            "vehicle": self.many.share(f"vehicle/{self.many.vehicles[1].vehicle_id}", trail=True, number=True),
            "under way": self.many.share(f"vehicle/{self.many.vehicles[2].vehicle_id}", trail=True),
            "trip": self.many.share(f"trip/{scored}", number=True),
            "ended": self.many.share(f"vehicle/{self.many.vehicles[1].vehicle_id}"),
            "bare": self.bare.share(f"vehicle/{self.bare.vehicles[0].vehicle_id}"),
        }
        ended = self.links["ended"]["id"]["id"]
        assert self.many.company.http.delete(f"/api/tre/v1_3/sharelink/{ended}").status_code == 200

    def _harsh_event(self, trip_id):
        path = f"/api/tre/v1_3/trip/{trip_id}/analytics/drivingScore/explanation"
        return self.many.company.get(path)["harshEvents"][0]["id"]["id"]

    def _contested(self, trip_id):
        """The first vehicle's driver contests the whole trip."""
        login = {"username": "kim@many-vans.example", "password": fleet.PASSWORD}
        token = httpx.post(f"{self.many.origin}/api/auth/login", json=login).json()["token"]
        answer = httpx.post(
            f"{self.many.origin}/api/tre/v1_3/trip/{trip_id}/dispute",
            json={"reason": "TRAFFIC", "text": "A child ran into the road."},
            headers={"X-Authorization": f"Bearer {token}"},
        )
        assert answer.status_code == 200, answer.text
        return answer.json()["id"]["id"]

    def _accepted(self, trip_id):
        path = f"/api/tre/v1_3/dispute/{self._contested(trip_id)}/decision"
        answer = self.many.company.http.put(path, json={"accept": True, "answer": "Seen."})
        assert answer.status_code == 200, answer.text

    def _unscored(self):
        """Reasons that devices rarely give, as the scorer stores them."""
        database = stores.Database(self.many.server.data)
        for why, trip_id in self.unscored.items():
            of_trip = f"trip_no IN (SELECT no FROM trip WHERE id = '{trip_id}')"
            database.rows(f"DELETE FROM gps_event WHERE {of_trip}")
            database.rows(f"DELETE FROM driving_score WHERE {of_trip}")
            database.rows(f"UPDATE trip SET not_scored = '{why}' WHERE id = '{trip_id}'")

    def _under_way(self):
        vehicle = self.many.vehicles[2]
        self.many.publish(vehicle, drives.straight_trip(99, int(time.time() * 1000) - 120_000, samples=60)[:-1])
        page = self.many.company.get(f"/api/tre/v1/vehicle/{vehicle.vehicle_id}/trips", limit=1)["data"]
        return page[0]["id"]["id"]

    def company_of(self, name):
        return self.fleets[name].company.record["id"]["id"]


def vehicle(world, place=0):
    return world.many.vehicles[place].vehicle_id


def today():
    return datetime.datetime.now(ZONE).date().isoformat()


STATES = (
    ("trip, scored", "many", lambda world: f"/trips/{world.scored}", MAP),
    ("trip, under way", "many", lambda world: f"/trips/{world.under_way}", MAP),
    ("trip, disputed", "many", lambda world: f"/trips/{world.disputed}", MAP),
    ("trip, annulled", "many", lambda world: f"/trips/{world.annulled}", MAP),
    ("trip, corrected", "many", lambda world: f"/trips/{world.corrected}", MAP),
    *(
        (f"trip, no score: {why}", "many", lambda world, why=why: f"/trips/{world.unscored[why]}", MAP)
        for why in UNSCORED
    ),
    ("trip, no map imported", "bare", lambda world: f"/trips/{world.bare_trip}", MAP),
    ("trip, printed", "many", lambda world: f"/trips/{world.scored}/print", ".trip-sketch"),
    ("contest", "many", lambda world: f"/trips/{world.scored}/contest", "form"),
    ("contest, event", "many", lambda world: f"/trips/{world.scored}/contest?event={world.event}", "form"),
    ("decide", "many", lambda world: f"/trips/{world.disputed}/disputes/{world.dispute}", "form"),
    ("driver, corrected", "many", lambda world: f"/trips/{world.corrected}/driver", "main dl"),
    (
        *("driver, preview", "many"),
        lambda world: f"/trips/{world.scored}/driver?chosen={world.many.people[1]}",
        "#preview",
    ),
    ("share vehicle", "many", lambda world: f"/fleet/vehicles/{vehicle(world)}/share", "form"),
    ("share trip", "many", lambda world: f"/trips/{world.scored}/share", "form"),
    ("links, none", "none", lambda world: "/shares", "main"),
    ("links, some", "many", lambda world: "/shares", "#shares"),
    ("shared vehicle", ANYBODY, lambda world: world.links["vehicle"]["url"], MAP),
    ("shared vehicle, under way", ANYBODY, lambda world: world.links["under way"]["url"], MAP),
    ("shared trip", ANYBODY, lambda world: world.links["trip"]["url"], MAP),
    ("shared vehicle, no map imported", ANYBODY, lambda world: world.links["bare"]["url"], MAP),
    ("shared vehicle, ended", ANYBODY, lambda world: world.links["ended"]["url"], SAID),
    ("live map, empty", "none", lambda world: "/map", f"{LIVE} [data-part=none]:not([hidden])"),
    ("live map, one", "one", lambda world: "/map", f"{LIVE} .live-list li"),
    ("live map, many", "many", lambda world: "/map", f"{LIVE} .live-list li:nth-child({MANY})"),
    ("live map, no map imported", "bare", lambda world: "/map", f"{LIVE} .live-list li"),
    ("attention, none", "none", lambda world: "/scores", "main"),
    ("attention, one", "one", lambda world: "/scores", "main"),
    ("attention, many", "many", lambda world: "/scores", "main section"),
    *(
        (f"scores of company, {name}", name, lambda world, name=name: f"/scores/companies/{world.company_of(name)}", on)
        for name, on in (("none", "main"), ("one", ".trend"), ("many", "#ranking"))
    ),
    ("scores of vehicle, one", "one", lambda world: f"/scores/vehicles/{world.one.vehicles[0].vehicle_id}", ".trend"),
    ("scores of vehicle, many", "many", lambda world: f"/scores/vehicles/{vehicle(world)}", "#trips"),
    ("scores of vehicle, none", "many", lambda world: f"/scores/vehicles/{world.quiet.vehicle_id}", "main"),
    ("scores of person, many", "many", lambda world: f"/scores/people/{world.many.people[0]}", "#trips"),
    ("scores of person, none", "none", lambda world: f"/scores/people/{world.none.people[0]}", "main"),
    ("day, many trips", "many", lambda world: f"/fleet/vehicles/{vehicle(world)}/days/{today()}", MAP),
    ("day, under way", "many", lambda world: f"/fleet/vehicles/{vehicle(world, 2)}/days/{today()}", MAP),
    ("day, none", "many", lambda world: f"/fleet/vehicles/{vehicle(world)}/days/2020-02-02", "main"),
    ("day, never", "many", lambda world: f"/fleet/vehicles/{world.quiet.vehicle_id}/days/{today()}", "main"),
    ("driver's page", "driver", lambda world: "/drive", ".driven-cost"),
    ("driver's page, no vehicle", "driver, no vehicle", lambda world: "/drive", "main .empty"),
    ("vehicle taken by another", "driver", lambda world: f"/drive/{vehicle(world, 1)}", "main .notice"),
    ("trips, none", "none", lambda world: "/trips", "main"),
    ("trips, many", "many", lambda world: "/trips", "#trips"),
)
WITHOUT_WEBGL = ("trip, scored", "shared vehicle", "live map, many", "day, many trips")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("states")
    file = map_files.street(folder / "street.osm.pbf")
    maps.imported(folder / "maps", file, name="street", country="", progress=lambda _count: None)
    with (
        servers.serving(folder / "data", variables={"TRIPLINE_MAP_DIR": str(folder / "maps")}) as server,
        servers.serving(folder / "bare") as bare,
    ):
        made = World(server, bare)
        yield made
        for each in made.fleets.values():
            each.company.http.close()
        for each in (*made.fleets.values(), *made.drivers.values()):
            each.visit.http.close()


@pytest.fixture(scope="module")
def browser(world):
    with portal_browser.browsing() as opened:
        yield opened


def visit_of(world, state):
    """The server of a state's page, the session that sees it, its address."""
    _, guest, address, _ = state
    path = address(world)
    if guest == ANYBODY:
        return path.partition("/share")[0], None, path
    of = world.fleets.get(guest) or world.drivers[guest]
    return of.origin, of.visit.session, f"{of.origin}{path}"


def show(watched, address, state):
    """Open a page and wait for its state."""
    name, *_, ready = state
    watched.page.goto(address)
    try:
        watched.page.wait_for_selector(ready, state="attached", timeout=PATIENCE_MS)
    except Exception as error:
        error.add_note(f"{name}: {watched.page.url} {watched.page.inner_text('body')[:800]}")
        raise


@contextlib.contextmanager
def shown(world, browser, turn, state):
    """A page in its state, in a window of its own."""
    origin, session, address = visit_of(world, state)
    with portal_browser.watching(browser, origin, portal_browser.rotated(turn), session=session) as watched:
        show(watched, address, state)
        yield watched


def troubles_of(watched, name):
    """What is wrong with the page; a link that has ended is a refusal, of which a browser complains."""
    return [each for each in watched.troubles() if not (name.endswith("ended") and "404" in each)]


def test_without_webgl_each_page_says_so_and_has_no_troubles(world):
    found = {}
    with portal_browser.browsing(NO_WEBGL) as without:
        for turn, state in enumerate(each for each in STATES if each[0] in WITHOUT_WEBGL):
            with shown(world, without, turn, state) as watched:
                watched.page.wait_for_selector("[data-map][data-state=undrawn]", timeout=PATIENCE_MS)
                troubles = [each for each in troubles_of(watched, state[0]) if "WebGL" not in each]
                if troubles:
                    found[state[0]] = troubles

    assert found == {}


def test_no_state_has_troubles_or_asks_another_host(world, browser):
    guests = list(dict.fromkeys(guest for _, guest, *_ in STATES))
    drawn, found = defaultdict(list), {}
    for state in STATES:
        origin, session, address = visit_of(world, state)
        look = portal_browser.rotated(guests.index(state[1]))
        drawn[origin, session, look].append((address, state))
    for (origin, session, look), visits in drawn.items():
        with portal_browser.watching(browser, origin, look, session=session) as watched:
            for address, state in visits:
                show(watched, address, state)
                if troubles := troubles_of(watched, state[0]):
                    found[f"{state[0]} in {look.name}"] = troubles
                watched.complaints.clear()
                watched.outside.clear()

    assert found == {}, f"TRIPLINE_TESTS_SEED={portal_browser.SEED}"


def test_cut_stream_has_no_troubles(world, browser):
    (state,) = (each for each in STATES if each[0] == "live map, many")
    with shown(world, browser, 0, state) as watched:
        os.kill(world.many.server.process.pid, signal.SIGSTOP)
        try:
            watched.page.wait_for_selector(".live[data-stream=cut]", timeout=PATIENCE_MS)
            found = portal_browser.axe(watched.page) + portal_browser.too_wide(watched.page) + watched.outside
        finally:
            os.kill(world.many.server.process.pid, signal.SIGCONT)

    assert found == []

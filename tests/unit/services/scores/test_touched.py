"""Scoring anew what a map touches: which trips these are, what is passed over, and the same after the map is gone."""

import math
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import update
from tests.support import map_files as made
from tests.support import scoring_rows
from tests.support.scoring_rows import COMPANY, ZONE, sample

from tripline.adapters.maps import files
from tripline.adapters.maps.roads_osm import PATIENCE_S, OsmRoads
from tripline.domain.access import Actor, Authority
from tripline.domain.ids import CompanyId, UserId
from tripline.domain.maps import Bounds
from tripline.domain.rescorings import RescoringRequest, Stage, Touched
from tripline.maintenance import maps
from tripline.scoring import quality
from tripline.services.scores import rescore, rescorings
from tripline.services.scores.rescorer import Rescorer
from tripline.store import tables
from tripline.store.scores import rescore as rows
from tripline.store.scores.rescore import Choice

METRES = 111_195.08
LON = 9.5
ROOT = Actor(UserId(COMPANY), Authority.SYS_ADMIN, None)


class Town:
    """A folder of maps in which a street is imported, changed and removed under the name `town`."""

    def __init__(self, folder):
        self.folder, self.maps = folder, folder / "maps"
        self.passed_s = 0.0
        self.roads = OsmRoads(self.maps, zone=ZONE, monotonic=lambda: self.passed_s)

    def imported(self, limit, name="town"):
        """Import the street with this limit; what qualities call this map."""
        file = made.street(self.folder / f"{limit}.osm.pbf", maxspeed=str(limit))
        area = maps.imported(self.maps, file, name=name, country="", progress=lambda _: None)
        return f"{name}:{area.map}"

    def removed(self):
        maps.removed(self.maps, "town")

    def lost(self):
        """Its files are gone, and nobody waits for them any more."""
        shutil.rmtree(next(each for each in self.maps.iterdir() if each.is_dir()))

    def touched(self, name="town"):
        """What its map touches now."""
        found = next((each for each in files.areas(self.maps) if each.name == name), None)
        return Touched(name) if found is None else Touched(name, found.map, found.bounds)


@pytest.fixture
def town(tmp_path):
    return Town(tmp_path)


@pytest.fixture
async def rig(tmp_path, town):
    async with scoring_rows.opened(tmp_path, roads=town.roads) as made:
        yield made


def north(metres=4_500, *, lat=47.003, lon=LON):
    """A drive due north at 15 m/s, a sample a second, sixty to a microtrip."""
    packed = [sample(second, 54.0, lat=lat + second * 15 / METRES, lon=lon) for second in range(metres // 15)]
    return [b"".join(packed[at : at + 60]) for at in range(0, len(packed), 60)]


async def fleet(rig):
    """Scored trips: along the street, through it from far away, beside it, far off; and one too short for a score."""
    drives = {
        "along": north(),
        "through": north(20_000, lat=46.95),
        "beside": north(lon=9.51),
        "far": north(lat=36.0),
        "short": north(600),
    }
    trips = {name: await rig.add_trip(packed) for name, packed in drives.items()}
    await rig.drain()
    rig.now_ms += 60_000
    return trips


async def chosen(rig, trips, now, **other):
    """The names of those that are touched, all others being of no account."""
    choice = Choice(touched=now, **other)
    page = await rig.store.read(lambda tx: rows.page(tx, choice, own_policy=1, after=0, limit=100))
    assert page.looked_at == len(trips)
    return {name for name, no in trips.items() if no in page.trip_nos}


async def rescored(rig, town, **other):
    """Score anew what the map touches; how many trips these were."""
    choice = Choice(touched=town.touched(), **other)
    outcome = await rescore.rescored(rig.store, rig.scorer, choice, clock=lambda: rig.now_ms, progress=lambda _: None)
    return outcome.judged


async def judged_by(rig, trips):
    """The maps that told roads, of the trips that have any."""
    found = {no: quality.read(body).maps for no, body in await rig.rows(tables.trip, "no", "quality")}
    return {name: found[no] for name, no in trips.items() if found[no]}


async def test_new_map_touches_scored_trips_driven_within_its_bounds(rig, town):
    trips = await fleet(rig)
    name = town.imported(50)
    found = await chosen(rig, trips, town.touched())
    judged, by = await rescored(rig, town), await judged_by(rig, trips)

    assert found == {"along", "through"}
    assert judged == 2
    assert by == {"along": (name,), "through": (name,)}


async def test_replaced_map_touches_what_the_former_one_judged_and_passes_over_its_own(rig, town):
    former = town.imported(50)
    trips = await fleet(rig)
    before = await judged_by(rig, trips), await chosen(rig, trips, town.touched())
    name = town.imported(70)
    rows = await chosen(rig, trips, town.touched())
    await rescored(rig, town)
    after = await judged_by(rig, trips), await chosen(rig, trips, town.touched())
    again = await chosen(rig, trips, town.touched(), everything=True)

    assert before == ({"along": (former,), "through": (former,), "short": (former,)}, set())
    assert rows == again == {"along", "through"}
    assert after == ({"along": (name,), "through": (name,), "short": (former,)}, set())


async def test_map_that_is_gone_touches_what_it_judged_until_that_is_scored_anew(rig, town):
    trips = await fleet(rig)
    town.imported(50)
    await rescored(rig, town)
    town.removed()
    rows = await chosen(rig, trips, town.touched())
    judged = await rescored(rig, town)

    assert rows == {"along", "through"}
    assert judged == 2
    assert await judged_by(rig, trips) == {}
    assert await chosen(rig, trips, town.touched()) == set()


async def test_map_that_is_back_touches_what_was_scored_while_it_was_lost(rig, town):
    town.imported(50)
    town.lost()
    first = await rig.add_trip(north())
    await rig.drain()
    town.passed_s, rig.now_ms = PATIENCE_S, rig.now_ms + 3_600_000
    await rig.drain()
    lost = await judged_by(rig, {"along": first})
    name = town.imported(50)
    rows = await chosen(rig, {"along": first}, town.touched())
    await rescored(rig, town)
    by = await judged_by(rig, {"along": first})

    assert lost == {"along": ("town:lost",)}
    assert rows == {"along"}
    assert by == {"along": (name,)}


async def test_area_whose_name_begins_alike_and_other_companies_and_periods_are_left_alone(rig, town):
    town.imported(50, name="town-2")
    trips = await fleet(rig)
    await rig.write(lambda tx: tx.run(update(tables.trip).values(start_ms=5)))
    now = town.touched("town-2")
    alike = await chosen(rig, trips, Touched("town"))
    by_its_map = await chosen(rig, trips, Touched("town", now.map))
    bounded = [
        await chosen(rig, trips, Touched("town-2"), **bounds)
        for bounds in ({"company_id": COMPANY}, {"company_id": "x"}, {"from_ms": 6}, {"to_ms": 5}, {"to_ms": 6})
    ]

    assert (alike, by_its_map) == (set(), set())
    assert bounded == [{"along", "through"}, set(), set(), set(), {"along", "through"}]


async def test_trip_that_begins_without_a_position_is_looked_at_whole(rig, town):
    nowhere = b"".join(sample(second - 60, 54.0, lat=math.nan, lon=math.nan) for second in range(60))
    trips = {"along": await rig.add_trip([nowhere, *north()]), "far": await rig.add_trip([nowhere, *north(lat=36)])}
    await rig.drain()
    town.imported(50)

    assert await chosen(rig, trips, town.touched()) == {"along"}


async def test_rescoring_over_rest_remembers_its_area_from_step_to_step(rig, town):
    """The map is replaced under way: trips behind that are judged by what is there then."""
    trips = await fleet(rig)
    name = town.imported(50)
    asked = RescoringRequest(area="town")
    one = await rig.write(
        lambda tx: rescorings.begin(
            tx, actor=ROOT, company_id=CompanyId(COMPANY), asked=asked, ids=rig.ids, now_ms=rig.now_ms
        )
    )
    states = [one]
    work = Rescorer(
        store=rig.store,
        scorer=rig.scorer,
        signals=rig.hints,
        clock=lambda: rig.now_ms,
        roads=town.roads,
        areas=town.touched,
    )
    while states[-1].state is Stage.RUNNING:
        rig.now_ms += 1_000
        await work.go_on()
        await rig.drain()
        states.append(await rig.store.read(lambda tx: rescorings.read(tx, actor=ROOT, rescoring_id=one.id)))
    by = await judged_by(rig, trips)

    assert len(states) > 2
    assert {each.asked.area for each in states} == {"town"}
    assert states[-1].counted.judged == 2
    assert by == {"along": (name,), "through": (name,)}


@settings(max_examples=50)
@given(
    place=st.tuples(st.floats(-80, 80), st.floats(-180, 180)),
    size=st.tuples(st.floats(0, 3), st.floats(0, 3)),
    metres=st.floats(1, 500_000),
    course=st.floats(0, 2 * math.pi),
)
def test_whoever_drove_so_far_from_the_area_is_within_its_widened_bounds(place, size, metres, course):
    south, west = place
    bounds = Bounds(west, south, min(180.0, west + size[1]), min(90.0, south + size[0]))
    driven = metres * rows.AWAY

    lat, lon = _away(place, metres, course)

    assert rows._within(rows._Place(lat, lon), rows._widened(bounds, driven))


def _away(place, metres, course):
    """Where one is so far from a place, on a sphere."""
    lat, lon, angle = math.radians(place[0]), math.radians(place[1]), metres / 6_371_008.8
    there = math.asin(math.sin(lat) * math.cos(angle) + math.cos(lat) * math.sin(angle) * math.cos(course))
    aside = math.atan2(
        math.sin(course) * math.sin(angle) * math.cos(lat), math.cos(angle) - math.sin(lat) * math.sin(there)
    )
    return math.degrees(there), (math.degrees(lon + aside) + 180.0) % 360.0 - 180.0

"""Roads by Valhalla's own programs: the same limits as ours, a server that is killed and back, places without tiles."""

import asyncio
import time
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from evaluation import road_drives
from evaluation.roads import MAP
from tests.support import databases, made_roads, road_servers, scoring_rows
from tests.support import map_files as made

from tripline.adapters.maps.roads_osm import PATIENCE_S, OsmRoads
from tripline.adapters.maps.roads_valhalla import REST_S, Valhalla
from tripline.maintenance import maps
from tripline.ports.maps import RoadsOutage
from tripline.roads import matcher
from tripline.roads import ways as road_ways
from tripline.scoring import quality
from tripline.scoring.quality import LimitSource
from tripline.store import tables
from tripline.store.database.postgres import PostgresStore

pytestmark = pytest.mark.deep

ZONE = ZoneInfo("Europe/Vaduz")
NOISE_M = 5


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    road_servers.need("roads by Valhalla")
    with road_servers.serving(MAP, tmp_path_factory.mktemp("valhalla")) as server:
        yield server


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Imported maps: Liechtenstein, and a street far away of which the server has no tiles."""
    folder = tmp_path_factory.mktemp("maps")
    maps.imported(folder / "maps", MAP, name="liechtenstein", country="LI", progress=lambda _: None)
    nodes = {no: (37.0 + no * 300 / 111_195.08, 127.0) for no in range(1, 12)}
    ways = [(8, list(nodes), {"highway": "primary", "maxspeed": "60"})]
    file = made.written(folder / "far.osm.pbf", nodes, ways)
    maps.imported(folder / "maps", file, name="far", country="", progress=lambda _: None)
    return folder / "maps"


@pytest.fixture(scope="module")
def world():
    return road_drives.World.of(MAP)


@pytest.fixture(scope="module")
def driven(world):
    drives = [world.drive(seed, metres=8_000.0) for seed in range(5)]
    return road_drives.sampled(drives, noise_m=NOISE_M, interval_s=1, seed=5)[0]


def by_valhalla(folder, server, *, monotonic=lambda: 0.0, timeout_s=20.0):
    return OsmRoads(
        folder, zone=ZONE, monotonic=monotonic, asked=Valhalla(server.url, timeout_s=timeout_s, monotonic=monotonic)
    )


def placed(lat, lon, metres=1_500.0, east=False):
    own = made_roads.drives([(0, 0), (metres, 0) if east else (0, metres)])
    own.lat[:] += lat
    own.lon[:] = lon + own.lon / np.cos(np.radians(lat))
    return own


def test_same_drives_have_the_limits_that_our_matcher_finds(server, folder, driven):
    theirs = by_valhalla(folder, server).located(driven)
    ours = OsmRoads(folder, zone=ZONE).located(driven)

    moving = driven.speed_kmh > 2
    clear = moving & (ours.drives.limit_source == LimitSource.TAGGED)
    assert (theirs.drives.limit_kmh == ours.drives.limit_kmh)[clear].mean() > 0.97
    links = [np.array([*(road.link for road in told.roads), "none"])[told.drives.road] for told in (theirs, ours)]
    assert (links[0] == links[1])[moving].mean() > 0.9
    assert {len(each) for each in theirs.maps} == {2}
    assert all(each[1].startswith("valhalla:") and each[1] != "valhalla:lost" for each in theirs.maps)


def test_direction_is_that_of_the_drive(server, world, driven):
    """Roads driven against their line are told so, which limits of one direction hang on."""
    drives = [world.drive(seed, metres=8_000.0) for seed in range(5)]
    own, truth = road_drives.sampled(drives, noise_m=0, interval_s=1, seed=5)
    answers = Valhalla(server.url, timeout_s=20.0)(own, np.arange(len(own)))
    found = road_ways.matched(world.index, own, matcher.trace_of(own), answers.ways, answers.told)

    same = (found.road == truth.road) & (own.speed_kmh > 2)
    assert same.mean() > 0.8
    assert 0.2 < truth.backward[same].mean() < 0.8
    assert (found.backward == truth.backward)[same].mean() > 0.99


def test_trip_off_the_roads_is_on_none(server, folder):
    """Across a mountain, where our map has no road near either."""
    told = by_valhalla(folder, server).located(placed(47.12, 9.582, metres=400.0, east=True))

    assert set(told.drives.road.tolist()) == {-1}
    assert told.maps == [()]


def test_trip_where_the_server_has_no_tiles_is_our_matcher_s(server, folder):
    told = by_valhalla(folder, server).located(placed(37.003, 127.0))

    assert set(told.drives.limit_kmh.tolist()) == {60.0}
    assert [each.partition(":")[0] for each in told.maps[0]] == ["far"]


def test_server_that_allows_less_is_asked_for_less(folder, driven, tmp_path, server):
    with road_servers.serving(MAP, tmp_path, trace={"max_shape": 60}) as strict:
        told = by_valhalla(folder, strict).located(driven)
    free = by_valhalla(folder, server).located(driven)

    moving = driven.speed_kmh > 2
    assert (told.drives.limit_kmh == free.drives.limit_kmh)[moving].mean() > 0.97


def test_server_that_is_killed_holds_up_trips_until_it_is_back_or_patience_ends(server, folder, driven):
    passed_s = 0.0
    roads = by_valhalla(folder, server, monotonic=lambda: passed_s)
    before = roads.located(driven)
    roads.reach()
    server.kill()
    try:
        with pytest.raises(RoadsOutage, match=r"^Valhalla cannot be reached"):
            roads.reach()
        with pytest.raises(RoadsOutage, match=r"^Valhalla cannot be reached"):
            roads.located(driven)
    finally:
        server.start()
    passed_s = REST_S
    back = roads.located(driven)
    server.kill()
    try:
        while passed_s < PATIENCE_S:
            with pytest.raises(RoadsOutage):
                roads.located(driven)
            passed_s += 60
        passed_s = REST_S + PATIENCE_S
        without = roads.located(driven)
    finally:
        server.start()

    np.testing.assert_array_equal(back.drives.limit_kmh, before.drives.limit_kmh)
    assert back.maps == before.maps
    assert {each[-1] for each in without.maps} == {"valhalla:lost"}
    ours = OsmRoads(folder, zone=ZONE).located(driven)
    np.testing.assert_array_equal(without.drives.limit_kmh, ours.drives.limit_kmh)


@pytest.fixture
def database():
    with databases.fresh() as database:
        yield database


def test_two_scorers_on_one_store_score_every_trip_once_through_an_outage(server, folder, world, database):
    """One of them loses its server for a while; what it put off is scored by whoever comes first."""
    drives = [world.drive(seed, metres=4_000.0) for seed in range(12)]

    async def play():
        stores = [PostgresStore(database.url) for _ in range(2)]
        try:
            matchers = [by_valhalla(folder, server, monotonic=time.monotonic) for _ in stores]
            rigs = [
                scoring_rows.Rig(Path(), store=store, slot=slot, roads=roads)
                for slot, (store, roads) in enumerate(zip(stores, matchers, strict=True))
            ]
            await rigs[0].add_vehicle()
            for drive in drives:
                samples = zip(drive.speed_kmh.tolist(), drive.lat.tolist(), drive.lon.tolist(), strict=True)
                await rigs[0].add_trip(
                    [scoring_rows.sample(at, kmh, lat=lat, lon=lon) for at, (kmh, lat, lon) in enumerate(samples)]
                )
            server.kill()
            await asyncio.gather(*(rig.scorer.score_due() for rig in rigs))
            waiting = await rigs[0].rows(tables.scoring_job, "trip_no", "last_error")
            server.start()
            await asyncio.sleep(REST_S)
            for rig in rigs:
                rig.now_ms += 3_600_000
            await asyncio.gather(*(rig.drain() for rig in rigs))
            left = await rigs[0].rows(tables.scoring_job, "trip_no")
            scored = await rigs[0].rows(tables.driving_score, "trip_no")
            kept = await rigs[0].rows(tables.trip, "quality")
            totals = await rigs[0].rows(tables.vehicle_score, "count")
            return waiting, left, scored, [quality.read(body).maps for (body,) in kept], totals
        finally:
            for store in stores:
                await store.close()

    waiting, left, scored, kept, totals = asyncio.run(play())

    assert {why.partition(".")[0] for _, why in waiting} == {"RoadsOutage: Valhalla cannot be reached: ConnectError"}
    assert (len(waiting), left, len(scored), totals) == (len(drives), [], len(drives), [(len(drives),)])
    assert {tuple(each.partition(":")[0] for each in maps) for maps in kept} == {("liechtenstein", "valhalla")}
    assert all("lost" not in maps[1] for maps in kept)

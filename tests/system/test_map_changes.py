"""Maps are imported and removed while two workers score: each trip is judged by one map or by none, and none is lost.

The workers are two servers on one PostgreSQL; on the store of this run one is a server, the other a scorer in this
process. A map is given away by its road and
by its limit, which lie in different files of it: a trip that names one map and has a road or a limit of another one
was judged by a mixture.
"""

import asyncio
import itertools
import json
import time
import zoneinfo
from collections import Counter
from functools import partial

import pytest
from tests.support import databases, map_files, postgres, servers, stores
from tests.support.scoring_rows import Rig, sample

from tripline.adapters.maps.roads_osm import OsmRoads
from tripline.maintenance import maps
from tripline.maintenance import stores as maintained
from tripline.scoring import quality
from tripline.scoring.rules import Rules
from tripline.services.scores.scorer import Scorer
from tripline.store import tables
from tripline.store.database.postgres import PostgresStore

pytestmark = pytest.mark.deep

METRES = 111_195.08
TRIPS = 300
PATIENCE_S = 60
SPEEDS = [*[45.0] * 120, *range(45, 81, 3), *[80.0] * 10, *range(80, 45, -3), *[45.0] * 120]
OLD, NEW = (50, 7), (70, 8)
"""Limit and link of the road in either map."""


def street(folder, limit, link):
    """A map of a street of 9 km due north."""
    nodes = {no: (47.0 + no * 300 / METRES, 9.5) for no in range(31)}
    tags = {"highway": "secondary", "maxspeed": str(limit)}
    return map_files.written(folder / f"{limit}.osm.pbf", nodes, [(link, list(nodes), tags)])


def drive():
    """Along the street, for some seconds faster than either limit allows; sixty samples to a microtrip."""
    packed, at = [], 47.003
    for second, kmh in enumerate(SPEEDS):
        packed.append(sample(second, kmh, lat=at, lon=9.5))
        at += kmh / 3.6 / METRES
    return [b"".join(packed[at : at + 60]) for at in range(0, len(packed), 60)]


async def changing(folder, files, added):
    """Import, replace and remove the map until every trip is there; how often. At the end the new one is there."""
    steps = itertools.cycle(("old", "new", "", "new", "old", ""))
    step, changes = "", 0
    while not added.is_set() or step != "new":
        if step := next(steps):
            await asyncio.to_thread(
                maps.imported, folder, files[step], name="town", country="", progress=lambda _: None
            )
        else:
            await asyncio.to_thread(maps.removed, folder, "town")
        changes += 1
        await asyncio.sleep(0.02)
    return changes


async def scoring(scorer, rig, added):
    """Score until every trip is there, from when the server has scored one: it looks once a second and would find none
    left. How many this process scored."""
    handled, begun = 0, False
    while not added.is_set():
        begun = begun or bool(await rig.rows(tables.driving_score, "trip_no"))
        now = await scorer.score_due() if begun else 0
        if not now:
            await asyncio.sleep(0.01)
        handled += now
    return handled


async def everything_scored(rig):
    until = time.monotonic() + PATIENCE_S
    while waiting := await rig.rows(tables.scoring_job, "trip_no", "last_error"):
        assert time.monotonic() < until, waiting[:3]
        await asyncio.sleep(0.1)


async def verdicts(rig):
    """Of each trip the maps that judged it, the roads and limits of its events over the limit, and how many these are:
    as its score says, and as there are."""
    told = {no: quality.read(body).maps for no, body in await rig.rows(tables.trip, "no", "quality")}
    counted = dict(await rig.rows(tables.driving_score, "trip_no", "over_speed"))
    events = {no: [] for no in told}
    for no, kind, info in await rig.rows(tables.gps_event, "trip_no", "event_type", "info"):
        if kind == 5:
            road = json.loads(info)
            events[no].append((road["maxSpd"] // 1_000, int(road["id"])))
    return {no: (told[no], frozenset(events[no]), counted.get(no), len(events[no])) for no in told}


def scorer_of(rig, folder):
    """One in this process."""
    zone = zoneinfo.ZoneInfo("Asia/Seoul")
    return Scorer(
        store=rig.store,
        rules=Rules(),
        ids=rig.ids,
        signals=rig.hints,
        clock=lambda: time.time_ns() // 1_000_000,
        zone=zone,
        roads=OsmRoads(folder, zone=zone),
    )


async def story(tmp_path, store, folder, rescore, *, scores_here):
    """Trips come while the map changes, and are scored by whoever is there; then they are scored anew.

    How often the map changed, how many trips this process scored, verdicts before and after, what rescoring said.
    """
    files = {"old": street(tmp_path, *OLD), "new": street(tmp_path, *NEW)}
    rig = Rig(tmp_path, store=store)
    added = asyncio.Event()

    async def adding():
        for _ in range(TRIPS):
            await rig.add_trip(drive())
            await asyncio.sleep(0.01)
        added.set()

    async with maintained.numbering(store) as maker:
        rig.ids = maker
        await rig.add_vehicle()
        beside = scoring(scorer_of(rig, folder), rig, added) if scores_here else asyncio.sleep(0, 0)
        changes, own, _ = await asyncio.gather(changing(folder, files, added), beside, adding())
        await everything_scored(rig)
        found = await verdicts(rig)
        anew = await asyncio.to_thread(rescore)
        after = await verdicts(rig)
    await store.close()
    return changes, own, found, anew, after


def judged_by_one_map(found, anew, after):
    """Each trip by the old map, the new one or none, and in the end by the new one."""
    kinds = Counter(found.values())
    named = {maps: (roads, counted, events) for maps, roads, counted, events in kinds}
    assert len(named) == len(kinds) == 3, kinds
    by = {roads: maps for maps, (roads, _, _) in named.items()}
    (old,), (new,), none = by[frozenset({OLD})], by[frozenset({NEW})], by[frozenset()]
    assert none == ()
    assert {old.partition(":")[0], new.partition(":")[0]} == {"town"} and old != new
    assert named[()] == (frozenset(), 0, 0)
    assert all(counted == events > 0 for maps, (_, counted, events) in named.items() if maps)
    assert sum(kinds.values()) == len(found) == TRIPS
    others = TRIPS - sum(count for (maps, *_), count in kinds.items() if maps == (new,))
    assert anew.stdout.startswith(f"trips judged {others}: scores moved "), anew
    assert Counter(maps for maps, *_ in after.values()) == {(new,): TRIPS}
    assert {(roads, counted == events) for _, roads, counted, events in after.values()} == {(frozenset({NEW}), True)}
    return {maps: count for (maps, *_), count in kinds.items()}


def test_each_trip_is_judged_by_one_map_and_none_is_lost_whatever_is_imported_meanwhile(tmp_path):
    data = tmp_path / "data"
    rescore = partial(servers.run, "rescore", "--data", str(data), "--map", "town")

    with servers.serving(data):
        played = story(tmp_path, stores.Database(data).open(), data / "maps", rescore, scores_here=True)
        changes, own, found, anew, after = asyncio.run(played)

    judged_by_one_map(found, anew, after)
    assert changes > 10 and 0 < own < TRIPS, (changes, own)


def scored_by(server):
    """How many trips a server scored."""
    events = (json.loads(line) for line in server.log() if line.startswith("{"))
    return sum(each["trips"] for each in events if each["event"] == "score.done")


def test_each_trip_is_judged_by_one_map_beside_two_servers_on_one_postgresql(tmp_path):
    postgres.need("maps that change beside two servers")
    folder = tmp_path / "maps"
    with databases.fresh() as database:
        variables = {"TRIPLINE_STORE_URL": database.url, "TRIPLINE_MAP_DIR": str(folder), "TRIPLINE_LOG_FORMAT": "json"}
        shares = []

        def rescore():
            shares.extend([scored_by(one), scored_by(two)])  # servers and command share in what is scored anew
            return servers.run("rescore", "--map", "town", variables=variables)

        with (
            servers.serving(tmp_path / "one", variables=variables) as one,
            servers.serving(tmp_path / "two", variables=variables) as two,
        ):
            played = story(tmp_path, PostgresStore(database.url), folder, rescore, scores_here=False)
            changes, own, found, anew, after = asyncio.run(played)

    counts = judged_by_one_map(found, anew, after)
    print(f"{changes} changes; trips by map {counts}; scored by each server {shares}")
    assert own == 0
    assert changes > 10 and min(shares) > 0, (changes, shares)

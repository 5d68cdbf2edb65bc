"""Maps are imported and removed while two workers score: each trip is judged by one map or by none, and none is lost.

One worker is a server, the other a scorer in this process, on a store of its own. A map is given away by its road and
by its limit, which lie in different files of it: a trip that names one map and has a road or a limit of another one
was judged by a mixture.
"""

import asyncio
import itertools
import json
import time
import zoneinfo
from collections import Counter

from tests.support import map_files, servers, stores
from tests.support.scoring_rows import Rig, sample

from tripline.adapters.roads_osm import OsmRoads
from tripline.chores import maps
from tripline.chores import stores as chores
from tripline.scoring import quality
from tripline.scoring.rules import Rules
from tripline.services.scores.scorer import Scorer
from tripline.store import tables

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
            await asyncio.to_thread(maps.imported, folder, files[step], name="town", country="", told=lambda _: None)
        else:
            await asyncio.to_thread(maps.removed, folder, "town")
        changes += 1
        await asyncio.sleep(0.02)
    return changes


async def scoring(scorer, added):
    """Score until every trip is there; how many this process scored."""
    handled = 0
    while not added.is_set():
        if not (now := await scorer.score_due()):
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


def test_each_trip_is_judged_by_one_map_and_none_is_lost_whatever_is_imported_meanwhile(tmp_path):
    data = tmp_path / "data"
    folder = data / "maps"
    files = {"old": street(tmp_path, *OLD), "new": street(tmp_path, *NEW)}

    async def story():
        rig = Rig(tmp_path, store=stores.Database(data).open())
        async with chores.numbering(rig.store) as maker:
            rig.ids = maker
            zone = zoneinfo.ZoneInfo("Asia/Seoul")
            scorer = Scorer(
                store=rig.store,
                rules=Rules(),
                ids=maker,
                signals=rig.hints,
                clock=lambda: time.time_ns() // 1_000_000,
                zone=zone,
                roads=OsmRoads(folder, zone=zone),
            )
            await rig.add_vehicle()
            added = asyncio.Event()

            async def adding():
                for _ in range(TRIPS):
                    await rig.add_trip(drive())
                    await asyncio.sleep(0.01)
                added.set()

            changes, own, _ = await asyncio.gather(changing(folder, files, added), scoring(scorer, added), adding())
            await everything_scored(rig)
            found = await verdicts(rig)
            anew = await asyncio.to_thread(servers.run, "rescore", "--data", str(data), "--map", "town")
            after = await verdicts(rig)
        await rig.store.close()
        return changes, own, found, anew, after

    with servers.serving(data):
        changes, own, found, anew, after = asyncio.run(story())

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
    assert changes > 10 and 0 < own < TRIPS, (changes, own)
    others = TRIPS - sum(count for (maps, *_), count in kinds.items() if maps == (new,))
    assert anew.stdout.startswith(f"trips judged {others}: scores moved "), anew
    assert Counter(maps for maps, *_ in after.values()) == {(new,): TRIPS}
    assert {(roads, counted == events) for _, roads, counted, events in after.values()} == {(frozenset({NEW}), True)}

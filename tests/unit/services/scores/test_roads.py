"""Scoring with a map: events name the road, the explanation too, the trip keeps which map judged it."""

import shutil

import pytest
from tests.support import map_files as made
from tests.support.scoring_rows import ZONE, played, sample

from tripline.adapters.maps.roads_osm import PATIENCE_S, OsmRoads
from tripline.maintenance import maps
from tripline.roads.located import Road
from tripline.scoring import quality
from tripline.scoring.quality import LimitSource
from tripline.scoring.rules import Rules
from tripline.services.scores import explanation, rescore
from tripline.store import tables
from tripline.store.scores import scores
from tripline.store.scores.rescore import Choice

METRES = 111_195.08
OTHER = "44444444-0000-11b2-8080-808080808080"
"""A vehicle whose category a test chooses."""
SLOW, FAST = 45.0, 72.0


@pytest.fixture
def street(tmp_path):
    """A matcher that knows one street of 3 km with a limit of 50; and the map's name."""
    folder = tmp_path / "maps"
    file = made.street(tmp_path / "a.osm.pbf", maxspeed="50", ref="L1")
    area = maps.imported(folder, file, name="town", country="", progress=lambda _: None)
    return OsmRoads(folder, zone=ZONE), f"town:{area.map}"


def along(*speeds):
    """A drive up the street, and down again where it ends, one sample a second."""
    packed, at, up = [], 47.003, 1
    for second, kmh in enumerate(speeds):
        packed.append(sample(second, kmh, lat=at, lon=9.5))
        at += up * kmh / 3.6 / METRES
        if not 47.003 <= at <= 47.029:
            up = -up
    return packed


DRIVE = along(*[SLOW] * 120, *range(45, 72, 3), *[FAST] * 30, *range(72, 45, -3), *[SLOW] * 120)
OVER_S = sum(kmh > 55 for kmh in (*range(45, 72, 3), *[72] * 30, *range(72, 45, -3)))


async def driven(rig):
    """What became of the drive: its events, its quality, and its explanation by what the scorer knows of roads."""
    no = await rig.add_trip(DRIVE)
    await rig.drain()
    events = await rig.rows(tables.gps_event, "event_type", "info")
    ((body,),) = await rig.rows(tables.trip, "quality")
    task = await rig.store.read(lambda tx: scores.task(tx, scores.as_if_asked(tx, no)))
    return events, body, explanation.of_trip(task, Rules(), (), utc_offset_ms=0, roads=rig.scorer._roads)


def test_speeding_on_a_street_is_told_with_its_road(tmp_path, street):
    roads, name = street

    events, body, told = played(tmp_path, driven, roads=roads)

    assert set(events) == {(5, '{"id":"7","maxSpd":50000,"rank":104}')}
    assert len(events) == OVER_S
    kept = quality.read(body)
    assert kept.maps == told.quality.maps == (name,)
    assert (kept.limits.tagged, kept.limits.known) == (1.0, 1.0)
    (stretch,) = told.stretches
    assert (stretch.road, stretch.limit_source) == (Road("7", 104, "L1 High Street"), LimitSource.TAGGED)
    assert (stretch.seconds, stretch.limit_kmh) == (OVER_S, 50.0)


@pytest.mark.parametrize(
    ("category", "limit"), [("TRUCK", 40_000), ("BUS", 45_000), ("TAXI", 50_000), ("PERSONAL", 50_000), (None, 50_000)]
)
def test_category_of_the_vehicle_decides_the_limit(tmp_path, category, limit):
    """The vehicle record says it; its events carry the limit of its kind."""
    file = made.street(tmp_path / "a.osm.pbf", maxspeed="50", **{"maxspeed:hgv": "40", "maxspeed:bus": "45"})
    maps.imported(tmp_path / "maps", file, name="town", country="", progress=lambda _: None)

    async def driven_by(rig):
        await rig.add_vehicle(OTHER, category=category)
        await rig.add_trip(DRIVE, vehicle_id=OTHER)
        await rig.drain()
        return await rig.rows(tables.gps_event, "event_type", "info")

    events = played(tmp_path, driven_by, roads=OsmRoads(tmp_path / "maps", zone=ZONE))

    assert {info for kind, info in events if kind == 5} == {f'{{"id":"7","maxSpd":{limit},"rank":104}}'}


def test_same_drive_without_a_map_breaks_no_limit(tmp_path):
    events, body, told = played(tmp_path, driven, roads=OsmRoads(tmp_path / "maps", zone=ZONE))

    assert (events, told.stretches) == ([], [])
    assert (quality.read(body).maps, quality.read(body).limits.known) == ((), 0.0)
    assert b"maps" not in body


def test_lost_map_holds_up_trips_there_alone_and_not_for_ever(tmp_path, street):
    shutil.rmtree(next(each for each in (tmp_path / "maps").iterdir() if each.is_dir()))
    passed_s = 0.0

    async def due(rig):
        """A trip there and one elsewhere are due; what waits before and after the patience, and their qualities."""
        nonlocal passed_s
        there = await rig.add_trip(DRIVE)
        await rig.add_trip([sample(at, 45.0, lat=10 + at * 45 / 3.6 / METRES, lon=9.5) for at in range(300)])
        await rig.scorer.score_due()
        waits = await rig.rows(tables.scoring_job, "trip_no", "last_error")
        passed_s, rig.now_ms = PATIENCE_S, rig.now_ms + 3_600_000
        await rig.drain()
        return there, waits, await rig.rows(tables.scoring_job, "trip_no"), await rig.rows(tables.trip, "quality")

    there, ((waiting, why),), left, kept = played(
        tmp_path, due, roads=OsmRoads(tmp_path / "maps", zone=ZONE, monotonic=lambda: passed_s)
    )

    assert (waiting, left) == (there, [])
    assert why.startswith("RoadsOutage: The map of town cannot be read")
    assert sorted(quality.read(body).maps for (body,) in kept) == [(), ("town:lost",)]


async def test_trying_a_policy_judges_with_the_map(rig, street):
    """The score was given without a map; scored anew it would be lower."""
    roads, _ = street

    await rig.add_trip(DRIVE)
    await rig.drain()
    found = await rescore.tried(
        rig.store, Rules(), Choice(everything=True), policy=None, progress=lambda _: None, roads=roads
    )

    assert found.moved == 1

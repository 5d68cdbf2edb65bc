"""Roads and limits by imported maps: several side by side, and maps that come, go and are replaced in between."""

import os
import shutil
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from msgspec.structs import replace
from tests.support import made_roads
from tests.support import map_files as made

from tripline.adapters.maps.roads_osm import PATIENCE_S, Answers, OsmRoads
from tripline.maintenance import maps
from tripline.ports.maps import RoadHere, RoadsOutage, Spot
from tripline.roads import matcher
from tripline.roads.located import Road
from tripline.roads.ways import Ways
from tripline.scoring.quality import LimitSource
from tripline.scoring.rules import Column


def imported(folder, file, name="area"):
    return maps.imported(folder, file, name=name, country="", progress=lambda _: None)


def drive_at(lat, lon, metres=1_500):
    """A drive due north from there, and where it is."""
    own = made_roads.drives([(0, 0), (0, metres)])
    own.lat[:] += lat
    own.lon[:] = lon
    return own


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "maps"


@pytest.fixture
def roads(folder):
    return OsmRoads(folder, zone=ZoneInfo("Asia/Seoul"))


ON_STREET = (47.003, 9.5)


def test_without_maps_there_are_none(roads):
    told = roads.located(drive_at(*ON_STREET))

    assert not roads.has_maps
    assert np.isnan(told.drives.limit_kmh).all()
    assert (told.roads, told.maps, set(told.drives.road.tolist())) == ([], [()], {-1})


def test_imported_map_tells_limit_road_and_itself(roads, folder, tmp_path):
    area = imported(folder, made.street(tmp_path / "a.osm.pbf", maxspeed="50", ref="L1"))

    told = roads.located(drive_at(*ON_STREET))

    assert roads.has_maps
    assert set(told.drives.limit_kmh.tolist()) == {50.0}
    assert set(told.drives.limit_source.tolist()) == {LimitSource.TAGGED}
    assert told.roads == [Road("7", 104, "L1 High Street")]
    assert set(told.drives.road.tolist()) == {0}
    assert told.maps == [(f"area:{area.map}",)]


def test_trip_elsewhere_beside_one_on_the_map_is_told_nothing(roads, folder, tmp_path):
    imported(folder, made.street(tmp_path / "a.osm.pbf", maxspeed="50"))
    own = made_roads.drives([(0, 0), (0, 1_500)], [(0, 0), (0, 1_500)])
    half = own.starts[1]
    own.lat[:half] += 10.0
    own.lat[half:] += ON_STREET[0]
    own.lon[half:] = ON_STREET[1]

    told = roads.located(own)

    assert set(told.drives.road[:half].tolist()) == {-1}
    assert set(told.drives.road[half:].tolist()) == {0}
    assert [len(each) for each in told.maps] == [0, 1]


def test_sample_over_its_limit_keeps_its_road_and_has_the_limit_of_the_one_beside(roads, folder, tmp_path):
    nodes = {no: (47.0 + no % 10 / 100, 9.5 + no // 10 / 5_000) for no in (0, 4, 10, 14)}  # 15 m apart
    ways = [
        (1, [0, 4], {"highway": "trunk", "maxspeed": "80"}),
        (2, [10, 14], {"highway": "primary", "maxspeed": "45"}),
    ]
    imported(folder, made.written(tmp_path / "a.osm.pbf", nodes, ways))
    own = drive_at(47.003, 9.50012)
    own.speed_kmh[:10] = 45

    told = roads.located(own)

    assert [road.link for road in told.roads] == ["2"]
    assert (set(told.drives.limit_kmh[:10].tolist()), set(told.drives.limit_kmh[10:].tolist())) == ({45.0}, {80.0})
    without = replace(own, speed_kmh=np.full(own.speed_kmh.size, np.nan))
    located = roads.located(without).drives
    assert set(located.limit_kmh.tolist()) == {80.0}
    assert np.isnan(located.speed_kmh).all()


def test_other_matcher_is_asked_about_the_same_speeds(folder, tmp_path):
    """A drive without speeds that stands for a minute: with other speeds it would have other anchors."""
    imported(folder, made.street(tmp_path / "a.osm.pbf"))
    own = drive_at(*ON_STREET)
    own.lat[:60] = own.lat[0]
    own.speed_kmh[:] = np.nan

    def ask(drives, trips):
        anchors = matcher.trace_of(drives).anchors
        of_street = np.full(anchors.sample.size, 7)
        said = Ways(of_street * 0, of_street, of_street < 0, anchors.lat, anchors.lon)
        return Answers(said, np.ones(1, np.bool_), [()])

    told = OsmRoads(folder, zone=ZoneInfo("UTC"), asked=ask).located(own)

    assert [road.link for road in told.roads] == ["7"]


def test_two_areas_tell_of_one_trip(roads, folder, tmp_path):
    """The street goes on in the other area."""
    imported(folder, made.street(tmp_path / "a.osm.pbf", maxspeed="50"), "a")
    nodes = {no: (47.0 + no * 300 / 111_195.08, 9.5) for no in range(11, 22)}
    ways = [(8, list(nodes), {"highway": "primary", "maxspeed": "80"})]
    imported(folder, made.written(tmp_path / "b.osm.pbf", nodes, ways), "b")

    told = roads.located(drive_at(47.02, 9.5, metres=2_500))

    assert [road.link for road in told.roads] == ["7", "8"]
    known = told.drives.limit_kmh[told.drives.road >= 0]
    assert (known[0], known[-1], set(known.tolist())) == (50.0, 80.0, {50.0, 80.0})
    assert len(told.maps[0]) == 2


def test_replaced_and_removed_maps_count_from_the_next_call_on(roads, folder, tmp_path):
    limits = []
    for maxspeed in ("50", "30"):
        imported(folder, made.street(tmp_path / "a.osm.pbf", maxspeed=maxspeed))
        limits.append(roads.located(drive_at(*ON_STREET)).drives.limit_kmh[0])
    maps.removed(folder, "area")

    assert limits == [50.0, 30.0]
    assert (roads.has_maps, roads.located(drive_at(*ON_STREET)).maps) == (False, [()])


def _remove_folder(folder, area):
    shutil.rmtree(folder / area.folder)


def _cut_array(folder, area):
    file = folder / area.folder / "lat.npy"
    os.truncate(file, file.stat().st_size - 1)


def _cut_texts(folder, area):
    os.truncate(folder / area.folder / "texts.json", 10)


def _damage_description(folder, area):
    (folder / f"{area.name}.json").write_text("{")


@pytest.mark.parametrize("lose", [_remove_folder, _cut_array, _cut_texts, _damage_description])
def test_lost_map_is_waited_for_and_then_gone_without(folder, tmp_path, lose):
    passed_s = 0.0
    roads = OsmRoads(folder, zone=ZoneInfo("Asia/Seoul"), monotonic=lambda: passed_s)
    area = imported(folder, made.street(tmp_path / "a.osm.pbf", maxspeed="50"))
    lose(folder, area)

    with pytest.raises(RoadsOutage, match="The map of area cannot be read"):
        roads.located(drive_at(*ON_STREET))
    passed_s = PATIENCE_S - 1
    with pytest.raises(RoadsOutage):
        roads.located(drive_at(*ON_STREET))
    passed_s = PATIENCE_S
    told = roads.located(drive_at(*ON_STREET))

    assert told.maps == [("area:lost",)]
    assert np.isnan(told.drives.limit_kmh).all()
    assert [each.name for each in roads.lost()] == ["area"]

    area = imported(folder, made.street(tmp_path / "a.osm.pbf", maxspeed="50"))
    assert roads.lost() == []
    assert roads.located(drive_at(*ON_STREET)).maps == [(f"area:{area.map}",)]


def test_lost_map_holds_up_no_trip_elsewhere(roads, folder, tmp_path):
    _remove_folder(folder, imported(folder, made.street(tmp_path / "a.osm.pbf", maxspeed="50"), "a"))
    nodes = {no: (48.0 + no * 300 / 111_195.08, 9.5) for no in range(1, 12)}
    ways = [(8, list(nodes), {"highway": "primary", "maxspeed": "80"})]
    other = imported(folder, made.written(tmp_path / "b.osm.pbf", nodes, ways), "b")

    assert roads.located(drive_at(48.003, 9.5)).maps == [(f"b:{other.map}",)]


def test_conditions_hold_by_local_time(roads, folder, tmp_path):
    """The drive begins at midnight UTC, which is 9 o'clock in Seoul."""
    imported(
        folder, made.street(tmp_path / "a.osm.pbf", **{"maxspeed": "50", "maxspeed:conditional": "30 @ (09:00-10:00)"})
    )

    assert set(roads.located(drive_at(*ON_STREET)).drives.limit_kmh.tolist()) == {30.0}


@pytest.mark.parametrize("year_ms", [-(10**15), 10**15])
def test_times_of_no_calendar_do_no_harm(roads, folder, tmp_path, year_ms):
    imported(folder, made.street(tmp_path / "a.osm.pbf", maxspeed="50"))
    own = drive_at(*ON_STREET)
    own.time_ms[:] += year_ms

    assert set(roads.located(own).drives.limit_kmh.tolist()) == {50.0}


def spot(lat=47.01, lon=9.5, heading=0.0):
    return Spot(made_roads.BEGIN_MS, lat, lon, heading, Column.CAR)


def test_road_at_a_spot_has_the_limit_that_the_map_knows(roads, folder, tmp_path):
    without = roads.road_at(spot())
    imported(folder, made.street(tmp_path / "a.osm.pbf", maxspeed="50"))

    assert without is None
    assert roads.road_at(spot()) == RoadHere("High Street", 50.0)
    assert roads.road_at(spot(heading=None)) == RoadHere("High Street", 50.0)
    assert [roads.road_at(spot(lat=lat, lon=lon)) for lat, lon in ((47.01, 9.501), (50.0, 9.5))] == [None, None]


def test_road_at_a_spot_is_unknown_without_a_known_limit(roads, folder, tmp_path):
    imported(folder, made.street(tmp_path / "a.osm.pbf"))

    assert roads.road_at(spot()) is None


@pytest.mark.parametrize(("beside", "limit_kmh"), [("80", None), ("50", 50.0)], ids=["another", "the same"])
def test_of_two_roads_that_are_as_likely_the_limit_counts_if_it_is_the_same(roads, folder, tmp_path, beside, limit_kmh):
    """The second road is 15 m beside the first one, in another map; a third one widens the bounds of both."""
    for name, lon, maxspeed in (("a", 9.5, "50"), ("b", 9.5002, beside)):
        nodes = {1: (47.0, lon), 2: (47.02, lon), 3: (47.0, 9.49), 4: (47.02, 9.51)}
        ways = [(7, [1, 2], {"highway": "secondary", "maxspeed": maxspeed}), (8, [3, 4], {"highway": "service"})]
        imported(folder, made.written(tmp_path / f"{name}.osm.pbf", nodes, ways), name)

    found = roads.road_at(spot(lat=47.004, lon=9.50007))

    assert (None if found is None else found.limit_kmh) == limit_kmh

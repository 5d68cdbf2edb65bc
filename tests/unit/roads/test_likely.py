"""Roads of a single position: by distance and heading, for a kind of vehicle and a time; none where it is unclear."""

import pytest
from tests.support import made_roads

from tripline.roads import likely
from tripline.scoring.rules import Column

CROSSING = {1: [(-500, 0), (500, 0)], 2: [(0, -500), (0, 500)]}
TAGS = {1: {"maxspeed": "80", "name": "Long Road"}, 2: {"maxspeed": "50"}}
EAST, NORTH = 90.0, 0.0


def found(world, east, north, heading, *, column=Column.CAR, time_ms=made_roads.BEGIN_MS):
    index, texts = made_roads.built(world)
    lat, lon = north / made_roads.METRES, east / made_roads.METRES
    place = {"lat": lat, "lon": lon, "heading_deg": heading, "column": column}
    return likely.roads(index, texts, time_ms=time_ms, **place, offset_ms=0)


def limits(*where, **changes):
    return [each.limit_kmh for each in found(*where, **changes)]


def test_road_in_the_direction_of_travel_is_found_with_its_name_and_limit():
    (east,) = found((CROSSING, TAGS), 5, 5, EAST)
    (north,) = found((CROSSING, TAGS), 5, 5, NORTH)

    assert (east.name, east.limit_kmh, north.limit_kmh) == ("Long Road", 80.0, 50.0)


def test_standing_vehicle_at_a_crossing_may_be_on_either_road():
    assert set(limits((CROSSING, TAGS), 5, 5, None)) == {80.0, 50.0}
    assert set(limits((CROSSING, TAGS), 200, 5, None)) == {80.0}


@pytest.mark.parametrize(("north", "heading"), [(45, EAST), (5, NORTH)], ids=["far off", "across"])
def test_vehicle_beside_a_road_or_across_it_is_on_none(north, heading):
    assert found((CROSSING, TAGS), 300, north, heading) == []


def test_parallel_roads_are_both_likely():
    assert limits(({1: [(0, 0), (1_000, 0)], 2: [(0, 20), (1_000, 20)]}, TAGS), 500, 5, EAST) == [80.0, 50.0]


def test_limit_depends_on_direction_kind_of_vehicle_and_time():
    tags = {"maxspeed:forward": "80", "maxspeed:backward": "60", "maxspeed:hgv": "40"}
    tags |= {"maxspeed:forward:conditional": "30 @ (22:00-06:00)"}
    world = ({1: [(0, 0), (1_000, 0)]}, {1: tags})
    noon = made_roads.BEGIN_MS + 12 * 3_600_000

    assert limits(world, 500, 0, EAST, time_ms=noon) == [80.0]
    assert limits(world, 500, 0, EAST + 180, time_ms=noon) == [60.0]
    assert limits(world, 500, 0, EAST, time_ms=noon, column=Column.TRUCK) == [40.0]
    assert limits(world, 500, 0, EAST) == [30.0]
    assert sorted(limits(world, 500, 0, None, time_ms=noon)) == [60.0, 80.0]


def test_one_way_road_has_one_direction_also_without_a_heading():
    tags = {"maxspeed:forward": "80", "maxspeed:backward": "60", "oneway": "yes"}

    assert limits(({1: [(0, 0), (1_000, 0)]}, {1: tags}), 500, 0, None) == [80.0, 80.0]


def test_road_without_a_limit_of_its_own_has_none():
    assert limits({1: [(0, 0), (1_000, 0)]}, 500, 0, EAST) == [None]


def test_map_with_a_single_point_has_none():
    assert found({1: [(0, 0)]}, 0, 0, EAST) == []

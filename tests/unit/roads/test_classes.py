"""Classes of road, their rank, and which roads vehicles drive on."""

import pytest

from tripline.roads import classes


@pytest.mark.parametrize(
    ("highway", "rank"),
    [
        ("motorway", 101),
        ("motorway_link", 101),
        ("trunk", 102),
        ("primary", 103),
        ("secondary_link", 104),
        ("tertiary", 107),
        ("residential", 107),
        ("unclassified", 108),
        ("living_street", 108),
        ("service", 108),
        ("track", 108),
    ],
)
def test_rank_is_that_of_the_class(highway, rank):
    assert classes.rank(classes.class_of({"highway": highway})) == rank


@pytest.mark.parametrize(
    "tags",
    [
        {},
        {"highway": "footway"},
        {"highway": "construction"},
        {"highway": "service", "area": "yes"},
        {"highway": "residential", "access": "no"},
        {"highway": "track", "motor_vehicle": "agricultural"},
    ],
)
def test_road_without_vehicles_is_none(tags):
    assert classes.class_of(tags) is None


@pytest.mark.parametrize(
    "tags", [{"access": "private"}, {"access": "no", "bus": "yes"}, {"motor_vehicle": "destination"}]
)
def test_road_of_some_vehicles_is_one(tags):
    assert classes.class_of({"highway": "service", **tags}) == "service"


@pytest.mark.parametrize(
    ("tags", "way"),
    [
        ({}, 0),
        ({"oneway": "yes"}, 1),
        ({"oneway": "-1"}, -1),
        ({"highway": "motorway"}, 1),
        ({"highway": "motorway_link", "oneway": "no"}, 0),
        ({"junction": "roundabout"}, 1),
    ],
)
def test_one_way_is_by_tag_or_kind(tags, way):
    assert classes.one_way(tags) == way

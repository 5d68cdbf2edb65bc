"""Tables of places, and the nearest of them for points."""

import numpy as np
from tests.support import made_roads

from tripline.roads import places as of_places
from tripline.roads.places import Collector

METRES = made_roads.METRES


def table(*places, **bounds):
    """A table of places: kind, metres east and north, names by key."""
    collector = Collector(**bounds)
    for kind, east, north, names in places:
        collector.take({"place": kind, **names}, round(north / METRES * 1e7), round(east / METRES * 1e7))
    return collector.built()


def named(places, *points, language=""):
    east, north = np.array(points, float).T / METRES
    found = of_places.nearest_places(places, north, east)
    return [places.name(each, language) if each >= 0 else None for each in found.number.tolist()]


def test_place_names_points_within_the_reach_of_its_kind():
    places = table(("hamlet", 0, 0, {"name": "Weiler"}), ("city", 0, 100_000, {"name": "Stadt"}))

    points = [(1_190, 0), (1_210, 0), (0, -1_190), (14_900, 100_000), (0, 115_100)]

    assert named(places, *points) == ["Weiler", None, "Weiler", "Stadt", None]


def test_distance_counts_by_the_reach_of_the_kind():
    """At 2,000 m from either, the city is nearer for its reach; at the village itself the village is."""
    places = table(("city", 0, 0, {"name": "Stadt"}), ("village", 4_000, 0, {"name": "Dorf"}))

    assert named(places, (2_000, 0), (3_900, 0)) == ["Stadt", "Dorf"]


def test_east_and_west_shrink_to_the_north():
    collector = Collector()
    collector.take({"place": "hamlet", "name": "Nord"}, 600_000_000, 100_000_000)

    found = of_places.nearest_places(collector.built(), np.array([60.0]), np.array([10.0 + 2_200 / METRES]))

    assert found.number.tolist() == [0]
    assert abs(found.far[0] - 1_100 / 1_200) < 0.01


def test_reader_gets_the_name_of_his_language_else_the_local_one():
    names = {"name": "Wien", "name:en": "Vienna", "name:fr": "Vienne"}
    places = table(("city", 0, 0, names), ("village", 50_000, 0, {"name": "서울", "name:ko": "서울"}))

    at = [(0, 0), (50_000, 0)]

    assert named(places, *at, language="en") == ["Vienna", "서울"]
    assert named(places, *at, language="ko") == ["Wien", "서울"]
    assert named(places, *at, language="fr") == ["Wien", "서울"]


def test_places_without_name_or_of_other_kinds_are_left_out():
    places = table(("farm", 0, 0, {"name": "Hof"}), ("village", 0, 0, {}), ("town", 0, 0, {"name:en": "Town"}))

    assert places.lat.size == 0
    assert named(places, (0, 0)) == [None]


def test_beyond_the_most_places_or_bytes_the_least_kinds_are_left_out():
    many = [("hamlet", at, 0, {"name": f"hamlet {at}"}) for at in range(9)]
    towns = [("town", at, 0, {"name": f"town {at}"}) for at in range(3)]

    by_number = table(*many, *towns, most=4)
    by_bytes = table(*many, *towns, most_bytes=20)

    assert [by_number.name(at, "") for at in range(by_number.lat.size)] == ["town 0", "town 1", "town 2", "hamlet 0"]
    assert [by_bytes.name(at, "") for at in range(by_bytes.lat.size)] == ["town 0", "town 1", "town 2"]


def test_long_name_is_cut():
    places = table(("town", 0, 0, {"name": "길" * 150}))

    assert places.name(0, "") == "길" * of_places.MOST_NAME


def test_nearest_named_road_within_fifty_metres():
    tags = {2: {"name": "Hauptstrasse", "ref": "L1"}, 3: {"name": "Nebenweg"}}
    index, texts = made_roads.built(({1: [(0, 0), (0, 500)], 2: [(30, 0), (30, 500)], 3: [(200, 0), (200, 500)]}, tags))
    points = np.array([(5, 100), (75, 100), (85, 100), (170, 200)], float).T / METRES

    found = of_places.nearest_roads(index, points[1], points[0])

    names = [texts.names[index.name[road]] if road >= 0 else None for road in found.number.tolist()]
    assert names == ["L1 Hauptstrasse", "L1 Hauptstrasse", None, "Nebenweg"]


def test_many_points_are_as_each_alone():
    """Also beyond the number of points that are compared at once."""
    chance = np.random.default_rng(7)
    spots = [
        (kind, *chance.uniform(-20_000, 20_000, 2), {"name": f"{kind} {no}"})
        for kind in of_places.KINDS
        for no in range(40)
    ]
    places = table(*spots)
    points = chance.uniform(-20_000, 20_000, (600, 2))

    expected = []
    for east, north in points:
        shares = [
            (np.hypot(x - east, y - north) / of_places.REACH_M[kind], names["name"]) for kind, x, y, names in spots
        ]
        share, name = min(shares)
        expected.append(name if share <= 1 else None)

    assert named(places, *points) == expected

"""The grid of a road index, and points within areas."""

import numpy as np
import pytest
import shapely

from tripline.roads import areas
from tripline.roads.areas import Points, Ring
from tripline.roads.builder import MOST_NAME, Builder
from tripline.roads.index import METRES, REACH_M, cell_numbers


@pytest.mark.parametrize("latitude", [0, 37, -53, 69])
def test_every_point_within_reach_of_a_road_finds_it(latitude):
    random = np.random.default_rng(1)
    builder = Builder()
    at_lat, at_lon = latitude * 10_000_000, 1_795_000_000
    builder.road(1, {"highway": "primary"}, [(1, at_lat, at_lon), (2, at_lat + 30_000, at_lon + 700_000)])
    index, _ = builder.built(otherwise="")
    share = random.random(2_000)
    angle, far = random.random(2_000) * 2 * np.pi, REACH_M / METRES
    lat = at_lat + share * 30_000 + far * np.sin(angle)
    lon = at_lon + share * 700_000 + far * np.cos(angle) / np.cos(np.radians(latitude))

    numbers = cell_numbers(lat, lon)
    found = np.searchsorted(index.cells, numbers)

    assert (index.cells[np.minimum(found, index.cells.size - 1)] == numbers).all()
    assert set(index.segments.tolist()) == {0}


def test_area_with_a_hole_and_a_second_part_has_points_inside():
    def square(low, high):
        corners = [(low, low), (low, high), (high, high), (high, low), (low, low)]
        return Ring(*np.array(corners, np.int32).T)

    lat = np.array([5, 50, 15, 25, 105], np.int32)
    points = Points(lat, lat)

    inside = points.inside([square(0, 40), square(10, 20), square(100, 110)])

    assert sorted(inside.tolist()) == [0, 3, 4]


@pytest.mark.parametrize("at_once", [1, 50, 1_000_000])
def test_outline_of_many_edges_has_the_same_points_inside_however_many_go_at_once(monkeypatch, at_once):
    monkeypatch.setattr(areas, "AT_ONCE", at_once)
    angle = np.append(np.linspace(0, 2 * np.pi, 200, endpoint=False), 0)
    far = 10_000 * (1 + 0.3 * np.sin(5 * angle))
    ring = Ring((far * np.sin(angle)).astype(np.int32), (far * np.cos(angle)).astype(np.int32))
    lat, lon = np.random.default_rng(1).integers(-13_000, 13_000, (2, 500), np.int32)

    inside = Points(lat, lon).inside([ring])

    outline = shapely.Polygon(np.column_stack((ring.lon, ring.lat)))
    assert sorted(inside.tolist()) == np.flatnonzero(shapely.contains_xy(outline, lon, lat)).tolist()


@pytest.mark.parametrize(
    ("length", "kept"), [(MOST_NAME - 1, MOST_NAME - 1), (MOST_NAME, MOST_NAME), (MOST_NAME + 1, MOST_NAME)]
)
def test_name_is_cut_at_its_bound(length, kept):
    builder = Builder()
    builder.road(1, {"highway": "primary", "name": "a" * length}, [(1, 0, 0), (2, 0, 1_000)])

    index, texts = builder.built(otherwise="")

    assert texts.names[index.name[0]] == "a" * kept


def test_roads_that_meet_twice_are_neighbours_once_for_each_node():
    builder = Builder()
    builder.road(7, {"highway": "primary"}, [(1, 0, 0), (2, 10, 0), (3, 20, 0)])
    builder.road(8, {"highway": "service"}, [(1, 0, 0), (4, 5, 5), (3, 20, 0), (5, 30, 0)])
    builder.road(9, {"highway": "service"}, [(6, 90, 90), (7, 95, 90)])
    index, _ = builder.built(otherwise="")

    assert index.near_starts.tolist() == [0, 2, 4, 4]
    assert index.near.tolist() == [1, 1, 0, 0]
    assert sorted(index.near_at[:2].tolist()) == [0, 2]
    assert sorted(index.near_at[2:].tolist()) == [3, 5]

"""Candidates: the roads near each point, and what speaks against each of them."""

from typing import Final, NamedTuple

import numpy as np

from tripline.roads import index as grid
from tripline.roads.index import METRES, REACH_M, UNITS, RoadIndex
from tripline.scoring.drives import Flags, Floats, Ints

SIGMA_M: Final = 8.0
"""How far from its road a point usually is. Costs are those of a normal distribution."""
HEADING: Final = 4.0
"""The cost of a road across the direction of travel; one that leads against it, and may not be driven so, has twice."""
SIDE: Final = 1.0
"""The cost of a road beside others: fewer are on it."""
MOST: Final = 7
"""Candidates of a point, the best."""


class Nearby(NamedTuple):
    """Segments within reach of points: equally long arrays, in order of the points."""

    point: Ints
    segment: Ints
    squared: Floats
    """Distance, square metres."""
    north: Floats
    """Direction of the segment, of length 1; `east` the same."""
    east: Floats


class Candidates(NamedTuple):
    """Of each point `MOST` roads, the best first: shape n x `MOST`."""

    road: Ints
    """-1: there are no more."""
    cost: Floats
    """Infinite there."""
    backward: Flags
    """Whether the road would be driven against its line."""


def nearby(index: RoadIndex, lat: Floats, lon: Floats) -> Nearby:
    """Segments near points, given in degrees."""
    lat, lon = lat * UNITS, lon * UNITS
    cells = grid.cell_numbers(lat, lon)
    at = np.minimum(np.searchsorted(index.cells, cells), index.cells.size - 1)
    counts = np.where(index.cells[at] == cells, index.cell_starts[at + 1] - index.cell_starts[at], 0)
    point = np.repeat(np.arange(lat.size), counts)
    within = np.arange(point.size) - np.repeat(np.cumsum(counts) - counts, counts)
    segment = index.segments[index.cell_starts[at][point] + within].astype(np.int64)
    east_m = (np.cos(np.radians(lat / UNITS)) * METRES)[point]
    from_north = (index.lat[segment] - lat[point]) * METRES
    from_east = (index.lon[segment] - lon[point]) * east_m
    north = (index.lat[segment + 1] - lat[point]) * METRES - from_north
    east = (index.lon[segment + 1] - lon[point]) * east_m - from_east
    length = np.maximum(north * north + east * east, 1e-6)
    share = np.clip(-(from_north * north + from_east * east) / length, 0.0, 1.0)
    squared = (from_north + share * north) ** 2 + (from_east + share * east) ** 2
    near = np.flatnonzero(squared < REACH_M * REACH_M)
    length = np.sqrt(length[near])
    return Nearby(point[near], segment[near], squared[near], north[near] / length, east[near] / length)


def candidates(index: RoadIndex, lat: Floats, lon: Floats, north: Floats, east: Floats) -> Candidates:
    """The candidates of points. `north`, `east`: the direction of travel, shorter than 1 as far as it is unsure."""
    near = nearby(index, lat, lon)
    road = index.road[near.segment].astype(np.int64)
    along = near.north * north[near.point] + near.east * east[near.point]
    sure = np.hypot(north, east)[near.point]
    way = index.one_way[road]
    agreed = np.where(way == 0, np.abs(along), along * way)
    cost = 0.5 * near.squared / SIGMA_M**2 + HEADING * (sure - agreed) + SIDE * index.side[road]
    order = np.lexsort((cost, road, near.point))
    point, road = near.point[order], road[order]
    best = order[np.append(True, (point[1:] != point[:-1]) | (road[1:] != road[:-1]))[: order.size]]
    best = best[np.lexsort((cost[best], near.point[best]))]
    point = near.point[best]
    firsts = np.searchsorted(point, np.arange(lat.size))
    nth = np.arange(best.size) - firsts[point]
    kept = nth < MOST
    found = Candidates(
        np.full((lat.size, MOST), -1, np.int64),
        np.full((lat.size, MOST), np.inf),
        np.zeros((lat.size, MOST), np.bool_),
    )
    place = point[kept], nth[kept]
    segment = near.segment[best[kept]]
    found.road[place] = index.road[segment]
    found.cost[place] = cost[best[kept]]
    found.backward[place] = along[best[kept]] < 0
    return found

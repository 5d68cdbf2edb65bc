"""Candidates: the roads near each point, each with a cost: the higher, the less likely the road."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tripline.roads import index as grid
from tripline.roads import limits
from tripline.roads.index import METRES, REACH_M, UNITS, RoadIndex
from tripline.scoring.drives import Flags, Floats, Ints

SIGMA_M: Final = 10.0
"""Usual distance of a point from its road. Up to it costs follow a normal distribution; beyond it they grow linearly,
because drifting errors are far larger and last for many points."""
HEADING: Final = 6.0
"""The cost of a road at right angles to the direction of travel. A one-way road driven the wrong way costs
twice that."""
SIDE: Final = 0.75
"""The cost of a side road: fewer vehicles use it."""
FAST: Final = 1.2
"""Above this share of its limit a vehicle may rather be on another road: where roads lie above or beside each other,
positions alone do not decide."""
SPEED: Final = 1.5
"""The cost of a road at its whole limit more, and the most."""
MOST: Final = 7
"""Most candidates of a point."""
_REACH: Final = REACH_M / METRES


class Nearby(NamedTuple):
    """Segments within reach of points: equally long arrays, in order of the points."""

    point: Ints
    segment: Ints
    squared: Floats
    """Distance, square metres."""
    off_north: Floats
    """From the point to the nearest place of the segment, metres; `off_east` likewise."""
    off_east: Floats
    north: Floats
    """Direction of the segment, of length 1; `east` likewise."""
    east: Floats


class Candidates(NamedTuple):
    """The likeliest roads of each point, best first: shape n x `MOST`."""

    road: Ints
    """-1 where a point has no further candidate."""
    cost: Floats
    """Infinite where `road` is -1."""
    backward: Flags
    """True if the road would be driven against its line."""
    off_north: Floats
    """From the point to the road, metres; `off_east` the same."""
    off_east: Floats


def nearby(index: RoadIndex, lat: Floats, lon: Floats) -> Nearby:
    """The segments near these points. `lat`, `lon`: degrees."""
    lat, lon = lat * UNITS, lon * UNITS
    cells = grid.cell_numbers(lat, lon)
    at = np.minimum(np.searchsorted(index.cells, cells), index.cells.size - 1)
    begins = index.cell_starts[at]
    counts = np.where(index.cells[at] == cells, index.cell_starts[at + 1] - begins, 0)
    point = np.repeat(np.arange(lat.size), counts)
    segment = index.segments[np.repeat(begins - np.cumsum(counts) + counts, counts) + np.arange(point.size)]
    narrow = np.cos(np.radians(lat / UNITS))
    for column, own, reach in ((index.lat, lat, _REACH), (index.lon, lon, _REACH / narrow)):
        # A cell is much wider than the reach: drop farther segments before the costly steps.
        one, other = column[segment], column[segment + 1]
        low, high = (own - reach)[point], (own + reach)[point]
        near = np.flatnonzero(((one >= low) | (other >= low)) & ((one <= high) | (other <= high)))
        point, segment = point[near], segment[near]
    east_m = (narrow * METRES)[point]
    from_north = (index.lat[segment] - lat[point]) * METRES
    from_east = (index.lon[segment] - lon[point]) * east_m
    north = (index.lat[segment + 1] - lat[point]) * METRES - from_north
    east = (index.lon[segment + 1] - lon[point]) * east_m - from_east
    length = np.maximum(north * north + east * east, 1e-6)
    share = np.clip(-(from_north * north + from_east * east) / length, 0.0, 1.0)
    off_north, off_east = from_north + share * north, from_east + share * east
    squared = off_north * off_north + off_east * off_east
    near = np.flatnonzero(squared < REACH_M * REACH_M)
    length = np.sqrt(length[near])
    return Nearby(
        point[near],
        segment[near].astype(np.int64),
        squared[near],
        off_north[near],
        off_east[near],
        north[near] / length,
        east[near] / length,
    )


def by_distance(metres: Floats) -> Floats:
    """The cost of roads at these distances."""
    usual = metres / SIGMA_M
    return np.where(usual < 1.0, 0.5 * usual * usual, usual - 0.5)


def by_speed(index: RoadIndex, found: Candidates, columns: NDArray[np.int8], speed_kmh: Floats) -> Floats:
    """The cost of candidates by the speed of their points: shape n x `MOST`. Limits at times of day do not count.

    `columns`: the `Column` of each point's vehicle; a speed may be NaN, unknown.
    """
    lane = limits.at(found.backward.astype(np.int64), columns.astype(np.int64)[:, None])
    share = np.nan_to_num(speed_kmh)[:, None] / index.kmh[index.limits[found.road], lane]
    cost: Floats = SPEED * np.clip(share - FAST, 0.0, 1.0)
    return cost


def candidates(index: RoadIndex, lat: Floats, lon: Floats, north: Floats, east: Floats) -> Candidates:
    """The candidates of these points. `north`, `east`: their directions of travel, as in `anchors.Directions`."""
    near = nearby(index, lat, lon)
    road = index.road[near.segment].astype(np.int64)
    along = near.north * north[near.point] + near.east * east[near.point]
    sure = np.hypot(north, east)[near.point]
    way = index.one_way[road]
    agreed = np.where(way == 0, np.abs(along), along * way)
    cost = by_distance(np.sqrt(near.squared)) + HEADING * (sure - agreed) + SIDE * index.side[road]
    # The cheapest segment of each road, then the roads of each point by their costs.
    own = near.point * index.link.size + road
    order = np.lexsort((cost, own))
    best = order[np.append(True, np.diff(own[order]) != 0)[: order.size]]
    best = best[np.lexsort((cost[best], near.point[best]))]
    point = near.point[best]
    firsts = np.searchsorted(point, np.arange(lat.size))
    nth = np.arange(best.size) - firsts[point]
    kept = nth < MOST
    found = Candidates(
        np.full((lat.size, MOST), -1, np.int64),
        np.full((lat.size, MOST), np.inf),
        np.zeros((lat.size, MOST), np.bool_),
        np.zeros((lat.size, MOST)),
        np.zeros((lat.size, MOST)),
    )
    place = point[kept], nth[kept]
    best = best[kept]
    found.road[place] = index.road[near.segment[best]]
    found.cost[place] = cost[best]
    found.backward[place] = along[best] < 0
    found.off_north[place], found.off_east[place] = near.off_north[best], near.off_east[best]
    return found

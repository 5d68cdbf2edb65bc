"""Crossings: finds the sample at which a drive passes from one road to the next.

The node that both roads share and the distance travelled locate it. A single position locates a place along a road only
within its noise, so means are compared: the mean position and the mean distance travelled (integrated from speeds)
of the samples before the node, and the same of the samples after it.
"""

from typing import Final, NamedTuple

import numpy as np

from tripline.roads.index import DEGREE_M, UNITS, RoadIndex
from tripline.scoring.drives import Floats, Ints

AROUND_M: Final = 150.0
"""Positions within this distance before and after a change are averaged to locate it."""
ASTRAY_M: Final = 25.0
"""Most that positions and speeds may differ there; beyond it the change is not moved."""


class Moved(NamedTuple):
    """Samples that move to another road: equally long arrays."""

    samples: Ints
    like: Ints
    """A sample on that road."""


class _Means(NamedTuple):
    """Means over the samples on one side of each node: equally long arrays."""

    to_node_m: Floats
    """In a straight line."""
    come_m: Floats
    """Distance that the vehicle had come."""


class _Crossings(NamedTuple):
    """Changes between roads that share a node: equally long arrays."""

    changes: Ints
    """The first sample on the other road."""
    node: Ints
    """The nearest shared node."""


def placed(index: RoadIndex, road: Ints, lat: Floats, lon: Floats, come_m: Floats, changes: Ints) -> Moved:
    """The samples that belong to another road than the matched one.

    Samples are in order of trip and time. `changes`: the first ones on another road of the same trip; `come_m`: the
    distance that the vehicle had come at each sample, metres, never falling.
    """
    changes, node = _nodes(index, road, lat, lon, changes)
    runs = np.append(np.flatnonzero(np.append(True, np.diff(road) != 0)), road.size)
    at = np.searchsorted(runs, changes)
    first = np.maximum(runs[at - 1], np.searchsorted(come_m, come_m[changes] - AROUND_M))
    last = np.minimum(runs[at + 1], np.searchsorted(come_m, come_m[changes] + AROUND_M, side="right"))
    first, last = np.minimum(first, changes - 1), np.maximum(last, changes + 1)
    before = _mean(index, node, lat, lon, come_m, first, changes)
    behind = _mean(index, node, lat, lon, come_m, changes, last)
    weight = (changes - first) / (last - first)
    node_come_m = weight * (before.come_m + before.to_node_m) + (1 - weight) * (behind.come_m - behind.to_node_m)
    # No road loses more than half of its samples to the next one.
    least, most = (runs[at - 1] + changes + 1) // 2, (changes + runs[at + 1]) // 2
    astray = np.abs(behind.come_m - before.come_m - before.to_node_m - behind.to_node_m) > ASTRAY_M
    fresh = np.where(astray, changes, np.clip(np.searchsorted(come_m, node_come_m), least, most))
    counts = np.abs(fresh - changes)
    moved = np.repeat(np.minimum(fresh, changes) - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    return Moved(moved, np.repeat(np.where(fresh > changes, changes - 1, changes), counts))


def _mean(index: RoadIndex, node: Ints, lat: Floats, lon: Floats, come_m: Floats, first: Ints, last: Ints) -> _Means:
    """The means over the samples `first` to `last` - 1."""
    north, east, come = (
        (sums[last] - sums[first]) / (last - first)
        for sums in (np.append(0.0, np.cumsum(column)) for column in (lat - lat[0], lon - lon[0], come_m))
    )
    node_lat, node_lon = index.lat[node] / UNITS, index.lon[node] / UNITS
    east_m = (east + lon[0] - node_lon) * np.cos(np.radians(node_lat)) * DEGREE_M
    return _Means(np.hypot((north + lat[0] - node_lat) * DEGREE_M, east_m), come)


def _nodes(index: RoadIndex, road: Ints, lat: Floats, lon: Floats, changes: Ints) -> _Crossings:
    """The changes whose roads share a node, each with the nearest shared node."""
    own, other = road[changes - 1], road[changes]
    starts = index.near_starts[own]
    counts = index.near_starts[own + 1] - starts
    which = np.repeat(np.arange(changes.size), counts)
    within = (starts - np.cumsum(counts) + counts)[which] + np.arange(which.size)
    also = np.flatnonzero(index.near[within] == other[which])
    which, node = which[also], index.near_at[within[also]]
    at = changes[which]
    north = index.lat[node] / UNITS - lat[at]
    east = (index.lon[node] / UNITS - lon[at]) * np.cos(np.radians(lat[at]))
    best = np.lexsort((north * north + east * east, which))
    best = best[np.append(which.size > 0, np.diff(which[best]) != 0)[: best.size]]
    return _Crossings(changes[which[best]], node[best].astype(np.int64))

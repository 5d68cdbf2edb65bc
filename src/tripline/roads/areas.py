"""Areas and the points within them: countries, and mapped built-up land."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from tripline.roads.index import Coordinates
from tripline.scoring.drives import Flags, Ints

AT_ONCE: Final = 1_000_000
"""Most pairs of an edge and a point beside it in memory, plus the pairs of one edge."""


class Ring(NamedTuple):
    """A closed line, units of 1e-7 degrees; the last point is the first."""

    lat: Coordinates
    lon: Coordinates


class Points:
    """Points sorted by latitude, for lookup by area."""

    def __init__(self, lat: Coordinates, lon: Coordinates) -> None:
        self._order = np.argsort(lat, kind="stable")
        self._lat = lat[self._order].astype(np.float64)
        self._lon = lon[self._order].astype(np.float64)

    def inside(self, rings: Sequence[Ring]) -> Ints:
        """Indexes of the points inside an area: within an odd number of its rings, outer and inner ones.

        None for an area without rings, as an extract has that cuts through its outline.
        """
        if not rings:
            return np.empty(0, np.int64)
        first = np.searchsorted(self._lat, min(ring.lat.min() for ring in rings), side="left")
        last = np.searchsorted(self._lat, max(ring.lat.max() for ring in rings), side="right")
        odd = np.zeros(last - first, np.bool_)
        for ring in rings:
            self._cross(ring, int(first), odd)
        return self._order[first:last][odd]

    def _cross(self, ring: Ring, offset: int, odd: Flags) -> None:
        """Flip the points whose ray to the east crosses an edge."""
        lat, lon = ring.lat.astype(np.float64), ring.lon.astype(np.float64)
        low, high = np.minimum(lat[:-1], lat[1:]), np.maximum(lat[:-1], lat[1:])
        firsts = np.searchsorted(self._lat, low, side="left")
        lasts = np.searchsorted(self._lat, high, side="left")
        edges = np.flatnonzero(lasts > firsts)
        counts = (lasts - firsts)[edges]
        ends = np.cumsum(counts)
        # Edge by edge this would take a hundred times as long; all at once, a country's boundary would not fit.
        for some in np.split(np.arange(edges.size), np.flatnonzero(np.diff(ends // AT_ONCE)) + 1):
            count = counts[some]
            edge = np.repeat(edges[some], count)
            point = np.arange(edge.size) - np.repeat(np.cumsum(count) - count, count) + firsts[edge]
            share = (self._lat[point] - lat[edge]) / (lat[edge + 1] - lat[edge])
            crosses = lon[edge] + share * (lon[edge + 1] - lon[edge]) > self._lon[point]
            np.logical_xor.at(odd, point[crosses] - offset, True)

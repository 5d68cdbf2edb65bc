"""Roads by the answer of another matcher. It names OpenStreetMap ways; roads and limits come from our own index."""

from typing import NamedTuple

import numpy as np

from tripline.roads import candidates, matcher
from tripline.roads.index import RoadIndex
from tripline.roads.matcher import Matches, Trace
from tripline.scoring.drives import Drives, Flags, Floats, Ints


class Ways(NamedTuple):
    """The way driven at each anchor of these trips (`matcher.trace_of`)."""

    trip: Ints
    link: Ints
    """The id of the way; -1: none."""
    backward: Flags
    """True if the way was driven against its line."""
    lat: Floats
    """Where on the way the anchor is; `lon` the same."""
    lon: Floats

    def of(self, trips: Ints) -> "Ways":
        """The ways of these trips (ascending), renumbered as trips 0..n-1."""
        own = np.flatnonzero(np.isin(self.trip, trips))
        trip = np.searchsorted(trips, self.trip[own])
        return Ways(trip, self.link[own], self.backward[own], self.lat[own], self.lon[own])


def matched(index: RoadIndex, drives: Drives, trace: Trace, ways: Ways, use_ways: Flags) -> Matches:
    """The roads of these trips. `use_ways`: for each trip, true to use `ways`, false to run our own matcher."""
    by_ways = matcher.carried(index, trace, Matches(_roads(index, ways), ways.backward))
    if use_ways.all():
        return by_ways
    ours, counts = matcher.matched(index, drives, trace), use_ways[drives.trips]
    return Matches(np.where(counts, by_ways.road, ours.road), np.where(counts, by_ways.backward, ours.backward))


def _roads(index: RoadIndex, ways: Ways) -> Ints:
    """The road of each anchor: the nearest road of its way, which may consist of several; -1: none."""
    found = np.full(ways.link.size, -1, np.int64)
    if not index.cells.size:
        return found
    near = candidates.nearby(index, ways.lat, ways.lon)
    road = index.road[near.segment]
    own = np.flatnonzero(index.link[road] == ways.link[near.point])
    # If there are several, the last one written counts, which is the nearest.
    order = own[np.argsort(-near.squared[own], kind="stable")]
    found[near.point[order]] = road[order]
    return found

"""The benefit of the doubt: a sample is over the limit only if every road that it may be on has a lower one.

Roads lie above and beside each other, and errors of positions drift: for a minute a vehicle on an expressway seems to
be on the street below it, at twice the limit there. The matcher's road stays; the sample gets the limit of the other.

Not here: the matcher's own cost of speed (`candidates.by_speed`), what is over a limit (`scoring/overspeed.py`).
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from tripline.roads import candidates as nearness
from tripline.roads import limited, matcher
from tripline.roads.index import RoadIndex, Texts
from tripline.roads.limited import Limits
from tripline.roads.matcher import Matches, Trace
from tripline.scoring.drives import Drives, Floats, Ints
from tripline.scoring.overspeed import FACTOR

OVER: Final = FACTOR["factor"]
"""The share of the limit that is tolerated."""
ERRORS: Final = 5.0
"""A vehicle may be so many times as far from its position as positions are usually from the roads of its trip,"""
MOST_M: Final = 45.0
"""but not farther than this."""
ALONG: Final = 0.7
"""The most that the direction of a road beside may cost: 28 degrees off the direction of travel."""
EVERY: Final = 8
"""One anchor in so many serves to measure the errors of its trip."""


class _Others(NamedTuple):
    """Other roads that samples may be on, one for each row."""

    which: Ints
    """Indexes into the samples over their limits."""
    roads: Matches


def given(
    index: RoadIndex, texts: Texts, drives: Drives, trace: Trace, found: Matches, told: Limits, *, offset_ms: Ints
) -> Limits:
    """The limits to judge samples by: of another road where that allows a speed over the limit of the matched road.

    `trace`: of these drives. `told`, `offset_ms`: the result and argument of `limited.limits_of`.
    """
    over = np.flatnonzero((told.kmh > 0) & (drives.speed_kmh > OVER * told.kmh))
    if not over.size:
        return told
    places = np.argsort(trace.order)[over]
    reach_m = _reach(index, trace, found)[trace.samples.trip[places]]
    others = [_beside(index, trace, found, places, reach_m), *_around(trace, found, places, reach_m)]
    which = np.concatenate([each.which for each in others])
    roads = Matches(*(np.concatenate(column) for column in zip(*(each.roads for each in others), strict=True)))
    limits = limited.of_roads(index, texts, drives, over[which], roads, offset_ms=offset_ms)
    allows = np.flatnonzero((limits.kmh == 0) | (drives.speed_kmh[over[which]] <= OVER * limits.kmh))
    # Of several roads the first counts: the nearest beside, else the one before.
    cleared, first = np.unique(over[which[allows]], return_index=True)
    kmh, source = told.kmh.copy(), told.source.copy()
    kmh[cleared], source[cleared] = limits.kmh[allows[first]], limits.source[allows[first]]
    return Limits(kmh, source)


def _reach(index: RoadIndex, trace: Trace, found: Matches) -> Floats:
    """How far the vehicle of each trip may be from its position, metres."""
    samples, anchors = trace.samples, trace.anchors
    some = anchors.sample[::EVERY]
    near = nearness.nearby(index, anchors.lat[::EVERY], anchors.lon[::EVERY])
    on_road = index.road[near.segment] == found.road[trace.order[some]][near.point]
    squared = np.full(some.size, np.inf)
    np.minimum.at(squared, near.point[on_road], near.squared[on_road])
    known = np.flatnonzero(np.isfinite(squared))
    trips, trip = int(samples.trip[-1]) + 1, samples.trip[some[known]]
    mean = np.bincount(trip, squared[known], trips) / np.maximum(np.bincount(trip, minlength=trips), 1)
    reach: Floats = np.minimum(ERRORS * np.sqrt(mean), MOST_M)
    return reach


def _beside(index: RoadIndex, trace: Trace, found: Matches, places: Ints, reach_m: Floats) -> _Others:
    """Roads above or beside the samples, the nearest first. `places`: of the samples in the trace."""
    lat, lon = trace.samples.lat[places], trace.samples.lon[places]
    near = nearness.candidates(index, lat, lon, *matcher.directions(trace, places))
    metres = np.hypot(near.off_north, near.off_east)
    is_along = near.cost - nearness.by_distance(metres) <= ALONG
    own = found.road[trace.order[places], None]
    which, nth = np.nonzero(is_along & (metres <= reach_m[:, None]) & (near.road != own))
    return _Others(which, Matches(near.road[which, nth], near.backward[which, nth]))


def _around(trace: Trace, found: Matches, places: Ints, reach_m: Floats) -> Iterator[_Others]:
    """The roads before the last change and after the next one."""
    road, backward = found.road[trace.order], found.backward[trace.order]
    come_m, trip = trace.samples.come_m, trace.samples.trip
    changes = np.flatnonzero(np.diff(road) != 0)
    after = np.searchsorted(changes, places)
    for nth, side in ((after - 1, 0), (after, 1)):
        known = np.flatnonzero((nth >= 0) & (nth < changes.size))
        other, place = changes[nth[known]] + side, places[known]
        is_near = np.abs(come_m[other] - come_m[place]) <= reach_m[known]
        near = np.flatnonzero(is_near & (trip[other] == trip[place]) & (road[other] >= 0))
        yield _Others(known[near], Matches(road[other[near]], backward[other[near]]))

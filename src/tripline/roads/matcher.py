"""Road matching: finds the road of each sample of a trip, by position, direction, speed and connections of roads.

The candidates of an anchor are the nearest roads, and "no road". The cheapest chain of candidates is the drive (by the
Viterbi algorithm). Between two anchors on different roads, the samples are split where that fits their positions best.
"""

from typing import Final, NamedTuple

import numpy as np
from msgspec.structs import replace

from tripline.roads import anchors as thinned
from tripline.roads import candidates as nearness
from tripline.roads import changes, crossings
from tripline.roads.anchors import GAP_MS, STILL_KMH, Anchors, Directions
from tripline.roads.candidates import MOST, Candidates
from tripline.roads.index import REACH_M, RoadIndex
from tripline.scoring import speeds
from tripline.scoring.drives import Drives, Flags, Floats, Ints, instants
from tripline.scoring.rules import Rules

OFF_ROAD: Final = 9.0
"""The cost of a point on no road: more than distance alone costs on any road within reach."""


class Matches(NamedTuple):
    """The road of each sample."""

    road: Ints
    """-1: no known road."""
    backward: Flags
    """True if the road was driven against its line."""


class Samples(NamedTuple):
    """Samples, ordered by trip, then time."""

    time_ms: Ints
    lat: Floats
    lon: Floats
    trip: Ints
    come_m: Floats
    """`anchors.odometer`."""


class Trace(NamedTuple):
    """The samples of trips, and their anchors. The anchors of a trip do not depend on the other trips."""

    order: Ints
    """Index of each sample among the given ones."""
    samples: Samples
    anchors: Anchors
    directions: Directions
    """The direction of travel at each anchor."""


def paced(drives: Drives, rules: Rules) -> Drives:
    """The drives, those without speeds with the ones by positions that scoring judges them by.

    Samples that scoring merges with a later one stay without.
    """
    without = speeds.lacking(drives, drives.speed_kmh)
    if not without.any():
        return drives
    numbered = replace(drives, road=np.arange(drives.time_ms.size, dtype=np.int32))
    merged = instants(numbered, instant_ms=rules.scoring.instant_ms)
    speed_kmh = drives.speed_kmh.copy()
    exact = np.zeros(len(drives), np.bool_)
    speed_kmh[merged.road] = speeds.from_positions(merged, merged.speed_kmh, without, exact, rules)
    return replace(drives, speed_kmh=speed_kmh)


def matched(index: RoadIndex, drives: Drives, trace: Trace | None = None) -> Matches:
    """The roads of these trips. Samples of a trip need not be in order of time.

    `trace`: of these drives, if the caller has it.
    """
    trace = trace_of(drives) if trace is None else trace
    anchors = trace.anchors
    if not anchors.sample.size or not index.cells.size:
        return _nowhere(trace)
    found = nearness.candidates(index, anchors.lat, anchors.lon, *trace.directions)
    samples, trips = trace.order[anchors.sample], trace.samples.trip[anchors.sample]
    by_speed = nearness.by_speed(index, found, drives.column[trips], drives.speed_kmh[samples])
    chosen = _chain(index, found._replace(cost=found.cost + by_speed), anchors)
    places = np.arange(chosen.size), np.minimum(chosen, MOST - 1)
    return carried(index, trace, Matches(np.where(chosen < MOST, found.road[places], -1), found.backward[places]))


def trace_of(drives: Drives) -> Trace:
    """The anchors of these trips. `carried` spreads their roads to all samples."""
    order = np.lexsort((drives.time_ms, drives.trips))
    time_ms, speed_kmh = drives.time_ms[order], drives.speed_kmh[order]
    come_m = thinned.odometer(time_ms, speed_kmh)
    samples = Samples(time_ms, drives.lat[order], drives.lon[order], drives.trips, come_m)
    anchors = thinned.of(*samples, moving=np.flatnonzero(~(speed_kmh <= STILL_KMH)))
    return Trace(order, samples, anchors, thinned.directions(anchors))


def directions(trace: Trace, places: Ints) -> Directions:
    """The direction of travel at samples in which the vehicle moved. `places`: where they are in the trace."""
    anchors, trip = trace.anchors, trace.samples.trip
    at = np.minimum(np.searchsorted(anchors.sample, places), anchors.sample.size - 1)
    at -= trip[anchors.sample[at]] != trip[places]
    return Directions(trace.directions.north[at], trace.directions.east[at])


def carried(index: RoadIndex, trace: Trace, of_anchors: Matches) -> Matches:
    """The roads of all samples, from the roads of the anchors."""
    samples = trace.samples
    if not trace.anchors.sample.size or not index.cells.size:
        return _nowhere(trace)
    road, backward = _carried(index, of_anchors, trace.anchors, samples)
    together = (np.diff(samples.trip) == 0) & (np.diff(samples.time_ms) <= GAP_MS)
    changes = np.flatnonzero((road[1:] != road[:-1]) & together & (road[1:] >= 0) & (road[:-1] >= 0)) + 1
    moved, like = crossings.placed(index, road, samples.lat, samples.lon, samples.come_m, changes)
    road[moved], backward[moved] = road[like], backward[like]
    found = _nowhere(trace)
    found.road[trace.order], found.backward[trace.order] = road, backward
    return found


def _nowhere(trace: Trace) -> Matches:
    return Matches(np.full(trace.order.size, -1, np.int64), np.zeros(trace.order.size, np.bool_))


def _chain(index: RoadIndex, found: Candidates, anchors: Anchors) -> Ints:
    """The candidate of each anchor on the cheapest chain; `MOST` means no road."""
    points = len(found.road)
    own = np.concatenate([found.cost, np.full((points, 1), OFF_ROAD)], axis=1)
    before = np.zeros((points, MOST + 1), np.int64)
    # The cheapest chain up to each candidate. The loop does no more than it must; what led there follows in blocks.
    costs = np.empty((points, MOST + 1))
    costs[0] = own[0]
    sums = np.empty((MOST + 1, MOST + 1))
    at = 0
    for block in changes.costs(index, found, anchors):
        first, last = at, at + len(block)
        onward = np.ascontiguousarray(block.transpose(0, 2, 1)) + own[first + 1 : last + 1, :, None]
        for change in onward:
            np.add(change, costs[at], out=sums)
            at += 1
            np.minimum.reduce(sums, axis=1, out=costs[at])
        before[first + 1 : last + 1] = (onward + costs[first:last, None, :]).argmin(axis=2)
    chosen = np.empty(points, np.int64)
    lane = int(costs[-1].argmin())
    for at in range(points - 1, -1, -1):
        chosen[at] = lane
        lane = int(before[at, lane])
    return chosen


def _carried(index: RoadIndex, found: Matches, anchors: Anchors, samples: Samples) -> Matches:
    """Spread the roads of anchors to every sample."""
    lat, lon, trip = samples.lat, samples.lon, samples.trip
    of_trip = trip[anchors.sample]
    is_anchor = np.zeros(lat.size, np.int64)
    is_anchor[anchors.sample] = 1
    left = np.cumsum(is_anchor) - 1
    right = np.minimum(left + 1, anchors.sample.size - 1)
    # Samples before a trip's first anchor use that one, samples after the last use the last; in a gap the nearer one.
    at_ms = samples.time_ms[anchors.sample]
    in_gap = (at_ms[right] - at_ms[left] > GAP_MS) & (of_trip[right] == trip)
    strange = (left < 0) | (of_trip[left] != trip) | in_gap & (samples.time_ms * 2 > at_ms[left] + at_ms[right])
    left = np.where(strange, right, left)
    road, backward = found.road[left], found.backward[left]
    without = of_trip[left] != trip
    road[without] = -1
    turns = np.flatnonzero(~anchors.broken & (found.road[:-1] != found.road[1:]))
    between = np.flatnonzero(np.isin(left, turns) & (is_anchor == 0) & ~strange)
    if between.size:
        later = between[_is_behind(index, found, left[between], lat[between], lon[between])]
        road[later], backward[later] = found.road[left[later] + 1], found.backward[left[later] + 1]
    return Matches(road, backward)


def _is_behind(index: RoadIndex, found: Matches, turn: Ints, lat: Floats, lon: Floats) -> Flags:
    """True for each sample between two roads that is on the second one. `turn`: the anchor before the sample."""
    near = nearness.nearby(index, lat, lon)
    road = index.road[near.segment]
    first, second = np.full(lat.size, REACH_M**2), np.full(lat.size, REACH_M**2)
    for squared, anchor in ((first, turn), (second, turn + 1)):
        own = road == found.road[anchor][near.point]
        np.minimum.at(squared, near.point[own], near.squared[own])
    gain = first - second
    # For each turn, sum the gain before each sample; the second road begins where the sum is least.
    begins = np.flatnonzero(np.append(True, np.diff(turn) != 0))
    counts = np.diff(np.append(begins, turn.size))
    starts = begins + np.arange(begins.size)
    sums = np.cumsum(np.insert(gain, begins, 0.0))
    sums -= np.repeat(sums[starts], counts + 1)
    least = np.flatnonzero(sums == np.repeat(np.minimum.reduceat(sums, starts), counts + 1))
    split = least[np.searchsorted(least, starts)] - starts
    behind: Flags = np.arange(turn.size) - np.repeat(begins, counts) >= np.repeat(split, counts)
    return behind

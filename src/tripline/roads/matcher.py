"""Road matching: which road each sample of a trip was driven on, by position, direction and what leads where.

Positions are thinned to one in about 3 s, without those of a standing vehicle, whose noise would lead anywhere: the
anchors. Of each the nearest roads are candidates, beside no road at all. The cheapest chain of them is the drive (the
algorithm of Viterbi): a change to a road that shares no node costs much. Between anchors on two roads the samples are
split where that fits their positions best.

Not here: candidates of a point (`candidates.py`), limits (`limited.py`).
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tripline.roads import candidates as nearness
from tripline.roads.candidates import MOST, Candidates
from tripline.roads.index import DEGREE_M, REACH_M, RoadIndex
from tripline.scoring.drives import Drives, Flags, Floats, Ints

THINNED_MS: Final = 3_000
STILL_KMH: Final = 2.0
"""Up to this speed a vehicle stands; its direction and its place are noise."""
GAP_MS: Final = 60_000
"""Longer than this between anchors, nothing is said of what lies between."""
HEADING_M: Final = 12.0
"""A direction between two anchors this far apart is half sure."""
TO_NEXT: Final = 1.0
"""The cost of a change to a road that shares a node."""
ACROSS: Final = 2.0
"""Of a change to a road that shares one with a road between."""
JUMP: Final = 7.0
"""Of a change to any other road."""
OFF_ROAD: Final = 9.0
"""The cost of a point on no road: as of one 34 m from its road."""
ASIDE: Final = 4.0
"""The cost of leaving the roads, and of coming back."""
BLOCK: Final = 512
"""Anchors at a time: their candidates are a few hundred roads, whose neighbourhood is one small table."""


class Matches(NamedTuple):
    """Of each sample the road."""

    road: Ints
    """-1: none that is known."""
    backward: Flags
    """Whether it was driven against its line."""


def matched(index: RoadIndex, drives: Drives) -> Matches:
    """The roads of trips; their samples may stand in any order of time."""
    trip = drives.trips
    order = np.lexsort((drives.time_ms, trip))
    found = _sorted(index, drives.time_ms[order], drives.lat[order], drives.lon[order], drives.speed_kmh[order], trip)
    road, backward = np.empty_like(found.road), np.empty_like(found.backward)
    road[order], backward[order] = found
    return Matches(road, backward)


def _sorted(index: RoadIndex, time_ms: Ints, lat: Floats, lon: Floats, speed_kmh: Floats, trip: Ints) -> Matches:
    moving = np.flatnonzero(~(speed_kmh <= STILL_KMH))
    if not moving.size or not index.cells.size:
        return Matches(np.full(time_ms.size, -1, np.int64), np.zeros(time_ms.size, np.bool_))
    slot = time_ms[moving] // THINNED_MS
    anchors = moving[np.append(True, (np.diff(slot) != 0) | (np.diff(trip[moving]) != 0))]
    broken = (np.diff(trip[anchors]) != 0) | (np.diff(time_ms[anchors]) > GAP_MS)
    found = nearness.candidates(index, lat[anchors], lon[anchors], *_directions(lat[anchors], lon[anchors], broken))
    chosen = _chain(index, found, broken)
    places = np.arange(anchors.size), np.minimum(chosen, MOST - 1)
    of_anchors = Matches(np.where(chosen < MOST, found.road[places], -1), found.backward[places])
    return _carried(index, of_anchors, anchors, broken, lat, lon, trip)


def _directions(lat: Floats, lon: Floats, broken: Flags) -> tuple[Floats, Floats]:
    """The direction of travel at each anchor, from the one before to the one behind: north and east."""
    ahead = np.append(np.where(broken, 0, 1), 0)
    behind = np.append(0, np.where(broken, 0, 1))
    at = np.arange(lat.size)
    north = (lat[at + ahead] - lat[at - behind]) * DEGREE_M
    east = (lon[at + ahead] - lon[at - behind]) * DEGREE_M * np.cos(np.radians(lat))
    squared = north * north + east * east
    sure = np.sqrt(squared) / np.maximum(squared + HEADING_M**2, 1e-6)
    return north * sure, east * sure


def _chain(index: RoadIndex, found: Candidates, broken: Flags) -> Ints:
    """Which candidate of each anchor is on the cheapest chain; `MOST`: no road."""
    points = len(found.road)
    own = np.concatenate([found.cost, np.full((points, 1), OFF_ROAD)], axis=1)
    before = np.zeros((points, MOST + 1), np.int64)
    costs = own[0]
    lanes = np.arange(MOST + 1)
    at = 0
    for changes in _changes(index, found, broken):
        for change in changes:
            at += 1
            sums = costs[:, None] + change
            before[at] = sums.argmin(axis=0)
            costs = sums[before[at], lanes] + own[at]
    chosen = np.empty(points, np.int64)
    lane = int(costs.argmin())
    for at in range(points - 1, -1, -1):
        chosen[at] = lane
        lane = int(before[at, lane])
    return chosen


def _changes(index: RoadIndex, found: Candidates, broken: Flags) -> Iterator[Floats]:
    """What a change from each candidate of an anchor to each of the next costs, a block of anchors at a time."""
    for first in range(0, len(broken), BLOCK):
        last = min(first + BLOCK, len(broken))
        roads = found.road[first : last + 1]
        known = np.unique(roads)
        place = np.searchsorted(known, roads)
        joined = _joined(index, known)
        here = joined[place[:, :, None], place[:, None, :]]
        onward = joined[place[:-1, :, None], place[1:, None, :]]
        across = (here[:-1] @ onward + onward @ here[1:]) > 0
        changes = np.full((last - first, MOST + 1, MOST + 1), ASIDE)
        changes[:, MOST, MOST] = 0.0
        costs = np.where(onward > 0, TO_NEXT, np.where(across, ACROSS, JUMP))
        costs[roads[:-1, :, None] == roads[1:, None, :]] = 0.0
        changes[:, :MOST, :MOST] = costs
        changes[broken[first:last]] = 0.0
        yield changes


def _joined(index: RoadIndex, known: Ints) -> NDArray[np.float32]:
    """1 where two of these roads are one or share a node; -1 among them is no road."""
    joined = np.eye(known.size, dtype=np.float32)
    joined[known < 0] = 0.0
    real = np.flatnonzero(known >= 0)
    starts, ends = index.near_starts[known[real]], index.near_starts[known[real] + 1]
    counts = ends - starts
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    near = index.near[np.repeat(starts, counts) + within]
    at = np.minimum(np.searchsorted(known, near), known.size - 1)
    also = known[at] == near
    joined[np.repeat(real, counts)[also], at[also]] = 1.0
    return joined


def _carried(
    index: RoadIndex, found: Matches, anchors: Ints, broken: Flags, lat: Floats, lon: Floats, trip: Ints
) -> Matches:
    """From anchors to every sample."""
    is_anchor = np.zeros(lat.size, np.int64)
    is_anchor[anchors] = 1
    left = np.cumsum(is_anchor) - 1
    right = np.minimum(left + 1, anchors.size - 1)
    # Before the first anchor of a trip that one counts, behind the last the last.
    strange = (left < 0) | (trip[anchors[left]] != trip)
    left = np.where(strange, right, left)
    road, backward = found.road[left], found.backward[left]
    without = trip[anchors[left]] != trip
    road[without] = -1
    turns = np.flatnonzero(~broken & (found.road[:-1] != found.road[1:]))
    between = np.flatnonzero(np.isin(left, turns) & (is_anchor == 0) & ~strange)
    if between.size:
        later = between[_is_behind(index, found, left[between], lat[between], lon[between])]
        road[later], backward[later] = found.road[left[later] + 1], found.backward[left[later] + 1]
    return Matches(road, backward)


def _is_behind(index: RoadIndex, found: Matches, turn: Ints, lat: Floats, lon: Floats) -> Flags:
    """Of samples between two roads, in order: whether each is on the second. `turn`: the anchor before it."""
    near = nearness.nearby(index, lat, lon)
    road = index.road[near.segment]
    first, second = np.full(lat.size, REACH_M**2), np.full(lat.size, REACH_M**2)
    for squared, anchor in ((first, turn), (second, turn + 1)):
        own = road == found.road[anchor][near.point]
        np.minimum.at(squared, near.point[own], near.squared[own])
    gain = first - second
    behind = np.zeros(lat.size, np.bool_)
    bounds = np.append(np.flatnonzero(np.append(True, np.diff(turn) != 0)), turn.size)
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        ahead = np.append(0.0, np.cumsum(gain[begin:end]))
        behind[begin + int(ahead.argmin()) : end] = True
    return behind

"""Cost of changing roads between two anchors: low if the roads share a node that is on the way, else high."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from tripline.roads.anchors import Anchors
from tripline.roads.candidates import MOST, Candidates
from tripline.roads.index import DEGREE_M, UNITS, Numbers, RoadIndex
from tripline.scoring.drives import Floats, Ints

TO_NEXT: Final = 1.0
"""The cost of a change to a road that shares a node."""
SLACK_M: Final = 10.0
"""The path over the node may be this much longer than the distance travelled."""
DETOUR_M: Final = 10.0
"""Each further detour of this length costs 1."""
ACROSS: Final = 2.8
"""The cost of a change to a road that shares a node with a road between."""
JUMP: Final = 7.0
"""The cost of a change to any other road."""
ASIDE: Final = 4.0
"""The cost of leaving the roads, and of coming back."""
BLOCK: Final = 512
"""Anchors per block: their candidates are a few hundred roads, whose neighbourhood is one small table."""


class _Joints(NamedTuple):
    """Pairs of roads with a node that they share: equally long arrays, ascending by pair."""

    pairs: Ints
    """`first * known.size + second`, indexes into the known roads."""
    nodes: Numbers


def costs(index: RoadIndex, found: Candidates, anchors: Anchors) -> Iterator[Floats]:
    """The costs of changes from each candidate of an anchor to each candidate of the next, in blocks of anchors.

    Shape n x (`MOST` + 1) x (`MOST` + 1); the last index means no road.
    """
    for first in range(0, anchors.broken.size, BLOCK):
        last = min(first + BLOCK, anchors.broken.size)
        block = np.full((last - first, MOST + 1, MOST + 1), ASIDE)
        block[:, MOST, MOST] = 0.0
        block[:, :MOST, :MOST] = _between(index, found, anchors, first, last)
        block[anchors.broken[first:last]] = 0.0
        yield block


def _between(index: RoadIndex, found: Candidates, anchors: Anchors, first: int, last: int) -> Floats:
    """The costs of changes from one road to another."""
    roads = found.road[first : last + 1]
    known = np.unique(roads)
    place = np.searchsorted(known, roads)
    pairs, nodes = _joints(index, known)
    joined = np.eye(known.size, dtype=np.float32)
    joined[known < 0] = 0.0
    joined.ravel()[pairs] = 1.0
    here = joined[place[:, :, None], place[:, None, :]]
    onward = joined[place[:-1, :, None], place[1:, None, :]]
    block = np.where((here[:-1] @ onward + onward @ here[1:]) > 0, ACROSS, JUMP)
    same = roads[:-1, :, None] == roads[1:, None, :]
    block[same] = 0.0
    at, own, other = np.nonzero((onward > 0) & ~same)
    pair = place[at, own] * known.size + place[at + 1, other]
    begins = np.searchsorted(pairs, pair, side="left")
    counts = np.searchsorted(pairs, pair, side="right") - begins
    which = np.repeat(np.arange(pair.size), counts)
    starts = np.cumsum(counts) - counts
    node = nodes[(begins - starts)[which] + np.arange(which.size)]
    metres = np.zeros(which.size)
    for anchor, lane in ((first + at, own), (first + at + 1, other)):
        metres += _metres(index, found, anchors, anchor[which], lane[which], node)
    over = (np.minimum.reduceat(metres, starts) if which.size else metres) - anchors.travelled[first + at]
    block[at, own, other] = np.clip(TO_NEXT + (over - SLACK_M) / DETOUR_M, TO_NEXT, JUMP)
    return block


def _joints(index: RoadIndex, known: Ints) -> _Joints:
    """The pairs of these roads that share a node, one for each shared node; -1 means no road."""
    real = np.flatnonzero(known >= 0)
    starts, ends = index.near_starts[known[real]], index.near_starts[known[real] + 1]
    counts = ends - starts
    within = np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    near = index.near[within]
    at = np.minimum(np.searchsorted(known, near), known.size - 1)
    also = known[at] == near
    return _Joints((np.repeat(real, counts) * known.size + at)[also], index.near_at[within[also]])


def _metres(index: RoadIndex, found: Candidates, anchors: Anchors, anchor: Ints, lane: Ints, node: Numbers) -> Floats:
    """Straight-line distances from candidates of anchors to nodes, metres."""
    lat, lon = anchors.lat[anchor], anchors.lon[anchor]
    north = (index.lat[node] / UNITS - lat) * DEGREE_M - found.off_north[anchor, lane]
    east = (index.lon[node] / UNITS - lon) * DEGREE_M * np.cos(np.radians(lat)) - found.off_east[anchor, lane]
    metres: Floats = np.hypot(north, east)
    return metres

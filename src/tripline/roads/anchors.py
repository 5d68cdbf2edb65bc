"""Anchors: the mean place of every 3 s of a trip. None while the vehicle stands: noise would mislead."""

from typing import Final, NamedTuple

import numpy as np

from tripline.roads.index import DEGREE_M
from tripline.scoring.drives import Flags, Floats, Ints

THINNED_MS: Final = 3_000
STILL_KMH: Final = 2.0
"""Up to this speed a vehicle counts as standing; its direction and its place are noise."""
GAP_MS: Final = 60_000
"""With a longer time between two anchors, the path between them is unknown."""
HEADING_M: Final = 12.0
"""At this distance between two anchors, their direction counts half."""


class Anchors(NamedTuple):
    """Places in order of trip and time."""

    sample: Ints
    """The middle one of the samples that the anchor averages."""
    lat: Floats
    """The mean of those samples, which is closer to the truth than any of them; `lon` likewise."""
    lon: Floats
    travelled: Floats
    """Distance to the next anchor by speed, at least the straight line, metres; one element fewer."""
    broken: Flags
    """True where the next anchor belongs to another trip, or comes later than `GAP_MS`; one element fewer."""


class Directions(NamedTuple):
    """Directions of travel as vectors: of length 1 when certain, shorter the less certain they are."""

    north: Floats
    east: Floats


def odometer(time_ms: Ints, speed_kmh: Floats) -> Floats:
    """The distance travelled up to each sample, integrated from speeds, metres; an unknown speed counts as 0."""
    mps = np.nan_to_num(speed_kmh) / 3.6
    steps = (mps[1:] + mps[:-1]) / 2_000 * np.clip(np.diff(time_ms), 0, GAP_MS)
    return np.append(0.0, np.cumsum(steps))[: time_ms.size]


def of(time_ms: Ints, lat: Floats, lon: Floats, trip: Ints, come_m: Floats, *, moving: Ints) -> Anchors:
    """The anchors of these samples, by trip, then time; there may be none.

    `come_m`: the samples' `odometer`; `moving`: indexes of the samples in which the vehicle moved.
    """
    slot = time_ms[moving] // THINNED_MS
    begins = np.flatnonzero(np.append(moving.size > 0, (np.diff(slot) != 0) | (np.diff(trip[moving]) != 0)))
    counts = np.diff(np.append(begins, moving.size))
    sample = moving[begins + counts // 2]
    mean_lat, mean_lon, mean_m = (
        (np.add.reduceat(column[moving], begins) / counts if begins.size else np.empty(0))
        for column in (lat, lon, come_m)
    )
    broken = (np.diff(trip[sample]) != 0) | (np.diff(time_ms[sample]) > GAP_MS)
    north, east = np.diff(mean_lat), np.diff(mean_lon) * np.cos(np.radians(mean_lat[:-1]))
    travelled = np.maximum(np.diff(mean_m), np.hypot(north, east) * DEGREE_M)
    return Anchors(sample, mean_lat, mean_lon, travelled, broken)


def directions(anchors: Anchors) -> Directions:
    """The direction of travel at each anchor: from the anchor before it to the one after it."""
    ahead = np.append(np.where(anchors.broken, 0, 1), 0)
    behind = np.append(0, np.where(anchors.broken, 0, 1))
    at = np.arange(anchors.sample.size)
    north = (anchors.lat[at + ahead] - anchors.lat[at - behind]) * DEGREE_M
    east = (anchors.lon[at + ahead] - anchors.lon[at - behind]) * DEGREE_M * np.cos(np.radians(anchors.lat))
    squared = north * north + east * east
    sure = np.sqrt(squared) / np.maximum(squared + HEADING_M**2, 1e-6)
    return Directions(north * sure, east * sure)

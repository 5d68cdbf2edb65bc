"""Anchors: one place in about 3 s of a trip, but for those where the vehicle stood, whose noise would lead anywhere."""

from typing import Final, NamedTuple

import numpy as np

from tripline.roads.index import DEGREE_M
from tripline.scoring.drives import Flags, Floats, Ints

THINNED_MS: Final = 3_000
STILL_KMH: Final = 2.0
"""Up to this speed a vehicle stands; its direction and its place are noise."""
GAP_MS: Final = 60_000
"""Longer than this between anchors, nothing is said of what lies between."""
HEADING_M: Final = 12.0
"""A direction between two anchors this far apart is half sure."""


class Anchors(NamedTuple):
    """Places in order of trip and time."""

    sample: Ints
    """The one in the middle of those that make it up."""
    lat: Floats
    """Their mean, which is nearer to the truth than any of them; `lon` the same."""
    lon: Floats
    travelled: Floats
    """To the next, by speed and at least in a straight line, metres; one fewer."""
    broken: Flags
    """Whether the next belongs to another trip, or comes too late to say what lies between; one fewer."""


class Directions(NamedTuple):
    """Of travel, shorter than 1 as far as they are unsure."""

    north: Floats
    east: Floats


def odometer(time_ms: Ints, speed_kmh: Floats) -> Floats:
    """How far the vehicle had come at each sample by its speeds, metres; unknown ones count as none."""
    mps = np.nan_to_num(speed_kmh) / 3.6
    steps = (mps[1:] + mps[:-1]) / 2_000 * np.clip(np.diff(time_ms), 0, GAP_MS)
    return np.append(0.0, np.cumsum(steps))[: time_ms.size]


def of(time_ms: Ints, lat: Floats, lon: Floats, trip: Ints, come_m: Floats, *, moving: Ints) -> Anchors:
    """The anchors of samples in order of trip and time; there may be none.

    `come_m`: their `odometer`; `moving`: those that count.
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
    """The direction of travel at each anchor, from the one before to the one behind."""
    ahead = np.append(np.where(anchors.broken, 0, 1), 0)
    behind = np.append(0, np.where(anchors.broken, 0, 1))
    at = np.arange(anchors.sample.size)
    north = (anchors.lat[at + ahead] - anchors.lat[at - behind]) * DEGREE_M
    east = (anchors.lon[at + ahead] - anchors.lon[at - behind]) * DEGREE_M * np.cos(np.radians(anchors.lat))
    squared = north * north + east * east
    sure = np.sqrt(squared) / np.maximum(squared + HEADING_M**2, 1e-6)
    return Directions(north * sure, east * sure)

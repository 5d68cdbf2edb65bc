"""Compare two receivers of one vehicle when one of their clocks may be wrong: the same places, a constant time apart.

Not here: receivers whose clocks agree, which share time (`covers.py`); the choice of trips to compare
(`services/scores/duplicates.py`).
"""

from typing import Final, NamedTuple

import numpy as np

from tripline.scoring.drives import Flags, Floats, Ints
from tripline.scoring.geometry import haversine_m
from tripline.scoring.units import MOVING_MPS

NEAR_M: Final = 50.0
"""Greatest distance between two receivers on one vehicle."""
ALIKE: Final = 0.8
"""Least part of the moving samples that are near. Nine real drives reach it with 10 m of noise on both sides; no two of
these drives, some along the same streets, reach 0.41."""
GAP_MS: Final = 30_000
"""No path leads across a longer interval."""
ANCHORS: Final = 5
"""Moving samples from which the time between the clocks is taken; the first one that fits decides."""
MOST: Final = 1_000
"""Most moving samples that are compared."""
AHEAD: Final = 5
"""A sample moves if the receiver is elsewhere this many samples later, so that noise does not count as movement."""


class Trace(NamedTuple):
    """The positions of one trip, in order of time."""

    time_ms: Ints
    lat: Floats
    lon: Floats


def offset_ms(longer: Trace, shorter: Trace) -> int | None:
    """Return the time from the shorter trip's clock to the longer one's; None if they show different drives.

    Most moving samples of the shorter trip, that time later, are near the path of the longer one.
    """
    moving = _moving(shorter)
    if not moving.size or longer.time_ms.size < 2:
        return None
    for part in (np.arange(ANCHORS) + 0.5) / ANCHORS:
        anchor = int(moving[int(part * moving.size)])
        offset = _passing_ms(longer, shorter.lat[anchor], shorter.lon[anchor]) - int(shorter.time_ms[anchor])
        if np.mean(_near(longer, shorter, moving, offset)) >= ALIKE:
            return offset
    return None


def _moving(trace: Trace) -> Ints:
    """Up to `MOST` of the moving samples, evenly chosen."""
    lasting = trace.time_ms[AHEAD:] - trace.time_ms[:-AHEAD]
    metres = haversine_m(trace.lat[AHEAD:], trace.lon[AHEAD:], trace.lat[:-AHEAD], trace.lon[:-AHEAD])
    moving = np.flatnonzero((metres >= MOVING_MPS * lasting / 1_000) & (lasting <= GAP_MS))
    return moving[:: -(-moving.size // MOST) or 1]


def _passing_ms(trace: Trace, lat: float, lon: float) -> int:
    """The time at which the path is nearest to a place."""
    north, east = trace.lat - lat, (trace.lon - lon) * np.cos(np.radians(lat))
    along_north, along_east = np.diff(north), np.diff(east)
    length = np.maximum(along_north**2 + along_east**2, 1e-18)
    part = np.clip(-(north[:-1] * along_north + east[:-1] * along_east) / length, 0, 1)
    apart = (north[:-1] + part * along_north) ** 2 + (east[:-1] + part * along_east) ** 2
    at = int(np.argmin(apart))
    return int(trace.time_ms[at] + part[at] * (trace.time_ms[at + 1] - trace.time_ms[at]))


def _near(longer: Trace, shorter: Trace, samples: Ints, offset: int) -> Flags:
    """True for the samples of the shorter trip that are near the longer one's place at that time."""
    time_ms = shorter.time_ms[samples] + offset
    after = np.clip(np.searchsorted(longer.time_ms, time_ms), 1, longer.time_ms.size - 1)
    begin, end = longer.time_ms[after - 1], longer.time_ms[after]
    known = (begin <= time_ms) & (time_ms <= end) & (end - begin <= GAP_MS)
    lat, lon = (np.interp(time_ms, longer.time_ms, column) for column in (longer.lat, longer.lon))
    near: Flags = known & (haversine_m(lat, lon, shorter.lat[samples], shorter.lon[samples]) <= NEAR_M)
    return near

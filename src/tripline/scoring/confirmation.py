"""Manoeuvres that positions contradict: a speed that freezes or fails makes changes that the path does not show.

Only positions that are good enough count: fresh, about one a second, and without much noise of their own.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from tripline.scoring.drives import Drives, Flags, Floats, Ints
from tripline.scoring.speeds import around

REACH: Final = 3
"""Intervals before and after a manoeuvre whose path is measured."""
APART_S: Final = 1.5
"""Their greatest mean length."""
PART: Final = 0.3
"""The least part of the change of speed that the path shows. Real drives show 0.59 and more, but for one event."""
NOISE_M: Final = 1.0
"""Greatest noise of usable positions. Nine in ten of real ones have 0.6 and less; 3 m would hide real events."""


class _Passages(NamedTuple):
    """Paths over `REACH` intervals; equally long arrays."""

    kmh: Floats
    tells: Flags
    """True where positions are good enough."""


def contradicted(drives: Drives, speed_kmh: Floats, begin: Ints, end: Ints) -> Flags:
    """True for the manoeuvres, from sample `begin` to sample `end`, whose change of speed the path does not show."""
    if not begin.size:
        return np.zeros(0, np.bool_)
    trips = drives.at(begin)
    inside = np.flatnonzero((begin - REACH >= drives.starts[trips]) & (end + REACH < drives.starts[trips + 1]))
    found = np.zeros(begin.size, np.bool_)
    begin, end = begin[inside], end[inside]
    kmh, tells = (each.reshape(2, -1) for each in _passages(drives, np.concatenate([begin - REACH, end])))
    change = speed_kmh[end] - speed_kmh[begin]
    shown = (kmh[1] - kmh[0]) * np.sign(change) >= PART * np.abs(change)
    found[inside] = tells[0] & tells[1] & ~shown
    return found


def _passages(drives: Drives, first: Ints) -> _Passages:
    """The paths that begin at these samples."""
    seconds, north, east = around(drives, first, first + np.arange(REACH + 1)[:, None])
    fresh = np.count_nonzero((np.diff(north, axis=0) != 0) | (np.diff(east, axis=0) != 0), axis=0) >= 2
    # The third difference of evenly spaced positions: the root of 1 + 9 + 9 + 1 times their noise on each axis.
    noise_m = np.hypot(np.diff(north, 3, axis=0)[0], np.diff(east, 3, axis=0)[0]) / math.sqrt(40)
    tells: Flags = fresh & (noise_m <= NOISE_M) & (seconds[-1] <= REACH * APART_S)
    return _Passages(np.hypot(north[-1], east[-1]) / seconds[-1] * 3.6, tells)

"""Limits of samples: the limit of each sample on its road, by direction, kind of vehicle and local time."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tripline.roads import limits
from tripline.roads.index import RoadIndex, Texts
from tripline.roads.limits import Lane
from tripline.roads.matcher import Matches
from tripline.scoring.drives import Drives, Floats, Ints
from tripline.scoring.quality import LimitSource

_MINUTE_MS: Final = 60_000
_DAY_MIN: Final = 1_440
_THURSDAY: Final = 3
"""The weekday of the first of January 1970."""
Sources = NDArray[np.int8]


class Limits(NamedTuple):
    """The limit of each sample, and its source: equally long arrays."""

    kmh: Floats
    """NaN: unknown."""
    source: Sources
    """`LimitSource`."""


def limits_of(index: RoadIndex, texts: Texts, drives: Drives, found: Matches, *, offset_ms: Ints) -> Limits:
    """The limit of each sample. `offset_ms`: offset of each trip's local time."""
    on_road = np.flatnonzero(found.road >= 0)
    kmh = np.full(found.road.size, np.nan)
    source = np.full(found.road.size, LimitSource.NONE, np.int8)
    roads = Matches(found.road[on_road], found.backward[on_road])
    kmh[on_road], source[on_road] = of_roads(index, texts, drives, on_road, roads, offset_ms=offset_ms)
    return Limits(kmh, source)


def of_roads(
    index: RoadIndex, texts: Texts, drives: Drives, samples: Ints, roads: Matches, *, offset_ms: Ints
) -> Limits:
    """The limits that roads have for these samples, one road for each."""
    trip = drives.trips[samples]
    rule = index.limits[roads.road].astype(np.int64)
    lane = limits.at(roads.backward.astype(np.int64), drives.column[trip].astype(np.int64))
    kmh = np.full(samples.size, np.nan)
    source = np.full(samples.size, LimitSource.NONE, np.int8)
    lanes, number = np.unique(rule * 6 + lane, return_inverse=True)
    minutes = (drives.time_ms[samples] + offset_ms[trip]) // _MINUTE_MS
    for each, (of_rule, of_lane) in enumerate(zip(*np.divmod(lanes, 6), strict=True)):
        own = number == each
        allowed: Lane = texts.limits[of_rule][of_lane]
        if allowed.limit is not None:
            kmh[own], source[own] = allowed.limit
        for timed in allowed.timed:
            minute = minutes[own]
            weekday = (minute // _DAY_MIN + _THURSDAY) % 7
            held = [timed.holds(*at) for at in zip(weekday.tolist(), (minute % _DAY_MIN).tolist(), strict=True)]
            at = np.flatnonzero(own)[held]
            kmh[at], source[at] = timed.limit
    return Limits(kmh, source)

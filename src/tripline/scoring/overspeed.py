"""Samples above the speed limit, and the seconds attributed to them.

Every sample above the limit with its tolerance is one event (published: 152 in 49 km, two of them 2 s apart on one
road). Without tolerance the score hardly separates calm from aggressive drivers.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tripline.scoring.drives import Drives, Floats, Ints, Singles
from tripline.scoring.quality import LimitSource
from tripline.scoring.rules import Rules

FACTOR: Final = {"factor": 1.10, "kotsa": 1.0, "plus15": 1.0}
_MARGIN_KMH: Final = {"factor": 0.0, "kotsa": 20.0, "plus15": 15.0}


def limits_kmh(drives: Drives, samples: Ints, rules: Rules) -> Floats:
    """The limit at each of these samples: the road's, else the default. 0: none."""
    if drives.limit_kmh is None:
        return np.full(samples.size, rules.scoring.default_limit_kmh)
    roads = drives.limit_kmh[samples]
    return np.where(np.isnan(roads), rules.scoring.default_limit_kmh, roads)


def sources(drives: Drives, samples: Ints, rules: Rules) -> NDArray[np.int8]:
    """The source of the limit at each of these samples: `LimitSource`."""
    otherwise = LimitSource.DEFAULT if rules.scoring.default_limit_kmh else LimitSource.NONE
    if drives.limit_kmh is None:
        return np.full(samples.size, otherwise, np.int8)
    roads = LimitSource.TAGGED if drives.limit_source is None else drives.limit_source[samples]
    return np.where(np.isnan(drives.limit_kmh[samples]), otherwise, roads).astype(np.int8)


def roads(drives: Drives, samples: Ints) -> NDArray[np.int32]:
    """The road of each of these samples; -1: unknown."""
    if drives.road is None:
        return np.full(samples.size, -1, np.int32)
    found: NDArray[np.int32] = drives.road[samples]
    return found


def shares(drives: Drives, own: Ints, steps_m: Singles, trips: int, rules: Rules) -> Floats:
    """Shape trips x `LimitSource`: the share of each trip's distance with a limit from each source.

    `own`: the trip of each stretch. `steps_m`: from each sample to the next; a step has the source of its first sample.
    """
    ways = len(LimitSource)
    known = np.zeros((trips, ways))
    known[:, LimitSource.DEFAULT if rules.scoring.default_limit_kmh else LimitSource.NONE] = 1
    if drives.limit_kmh is None or not steps_m.size:
        return known
    first = np.arange(steps_m.size)
    places = own[drives.at(first)] * ways + sources(drives, first, rules)
    metres = np.bincount(places, weights=steps_m, minlength=trips * ways).reshape(trips, ways)
    driven = metres.sum(axis=1)
    known[driven > 0] = metres[driven > 0] / driven[driven > 0, None]
    return known


def samples_over(drives: Drives, speed_kmh: Floats, rules: Rules) -> Ints:
    """Indexes of the samples above their limit."""
    if drives.limit_kmh is None:
        if not rules.scoring.default_limit_kmh:
            return np.empty(0, np.int64)
        return np.flatnonzero(speed_kmh > tolerated_kmh(limits_kmh(drives, np.zeros(1, np.int64), rules), rules))
    limit = limits_kmh(drives, np.arange(speed_kmh.size), rules)
    return np.flatnonzero((limit > 0) & (speed_kmh > tolerated_kmh(limit, rules)))


def tolerated_kmh(limit_kmh: Floats, rules: Rules) -> Floats:
    """The greatest speed that does not count as overspeed at each limit."""
    # 110 x 1.1 is 121.00000000000001 in binary: rounding makes the tolerance exact.
    return np.round(limit_kmh * FACTOR[rules.scoring.tolerance], 6) + _MARGIN_KMH[rules.scoring.tolerance]


def nexts(drives: Drives, samples: Ints) -> Ints:
    """The sample after each of these; for the last of a trip, itself."""
    return np.minimum(samples + 1, drives.starts[drives.at(samples) + 1] - 1)


def seconds(drives: Drives, samples: Ints, intervals_ms: Ints, rules: Rules) -> Floats:
    """The time from each of these samples to the next one, at most the cap, seconds."""
    lasting = np.zeros(samples.size)
    inner = nexts(drives, samples) > samples
    lasting[inner] = np.minimum(intervals_ms[samples[inner]], rules.scoring.overspeed_cap_ms) / 1_000
    return lasting


def seconds_over(drives: Drives, samples: Ints, intervals_ms: Ints, rules: Rules) -> Floats:
    """For each trip, the sum of `seconds` over its samples."""
    weights = seconds(drives, samples, intervals_ms, rules)
    return np.bincount(drives.at(samples), weights=weights, minlength=len(drives)).astype(np.float64)

"""Driving style: braking, cornering, seconds far over the limit. Some policies give them a weight; none is an event.

Braking is judged like harsh changes of speed (`harsh.py`): the same intervals give rates, and over more than a second
the threshold falls in the same way. A corner is measured by the course over the ground, from two samples before a
sample to two after it, so its lateral acceleration is that of the path and not of the vehicle's body.
"""

from typing import Final

import msgspec
import numpy as np

from tripline.scoring import harsh
from tripline.scoring.drives import Drives, Flags, Floats, Ints
from tripline.scoring.rules import FAR_OVER, Rules

HEADING_REACH: Final = 2
GRAVITY: Final = 9.81


class Runs(msgspec.Struct, frozen=True):
    """Runs of samples, each counting as one event; equally long arrays."""

    first: Ints
    """The first sample of each."""
    last: Ints
    peak: Floats
    """The greatest value in each: km/h per second for braking, g for corners."""

    def where(self, kept: Flags) -> "Runs":
        """These of the runs."""
        return Runs(self.first[kept], self.last[kept], self.peak[kept])

    def within(self, begin: int, end: int) -> "Runs":
        """The runs that begin at these samples, counted from the first of them."""
        chosen = slice(*np.searchsorted(self.first, [begin, end]))
        return Runs(self.first[chosen] - begin, self.last[chosen] - begin, self.peak[chosen])


NOTHING: Final = Runs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def brakings(drives: Drives, speed_kmh: Floats, intervals_ms: Ints, steps_kmh: Floats, rules: Rules) -> Runs:
    """Runs of intervals with hard braking: from the sample before to the sample after.

    `steps_kmh`: shape n, the steps of the devices' speeds.
    """
    least = rules.style.braking_kmh_s * harsh.spans_s(intervals_ms, rules)
    change, rate = harsh.changes(speed_kmh[:-1], speed_kmh[1:], intervals_ms)
    at = np.flatnonzero((-change >= least) & harsh.is_rate(intervals_ms, rate, rules))
    at = at[harsh.reached(drives, speed_kmh, intervals_ms, at, least[at], steps_kmh, rules)]
    trips = drives.at(at)
    kept = (at >= drives.starts[trips] + rules.harsh.ignored_fixes) & (at + 1 < drives.starts[trips + 1])
    found = _runs(at[kept], trips[kept], rate[at[kept]])
    return Runs(found.first, found.last + 1, found.peak)


def corners(drives: Drives, speed_kmh: Floats, intervals_ms: Ints, rules: Rules) -> Runs:
    """Runs of samples in a corner with enough lateral acceleration."""
    lateral = lateral_g(drives, speed_kmh, intervals_ms, rules)
    at = np.flatnonzero(lateral >= rules.style.lateral_g)
    return _runs(at, drives.at(at), lateral[at])


def lateral_g(drives: Drives, speed_kmh: Floats, intervals_ms: Ints, rules: Rules) -> Floats:
    """The lateral acceleration at each sample, g; 0 at low speed, or near a gap or an end of the trip."""
    lateral = np.zeros(speed_kmh.size)
    apart = 2 * HEADING_REACH
    if speed_kmh.size <= apart + 1:
        return lateral
    course = _course(drives.lat, drives.lon, apart)
    turned = np.abs((np.diff(course) + np.pi) % (2 * np.pi) - np.pi)
    middle = slice(HEADING_REACH, HEADING_REACH + turned.size)
    seconds = np.maximum(intervals_ms[middle], 1) / 1_000
    speed = np.fmax(speed_kmh[middle], 0)
    breaks = _breaks(drives, intervals_ms, rules)
    told = (breaks[apart + 1 :] == breaks[: turned.size]) & (speed >= rules.style.cornering_kmh)
    lateral[middle] = np.where(told, speed / 3.6 * turned / seconds / GRAVITY, 0)
    return lateral


def burden_of_over(speed_kmh: Floats, limit_kmh: Floats, seconds: Floats, rules: Rules) -> Floats:
    """The extra burden of samples far over the limit."""
    burden = np.zeros(seconds.size)
    for times, weight in zip(FAR_OVER, (rules.style.over_20_weight, rules.style.over_35_weight), strict=True):
        if weight:
            burden += np.where(speed_kmh > np.round(limit_kmh * times, 6), weight * seconds, 0)
    return burden


def _breaks(drives: Drives, intervals_ms: Ints, rules: Rules) -> Ints:
    """The number of gaps and trip beginnings before each sample."""
    broken: Flags = (intervals_ms > rules.guards.gap_ms) | (intervals_ms <= 0)
    inner = drives.starts[1:-1]
    broken[inner[(inner > 0) & (inner <= broken.size)] - 1] = True
    return np.append(0, np.cumsum(broken))


def _course(lat: Floats, lon: Floats, apart: int) -> Floats:
    """The course from each sample to the one `apart` samples later, radians clockwise from north."""
    north = lat[apart:] - lat[:-apart]
    east = ((lon[apart:] - lon[:-apart] + 180) % 360 - 180) * np.cos(np.radians(lat[:-apart]))
    course: Floats = np.arctan2(east, north)
    return course


def _runs(at: Ints, trips: Ints, value: Floats) -> Runs:
    """Merge neighbouring samples of one trip into runs."""
    if not at.size:
        return NOTHING
    first = np.flatnonzero(np.append(True, (np.diff(at) > 1) | (np.diff(trips) > 0)))
    last = np.append(first[1:], at.size) - 1
    return Runs(at[first], at[last], np.maximum.reduceat(value, first))

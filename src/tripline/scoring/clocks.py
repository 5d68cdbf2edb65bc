"""Steps of a device's clock: samples at whose times the vehicle was elsewhere.

Two kinds are detected. Either the samples cover time that their trip already covers, at incompatible places; or they
precede all earlier samples in time, while the drive continues from the last place. Late samples that fill a hole in
time are sorted in (O2), however many there are.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from tripline.scoring.drives import Drives, Flags, Floats, Ints, seams
from tripline.scoring.geometry import haversine_m
from tripline.scoring.rules import Rules

TRIED: Final = 8
"""Steps back that are tried in one trip, the longest first, and jumps ahead before each: late samples can cause any
number of them."""
MOST: Final = 0.02
"""The part of a trip's samples at which its clock may step."""
FEW: Final = 5
"""So many steps are none too many in a short trip."""
MOVING_KMH: Final = 8.0
"""A slower vehicle may be at one place before and after any time."""
LEAST: Final = 2
"""Samples that must conflict with others: a single one is a bad position."""


class Cuts(NamedTuple):
    """Where the stretches of one clock begin, like `Drives.starts`; and the trips whose clock steps too often."""

    starts: Ints
    refused: list[int]


def stretches(drives: Drives, rules: Rules) -> Cuts:
    """Cut the trips at steps of the clock. The samples are in the order received."""
    back = np.diff(drives.time_ms) < 0
    back[seams(drives.starts)] = False
    cuts, refused = [], []
    for trip in np.unique(drives.at(np.flatnonzero(back))).tolist():
        first, end = int(drives.starts[trip]), int(drives.starts[trip + 1])
        most = max(math.floor(MOST * (end - first)), FEW)
        found = list(itertools.islice(_cuts(drives, first, end, rules), most + 1))
        parts = itertools.pairwise([first, *found, end])
        left = sum(_conflicts(drives, np.arange(*part), rules) for part in parts)
        cuts += found
        if len(found) + left + _ahead(drives, first, end, rules) > most:
            refused.append(trip)
    return Cuts(np.sort(np.concatenate([drives.starts, np.array(cuts, np.int64)])), refused)


def _ahead(drives: Drives, first: int, end: int, rules: Rules) -> int:
    """The number of samples between jumps ahead and equal steps back, both to where the vehicle is one period later;
    at one of the two it moves."""
    step_ms = np.diff(drives.time_ms[first:end])
    usual = np.abs(step_ms) <= rules.guards.gap_ms
    if not usual.any():
        return 0
    period_s = float(np.median(np.abs(step_ms[usual]))) / 1_000
    jumps = np.flatnonzero(~usual)
    here = first + jumps
    near = ~_beyond(drives, here, here + 1, np.full(here.size, period_s), rules)
    jumps, here = jumps[near], here[near]
    moves = np.fmin(drives.speed_kmh[here], drives.speed_kmh[here + 1]) > MOVING_KMH
    counts = np.zeros(jumps.size, np.int64)
    for apart in range(1, min(TRIED, jumps.size)):  # gaps may come between
        ahead, back = step_ms[jumps[:-apart]], step_ms[jumps[apart:]]
        pairs = (ahead > 0) & (np.abs(ahead + back) <= rules.guards.gap_ms) & (moves[:-apart] | moves[apart:])
        counts[apart:][pairs] = (jumps[apart:] - jumps[:-apart])[pairs]
    return int(counts.sum())


def _cuts(drives: Drives, first: int, end: int, rules: Rules) -> Iterator[int]:
    """The samples of a trip at which a new clock begins."""
    while (cut := _conflicting(drives, first, end, rules) or _going_on(drives, first, end, rules)) is not None:
        yield cut
        first = cut


def _conflicting(drives: Drives, first: int, end: int, rules: Rules) -> int | None:
    """The first sample after a step back to time that the trip already covers, at incompatible places."""
    if _conflicts(drives, np.arange(first, end), rules) < LEAST:
        return None
    back = np.diff(drives.time_ms[first:end])
    longest = np.argsort(back, kind="stable")[:TRIED]
    steps = sorted((longest[back[longest] < 0] + first + 1).tolist())
    return next((step for step in steps if _excludes(drives, first, step, end, rules)), None)


def _going_on(drives: Drives, first: int, end: int, rules: Rules) -> int | None:
    """The first sample after a step back to before the whole trip, if the drive continues from the last place.

    Sorted by time, the vehicle would have been elsewhere; late samples differ: they end near where the earlier
    samples begin.
    """
    time_ms = drives.time_ms[first:end]
    back = np.diff(time_ms)
    step = 1 + int(back.argmin()) if back.size else 0
    if not step or back[step - 1] >= 0 or time_ms[step:].max() >= time_ms[:step].min():
        return None
    period_ms = float(np.median(np.abs(back)))
    here = np.array([first + step - 1, first + step + int(time_ms[step:].argmax())])
    there = np.array([first + step, first + int(time_ms[:step].argmin())])
    goes_on, elsewhere = _beyond(drives, here, there, np.full(2, period_ms / 1_000), rules)
    return first + step if elsewhere and not goes_on else None


def _conflicts(drives: Drives, samples: Ints, rules: Rules) -> int:
    """The number of neighbours in time that were not received one after the other and are too far apart."""
    samples = samples[np.argsort(drives.time_ms[samples], kind="stable")]
    here, there = samples[:-1], samples[1:]
    apart = there - here != 1
    return int(np.count_nonzero(_too_far(drives, here[apart], there[apart], rules)))


def _excludes(drives: Drives, first: int, step: int, end: int, rules: Rules) -> bool:
    """True if most samples after the step that overlap the time before it were elsewhere at that time."""
    before = np.arange(first, step)
    before = before[np.argsort(drives.time_ms[before], kind="stable")]
    behind = np.arange(step, end)
    place = np.searchsorted(drives.time_ms[before], drives.time_ms[behind])
    left, right = before[np.maximum(place - 1, 0)], before[np.minimum(place, before.size - 1)]
    time_ms = drives.time_ms
    to_left, to_right = np.abs(time_ms[behind] - time_ms[left]), np.abs(time_ms[right] - time_ms[behind])
    nearest = np.where(to_left <= to_right, left, right)
    covered = np.minimum(to_left, to_right) <= rules.harsh.rate_max_ms
    elsewhere = _too_far(drives, nearest[covered], behind[covered], rules)
    return int(elsewhere.sum()) >= max(LEAST, int(covered.sum()) // 2 + 1)


def _too_far(drives: Drives, here: Ints, there: Ints, rules: Rules) -> Flags:
    """True where no vehicle can be at both places at their times."""
    seconds = np.abs(drives.time_ms[there] - drives.time_ms[here]) / 1_000
    return _beyond(drives, here, there, seconds, rules)


def _beyond(drives: Drives, here: Ints, there: Ints, seconds: Floats, rules: Rules) -> Flags:
    """True where no vehicle can drive from one place to the other in that time."""
    guards = rules.guards
    metres = haversine_m(drives.lat[here], drives.lon[here], drives.lat[there], drives.lon[there])
    speed = np.fmax(drives.speed_kmh[here], drives.speed_kmh[there]) / 3.6
    reach = np.minimum(
        np.nan_to_num(speed * guards.step_factor + guards.step_margin_mps, nan=np.inf), guards.fastest_mps
    )
    far: Flags = metres > reach * seconds + 2 * guards.step_slack_m
    return far

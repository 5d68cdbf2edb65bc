"""Harsh manoeuvres: changes of speed beyond the thresholds, joined into episodes, each one event; or the bits of `em`.

r >= threshold x min(1, 1.5 s / dt) is computed as change >= threshold x min(dt, 1.5 s): no division, and exact where a
change is exactly a threshold. A first pass over all intervals uses the least threshold of all; only the few that pass
are judged by their own.
"""

from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from tripline.scoring.drives import Drives, Flags, Floats, Ints
from tripline.scoring.rules import EventType, Rules

Types = NDArray[np.int8]

EM_BITS: Final = (
    (0x01, EventType.START),
    (0x10, EventType.DECELERATION),
    (0x20, EventType.ACCELERATION),
    (0x40, EventType.STOP),
)
"""Bits of `em` that are harsh events (spec/device-messages 4.6)."""

_SLACK: Final = 0.999
"""The first pass works in single precision, so it asks a little less."""


class Found(msgspec.Struct, frozen=True):
    """Events as indexes of samples and their types, equally long."""

    samples: Ints
    types: Types


class _Exceedances(msgspec.Struct, frozen=True):
    """Intervals beyond their threshold, ascending: interval i runs from sample i to sample i + 1."""

    at: Ints
    trips: Ints
    change: Floats
    """km/h, signed."""
    rate: Floats
    """|km/h per second|."""


def from_speed(drives: Drives, speed_kmh: Floats, intervals_ms: Ints, rules: Rules) -> Found:
    """The episodes of all trips: the strongest sample of each (where its greatest rate ends) and its type."""
    found = _exceedances(drives, speed_kmh, intervals_ms, rules)
    if not found.at.size:
        return Found(found.at, np.empty(0, np.int8))
    first = np.flatnonzero(_begins(found, speed_kmh, intervals_ms, rules))
    last = np.append(first[1:], found.at.size) - 1
    faster = found.change[first] > 0
    begin, end = found.at[first], found.at[last]
    begin = begin - _belongs(drives, speed_kmh, intervals_ms, begin - 1, faster, rules)
    end = end + _belongs(drives, speed_kmh, intervals_ms, end + 1, faster, rules)
    from_standing = speed_kmh[begin] <= rules.harsh.standing_kmh
    to_standing = speed_kmh[end + 1] <= rules.harsh.standing_kmh
    types = np.where(
        faster,
        np.where(from_standing, EventType.START, EventType.ACCELERATION),
        np.where(to_standing, EventType.STOP, EventType.DECELERATION),
    ).astype(np.int8)
    return Found(found.at[_strongest(found.rate, first)] + 1, types)


def from_em(em: NDArray[np.int16], chosen: Flags) -> Found:
    """One event for each sample and harsh bit, of the samples chosen."""
    samples = np.flatnonzero(chosen & (em > 0))
    bits = em[samples]
    parts = [(samples[bits & bit != 0], kind) for bit, kind in EM_BITS]
    return Found(
        np.concatenate([at for at, _ in parts]),
        np.concatenate([np.full(at.size, kind, np.int8) for at, kind in parts]),
    )


def _exceedances(drives: Drives, speed_kmh: Floats, intervals_ms: Ints, rules: Rules) -> _Exceedances:
    at = _candidates(speed_kmh, intervals_ms, rules)
    trips = drives.at(at)
    kept = (at >= drives.starts[trips] + rules.harsh.ignored_fixes) & (at + 1 < drives.starts[trips + 1])
    at, trips = at[kept], trips[kept]
    before, after = speed_kmh[at], speed_kmh[at + 1]
    change, rate = _rates(before, after, intervals_ms[at])
    least = _thresholds(before, after, drives.column[trips], rules)
    span_s = np.minimum(intervals_ms[at], rules.harsh.full_threshold_ms) / 1_000
    kept = _is_rate(intervals_ms[at], rate, rules) & (np.abs(change) >= least * span_s)
    return _Exceedances(at[kept], trips[kept], change[kept], rate[kept])


def _candidates(speed_kmh: Floats, intervals_ms: Ints, rules: Rules) -> Ints:
    """Intervals whose change might exceed some threshold: the only pass over every interval."""
    speed = speed_kmh.astype(np.float32)
    change = speed[1:] - speed[:-1]
    np.abs(change, out=change)
    span = intervals_ms.astype(np.float32)
    np.minimum(span, np.float32(rules.harsh.full_threshold_ms), out=span)
    span *= np.float32(_SLACK * rules.harsh.least / 1_000)
    return np.flatnonzero(change >= span)


def _rates(before: Floats, after: Floats, intervals_ms: Ints) -> tuple[Floats, Floats]:
    """Signed change and unsigned rate. Speeds have at most three decimals: rounding takes off what binary adds."""
    change = np.round(after - before, 6)
    return change, np.abs(change) * 1_000 / intervals_ms


def _is_rate(intervals_ms: Ints, rate: Floats, rules: Rules) -> Flags:
    """Whether the interval gives a rate at all."""
    timely = (intervals_ms >= rules.harsh.rate_min_ms) & (intervals_ms <= rules.harsh.rate_max_ms)
    return timely & (rate <= rules.harsh.rate_limit_kmh_s)


def _thresholds(before: Floats, after: Floats, column: NDArray[np.int8], rules: Rules) -> Floats:
    """The threshold (km/h per second) of each change."""
    table = rules.harsh
    rows = np.array(
        [
            table.start,
            table.acceleration_to_10,
            table.acceleration_to_20,
            table.acceleration_above_20,
            table.stop,
            table.deceleration_to_30,
            table.deceleration_to_50,
            table.deceleration_above_50,
        ]
    )
    speeding_up = np.searchsorted(np.array([rules.harsh.standing_kmh, 10.0, 20.0]), before)
    slowing = np.where(after <= rules.harsh.standing_kmh, 4, 5 + np.searchsorted(np.array([30.0, 50.0]), before))
    chosen: Floats = rows[np.where(after > before, speeding_up, slowing), column]
    return chosen


def _begins(found: _Exceedances, speed_kmh: Floats, intervals_ms: Ints, rules: Rules) -> Flags:
    """Which exceedances begin an episode: those not joined to the one before them.

    Two join when they follow each other with one sign, or with one interval of the same sign, itself no exceedance,
    between them; an episode holds at most one such interval.
    """
    faster = found.change > 0
    apart = np.diff(found.at)
    alike = (faster[1:] == faster[:-1]) & (found.trips[1:] == found.trips[:-1])
    between = found.at[:-1] + 1
    between = np.minimum(between, intervals_ms.size - 1)
    change, rate = _rates(speed_kmh[between], speed_kmh[between + 1], intervals_ms[between])
    same_sign = np.where(faster[:-1], change > 0, change < 0) & _is_rate(intervals_ms[between], rate, rules)
    bridged = alike & (apart == 2) & same_sign
    broken = np.append(True, ~(alike & (apart == 1) | bridged))
    # Of the bridges in a row, every second one would be the second in its episode: there a new episode begins.
    number = np.cumsum(np.append(False, bridged))
    number -= np.maximum.accumulate(np.where(broken, number, 0))
    begins: Flags = broken | np.append(False, bridged) & (number % 2 == 0)
    return begins


def _belongs(drives: Drives, speed_kmh: Floats, intervals_ms: Ints, beside: Ints, faster: Flags, rules: Rules) -> Flags:
    """Whether the interval beside each episode belongs to its phase: same trip, same sign, and brisk.

    A manoeuvre seldom begins at a sample, so its first and last interval hold only a part of it.
    """
    known = (beside >= 0) & (beside < intervals_ms.size)
    at = np.where(known, beside, 0)
    first = drives.starts[drives.at(at)]
    known &= (at >= first + rules.harsh.ignored_fixes) & (drives.at(at) == drives.at(at + 1))
    change, rate = _rates(speed_kmh[at], speed_kmh[at + 1], intervals_ms[at])
    span_s = np.minimum(intervals_ms[at], rules.harsh.full_threshold_ms) / 1_000
    brisk = np.abs(change) >= rules.harsh.phase_edge_kmh_s * span_s
    belongs: Flags = known & brisk & ((change > 0) == faster) & _is_rate(intervals_ms[at], rate, rules)
    return belongs


def _strongest(rate: Floats, first: Ints) -> Ints:
    """The position of the greatest rate of each run that begins at `first`; the earliest of equals."""
    greatest = np.repeat(np.maximum.reduceat(rate, first), np.diff(np.append(first, rate.size)))
    tops = np.flatnonzero(rate == greatest)
    runs = np.searchsorted(first, tops, side="right") - 1
    return tops[np.searchsorted(runs, np.arange(first.size))]

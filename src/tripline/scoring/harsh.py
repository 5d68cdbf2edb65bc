"""Harsh manoeuvres: changes of speed beyond the thresholds, joined into episodes of one event each; or bits of `em`.

r >= threshold is computed as change >= threshold x dt: no division, and exact where a change is exactly a threshold.
Over more than a second (dt in s) a threshold is multiplied by dt^-0.3: in proportion, slow sampling would invent
events. Where a device rounds its speeds, a change that may exceed its threshold by rounding alone must go on in the
interval before or after it. A first pass over all intervals uses the least threshold of all; only the few that pass are
judged by their own.
"""

from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from tripline.scoring import speeds
from tripline.scoring.drives import Drives, Flags, Floats, Ints
from tripline.scoring.rules import THRESHOLDS, Column, EventType, Rules

EM_BITS: Final = (
    (0x01, EventType.START),
    (0x10, EventType.DECELERATION),
    (0x20, EventType.ACCELERATION),
    (0x40, EventType.STOP),
)
"""Bits of `em` that are harsh events (spec/device-messages 4.6)."""

HARSH_BITS: Final = sum(bit for bit, _ in EM_BITS)

_SLACK: Final = 0.999
"""The first pass works in single precision, so it uses a slightly lower threshold."""


class HarshEvents(msgspec.Struct, frozen=True):
    """Events as indexes of samples, with their types, phases and rates; equally long arrays."""

    samples: Ints
    types: NDArray[np.int8]
    begins: Ints
    """The sample where the phase begins."""
    ends: Ints
    """The sample where it ends."""
    rates: Floats
    """The greatest rate, |km/h per second|; 0: the device itself reported the event."""
    least: Floats
    """The threshold at that place, km/h per second; 0 for reported events."""
    rows: NDArray[np.int8]
    """Its place in `rules.THRESHOLDS`; meaningless for reported events."""

    def where(self, kept: Flags) -> "HarshEvents":
        """These of the events."""
        return HarshEvents(*(getattr(self, name)[kept] for name in self.__struct_fields__))


NOTHING: Final = HarshEvents(
    *(np.empty(0, np.int64), np.empty(0, np.int8), np.empty(0, np.int64), np.empty(0, np.int64)),
    *(np.empty(0), np.empty(0), np.empty(0, np.int8)),
)


def joined(*found: HarshEvents) -> HarshEvents:
    """Concatenate all of these."""
    return HarshEvents(
        *(np.concatenate([getattr(each, name) for each in found]) for name in HarshEvents.__struct_fields__)
    )


class Changes(NamedTuple):
    """Changes of speed in intervals; equally long arrays."""

    change: Floats
    """km/h, signed."""
    rate: Floats
    """|km/h per second|."""


class _Exceedances(msgspec.Struct, frozen=True):
    """Intervals beyond their threshold, ascending: interval i runs from sample i to sample i + 1."""

    at: Ints
    trips: Ints
    change: Floats
    """km/h, signed."""
    rate: Floats
    """|km/h per second|."""
    least: Floats
    """The threshold, km/h per second."""
    rows: NDArray[np.int8]
    """Its place in `rules.THRESHOLDS`."""


def from_speed(
    drives: Drives, speed_kmh: Floats, intervals_ms: Ints, jumps: Ints, steps_kmh: Floats, rules: Rules
) -> HarshEvents:
    """The episodes of all trips: the strongest sample of each (where its greatest rate ends) and its type.

    `jumps`: the intervals to check (`jumps`). `steps_kmh`: shape n, the steps of the devices' speeds.
    """
    found = _exceedances(drives, speed_kmh, intervals_ms, jumps, steps_kmh, rules)
    if not found.at.size:
        return NOTHING
    first = np.flatnonzero(_begins(found, speed_kmh, intervals_ms, rules))
    last = np.append(first[1:], found.at.size) - 1
    faster = found.change[first] > 0
    begin, end = found.at[first], found.at[last]
    beside = np.concatenate([begin - 1, end + 1])
    before, after = _belongs(drives, speed_kmh, intervals_ms, beside, np.tile(faster, 2), rules).reshape(2, -1)
    begin, end = begin - before, end + after
    # At the ends of the phase: of a start with 0, 9, 24 km/h only the step from 9 on exceeds (docs/decisions/301).
    from_standing = speed_kmh[begin] <= rules.harsh.standing_kmh
    to_standing = speed_kmh[end + 1] <= rules.harsh.standing_kmh
    types = np.where(
        faster,
        np.where(from_standing, EventType.START, EventType.ACCELERATION),
        np.where(to_standing, EventType.STOP, EventType.DECELERATION),
    ).astype(np.int8)
    strongest = _strongest(found.rate, first)
    of_peak = found.rate[strongest], found.least[strongest], found.rows[strongest]
    return HarshEvents(found.at[strongest] + 1, types, begin, end + 1, *of_peak)


def jumps(speed_kmh: NDArray[np.float32], seconds: NDArray[np.float32], rules: Rules) -> Ints:
    """Intervals whose change might exceed a threshold or belong to a faulty speed (`speeds.lone`): the only pass
    over every interval."""
    change = speed_kmh[1:] - speed_kmh[:-1]
    np.abs(change, out=change)
    span = np.minimum(seconds, np.float32(1))  # beyond a second no threshold is lower than at one second
    span *= np.float32(_SLACK * min(rules.harsh.least, speeds.SPIKE * rules.guards.lone_kmh_s))
    return np.flatnonzero(change >= span)


def from_em(em: NDArray[np.int16], chosen: Flags) -> HarshEvents:
    """One event for each sample and harsh bit, of the samples chosen."""
    samples = np.flatnonzero(chosen & (em > 0))
    bits = em[samples]
    parts = [(samples[bits & bit != 0], kind) for bit, kind in EM_BITS]
    at = np.concatenate([at for at, _ in parts])
    types = np.concatenate([np.full(at.size, kind, np.int8) for at, kind in parts])
    none = np.zeros(at.size)
    return HarshEvents(at, types, at, at, none, none, np.zeros(at.size, np.int8))


def _exceedances(
    drives: Drives, speed_kmh: Floats, intervals_ms: Ints, at: Ints, steps_kmh: Floats, rules: Rules
) -> _Exceedances:
    trips = drives.at(at)
    inside = (at >= drives.starts[trips] + rules.harsh.ignored_fixes) & (at + 1 < drives.starts[trips + 1])
    at, trips = at[inside], trips[inside]
    before, after = speed_kmh[at], speed_kmh[at + 1]
    change, rate = changes(before, after, intervals_ms[at])
    rows = _rows(before, after, rules)
    least = _table(rules)[rows, drives.column[trips]]
    least = least * spans_s(intervals_ms[at], rules)
    beyond = np.flatnonzero((np.abs(change) >= least) & is_rate(intervals_ms[at], rate, rules))
    kept = beyond[reached(drives, speed_kmh, intervals_ms, at[beyond], least[beyond], steps_kmh, rules)]
    per_second = least[kept] * 1_000 / intervals_ms[at[kept]]
    return _Exceedances(at[kept], trips[kept], change[kept], rate[kept], per_second, rows[kept].astype(np.int8))


def reached(
    drives: Drives, speed_kmh: Floats, intervals_ms: Ints, at: Ints, least: Floats, steps_kmh: Floats, rules: Rules
) -> Flags:
    """True where the speed changes by `least` (km/h) or more in these intervals, and not by rounding alone.

    A change less than half a step of the device's speeds above it must go on in the interval before or after.
    """
    change, _ = changes(speed_kmh[at], speed_kmh[at + 1], intervals_ms[at])
    enough: Flags = np.abs(change) >= least
    weak = np.flatnonzero(enough & (np.abs(change) < least + steps_kmh[drives.at(at)] / 2))
    around = np.concatenate([at[weak] - 1, at[weak] + 1])
    beside = _beside(drives, speed_kmh, intervals_ms, around, rules).change.reshape(2, -1)
    enough[weak] = np.abs(change[weak] + beside).max(axis=0) >= rules.harsh.two_intervals * least[weak]
    return enough


def spans_s(intervals_ms: Ints, rules: Rules) -> Floats:
    """The factor that turns a threshold into the least change of each interval, seconds."""
    spans: Floats = intervals_ms / 1_000
    long = spans > 1
    spans[long] **= 1 - rules.harsh.sampling_exponent
    return spans


def changes(before: Floats, after: Floats, intervals_ms: Ints) -> Changes:
    """The change of speed in each interval, and its rate."""
    # Speeds have at most three decimals: rounding removes binary fractions.
    change = np.round(after - before, 6)
    return Changes(change, np.abs(change) * 1_000 / intervals_ms)


def is_rate(intervals_ms: Ints, rate: Floats, rules: Rules) -> Flags:
    """True where the interval is usable for a rate."""
    usable: Flags = (intervals_ms <= rules.harsh.rate_max_ms) & (rate <= rules.harsh.rate_limit_kmh_s)
    return usable


def _table(rules: Rules) -> Floats:
    """Thresholds by row and column."""
    return np.array([getattr(rules.harsh, name) for name in THRESHOLDS])


def _rows(before: Floats, after: Floats, rules: Rules) -> Ints:
    """The row of the table that each change is judged by."""
    speeding_up = np.searchsorted(np.array([rules.harsh.standing_kmh, 10.0, 20.0]), before)
    slowing = np.where(after <= rules.harsh.standing_kmh, 4, 5 + np.searchsorted(np.array([30.0, 50.0]), before))
    return np.where(after > before, speeding_up, slowing)


def _begins(found: _Exceedances, speed_kmh: Floats, intervals_ms: Ints, rules: Rules) -> Flags:
    """Mark the exceedances that begin an episode because they do not join the one before them.

    Two join when they follow each other with one sign, or with one interval of the same sign, itself no exceedance,
    between them; an episode holds at most one such interval.
    """
    faster = found.change > 0
    apart = np.diff(found.at)
    alike = (faster[1:] == faster[:-1]) & (found.trips[1:] == found.trips[:-1])
    between = found.at[:-1] + 1
    between = np.minimum(between, intervals_ms.size - 1)
    change, rate = changes(speed_kmh[between], speed_kmh[between + 1], intervals_ms[between])
    same_sign = np.where(faster[:-1], change > 0, change < 0) & is_rate(intervals_ms[between], rate, rules)
    bridged = alike & (apart == 2) & same_sign
    broken = np.append(True, ~(alike & (apart == 1) | bridged))
    # Of the bridges in a row, every second one would be the second in its episode: there a new episode begins.
    number = np.cumsum(np.append(False, bridged))
    number -= np.maximum.accumulate(np.where(broken, number, 0))
    begins: Flags = broken | np.append(False, bridged) & (number % 2 == 0)
    return begins


def _belongs(drives: Drives, speed_kmh: Floats, intervals_ms: Ints, beside: Ints, faster: Flags, rules: Rules) -> Flags:
    """True where the interval beside an episode belongs to its phase: same trip, same sign, and brisk.

    A manoeuvre seldom begins at a sample, so its first and last interval contain only a part of it.
    """
    at, change = _beside(drives, speed_kmh, intervals_ms, beside, rules)
    rows, table = _rows(speed_kmh[at], speed_kmh[at + 1], rules), _table(rules)
    # For buses and trucks the edge is lower in proportion to their thresholds (docs/decisions/301).
    edge = rules.harsh.phase_edge_kmh_s * table[rows, drives.column[drives.at(at)]] / table[rows, Column.CAR]
    brisk = np.abs(change) >= edge * spans_s(intervals_ms[at], rules)
    belongs: Flags = brisk & ((change > 0) == faster)
    return belongs


class _Beside(NamedTuple):
    """Intervals beside others; equally long arrays."""

    at: Ints
    change: Floats
    """km/h, signed; 0 where the interval is not usable for a rate or belongs to another trip."""


def _beside(drives: Drives, speed_kmh: Floats, intervals_ms: Ints, beside: Ints, rules: Rules) -> _Beside:
    known = (beside >= 0) & (beside < intervals_ms.size)
    at = np.where(known, beside, 0)
    trips = drives.at(at)
    known &= (at >= drives.starts[trips] + rules.harsh.ignored_fixes) & (at + 1 < drives.starts[trips + 1])
    change, rate = changes(speed_kmh[at], speed_kmh[at + 1], intervals_ms[at])
    return _Beside(at, np.where(known & is_rate(intervals_ms[at], rate, rules), change, 0.0))


def _strongest(rate: Floats, first: Ints) -> Ints:
    """The position of the greatest rate of each run that begins at `first`; the earliest of equals."""
    greatest = np.repeat(np.maximum.reduceat(rate, first), np.diff(np.append(first, rate.size)))
    tops = np.flatnonzero(rate == greatest)
    runs = np.searchsorted(first, tops, side="right") - 1
    return tops[np.searchsorted(runs, np.arange(first.size))]

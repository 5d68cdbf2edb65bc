"""The distance of a trip: the sum of the steps between positions, with impossible steps mended.

One position a degree off made 12.7 km into 235 km and 87 points into 99.
"""

from enum import IntEnum
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from tripline.scoring.drives import Drives, Flags, Floats, Ints, Singles, beginnings, ranges, seams
from tripline.scoring.geometry import haversine_m, steps_m
from tripline.scoring.rules import Rules

SCATTER: Final = 1.08
"""Sums of steps that exceed the distance by speed by this factor are receiver noise. On nine real drives the factor is
1.04 at most; 3 m of white noise raises that to 1.04 to 1.17, 10 m to 1.2 to 2.0."""

OLD_KMH: Final = 8.0
"""Positions that stay the same are old if the vehicle is faster meanwhile."""


class Source(IntEnum):
    """The source of a trip's distance."""

    OWN = 0
    """The trip message states none."""
    STATED = 1
    DOUBTED = 2
    """Our own, since the stated one is too far from it."""


class Steps(msgspec.Struct, frozen=True):
    """Shape n: the summed steps of each trip, metres, and the number of mended ones."""

    metres: Floats
    replaced: Ints
    """Steps replaced by the distance by speed."""
    left_out: Ints
    """Steps that are too fast and have no speed; and gaps that were shortened."""
    scattered: Flags
    """Trips whose steps were all replaced by distance by speed, because their positions scatter."""


class Chosen(NamedTuple):
    """Shape n: the distance of each trip."""

    metres: Floats
    source: NDArray[np.int8]
    """`Source`."""


class _Mended(NamedTuple):
    """Indexes of the steps that were corrected."""

    replaced: Ints
    """Steps replaced by the distance by speed."""
    left_out: Ints
    """Steps left out, and gaps that were shortened."""


def old(drives: Drives, steps: Singles, intervals_ms: Ints, rules: Rules) -> Ints:
    """The samples that repeat the position before them at speed, up to a step beyond reach: the receiver has no newer
    one, as in a tunnel where the wheels tell the speed.

    `steps`, `intervals_ms`: from each sample to the next; steps between trips are 0.
    """
    same = np.append(False, steps == 0)
    last: Ints = np.flatnonzero(same[:-1] > same[1:])
    last = last[intervals_ms[last] <= rules.guards.gap_ms]
    faster = np.fmax(drives.speed_kmh[last], drives.speed_kmh[last + 1]).astype(np.float32)
    seconds = (intervals_ms[last] / 1_000).astype(np.float32)
    last = last[steps[last] > _reach(faster, seconds, rules)]
    same[drives.starts[drives.at(last)]] = False
    last = last[same[last]]
    if not last.size:
        return last
    fresh = np.flatnonzero(~same)
    first = fresh[np.searchsorted(fresh, last) - 1] + 1
    fastest = np.fmax.reduceat(drives.speed_kmh[ranges(first, last)], beginnings(first, last))
    moves = fastest > OLD_KMH
    return ranges(first[moves], last[moves])


def impossible(drives: Drives, steps: Singles, trips: Flags, rules: Rules) -> Ints:
    """The samples whose positions cannot be reached in time.

    `steps`: from each sample to the next. `trips`: shape n, the trips to check (without speeds).
    """
    if not trips.any():
        return np.empty(0, np.int64)
    far = steps > rules.guards.fastest_mps * np.diff(drives.time_ms) / 1_000
    far[seams(drives.starts)] = False
    far &= np.repeat(trips, np.diff(drives.starts))[:-1]
    dropped: list[int] = []
    last = -1
    for here in np.flatnonzero(far).tolist():
        if here <= last:
            continue  # it leads away from samples that were dropped
        trip = int(drives.at(np.array([here]))[0])
        first, end = int(drives.starts[trip]), int(drives.starts[trip + 1])
        if here == first:
            dropped.append(here)
            continue
        last = here
        for there in range(here + 1, end):
            if _reached(drives, here, there, rules):
                break
            dropped.append(there)
            last = there
    return np.array(dropped, np.int64)


def _reached(drives: Drives, here: int, there: int, rules: Rules) -> bool:
    two = slice(here, there + 1, there - here)
    metres = float(steps_m(drives.lat[two], drives.lon[two])[0])
    return metres <= rules.guards.fastest_mps * int(drives.time_ms[there] - drives.time_ms[here]) / 1_000


def guarded(
    steps: Singles,
    drives: Drives,
    speed_kmh: Singles,
    seconds: Singles,
    old: Ints,
    without: Flags,
    fitting: Flags,
    rules: Rules,
) -> Steps:
    """Guard the steps in place, and sum them.

    `steps`, `seconds`: from each sample to the next; steps between trips are 0. `old`: the samples with an old
    position. `without`: shape n, the trips without device speeds. `fitting`: shape n, the trips whose speeds fit the
    path.
    """
    guards = rules.guards
    between = seams(drives.starts)
    if without.any():
        speed_kmh = np.where(np.repeat(without, np.diff(drives.starts)), np.float32(np.nan), speed_kmh)
    faster = np.maximum(speed_kmh[1:], speed_kmh[:-1])
    # Negated, so that a step without a speed (NaN) counts as one that moves; the same below.
    moves = ~(faster <= guards.still_kmh)
    gap = seconds > _gap_s(rules)
    moves |= gap
    steps *= moves
    odd = np.flatnonzero(~(steps <= _reach(faster, seconds, rules)))
    mended = _mend(steps, odd, speed_kmh, seconds, rules)
    for trip in np.flatnonzero(without).tolist():
        _still_without_speed(steps, drives, trip, rules)
    steps[old - 1] = np.nan_to_num((speed_kmh[old - 1] + speed_kmh[old]) / np.float32(7.2) * seconds[old - 1])
    steps[between] = 0
    metres = _sums(steps, drives.starts)
    driven = _driven(steps, speed_kmh, seconds, gap)
    driven[between] = 0
    scattered = fitting & (metres > SCATTER * _sums(driven, drives.starts))
    if scattered.any():
        np.copyto(steps, driven, where=np.repeat(scattered, np.diff(drives.starts))[:-1])
        metres = _sums(steps, drives.starts)
    count = len(drives)
    return Steps(
        metres=metres,
        scattered=scattered,
        replaced=np.bincount(drives.at(mended.replaced), minlength=count),
        left_out=np.bincount(drives.at(mended.left_out), minlength=count),
    )


def _driven(steps: Singles, speed_kmh: Singles, seconds: Singles, gap: Flags) -> Singles:
    """The steps by speed, metres; across a gap, and without a speed, the given steps."""
    driven = speed_kmh[1:] + speed_kmh[:-1]
    driven *= seconds
    driven *= np.float32(1 / 7.2)
    gap |= np.isnan(driven)
    np.copyto(driven, steps, where=gap)
    return driven


def _gap_s(rules: Rules) -> np.float32:
    """`guards.gap_ms` in seconds, in single precision like the intervals."""
    # In double precision the last digit would differ, and a gap of exactly that length could count either way.
    return np.float32(rules.guards.gap_ms) * np.float32(0.001)


def _reach(speed_kmh: Singles, seconds: Singles, rules: Rules) -> Singles:
    """The longest plausible step, metres."""
    reach = speed_kmh * np.float32(rules.guards.step_factor / 3.6)
    reach += np.float32(rules.guards.step_margin_mps)
    reach *= seconds
    reach += np.float32(rules.guards.step_slack_m)
    return reach


def _mend(steps: Singles, odd: Ints, speed_kmh: Singles, seconds: Singles, rules: Rules) -> _Mended:
    """Correct the steps that are too long for their speeds, or have no speed."""
    begin, end, span_s = speed_kmh[odd], speed_kmh[odd + 1], seconds[odd]
    begin, end = np.where(np.isnan(begin), end, begin), np.where(np.isnan(end), begin, end)
    fastest = np.float32(rules.guards.fastest_mps) * span_s
    gap = span_s > _gap_s(rules)
    too_fast = steps[odd] > fastest
    by_speed = ~gap & (steps[odd] > _reach(np.maximum(begin, end), span_s, rules))
    cut, out = gap & too_fast, np.isnan(begin) & ~gap & too_fast
    steps[odd[by_speed]] = ((begin + end) / np.float32(7.2) * span_s)[by_speed]
    steps[odd[cut]] = fastest[cut]
    steps[odd[out]] = 0
    return _Mended(odd[by_speed], odd[cut | out])


def _still_without_speed(steps: Singles, drives: Drives, trip: int, rules: Rules) -> None:
    """Remove the steps of a trip without speeds where it stays within some metres for a minute."""
    first, end = int(drives.starts[trip]), int(drives.starts[trip + 1])
    own = slice(first, end)
    time_ms, lat, lon = drives.time_ms[own], drives.lat[own], drives.lon[own]
    later = np.searchsorted(time_ms, time_ms + rules.guards.still_ms)
    here = np.flatnonzero((later < time_ms.size) & (later > 0))
    there = later[here]
    lasting = time_ms[there] - time_ms[here] <= rules.guards.still_ms + rules.guards.gap_ms
    here, there = here[lasting], there[lasting]
    stays = haversine_m(lat[here], lon[here], lat[there], lon[there]) < rules.guards.still_m
    marks = np.zeros(time_ms.size + 1, np.int64)
    np.add.at(marks, here[stays], 1)
    np.add.at(marks, there[stays], -1)
    steps[first : end - 1][np.cumsum(marks)[: max(end - first - 1, 0)] > 0] = 0


def _sums(steps: Singles, starts: Ints) -> Floats:
    """The sum of each trip's steps, in double precision."""
    begins = starts[:-1]
    filled = np.diff(starts) > 1
    totals = np.zeros(begins.size)
    if filled.any():
        totals[filled] = np.add.reduceat(steps, begins[filled], dtype=np.float64)
    return totals


def chosen(stated_m: Floats, own_m: Floats, instants: Ints, rules: Rules) -> Chosen:
    """The distance of each trip: the stated one if it is near our own, or if we have too few samples."""
    guards = rules.guards
    near = (stated_m >= own_m * guards.stated_least) & (stated_m <= own_m * guards.stated_most)
    taken = near | ~np.isnan(stated_m) & (instants < guards.few_samples)
    source = np.where(taken, Source.STATED, np.where(np.isnan(stated_m), Source.OWN, Source.DOUBTED)).astype(np.int8)
    return Chosen(np.where(taken, stated_m, own_m), source)

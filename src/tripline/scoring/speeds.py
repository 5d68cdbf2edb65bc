"""The speed of each sample: the device's own, with single missing or wrong ones mended; else from positions.

Never the difference of two single positions: on real traces that gave precision 0.04 to 0.07 for braking. And never
both in one trip: with 5 % of the device's speeds missing, those from positions between them gave a false acceleration.
Only exact positions show harsh driving; others show speeds over a window.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from tripline.scoring.drives import Drives, Flags, Floats, Ints, beginnings, ranges
from tripline.scoring.geometry import DEGREE_M, haversine_m
from tripline.scoring.rules import Rules
from tripline.scoring.units import MOVING_MPS

NO_SPEED_KMH: Final = 255.0
"""One-byte value that devices send for an unknown speed."""
NO_SPEED_IN_TWO_BYTES_KMH: Final = 65_535.0
MOST_IMPOSSIBLE: Final = 0.1
"""A trip with a greater part of impossible speeds is refused."""
BOUND_KMH: Final = 1e5
"""Greater values are no speed in any unit: it is 360 km/h in mm/s."""
FINEST_KMH: Final = 0.1
STEPS_KMH: Final = (0.5, 1.0, 5.0)
"""Coarser steps of devices' speeds, each a multiple of the one before."""
MEASURABLE: Final = 60
"""Least number of moving samples that show the step of a device's speeds, or the noise of its positions."""
SHARP: Final = 11
"""Number of exact positions behind one speed, the sample's own in the middle."""
EXACT_MPS: Final = 0.05
"""Greatest noise of the speeds from two exact positions. Twelve real drives have 0.2 at 1 s, 0.11 at 2 s; made drives
with exact positions have 0.01 and less at 1 and 2 s."""
CLOSE_S: Final = 1.25
"""Nine in ten positions follow the one before by this time at most where they show harsh driving. Of manoeuvres that
speeds show 2 s apart, positions 2 s apart show two thirds."""
FIFTH: Final = math.sqrt(-math.log(0.8))
"""A fifth of the lengths of normal errors on a plane are below this part of their root mean square."""

APART: Final = (-1, 0, 1)
"""The path may show a speed so many samples later: positions of real receivers are up to two seconds ahead."""
FROZEN_FINE: Final = 5
"""Least number of equal speeds that may be frozen where their step is the finest."""
FROZEN: Final = 15
"""The same for other steps: whole km/h repeat themselves while a vehicle cruises."""
FROZEN_STEP_KMH: Final = 1.0
"""Coarser speeds repeat themselves at any driving."""
CONTRADICTED: Final = 0.75
"""The part of `guards.lone_kmh_s` by which a speed jumps that positions contradict: with half of it twelve real drives
lost one true speed, with this none."""
SPIKE: Final = 5 / 12
"""The part of `guards.lone_kmh_s` for a single sample: 5 km/h per second, which is harsh for no vehicle. The thresholds
of a policy do not count here: stricter ones must find no fewer events."""


def usable(drives: Drives, rules: Rules) -> Floats:
    """The device's speeds, km/h; NaN for a missing or impossible one."""
    speed, fastest = drives.speed_kmh, rules.guards.fastest_kmh
    # Usually all speeds are fine: two passes without a temporary array detect that.
    if not speed.size or (np.fmin.reduce(speed) >= 0 and np.fmax.reduce(speed) < min(NO_SPEED_KMH, fastest)):
        return speed
    return trusted(speed, fastest)


def impossible(speed_kmh: Floats, fastest_kmh: float) -> Flags:
    """True for speeds that may be real in another unit."""
    found: Flags = (speed_kmh > fastest_kmh) & (speed_kmh <= BOUND_KMH) & (speed_kmh != NO_SPEED_IN_TWO_BYTES_KMH)
    return found


def trusted(speed_kmh: Floats, fastest_kmh: float) -> Floats:
    """The speeds that a device may mean, km/h; NaN for the others."""
    fine = (speed_kmh >= 0) & (speed_kmh <= fastest_kmh) & (speed_kmh != NO_SPEED_KMH)
    return np.where(fine, speed_kmh, np.nan)


def lacking(drives: Drives, speed_kmh: Floats) -> Flags:
    """Shape n: the trips with speeds missing in most samples."""
    # One missing speed makes the sum NaN: detecting that none is missing needs no array of flags.
    if not np.isnan(speed_kmh.sum()):
        return np.zeros(len(drives), np.bool_)
    missing = np.bincount(drives.at(np.flatnonzero(np.isnan(speed_kmh))), minlength=len(drives))
    most: Flags = 2 * missing > np.diff(drives.starts)
    return most


def steps_kmh(drives: Drives) -> Floats:
    """Shape n: the greatest of `STEPS_KMH` that divides 95 % of the device's speeds above 0, else `FINEST_KMH`;
    0: unknown, for too few samples move."""
    speed = drives.speed_kmh.astype(np.float32)
    moving = speed > 0
    many = _counts(drives, moving)
    alike = many >= MEASURABLE
    steps = np.where(alike, FINEST_KMH, 0.0)
    for step in STEPS_KMH:
        if not alike.any():
            break
        times = speed / np.float32(step)
        alike &= 20 * _counts(drives, moving & (np.rint(times) == times)) >= 19 * many
        steps[alike] = step
    return steps


def _counts(drives: Drives, flags: Flags) -> Ints:
    """The number of flagged samples in each trip."""
    counts, filled = np.zeros(len(drives), np.int64), np.diff(drives.starts) > 0
    if filled.any():
        # A third of the time of 64 bits.
        counts[filled] = np.add.reduceat(flags.view(np.int8), drives.starts[:-1][filled], dtype=np.int32)
    return counts


def interpolated(drives: Drives, speed_kmh: Floats, rules: Rules) -> Floats:
    """With holes that last up to `guards.hole_ms` filled from the speeds at both their ends."""
    missing = np.flatnonzero(np.isnan(speed_kmh))
    known = np.flatnonzero(~np.isnan(speed_kmh))
    if not missing.size or not known.size:
        return speed_kmh
    place = np.searchsorted(known, missing)
    inside = (place > 0) & (place < known.size)
    missing, place = missing[inside], place[inside]
    left, right = known[place - 1], known[place]
    short = drives.time_ms[right] - drives.time_ms[left] <= rules.guards.hole_ms
    short &= drives.at(left) == drives.at(right)
    missing, left, right = missing[short], left[short], right[short]
    part = (drives.time_ms[missing] - drives.time_ms[left]) / (drives.time_ms[right] - drives.time_ms[left])
    filled = speed_kmh.copy()
    filled[missing] = speed_kmh[left] + part * (speed_kmh[right] - speed_kmh[left])
    return filled


def close(drives: Drives, intervals_ms: Ints, trips: Flags) -> Flags:
    """Shape n: true for the trips, among `trips`, whose positions follow each other fast enough to show harsh driving.

    `intervals_ms`: from each sample to the next.
    """
    far = np.flatnonzero(intervals_ms > CLOSE_S * 1_000)
    far_in = np.bincount(drives.at(far), minlength=len(drives))
    found: Flags = trips & (10 * far_in < np.diff(drives.starts))
    return found


def exact(drives: Drives, trips: Flags) -> Flags:
    """Shape n: true for the trips, among `trips`, with positions exact enough to show harsh driving.

    While the acceleration is steady, the third divided difference of four positions is pure noise. Its lowest fifth
    measures the noise of a trip, however lively the driving is. Positions that stand or are far apart do not count.
    """
    first = np.flatnonzero(np.repeat(trips, np.diff(drives.starts)))
    of = drives.at(first)
    first, of = (each[first + 3 < drives.starts[of + 1]] for each in (first, of))
    seconds, north, east = around(drives, first, first + np.arange(4)[:, None])
    weights = np.array([1 / np.prod(np.delete(seconds[at] - seconds, at, axis=0), axis=0) for at in range(4)])
    error_m = np.hypot(np.sum(weights * north, axis=0), np.sum(weights * east, axis=0))
    error_m /= np.sqrt(2 * np.sum(weights**2, axis=0))
    moves = np.hypot(north[2] - north[1], east[2] - east[1]) >= MOVING_MPS * (seconds[2] - seconds[1])
    moves &= seconds[3] <= 3 * CLOSE_S
    low = moves & (error_m * 3 <= EXACT_MPS * FIFTH * seconds[3])
    many, lows = (np.bincount(of[each], minlength=len(drives)) for each in (moves, low))
    found: Flags = (many >= MEASURABLE) & (5 * lows >= many)
    return found


def from_positions(drives: Drives, speed_kmh: Floats, trips: Flags, sharp: Flags, rules: Rules) -> Floats:
    """Replace every speed of these trips (shape n) by one from positions; NaN where that is not possible.

    The window has `harsh.speed_window` samples around the sample, moved inwards at the ends of the trip. A window that
    lasts longer than its intervals may (`harsh.rate_max_ms` each) gives no speed, nor does a trip with fewer samples.
    `sharp`: shape n, the trips with exact positions. Their windows have `SHARP` samples; the speed is the slope, at the
    sample, of the polynomial through these: the sample's own at any spacing, where a distance gives the window's mean.
    Polynomials swing at their ends, so the first and last samples have no speed.
    """
    chosen = np.flatnonzero(np.repeat(trips, np.diff(drives.starts)))
    speed = speed_kmh.copy()
    speed[chosen] = np.nan
    of = drives.at(chosen)
    exactly = sharp[of] & (chosen - SHARP // 2 >= drives.starts[of]) & (chosen + SHARP // 2 < drives.starts[of + 1])
    speed[chosen[exactly]] = _slopes_kmh(drives, chosen[exactly], rules)
    chosen, of = chosen[~sharp[of]], of[~sharp[of]]
    steps = rules.harsh.speed_window - 1
    begin = np.maximum(chosen - steps // 2, drives.starts[of])
    begin = np.minimum(begin, drives.starts[of + 1] - 1 - steps)
    inside = begin >= drives.starts[of]
    chosen, begin = chosen[inside], begin[inside]
    end = begin + steps
    span_ms = drives.time_ms[end] - drives.time_ms[begin]
    metres = haversine_m(drives.lat[begin], drives.lon[begin], drives.lat[end], drives.lon[end])
    speed[chosen] = np.where(span_ms <= steps * rules.harsh.rate_max_ms, metres * 3_600 / span_ms, np.nan)
    return speed


def _slopes_kmh(drives: Drives, samples: Ints, rules: Rules) -> Floats:
    """The speed at each sample along the polynomial through the `SHARP` positions around it.

    NaN where two of these are further apart than two intervals that give rates: the polynomial swings between them.
    """
    middle = SHARP // 2
    seconds, north, east = around(drives, samples, samples - middle + np.arange(SHARP)[:, None])
    slope_north, slope_east = np.zeros(samples.size), np.zeros(samples.size)
    for at in range(SHARP):
        if at == middle:
            continue  # its position is 0
        # The derivative at 0 s of Lagrange's polynomial of this position.
        others = [other for other in range(SHARP) if other not in (at, middle)]
        weight = np.prod(seconds[others] / (seconds[others] - seconds[at]), axis=0) / seconds[at]
        slope_north += weight * north[at]
        slope_east += weight * east[at]
    kmh = np.hypot(slope_north, slope_east) * 3.6
    return np.where(np.diff(seconds, axis=0).max(axis=0) * 1_000 <= 2 * rules.harsh.rate_max_ms, kmh, np.nan)


class Around(NamedTuple):
    """Samples around others: time, and distance north and east; shape of the indexes."""

    seconds: Floats
    north_m: Floats
    east_m: Floats


def around(drives: Drives, samples: Ints, near: Ints) -> Around:
    """The samples `near` (shape k x m) as seen from `samples` (shape m)."""
    seconds = (drives.time_ms[near] - drives.time_ms[samples]) / 1_000
    east = drives.lon[near] - drives.lon[samples]
    if np.abs(east).max(initial=0) > 180:
        east = (east + 180) % 360 - 180
    east *= np.cos(np.radians(drives.lat[samples])) * DEGREE_M
    return Around(seconds, (drives.lat[near] - drives.lat[samples]) * DEGREE_M, east)


def lone(drives: Drives, speed_kmh: Floats, intervals_ms: Ints, jumps: Ints, rules: Rules) -> Ints:
    """The samples whose speed jumps away and back between steady ones: faults of the receiver.

    Where positions contradict it, a speed may jump less: that of one sample by `SPIKE`, and by `CONTRADICTED` where it
    stays away, for up to a gap's time. `jumps`: the intervals to check, ascending, at least all whose change is above
    either. 30, 15, 0, 13, 26 is a real stop: before and after the neighbours of the 0 the speed is not steady.
    """
    change = speed_kmh[jumps + 1] - speed_kmh[jumps]
    rate, rises = np.abs(change) * 1_000 / intervals_ms[jumps], change > 0
    turns = _turns(rises, np.flatnonzero(rate > CONTRADICTED * rules.guards.lone_kmh_s))
    beside = _turns(rises, np.flatnonzero(rate > SPIKE * rules.guards.lone_kmh_s))
    single = jumps[beside.home] - jumps[beside.away] == 1
    apart = jumps[turns.home] - jumps[turns.away] > 1
    away = np.concatenate([turns.away[apart], beside.away[single]])
    home = np.concatenate([turns.home[apart], beside.home[single]])
    first, last = jumps[away] + 1, jumps[home]
    alone = (first == last) & (np.minimum(rate[away], rate[home]) > rules.guards.lone_kmh_s)
    trips = drives.at(first)
    inside = (first - 2 >= drives.starts[trips]) & (last + 2 < drives.starts[trips + 1])
    first, last, alone = first[inside], last[inside], alone[inside]
    steady = rules.guards.steady_kmh
    found = np.abs(speed_kmh[first - 1] - speed_kmh[first - 2]) <= steady
    found &= np.abs(speed_kmh[last + 2] - speed_kmh[last + 1]) <= steady
    found &= drives.time_ms[last] - drives.time_ms[first] < rules.guards.gap_ms
    first, last, alone = first[found], last[found], alone[found]
    found = alone | _contradicted(drives, speed_kmh, first - 1, last + 1, apart=APART)
    return np.unique(ranges(first[found], last[found]))


class _Turns(NamedTuple):
    """Jumps that the next of them undoes, as places among the jumps; equally long arrays."""

    away: Ints
    home: Ints


def _turns(rises: Flags, chosen: Ints) -> _Turns:
    """The turns among these jumps. `rises`: true for each jump upwards."""
    back = np.flatnonzero(rises[chosen[1:]] != rises[chosen[:-1]])
    return _Turns(chosen[back], chosen[back + 1])


def frozen(drives: Drives, speed_kmh: Floats, intervals_ms: Ints, jumps: Ints, steps_kmh: Floats, rules: Rules) -> Ints:
    """The last samples that repeat a speed until it jumps to the right one, where positions contradict them.

    `jumps`: the intervals to check, ascending. `steps_kmh`: shape n, the steps of the devices' speeds.
    """
    # Few jumps follow two equal speeds. Those at sample 0 are left out below.
    last: Ints = jumps[speed_kmh[jumps - 1] == speed_kmh[jumps]]
    trips = drives.at(last)
    least = np.where(steps_kmh[trips] == FINEST_KMH, FROZEN_FINE, FROZEN)
    inside = (last + 1 - least >= drives.starts[trips]) & (last + 1 < drives.starts[trips + 1])
    inside &= (speed_kmh[last] > MOVING_MPS * 3.6) & (intervals_ms[last] <= rules.harsh.rate_max_ms)
    inside &= steps_kmh[trips] <= FROZEN_STEP_KMH
    last, least = last[inside], least[inside]
    for back in range(2, FROZEN):
        if not last.size:
            break
        same = speed_kmh[last - np.minimum(back, least - 1)] == speed_kmh[last]
        last, least = last[same], least[same]
    first = last + 1 - least
    wrong = _contradicted(drives, speed_kmh, first, last + 1)
    return ranges(first[wrong] + 1, last[wrong])


def _contradicted(
    drives: Drives, speed_kmh: Floats, before: Ints, after: Ints, *, apart: tuple[int, ...] = (0,)
) -> Flags:
    """True where the path between these samples is nearer to a steady change of speed than to the speeds given.

    Unchanged positions contradict nothing. `apart`: the path may show a speed so many samples later.
    """
    if not before.size:
        return np.empty(0, np.bool_)
    at, begins = ranges(before, after - 1), beginnings(before, after - 1)
    driven = (speed_kmh[at] + speed_kmh[at + 1]) * (drives.time_ms[at + 1] - drives.time_ms[at])
    lasting = drives.time_ms[after] - drives.time_ms[before]
    plateau = np.add.reduceat(driven, begins) / 2 / lasting
    steady = (speed_kmh[before] + speed_kmh[after]) / 2
    later = np.array(apart)[:, np.newaxis]
    first, last = at + later, at + later + 1
    metres = haversine_m(drives.lat[first], drives.lon[first], drives.lat[last], drives.lon[last])
    kmh = np.add.reduceat(metres, begins, axis=1) * 3_600
    kmh /= drives.time_ms[after + later] - drives.time_ms[before + later]
    found: Flags = ((kmh > 0) & (np.abs(kmh - steady) < np.abs(kmh - plateau))).any(axis=0)
    return found

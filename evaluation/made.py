"""Made drives: a true speed with harsh manoeuvres that are known, and the receivers that report it.

**The vehicle.** Between two stops it pulls away, speeds up, brakes and stops, with pauses of 5 to 15 s in which its
speed drifts by 2 km/h, and gentle changes at a steady 0.3 to 0.7 times the threshold of accelerations. Rates of
manoeuvres have six shapes: a jerk-limited ramp, a peak, a half-wave, an early and a late peak, and two pushes. A
manoeuvre is harsh if its greatest change within a second is 1.3 to 1.8 times the threshold of its class and row. Four
in five are near misses of 0.3 to 0.7 times.

**The receiver.** It reports speed and position 0.3 s late, smooths the speed (first order; each receiver has its own
time constant), adds white noise and rounds, by default to whole km/h; below 1 km/h it reports 0. Positions carry noise
of 1.5 m that lasts about 10 s, as multipath does. It loses 2 % of its samples. Samples begin at any instant, so
manoeuvres begin between them.

A manoeuvre that lost samples hide still counts as true. The same seed gives the same drive.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tripline.scoring.rules import Column, EventType, Harsh

Floats = NDArray[np.float64]

HZ: Final = 20
DELAY_S: Final = 0.3
NOISE_M: Final = 1.5
NOISE_LASTS_S: Final = 10
LOST: Final = 0.02
METRES_PER_DEGREE: Final = 111_195.08
STOPS: Final = 12
"""Stops in one drive."""
HARSH_SHARE: Final = 0.2
MISS_RANGE: Final = (0.3, 0.7)
TYPICAL: Final = {
    EventType.START: Harsh().start,
    EventType.ACCELERATION: Harsh().acceleration_above_20,
    EventType.DECELERATION: Harsh().deceleration_to_50,
    EventType.STOP: Harsh().stop,
}

Drive = dict[str, Any]
"""Columns `t` (seconds), `lat`, `lon`, `speed` (km/h), and `column` of the thresholds."""

SHAPES: Final[tuple[Callable[[Floats], Floats], ...]] = (
    lambda x: np.minimum(1, 4 * np.minimum(x, 1 - x)),
    lambda x: np.minimum(x, 1 - x),
    lambda x: np.sin(np.pi * x),
    lambda x: np.minimum(4 * x, 1 - x),
    lambda x: np.minimum(x, 4 * (1 - x)),
    lambda x: np.minimum(6 * np.minimum(x, 1 - x), 0.4 + 0.6 * np.abs(np.cos(np.pi * x))),
)
"""Rate over the course of a manoeuvre (0 to 1), up to a factor."""


class Truths(NamedTuple):
    """Harsh manoeuvres in order of time: kind, begin and end in seconds; equally long arrays."""

    kind: NDArray[np.int64]
    begin_s: Floats
    end_s: Floats


class Course(NamedTuple):
    """A true drive."""

    kmh: Floats
    """`HZ` speeds a second."""
    truths: Truths


class Receiver(NamedTuple):
    """How a box reports a drive."""

    interval_s: float = 1.0
    step_kmh: float = 1.0
    noise_kmh: float = 0.2
    smoothing_s: tuple[float, float] = (0.0, 0.5)
    """The time constant is drawn between these."""
    noise_m: float = NOISE_M


class Manner(NamedTuple):
    """How a vehicle is driven."""

    lasting_s: tuple[float, float] = (1.5, 4.0)
    """Shortest and longest manoeuvre."""
    harsh_share: float = HARSH_SHARE
    harsh_range: tuple[float, float] = (1.3, 1.8)
    """Greatest change within a second of harsh manoeuvres, in thresholds."""


PLAIN: Final = Receiver()
USUAL: Final = Manner()


def exceedance(kmh: Floats, column: Column) -> float:
    """The greatest change within a second, in thresholds."""
    table = Harsh()
    padded = np.pad(kmh, HZ, mode="edge")
    before, after = padded[:-HZ], padded[HZ:]
    faster = np.select(
        [before <= table.standing_kmh, before <= 10, before <= 20],
        [table.start[column], table.acceleration_to_10[column], table.acceleration_to_20[column]],
        table.acceleration_above_20[column],
    )
    slower = np.select(
        [after <= table.standing_kmh, before <= 30, before <= 50],
        [table.stop[column], table.deceleration_to_30[column], table.deceleration_to_50[column]],
        table.deceleration_above_50[column],
    )
    return float(np.max(np.abs(after - before) / np.where(after > before, faster, slower)))


def manoeuvre(rng: np.random.Generator, kind: EventType, column: Column, manner: Manner, *, harsh: bool) -> Floats:
    """The speeds of one manoeuvre, the first before it begins; drawn again until its exceedance is in range.

    Most draws are: the typical row of thresholds is often the one that decides.
    """
    least, most = manner.harsh_range if harsh else MISS_RANGE
    while True:
        size = round(rng.uniform(*manner.lasting_s) * HZ)
        rate = SHAPES[rng.integers(len(SHAPES))]((np.arange(size) + 0.5) / size)
        course = np.append(0, np.cumsum(rate))
        within = np.pad(course, HZ, mode="edge")
        greatest = np.max(within[HZ:] - within[:-HZ])
        change = course / greatest * rng.uniform(least, most) * TYPICAL[kind][column]
        if kind is EventType.ACCELERATION:
            kmh = rng.uniform(8, 60) + change
        elif kind is EventType.DECELERATION:
            kmh = rng.uniform(9, 40) + change[-1] - change
        else:
            kmh = change if kind is EventType.START else change[-1] - change
        if least <= exceedance(kmh, column) <= most:
            return kmh


def gentle(rng: np.random.Generator, begin_kmh: float, end_kmh: float, column: Column) -> Floats:
    """A change of speed at a steady rate far below the threshold of an acceleration."""
    rate = rng.uniform(*MISS_RANGE) * TYPICAL[EventType.ACCELERATION][column]
    size = max(round(abs(end_kmh - begin_kmh) / rate * 4 / 3 * HZ), HZ)
    course = np.cumsum(SHAPES[0]((np.arange(size) + 0.5) / size))
    return begin_kmh + (end_kmh - begin_kmh) * course / course[-1]


def pause(rng: np.random.Generator, kmh: float) -> Floats:
    """A while at about this speed."""
    size = round(rng.uniform(5, 15) * HZ)
    drift = rng.uniform(-2, 2) if kmh else 0.0
    return kmh + drift * (1 - np.cos(2 * np.pi * np.arange(1, size + 1) / size)) / 2


@cache
def course(seed: int, column: Column, manner: Manner = USUAL) -> Course:
    """One true drive."""
    rng = np.random.default_rng([seed, column])
    parts, size, kmh, truths = [np.zeros(6 * HZ)], 6 * HZ, 0.0, []
    for kind in (*TYPICAL,) * STOPS:
        harsh = bool(rng.random() < manner.harsh_share)
        rough = manoeuvre(rng, kind, column, manner, harsh=harsh)
        before = [pause(rng, kmh)]
        for speed in () if kind is EventType.START else (rng.uniform(10, 100), rough[0]):
            before += [gentle(rng, float(before[-1][-1]), speed, column), pause(rng, speed)]
        begin = size + sum(part.size for part in before)
        size, kmh = begin + rough.size, float(rough[-1])
        parts += [*before, rough]
        if harsh:
            truths.append((kind, begin / HZ, size / HZ))
    parts.append(pause(rng, 0.0))
    kinds, begins, ends = np.array(truths).reshape(-1, 3).T
    return Course(np.concatenate(parts), Truths(kinds.astype(np.int64), begins, ends))


def reported(true: Course, receiver: Receiver, column: Column, seed: int) -> Drive:
    """A true drive as a receiver reports it."""
    rng = np.random.default_rng([seed, column, round(receiver.interval_s * 10)])
    kmh, seconds = true.kmh, true.kmh.size / HZ
    times = np.arange(rng.uniform(DELAY_S, DELAY_S + receiver.interval_s), seconds, receiver.interval_s)
    times = times[rng.random(times.size) >= LOST]
    at = (times - DELAY_S) * HZ
    clock = np.arange(kmh.size)
    speed = np.interp(at, clock, smoothed(kmh, rng.uniform(*receiver.smoothing_s)))
    speed = np.where(speed < 1, 0, speed + rng.normal(0, receiver.noise_kmh, at.size))
    metres = np.interp(at, clock, np.cumsum(kmh) / 3.6 / HZ)
    north, east = (wander(rng, times) * receiver.noise_m for _ in range(2))
    return {
        "t": times,
        "lat": 36 + (metres + north) / METRES_PER_DEGREE,
        "lon": 127 + east / METRES_PER_DEGREE / np.cos(np.radians(36)),
        "speed": np.round(np.maximum(np.round(speed / receiver.step_kmh), 0) * receiver.step_kmh, 3),
        "column": column,
    }


def drive(seed: int, column: Column, receiver: Receiver = PLAIN, manner: Manner = USUAL) -> tuple[Drive, Truths]:
    """One drive as it is reported, and its harsh manoeuvres."""
    true = course(seed, column, manner)
    return reported(true, receiver, column, seed), true.truths


def smoothed(kmh: Floats, seconds: float) -> Floats:
    """A first-order low pass with this time constant, `HZ` values a second, from standing."""
    if not seconds:
        return kmh
    weights = np.exp(-np.arange(round(10 * seconds * HZ) + 1) / (seconds * HZ))
    return np.convolve(kmh, weights / weights.sum())[: kmh.size]


def wander(rng: np.random.Generator, times: Floats) -> Floats:
    """Noise of positions that lasts: standard deviation 1, at these ascending seconds."""
    decay = np.exp(-np.arange(8 * NOISE_LASTS_S) / NOISE_LASTS_S)
    seconds = np.arange(int(times[-1]) + 2)
    white = rng.normal(0, 1, seconds.size + decay.size - 1)
    return np.interp(times, seconds, np.convolve(white, decay / np.linalg.norm(decay), mode="valid"))

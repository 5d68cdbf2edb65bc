"""Made drives: a true speed with manoeuvres that are known, and the receiver that reports it.

**The vehicle.** Standing, pulling away, cruising, braking; half of the sections in town, with accelerations from 11
km/h and decelerations from 45, where other rows of the thresholds hold. A manoeuvre changes the speed by a jerk-limited
ramp: the acceleration rises, holds and falls. Harsh ones peak at 1.3 to 1.8 times the threshold of their class and row
and hold it for 1.5 s and longer, in town for half a second and longer; near misses peak at 0.3 to 0.7 times. Speeds,
rates and pauses are drawn.

**The receiver.** It smooths the speed (first order, 0, 0.5 or 1 s) and reports it 0.3 s late, with white noise of
0.3 km/h, in steps of 0.1 km/h. Positions carry noise of 1.5 m that lasts about 10 s, as multipath does. Half a per cent
of the samples are lost. Samples are 1 to 4 s apart and begin at any instant, so manoeuvres begin between them.

A manoeuvre that a loss of samples hides still counts as true. The same seed gives the same drive.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tripline.scoring.rules import Column, EventType, Harsh

HZ: Final = 20
JERK: Final = {Column.CAR: 36.0, Column.BUS: 24.0, Column.TRUCK: 24.0}
"""km/h per second, per second: 1 g/s for a car."""
DELAY_S: Final = 0.3
NOISE_KMH: Final = 0.3
STEP_KMH: Final = 0.1
NOISE_M: Final = 1.5
NOISE_LASTS_S: Final = 10.0
LOST: Final = 0.005
METRES_PER_DEGREE: Final = 111_195.08
SECTIONS: Final = 12
"""From standing to standing, in one drive."""

Drive = dict[str, Any]
"""Columns `t` (seconds), `lat`, `lon`, `speed` (km/h), and `column` of the thresholds."""


@dataclass(frozen=True)
class Truth:
    """A harsh manoeuvre: its kind, and the seconds between which it happened."""

    kind: EventType
    begin_s: float
    end_s: float


class Road:
    """Writes a true speed and remembers its harsh manoeuvres."""

    def __init__(self, rng: np.random.Generator, column: Column) -> None:
        self.rng = rng
        self.column = column
        self.parts: list[NDArray[np.float64]] = [np.zeros(6 * HZ)]
        self.truths: list[Truth] = []
        self._count = 6 * HZ

    @property
    def now_s(self) -> float:
        """How long the drive is by now."""
        return self._count / HZ

    @property
    def kmh(self) -> float:
        """The speed now."""
        return float(self.parts[-1][-1])

    def hold(self, seconds: float) -> None:
        """Go on at this speed."""
        self._add(np.full(round(seconds * HZ), self.kmh))

    def ramp(self, change_kmh: float, peak: float) -> None:
        """Change the speed; the rate peaks at so many km/h per second."""
        self._add(self.kmh + np.sign(change_kmh) * ramp(abs(change_kmh), peak, JERK[self.column]))

    def manoeuvre(self, kind: EventType, change_kmh: float, threshold: float, *, harsh: bool) -> None:
        """A harsh manoeuvre, remembered, or a near miss of one."""
        begin_s = self.now_s
        self.ramp(change_kmh, threshold * (self.rng.uniform(1.3, 1.8) if harsh else self.rng.uniform(0.3, 0.7)))
        if harsh:
            self.truths.append(Truth(kind, begin_s, self.now_s))

    def section(self, *, town: bool) -> None:
        """From standing to standing with four manoeuvres, each harsh or a near miss; in town pulling away is gentle."""
        table, column, draw = Harsh(), self.column, self.rng.uniform

        def harsh() -> bool:
            return bool(self.rng.random() < 0.35)

        if town:
            self.ramp(draw(11, 18), 3.0)
            self.hold(draw(5, 20))
            # Whoever does not exceed the row for faster speeds, which is lower, is a near miss.
            dares = harsh()
            row = table.acceleration_to_20 if dares else table.acceleration_above_20
            self.manoeuvre(EventType.ACCELERATION, draw(30, 36), row[column], harsh=dares)
            self.hold(draw(5, 20))
            down_to = draw(9, 13)
            self.manoeuvre(EventType.DECELERATION, down_to - self.kmh, table.deceleration_to_50[column], harsh=harsh())
        else:
            self.manoeuvre(EventType.START, draw(32, 38), table.start[column], harsh=harsh())
            self.hold(draw(5, 20))
            self.manoeuvre(EventType.ACCELERATION, draw(26, 32), table.acceleration_above_20[column], harsh=harsh())
            self.hold(draw(5, 20))
            change = -draw(40, 45)
            self.manoeuvre(EventType.DECELERATION, change, table.deceleration_above_50[column], harsh=harsh())
        self.hold(draw(5, 20))
        self.ramp(draw(48, 58) - self.kmh, 3.0)
        self.hold(draw(5, 20))
        self.manoeuvre(EventType.STOP, -self.kmh, table.stop[column], harsh=harsh())
        self.hold(draw(5, 20))

    def _add(self, part: NDArray[np.float64]) -> None:
        if part.size:
            self.parts.append(part)
            self._count += part.size


def ramp(change: float, peak: float, jerk: float) -> NDArray[np.float64]:
    """The change of speed so far at each instant of a jerk-limited ramp, `HZ` a second; the last is the whole change.

    The rate rises by `jerk`, holds `peak` and falls; a change too small for that peak has a lower one.
    """
    peak = min(peak, (change * jerk) ** 0.5)
    rise, hold = peak / jerk, change / peak - peak / jerk
    at = np.arange(1, round((2 * rise + hold) * HZ) + 1) / HZ
    rate = np.clip(np.minimum(at, 2 * rise + hold - at) * jerk, 0, peak)
    travelled: NDArray[np.float64] = np.cumsum(rate)
    return travelled * (change / travelled[-1])


def drive(seed: int, column: Column, *, smoothing_s: float, interval_s: float) -> tuple[Drive, list[Truth]]:
    """One drive as it is reported, and what was harsh in it."""
    rng = np.random.default_rng([seed, column])
    road = Road(rng, column)
    for number in range(SECTIONS):
        road.section(town=number % 2 == 1)
    true = np.concatenate(road.parts)
    metres = np.cumsum(true) / 3.6 / HZ
    # How it drives depends on the seed alone; how it is reported is drawn anew for each receiver.
    rng = np.random.default_rng([seed, column, round(smoothing_s * 10), round(interval_s * 10)])
    times = np.arange(rng.uniform(DELAY_S, DELAY_S + interval_s), road.now_s - 0.1, interval_s)
    times = times[rng.random(times.size) >= LOST]
    at = np.round((times - DELAY_S) * HZ).astype(int)
    speed = smoothed(true, smoothing_s)[at] + rng.normal(0, NOISE_KMH, at.size)
    speed = np.round(np.maximum(np.where(true[at] > 0, speed, 0), 0) / STEP_KMH) * STEP_KMH
    return {
        "t": times,
        "lat": 36 + (metres[at] + wander(rng, times)) / METRES_PER_DEGREE,
        "lon": 127 + wander(rng, times) / METRES_PER_DEGREE / np.cos(np.radians(36)),
        "speed": speed,
        "column": column,
    }, road.truths


def smoothed(speed: NDArray[np.float64], seconds: float) -> NDArray[np.float64]:
    """A first-order low pass with this time constant; 0: as it is."""
    if not seconds:
        return speed
    keep = np.exp(-1 / (seconds * HZ))
    after = np.empty_like(speed)
    last = speed[0]
    for index, value in enumerate(speed.tolist()):
        last = keep * last + (1 - keep) * value
        after[index] = last
    return after


def wander(rng: np.random.Generator, times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Noise of positions that lasts, metres."""
    steps = rng.normal(0, NOISE_M, times.size)
    after = np.empty_like(steps)
    last = steps[0]
    for index, gap in enumerate(np.diff(times, prepend=times[0]).tolist()):
        keep = np.exp(-gap / NOISE_LASTS_S)
        last = keep * last + (1 - keep**2) ** 0.5 * steps[index]
        after[index] = last
    return after

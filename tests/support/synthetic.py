"""Made-up drives with known harsh manoeuvres and the faults of real traces; the same for the same seed.

True speed is a sequence of phases: standing, pulling away, cruising, slowing down; some of them harsh by at least 1.3
times the car threshold, some near misses of at most 0.7 times. On top come speed noise (0.4 km/h), position noise
(0.5-1 m), 1 % outliers of 20 m, 2 % stale positions, a first speed of 0, time jitter (0.1 s) and rare gaps.
"""

from dataclasses import dataclass

import numpy as np

from tripline.scoring.drives import Drives
from tripline.scoring.rules import EventType

METRES_PER_DEGREE = 111_195.08


@dataclass(frozen=True)
class Truth:
    """What was put into a drive: kind, and the seconds between which it happened."""

    kind: EventType
    begin_s: float
    end_s: float


class _Road:
    """Writes a true speed, 10 values a second, and remembers the harsh phases."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.speed: list[float] = [0.0] * 60
        self.truths: list[Truth] = []

    @property
    def now_s(self) -> float:
        return len(self.speed) / 10

    def hold(self, seconds: float) -> None:
        self.speed += [self.speed[-1]] * round(seconds * 10)

    def change(self, to_kmh: float, rate: float) -> None:
        """Go to a speed at a rate (km/h per second)."""
        begin = self.speed[-1]
        count = max(1, round(abs(to_kmh - begin) / rate * 10))
        self.speed += np.linspace(begin, to_kmh, count + 1)[1:].tolist()

    def harsh(self, kind: EventType, to_kmh: float, rate: float) -> None:
        """The same, remembered as an event."""
        begin_s = self.now_s
        self.change(to_kmh, rate)
        self.truths.append(Truth(kind, begin_s, self.now_s))

    def section(self, harsh: bool) -> None:
        """From standing through some traffic back to standing, with one to four harsh phases or near misses."""
        factor = self.rng.uniform(1.3, 1.9) if harsh else 0
        calm = self.rng.uniform(0.3, 0.7)
        cruise = self.rng.uniform(38, 60)
        if harsh and self.rng.random() < 0.5:
            self.harsh(EventType.START, self.rng.uniform(32, 38), 10 * factor)
        else:
            self.change(cruise - 15, 8 * calm)
        self.hold(self.rng.uniform(5, 20))
        self.change(cruise, 3)
        self.hold(self.rng.uniform(5, 20))
        if harsh and self.rng.random() < 0.5:
            self.harsh(EventType.ACCELERATION, cruise + self.rng.uniform(24, 30), 8 * factor)
        else:
            self.change(cruise + 25, 8 * calm)
        self.hold(self.rng.uniform(5, 20))
        if harsh and self.rng.random() < 0.5:
            self.harsh(EventType.DECELERATION, self.speed[-1] - self.rng.uniform(40, 46), 15 * min(factor, 1.7))
        else:
            self.change(self.speed[-1] - 30, 15 * calm)
        self.hold(self.rng.uniform(5, 20))
        self.change(self.rng.uniform(45, 55), 3)
        self.hold(self.rng.uniform(5, 20))
        if harsh and self.rng.random() < 0.5:
            self.harsh(EventType.STOP, 0, 15 * min(factor, 1.7))
        else:
            self.change(0, 14 * calm)
        self.hold(self.rng.uniform(5, 20))


def drive(seed: int, *, sections: int = 12, interval_s: float = 1.0) -> tuple[dict[str, np.ndarray], list[Truth]]:
    """Columns `t` (seconds), `lat`, `lon`, `speed` of one drive, and its true events."""
    rng = np.random.default_rng(seed)
    road = _Road(rng)
    for _ in range(sections):
        road.section(harsh=bool(rng.random() < 0.7))
    true = np.array(road.speed)
    metres = np.concatenate(([0], np.cumsum(true[:-1]) / 36))
    times = np.arange(0, road.now_s - 0.1, interval_s)
    times = times[rng.random(times.size) > 0.002]  # single samples lost
    if rng.random() < 0.3:  # and a rare gap
        lost = rng.uniform(0.2, 0.8) * road.now_s
        times = times[(times < lost) | (times > lost + rng.uniform(10, 60))]
        road.truths = [truth for truth in road.truths if not lost - 5 < truth.end_s < lost + 65]
    at = np.round(times * 10).astype(int)
    speed = np.maximum(true[at] + rng.normal(0, 0.4, at.size), 0).round(1)
    speed[0] = 0
    north = metres[at] + rng.normal(0, rng.uniform(0.5, 1), at.size)
    east = rng.normal(0, rng.uniform(0.5, 1), at.size)
    outlier = rng.random(at.size) < 0.01
    north[outlier] += rng.choice([-20, 20], outlier.sum())
    stale = np.flatnonzero(rng.random(at.size - 1) < 0.02) + 1
    north[stale], east[stale] = north[stale - 1], east[stale - 1]
    lat = 36 + north / METRES_PER_DEGREE
    lon = 127 + east / (METRES_PER_DEGREE * np.cos(np.radians(36)))
    jittered = times + rng.uniform(-0.1, 0.1, times.size)
    return {"t": jittered, "lat": lat, "lon": lon, "speed": speed}, road.truths


def as_arrays(columns: list[dict[str, np.ndarray]]) -> Drives:
    """These drives as the kernel's arrays, by cars without a stated distance."""
    count = len(columns)
    joined = {name: np.concatenate([one[name] for one in columns]) for name in ("t", "lat", "lon", "speed")}
    return Drives(
        starts=np.cumsum([0, *(one["t"].size for one in columns)]),
        time_ms=np.round(joined["t"] * 1_000).astype(np.int64),
        lat=joined["lat"],
        lon=joined["lon"],
        speed_kmh=joined["speed"].astype(np.float64),
        em=None,
        limit_kmh=None,
        column=np.zeros(count, np.int8),
        obd=np.zeros(count, np.bool_),
        stated_m=np.full(count, np.nan),
    )

"""A vehicle's movement along legs of a road in one style, as its instruments measure it at every sample.

A state machine of five manoeuvres at two steps a second: pull away, cruise, brake for the end of the leg, stand, and
the last stop. Position and speed have the noise of a receiver (spec/scoring 7).
"""

import math
import random
from collections import deque
from collections.abc import Iterator
from enum import Enum, auto
from itertools import pairwise
from typing import Final

import msgspec

from tripline.simulator import roads
from tripline.simulator.roads import Leg, Place
from tripline.simulator.styles import Style

_STEP_S: Final = 0.5
_SPEED_NOISE_KMH: Final = 0.3
_PLACE_NOISE_M: Final = 0.7
_STANDING_S: Final = (3.0, 20.0)
_SHORTEST_S: Final = 1.0
"""Least time between samples: distinct for a clock with whole seconds."""
_LAST_STOP_S: Final = 15.0
"""Time from a drive's last stop to its end."""
_SIGHT_M: Final = 800.0
"""Distance beyond its leg that a vehicle looks ahead for reasons to brake: the braking distance from 130 km/h."""

START: Final = 0x01
LEFT: Final = 0x02
RIGHT: Final = 0x04
SLOWED: Final = 0x10
ACCELERATED: Final = 0x20
STOPPED: Final = 0x40


class _Doing(Enum):
    PULLING = auto()
    CRUISING = auto()
    BRAKING = auto()
    STANDING = auto()
    OVER = auto()


class Moment(msgspec.Struct, frozen=True):
    """The values of a vehicle's instruments at one sample."""

    at_s: float
    """Seconds after the drive's start."""
    lat: float
    lon: float
    speed_kmh: float
    heading: float
    """Degrees from north."""
    distance_m: float
    """Since the drive's start."""
    rate: float
    """Change of speed, km/h per second."""
    flags: int
    """Harsh manoeuvres since the last sample, as bits of `em` (spec/device-messages 4.6)."""
    limit_kmh: float
    """Limit of the leg there."""


class _Ahead(msgspec.Struct, frozen=True):
    """A leg ahead, and its speeds in km/h."""

    leg: Leg
    length_m: float
    pieces_m: list[float]
    cruise: float
    goal: float
    """Speed at its end."""


def drive(
    rng: random.Random, style: Style, legs: Iterator[Leg], *, seconds: float, period_s: float
) -> Iterator[Moment]:
    """The moments of one drive, from standing to standing: until about `seconds` are over or the road ends."""
    car = _Car(rng, style, legs, seconds)
    due_s = shown_s = 0.0
    while not car.over:
        if car.at_s >= due_s:
            due_s, shown_s = due_s + period_s, car.at_s
            yield car.seen()
        car.step()
    if car.at_s - shown_s >= _SHORTEST_S:
        yield car.seen()


class _Car:
    """A vehicle's speed, place and intent; `step` advances it."""

    def __init__(self, rng: random.Random, style: Style, legs: Iterator[Leg], seconds: float) -> None:
        self.at_s = 0.0
        self._rng = rng
        self._style = style
        self._legs = legs
        self._ahead: deque[_Ahead] = deque()
        """The current leg, and the visible ones after it."""
        self._last_stop_s = seconds - _LAST_STOP_S
        self._speed = 0.0
        self._shown = 0.0
        self._rate = 0.0
        self._distance_m = 0.0
        self._flags = 0
        self._doing = _Doing.STANDING
        self._until_s = rng.uniform(2, 6)
        self._cruise = self._goal = 0.0
        self._accelerate = self._brake = 1.0
        self._piece, self._piece_m = 0, 0.0
        self._length_m = self._done_m = 0.0
        self._begin()

    @property
    def over(self) -> bool:
        """True after the last stop of the drive."""
        return self._doing is _Doing.OVER

    def seen(self) -> Moment:
        """Read the instruments; this resets the flags."""
        lat, lon = self._place()
        if self._speed > 0:
            lat, lon = roads.moved((lat, lon), self._rng.uniform(0, 360), self._rng.gauss(0, _PLACE_NOISE_M))
            self._shown = max(0.0, self._speed + self._rng.gauss(0, _SPEED_NOISE_KMH))
        else:
            self._shown = 0.0
        flags, self._flags = self._flags, 0
        leg = self._ahead[0].leg
        return Moment(
            at_s=self.at_s,
            lat=round(lat, 6),
            lon=round(lon, 6),
            speed_kmh=round(self._shown, 1),
            heading=roads.heading(leg.line[self._piece], leg.line[self._piece + 1]),
            distance_m=self._distance_m,
            rate=self._rate,
            flags=flags,
            limit_kmh=leg.limit_kmh,
        )

    def step(self) -> None:
        """Advance by half a second."""
        before = self._speed
        self._decide()
        self.at_s += _STEP_S
        if self._doing is _Doing.PULLING:
            self._speed = min(self._cruise, self._speed + self._accelerate * _STEP_S)
        elif self._doing is _Doing.BRAKING:
            self._speed = max(self._goal, self._speed - self._brake * _STEP_S)
        self._rate = (self._speed - before) / _STEP_S
        metres = (before + self._speed) / 2 / 3.6 * _STEP_S
        self._distance_m += metres
        self._move(metres)

    def _decide(self) -> None:
        if self._doing is _Doing.STANDING:
            if self.at_s < self._until_s:
                return
            self._pull(harsh_start=True)
        elif self._doing is _Doing.BRAKING:
            if self._speed > self._goal:
                return
            self._braked()
        elif self._must_brake():
            self._doing = _Doing.BRAKING
            if self._brake >= self._style.harsh_brake[0]:
                self._flags |= STOPPED if self._goal <= 5 else SLOWED
        elif self._doing is _Doing.CRUISING and self._speed < self._cruise - 1:
            self._pull(harsh_start=False)
        elif self._doing is _Doing.PULLING and self._speed >= self._cruise:
            self._doing = _Doing.CRUISING

    def _must_brake(self) -> bool:
        if self.at_s >= self._last_stop_s:
            self._goal = 0.0
            return True
        if self._speed <= self._goal:
            return False
        needed = ((self._speed / 3.6) ** 2 - (self._goal / 3.6) ** 2) / (2 * self._brake / 3.6)
        return self._length_m - self._done_m <= needed + self._speed / 3.6 * _STEP_S

    def _braked(self) -> None:
        if self._goal > 0:
            self._next_leg()
            self._doing = _Doing.CRUISING
        elif self.at_s >= self._last_stop_s:
            self._doing = _Doing.OVER
        else:
            self._next_leg()
            if self._doing is not _Doing.OVER:
                self._doing = _Doing.STANDING
                self._until_s = self.at_s + self._rng.uniform(*_STANDING_S)

    def _pull(self, *, harsh_start: bool) -> None:
        self._doing = _Doing.PULLING
        self._accelerate = self._rng.uniform(*self._style.accelerate)
        if self._rng.random() < self._style.harsh and self._cruise - self._speed > 25:
            self._accelerate = self._rng.uniform(*self._style.harsh_accelerate)
            self._flags |= START if harsh_start else ACCELERATED

    def _move(self, metres: float) -> None:
        self._done_m += metres
        while self._done_m >= self._length_m and self._doing is not _Doing.OVER:
            if self._doing is _Doing.BRAKING or len(self._ahead) == 1:
                self._done_m = self._length_m
                return
            surplus = self._done_m - self._length_m
            self._next_leg()
            self._done_m = surplus

    def _next_leg(self) -> None:
        if len(self._ahead) == 1:
            self._doing = _Doing.OVER
            return
        turn = self._ahead.popleft().leg.turn
        if abs(turn) > 45 and self._speed > 28:
            self._flags |= RIGHT if turn > 0 else LEFT
        self._begin()

    def _begin(self) -> None:
        """Look ahead from the start of a leg, and decide how to drive it."""
        self._goal = self._look_ahead()
        self._piece, self._piece_m = 0, 0.0
        self._length_m, self._done_m = self._ahead[0].length_m, 0.0
        self._cruise = self._ahead[0].cruise
        harsh = self._rng.random() < self._style.harsh
        self._brake = self._rng.uniform(*(self._style.harsh_brake if harsh else self._style.brake))

    def _look_ahead(self) -> float:
        """The speed at the end of this leg that still allows braking for all legs in sight."""
        ahead, rng, style = self._ahead, self._rng, self._style
        seen_m = sum(each.length_m for each in ahead) - (ahead[0].length_m if ahead else 0.0)
        while seen_m < _SIGHT_M and (leg := next(self._legs, None)) is not None:
            pieces_m = [roads.distance_m(one, other) for one, other in pairwise(leg.line)]
            cruise = (leg.driven_kmh or leg.limit_kmh) * rng.uniform(*style.pace)
            goal = 0.0 if leg.stop else rng.uniform(*style.corner_kmh) if abs(leg.turn) > 30 else cruise
            seen_m += sum(pieces_m) if ahead else 0.0
            ahead.append(_Ahead(leg, sum(pieces_m), pieces_m, cruise, goal))
        goal = fastest = 0.0
        for each in reversed(ahead):
            goal = min(each.goal, fastest)
            slowed = math.sqrt((goal / 3.6) ** 2 + 2 * style.brake[0] / 3.6 * each.length_m) * 3.6
            fastest = min(each.cruise, slowed)
        return goal

    def _place(self) -> Place:
        line, pieces_m = self._ahead[0].leg.line, self._ahead[0].pieces_m
        while self._piece < len(pieces_m) - 1 and self._done_m > self._piece_m + pieces_m[self._piece]:
            self._piece_m += pieces_m[self._piece]
            self._piece += 1
        one, other = line[self._piece], line[self._piece + 1]
        share = min(1.0, (self._done_m - self._piece_m) / max(pieces_m[self._piece], 0.01))
        return one[0] + (other[0] - one[0]) * share, one[1] + (other[1] - one[1]) * share

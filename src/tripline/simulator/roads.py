"""The roads that simulated vehicles drive: legs of a road, made up or cut from a recorded route.

A leg ends at a junction: straight on, at a turn, or at a red light. Made-up roads have the limits and lengths of towns,
country roads and motorways and stay around one place.
"""

import math
import random
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

METRES_PER_DEGREE: Final = 111_195.08
Place = tuple[float, float]
"""Latitude, longitude: degrees WGS84."""
Fix = tuple[float, float, float | None]
"""A place and the speed there, km/h, if known."""

_ROADS: Final = {
    30: (10, (120, 400)),
    50: (50, (150, 700)),
    60: (20, (300, 900)),
    80: (12, (600, 1_800)),
    110: (8, (1_500, 4_000)),
}
"""Limit (km/h) -> frequency of the road, and range of its legs' lengths (metres)."""
_FARTHEST_M: Final = 15_000
"""A made-up road turns back at this distance from its centre."""
_SPREAD_M: Final = 4_000
_LEG_M: Final = 300.0
_NEAR_M: Final = 4.0
_SHARP: Final = 45.0


class Leg(msgspec.Struct, frozen=True):
    """A piece of road without a junction."""

    line: tuple[Place, ...]
    """Two places or more."""
    limit_kmh: float
    """Infinite: unknown, or none."""
    stop: bool
    """True for a red light at its end."""
    turn: float
    """Change of direction at its end, degrees, clockwise."""
    driven_kmh: float | None = None
    """Speed that vehicles drive by, if it is not the limit."""


def distance_m(one: Place, other: Place) -> float:
    """Metres between two places that are near each other."""
    north = (other[0] - one[0]) * METRES_PER_DEGREE
    east = (other[1] - one[1]) * METRES_PER_DEGREE * math.cos(math.radians(one[0]))
    return math.hypot(north, east)


def moved(place: Place, heading: float, metres: float) -> Place:
    """The place at this distance and direction (degrees from north)."""
    north, east = metres * math.cos(math.radians(heading)), metres * math.sin(math.radians(heading))
    return (
        place[0] + north / METRES_PER_DEGREE,
        place[1] + east / (METRES_PER_DEGREE * max(math.cos(math.radians(place[0])), 0.01)),
    )


def heading(one: Place, other: Place) -> float:
    """Direction from one place to the other, degrees from north, 0 up to 360."""
    north = other[0] - one[0]
    east = (other[1] - one[1]) * math.cos(math.radians(one[0]))
    return math.degrees(math.atan2(east, north)) % 360


def made_up(rng: random.Random, around: Place) -> Iterator[Leg]:
    """An endless road that starts near the place."""
    here = moved(around, rng.uniform(0, 360), rng.uniform(0, _SPREAD_M))
    direction = rng.choice((0, 90, 180, 270)) + rng.uniform(-15, 15)
    limit = 50
    for number in range(1_000_000):
        if rng.random() < 0.35 or number == 0:
            limit = rng.choices(list(_ROADS), [common for common, _ in _ROADS.values()])[0]
        end = moved(here, direction, rng.uniform(*_ROADS[limit][1]))
        turn = 0.0 if rng.random() < 0.5 else rng.choice((-90, 90)) + rng.uniform(-20, 20)
        if distance_m(around, end) > _FARTHEST_M:
            turn = (heading(end, around) - direction + 180) % 360 - 180
        stop = limit <= 80 and rng.random() < 0.35
        yield Leg((here, end), float(limit), stop, turn)
        here, direction = end, direction + turn + rng.uniform(-4, 4)


def along(route: Sequence[Fix]) -> list[Leg]:
    """The legs of a recorded route, to its end. Limits are the speeds driven there, rounded up to tens."""
    fixes = [route[0]]
    for fix in route[1:]:
        if distance_m(fixes[-1][:2], fix[:2]) >= _NEAR_M:
            fixes.append(fix)
    legs: list[Leg] = []
    first, length = 0, 0.0
    for at in range(1, len(fixes)):
        length += distance_m(fixes[at - 1][:2], fixes[at][:2])
        turn = _turn(fixes, at)
        if at == len(fixes) - 1 or length >= _LEG_M or abs(turn) > _SHARP:
            legs.append(_leg(fixes[first : at + 1], turn))
            first, length = at, 0.0
    return legs


def _turn(fixes: Sequence[Fix], at: int) -> float:
    if at + 1 >= len(fixes):
        return 0.0
    before, after = heading(fixes[at - 1][:2], fixes[at][:2]), heading(fixes[at][:2], fixes[at + 1][:2])
    return (after - before + 180) % 360 - 180


def _leg(fixes: Sequence[Fix], turn: float) -> Leg:
    speeds = [speed for _, _, speed in fixes if speed is not None]
    limit = max(30.0, math.ceil(max(speeds) / 10) * 10.0) if speeds else 50.0
    return Leg(tuple(fix[:2] for fix in fixes), limit, bool(speeds) and speeds[-1] < 5, turn)

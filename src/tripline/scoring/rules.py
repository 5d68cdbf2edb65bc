"""Every number a score depends on, as plain values with their defaults and sources.

The settings (`config.Scoring`, `config.Harsh`) carry the same numbers with their descriptions;
`services/scores/rules.py` turns one into the other. What the numbers mean: `docs/scoring.md`.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

Tolerance = Literal["factor", "kotsa", "plus15"]
ByColumn = tuple[float, float, float]
"""One value for each `Column`: car, bus, truck."""


class Column(IntEnum):
    """Which column of the threshold table a vehicle is judged by. A taxi is judged as a car."""

    CAR = 0
    BUS = 1
    TRUCK = 2


class EventType(IntEnum):
    """GPS event types, as published."""

    START = 1
    ACCELERATION = 2
    DECELERATION = 3
    STOP = 4
    OVERSPEED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Least change of speed in one second, km/h, that is harsh: the digital tachograph criteria (MOLIT/KOTSA, 2022)."""

    start: ByColumn = (10.0, 8.0, 6.0)
    acceleration_to_10: ByColumn = (12.0, 8.0, 7.0)
    acceleration_to_20: ByColumn = (10.0, 7.0, 6.0)
    acceleration_above_20: ByColumn = (8.0, 6.0, 5.0)
    deceleration_to_30: ByColumn = (14.0, 9.0, 8.0)
    deceleration_to_50: ByColumn = (15.0, 10.0, 8.0)
    deceleration_above_50: ByColumn = (15.0, 12.0, 8.0)
    stop: ByColumn = (14.0, 9.0, 8.0)

    @property
    def least(self) -> float:
        """The smallest threshold of all: no change below it is harsh for anyone."""
        return min(
            *self.start,
            *self.acceleration_to_10,
            *self.acceleration_to_20,
            *self.acceleration_above_20,
            *self.deceleration_to_30,
            *self.deceleration_to_50,
            *self.deceleration_above_50,
            *self.stop,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """All rules of one run."""

    thresholds: Thresholds = field(default_factory=Thresholds)
    instant_ms: int = 500
    """Samples closer than this are one instant (O4)."""
    ignored_fixes: int = 3
    """First fixes of a trip that give no rate: 18 of 40 real trips begin with a jump from 0 to 38..98 km/h."""
    rate_min_ms: int = 500
    rate_max_ms: int = 5_500
    rate_limit_kmh_s: float = 36.0
    """A greater rate (about 1 g) is a measuring fault."""
    full_threshold_ms: int = 1_500
    """Over a longer interval the threshold shrinks with 1 / interval."""
    standing_kmh: float = 5.0
    """A phase that begins at or below it is a start; one that ends at or below it is a stop."""
    phase_edge_kmh_s: float = 8.0
    """From this rate on the interval right before or after an episode belongs to its phase."""
    speed_window: int = 5
    """Samples over which a missing speed is taken from positions."""
    default_limit_kmh: float = 110.0
    """Speed limit where no road says one; 0: no overspeed there."""
    tolerance: Tolerance = "factor"
    over_cap_ms: int = 5_000
    """The longest time one overspeed sample stands for."""
    max_median_ms: int = 5_000
    """A scored trip's median interval is under this."""
    min_distance_m: float = 3_000.0
    """A scored trip's distance is at least this."""
    harsh_weight: float = 0.45
    overspeed_weight: float = 0.04

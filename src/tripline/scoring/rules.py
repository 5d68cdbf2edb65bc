"""Every number a score depends on, with its default and its source: four sections of the settings (`config/`).

Their meaning: `docs/scoring.md`.
"""

from enum import IntEnum
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

FAR_OVER: Final = (1.20, 1.35)
"""Multiples of the limit; `over_20_weight` and `over_35_weight` are for seconds above them."""

Tolerance = Literal["factor", "kotsa", "plus15"]
Accumulation = Literal["pooled", "trip_mean"]
ByCategory = tuple[float, float, float]
"""One value for each `Column`: cars (taxis and unknown vehicles too), buses and trucks."""


class Column(IntEnum):
    """The threshold column of a vehicle. A taxi uses the column of cars."""

    CAR = 0
    BUS = 1
    TRUCK = 2


def column_of(category: str | None) -> Column:
    """Return the threshold column of a vehicle category; TAXI, PERSONAL, ETC and unknown count as a car."""
    match (category or "").upper():
        case "TRUCK":
            return Column.TRUCK
        case "BUS":
            return Column.BUS
        case _:
            return Column.CAR


THRESHOLDS: Final = (
    *("start", "acceleration_to_10", "acceleration_to_20", "acceleration_above_20"),
    *("stop", "deceleration_to_30", "deceleration_to_50", "deceleration_above_50"),
)
"""The thresholds of `Harsh`, by the speed before a change; `start` and `stop`: from and to standing."""


class EventType(IntEnum):
    """GPS event types, as published."""

    START = 1
    ACCELERATION = 2
    DECELERATION = 3
    STOP = 4
    OVERSPEED = 5


def _about(description: str, **bounds: Any) -> Meta:
    """The meaning of a setting, and its bounds as `Meta` names them."""
    return Meta(description=description, **bounds)


class Scoring(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Thresholds and constants of the score (`docs/scoring.md`)."""

    min_distance_m: Annotated[float, _about("shortest scored trip, metres", ge=0)] = 3_000.0
    max_median_s: Annotated[float, _about("median sample interval must be under this, seconds", gt=0)] = 5.0
    default_limit_kmh: Annotated[float, _about("speed limit without a road map, km/h; 0: no overspeed", ge=0)] = 110.0
    instant_ms: Annotated[int, _about("samples closer than this are one instant, ms", ge=1)] = 920
    """Thresholds are changes over one second; over half a second noise alone exceeds them. At 10 Hz a second apart."""
    overspeed_cap_ms: Annotated[int, _about("longest time that one sample over the limit represents, ms", ge=1)] = 5_000
    tolerance: Annotated[
        Tolerance, _about("overspeed is above limit x 1.10 (factor), limit + 20 km/h (kotsa), limit + 15 km/h (plus15)")
    ] = "factor"
    harsh_weight: Annotated[float, _about("weight of one harsh event per km", ge=0)] = 0.45
    overspeed_weight: Annotated[float, _about("weight of one second of overspeed per km", ge=0)] = 0.04
    added_m: Annotated[
        float, _about("metres added to the distance that a burden is divided by; a total adds them once", ge=0)
    ] = 0.0
    accumulate: Annotated[Accumulation, _about("how trips add up")] = "pooled"
    grace_s: Annotated[float, _about("wait between the closing of a trip and its scoring, seconds", ge=0)] = 0.0

    @property
    def max_median_ms(self) -> int:
        """`max_median_s` in the unit of the samples' times."""
        return round(self.max_median_s * 1_000)


def _rate(description: str) -> Meta:
    return _about(f"{description}, km/h per second")


class Harsh(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Harsh manoeuvres: least change of speed in one second for car, bus, truck; and which intervals count."""

    # Thresholds: the digital tachograph criteria (MOLIT/KOTSA, 2022).
    start: Annotated[ByCategory, _about("harsh start from standing: car, bus, truck; km/h per second")] = (
        10.0,
        8.0,
        6.0,
    )
    acceleration_to_10: Annotated[ByCategory, _rate("harsh acceleration from up to 10 km/h")] = (12.0, 8.0, 7.0)
    acceleration_to_20: Annotated[ByCategory, _rate("harsh acceleration from 10-20 km/h")] = (10.0, 7.0, 6.0)
    acceleration_above_20: Annotated[ByCategory, _rate("harsh acceleration from above 20 km/h")] = (8.0, 6.0, 5.0)
    deceleration_to_30: Annotated[ByCategory, _rate("harsh deceleration from up to 30 km/h")] = (14.0, 9.0, 8.0)
    deceleration_to_50: Annotated[ByCategory, _rate("harsh deceleration from 30-50 km/h")] = (15.0, 10.0, 8.0)
    deceleration_above_50: Annotated[ByCategory, _rate("harsh deceleration from above 50 km/h")] = (15.0, 12.0, 8.0)
    stop: Annotated[ByCategory, _rate("harsh stop")] = (14.0, 9.0, 8.0)
    standing_kmh: Annotated[float, _about("a start begins and a stop ends at most this fast, km/h", ge=0)] = 5.0
    ignored_fixes: Annotated[int, _about("first fixes of a trip that give no rate", ge=0)] = 3
    """18 of 40 real trips begin with a jump from 0 to 38..98 km/h."""
    rate_max_ms: Annotated[int, _about("longest interval that gives a rate, ms", ge=1)] = 5_500
    rate_limit_kmh_s: Annotated[float, _about("a greater rate is a measuring fault, km/h per second", gt=0)] = 36.0
    """About 1 g."""
    sampling_exponent: Annotated[
        float, _about("over intervals above 1 s a threshold is multiplied by seconds to the power of -this", ge=0, le=1)
    ] = 0.3
    """Fitted on real drives: thinned to 2, 3 and 4 s they keep their events."""
    two_intervals: Annotated[
        float,
        _about(
            "a change less than half a step of the device's speeds above its threshold is harsh if two"
            " intervals together reach this many thresholds",
            ge=1,
        ),
    ] = 1.9
    phase_edge_kmh_s: Annotated[
        float, _about("least rate at which the interval beside an episode counts to its phase, km/h per second", gt=0)
    ] = 3.0
    speed_window: Annotated[int, _about("samples over which a missing speed is taken from positions", ge=3, le=60)] = 5

    @property
    def least(self) -> float:
        """The smallest threshold of all: no smaller change is harsh for any vehicle."""
        least: float = min(min(getattr(self, name)) for name in THRESHOLDS)
        return least


class Guards(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Checks that keep implausible samples of a device from changing the score."""

    fastest_kmh: Annotated[float, _about("a greater speed of a sample is none, km/h", gt=0)] = 300.0
    hole_ms: Annotated[int, _about("longest hole in the speeds that is filled from both its ends, ms", ge=0)] = 5_000
    lone_kmh_s: Annotated[
        float, _about("a speed that jumps away and back faster than this is a fault, km/h per second", gt=0)
    ] = 12.0
    steady_kmh: Annotated[
        float, _about("a jump is a fault if speeds before and after differ by at most this, km/h", ge=0)
    ] = 6.0
    implied_least: Annotated[
        float, _about("distance by speed must be at least this part of that by positions", ge=0)
    ] = 0.85
    implied_most: Annotated[float, _about("distance by speed must be at most this part of that by positions", gt=0)] = (
        1.15
    )
    still_kmh: Annotated[float, _about("at this speed or below a vehicle stands, km/h", ge=0)] = 1.0
    step_factor: Annotated[
        float, _about("a step between positions may be this much longer than its speed says", ge=1)
    ] = 1.3
    step_margin_mps: Annotated[float, _about("a step may also be longer by this much, metres per second", ge=0)] = 3.0
    step_slack_m: Annotated[float, _about("a step may also be longer by this much, metres", ge=0)] = 25.0
    fastest_mps: Annotated[float, _about("fastest step where the speed is unknown, metres per second", gt=0)] = 70.0
    gap_ms: Annotated[int, _about("a step that lasts longer is a straight line, ms", ge=1)] = 30_000
    still_m: Annotated[
        float, _about("without speeds: a vehicle that gets less far in `still_ms` stands, metres", ge=0)
    ] = 30.0
    still_ms: Annotated[int, _about("without speeds: the time for `still_m`, ms", ge=1)] = 60_000
    stated_least: Annotated[float, _about("the stated distance must be at least this part of our own", ge=0)] = 0.8
    stated_most: Annotated[float, _about("the stated distance must be at most this part of our own", gt=0)] = 1.25
    few_samples: Annotated[int, _about("with fewer samples the stated distance is taken as it is", ge=0)] = 30


class Style(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Driving that costs points without a GPS event: braking, cornering, far overspeed. Weight 0: no cost."""

    braking_kmh_s: Annotated[float, _about("braking this hard counts, km/h per second", gt=0)] = 6.0
    braking_weight: Annotated[float, _about("weight of one braking per km", ge=0)] = 0.0
    lateral_g: Annotated[float, _about("a corner with this lateral acceleration counts, g", gt=0)] = 0.3
    cornering_kmh: Annotated[float, _about("a corner counts at this speed or above, km/h", ge=0)] = 15.0
    cornering_weight: Annotated[float, _about("weight of one corner per km", ge=0)] = 0.0
    over_20_weight: Annotated[
        float, _about("further weight of one second more than 20 % over the limit, per km", ge=0)
    ] = 0.0
    over_35_weight: Annotated[
        float, _about("further weight of one second more than 35 % over the limit, per km", ge=0)
    ] = 0.0


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """All rules of one policy."""

    scoring: Scoring = Scoring()
    harsh: Harsh = Harsh()
    guards: Guards = Guards()
    style: Style = Style()

    def written(self) -> bytes:
        """JSON of every number that affects a score; the time of scoring (`grace_s`) does not."""
        return msgspec.json.encode(replace(self, scoring=replace(self.scoring, grace_s=0.0)))


def read(body: bytes) -> Rules:
    """Decode rules that `written` encoded. Fields that were added since get their defaults, so the default of a new
    field must mean the earlier behaviour. Raises `msgspec.DecodeError`."""
    return msgspec.json.decode(body, type=Rules)

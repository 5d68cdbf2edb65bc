"""The verdict on a trip: the counts of its events and their score, or the reason for having none.

S = 100 exp(-(0.45 harsh + 0.04 T) / km); a policy may add kilometres to those driven. With the constants 0.443716 /
0.040858 both published rows come out to 0.001; two rows cannot prove a model, and the rounder defaults meet them within
0.5 (`docs/scoring.md`).

Free of numpy, so the store uses these types as they are.
"""

import math
from collections.abc import Mapping
from decimal import Context, Decimal
from enum import StrEnum
from typing import Final, NamedTuple

from tripline.scoring.rules import EventType, Rules


class NotScored(StrEnum):
    """Why samples give no score and no GPS events. If several reasons apply, the first in this order is stored.

    Reasons from the trip's row alone (device type, no vehicle, parking) come before: `domain/trips.py`.
    """

    CLOCK = "clock"
    NO_SAMPLES = "no_samples"
    NO_POSITION = "no_position"
    SPARSE = "sparse"
    SPEED_IMPLAUSIBLE = "speed_implausible"
    TOO_SHORT = "too_short"


class TripScore(NamedTuple):
    """One scored trip, as judged and as stored. The `COUNTED` fields add up to the number of its GPS events."""

    score: float
    accel: int
    de_accel: int
    over_speed: int
    over_speed_s: float
    distance_m: float
    added_m: float = 0.0
    """Added to the distance by the policy."""


class ScoredTrip(NamedTuple):
    """The values of a scored trip that its vehicle's score uses."""

    score: float
    distance_m: float
    added_m: float = 0.0


COUNTED: Final[dict[str, tuple[EventType, ...]]] = {
    "accel": (EventType.START, EventType.ACCELERATION),
    "de_accel": (EventType.DECELERATION, EventType.STOP),
    "over_speed": (EventType.OVERSPEED,),
}
"""The counts of a score, in published order, and the events that each one counts."""


def scored(
    counts: Mapping[str, int], *, over_s: float, distance_m: float, rules: Rules, style: float = 0.0
) -> TripScore:
    """The verdict on a trip with these counts (keys of `COUNTED`), seconds over the limit and burden of its style."""
    added_m = rules.scoring.added_m
    score = trip_score(burden(counts, over_s=over_s, rules=rules, style=style), distance_m=distance_m + added_m)
    return TripScore(score=score, over_speed_s=over_s, distance_m=distance_m, added_m=added_m, **counts)


_DIGITS: Final = Context(prec=30)


def lacking(score: float) -> float:
    """-ln(score / 100): 0 for 100 points, growing without end towards 0. For scores in (0, 100].

    Correctly rounded, so that every machine subtracts from sums exactly the value another one added; `math.log` differs
    between libraries in the last bit of one in a thousand.
    """
    return 0.0 - float(_DIGITS.ln(_DIGITS.scaleb(Decimal(score), -2)))


def burden(counts: Mapping[str, int], *, over_s: float, rules: Rules, style: float = 0.0) -> float:
    """The weight of a drive's events: its counts (keys of `COUNTED`) and its seconds over the limit.

    `style`: the burden of driving style, if the policy gives it a weight (`style.py`).
    """
    # Harsh events are added up before they are weighed: rounding each count by itself would change stored scores.
    harsh = counts["accel"] + counts["de_accel"]
    return weight(EventType.START, rules) * harsh + weight(EventType.OVERSPEED, rules) * over_s + style


def weight(event: EventType, rules: Rules) -> float:
    """The burden of one event of this type; for overspeed, of one second."""
    return rules.scoring.overspeed_weight if event == EventType.OVERSPEED else rules.scoring.harsh_weight


def trip_score(burden: float, *, distance_m: float) -> float:
    """The score of a drive in (0, 100]: 100 without a burden, strictly falling with it, unrounded.

    A score too small for a double is the smallest double, so that such a trip still differs from an unscored one.
    """
    return max(100.0 * math.exp(-burden * 1_000 / distance_m), math.ulp(0.0))

"""What findings are worth: whether a trip is scored, its counts and score, and the accumulated score of many trips.

S = 100 exp(-(0.45 harsh + 0.04 T) / km). With the constants 0.443716 / 0.040858 both published rows come out to 0.001;
two rows cannot prove a model, and the rounder defaults meet them within 0.5 (`docs/scoring.md`).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from tripline.scoring.kernel import Findings
from tripline.scoring.rules import EventType, Rules

Accumulation = Literal["pooled", "trip_mean"]


class NotScored(StrEnum):
    """Why samples give no score and no GPS events. When several hold, the first in this order is kept.

    What the trip's row alone tells (device type, no vehicle, parking) comes before: `domain/trips.py`.
    """

    NO_SAMPLES = "no_samples"
    NO_POSITION = "no_position"
    SPARSE = "sparse"
    TOO_SHORT = "too_short"


@dataclass(frozen=True, slots=True)
class TripScore:
    """One scored trip. accel + de_accel + over_speed is the number of its GPS events."""

    score: float
    accel: int
    de_accel: int
    over_speed: int
    over_speed_s: float
    distance_m: float


def trip_score(*, harsh: int, over_s: float, distance_m: float, rules: Rules) -> float:
    """The score of a drive in (0, 100]: 100 with no event, strictly falling with each, unrounded.

    A score too small for a double is the smallest double, so that a trip that bad still differs from none.
    """
    burden = rules.harsh_weight * harsh + rules.overspeed_weight * over_s
    return max(100.0 * math.exp(-burden * 1_000 / distance_m), math.ulp(0.0))


def judged(found: Findings, rules: Rules) -> list[TripScore | NotScored]:
    """For each trip its score, or why it has none."""
    accel = found.counts(EventType.START, EventType.ACCELERATION).tolist()
    de_accel = found.counts(EventType.DECELERATION, EventType.STOP).tolist()
    over = found.counts(EventType.OVERSPEED).tolist()
    verdicts: list[TripScore | NotScored] = []
    for trip, metres in enumerate(found.distance_m.tolist()):
        reason = _reason(int(found.instants[trip]), bool(found.dense[trip]), metres, rules)
        verdicts.append(
            reason or _scored(accel[trip], de_accel[trip], over[trip], float(found.over_s[trip]), metres, rules)
        )
    return verdicts


def _reason(instants: int, dense: bool, distance_m: float, rules: Rules) -> NotScored | None:
    if instants < 2:
        return NotScored.NO_SAMPLES
    if not dense:
        return NotScored.SPARSE
    if distance_m < rules.min_distance_m or distance_m <= 0:
        return NotScored.TOO_SHORT
    return None


def _scored(accel: int, de_accel: int, over: int, over_s: float, distance_m: float, rules: Rules) -> TripScore:
    return TripScore(
        score=trip_score(harsh=accel + de_accel, over_s=over_s, distance_m=distance_m, rules=rules),
        accel=accel,
        de_accel=de_accel,
        over_speed=over,
        over_speed_s=over_s,
        distance_m=distance_m,
    )


@dataclass(frozen=True, slots=True)
class Sums:
    """Of a vehicle's scored trips: all that its accumulated score needs."""

    count: int
    distance_m: float
    weighted_ln: float
    """Sum of distance x ln(score / 100)."""
    score: float
    """Sum of scores."""


def sums(trips: Iterable[tuple[float, float]]) -> Sums:
    """The sums of (score, distance in metres) pairs; exact, so their order does not matter."""
    rows = list(trips)
    return Sums(
        count=len(rows),
        distance_m=math.fsum(metres for _, metres in rows),
        weighted_ln=math.fsum(metres * math.log(score / 100) for score, metres in rows),
        score=math.fsum(score for score, _ in rows),
    )


def accumulated(total: Sums, how: Accumulation) -> float:
    """The accumulated score of at least one trip.

    Pooled is the score of all trips driven as one: neither their order nor how a drive is cut into trips matters.
    """
    if how == "trip_mean":
        return total.score / total.count
    return 100.0 * math.exp(total.weighted_ln / total.distance_m)

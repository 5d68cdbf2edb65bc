"""From findings to scores: whether a trip is scored, and the accumulated score of many trips.

Not here: what is counted and what it is worth (`score.py`).
"""

import math
from collections.abc import Iterable

import msgspec

from tripline.scoring.findings import Findings
from tripline.scoring.rules import Accumulation, Rules
from tripline.scoring.score import COUNTED, NotScored, TripScore, scored


def judged(found: Findings, rules: Rules) -> list[TripScore | NotScored]:
    """For each trip its score, or why it has none."""
    counts = {name: found.counts(*kinds).tolist() for name, kinds in COUNTED.items()}
    verdicts: list[TripScore | NotScored] = []
    for trip, metres in enumerate(found.distance_m.tolist()):
        ratio = float(found.ratio[trip])
        reason = _reason(int(found.instants[trip]), bool(found.dense[trip]), ratio, metres, rules)
        own = {name: of_trips[trip] for name, of_trips in counts.items()}
        over_s, style = float(found.over_s[trip]), float(found.style[trip])
        verdicts.append(reason or scored(own, over_s=over_s, distance_m=metres, rules=rules, style=style))
    return verdicts


def _reason(instants: int, dense: bool, ratio: float, distance_m: float, rules: Rules) -> NotScored | None:
    if instants < 2:
        return NotScored.NO_SAMPLES
    if not dense:
        return NotScored.SPARSE
    if ratio < rules.guards.implied_least or ratio > rules.guards.implied_most:
        return NotScored.SPEED_IMPLAUSIBLE
    if distance_m < rules.scoring.min_distance_m or distance_m <= 0:
        return NotScored.TOO_SHORT
    return None


class Sums(msgspec.Struct, frozen=True):
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

"""From findings to scores: the verdict on each trip, and the accumulated score of many trips."""

import math
from collections.abc import Iterable
from typing import Final, NamedTuple

from tripline.scoring.findings import Findings
from tripline.scoring.rules import Accumulation, Rules
from tripline.scoring.score import COUNTED, NotScored, ScoredTrip, TripScore, lacking, scored


def judged(found: Findings, rules: Rules) -> list[TripScore | NotScored]:
    """For each trip its score, or the reason for having none."""
    counts = {name: found.counts(*kinds).tolist() for name, kinds in COUNTED.items()}
    verdicts: list[TripScore | NotScored] = []
    for trip, metres in enumerate(found.distance_m.tolist()):
        own = {name: of_trips[trip] for name, of_trips in counts.items()}
        over_s, style = float(found.over_s[trip]), float(found.style[trip])
        reason = _reason(found, trip, rules)
        verdicts.append(reason or scored(own, over_s=over_s, distance_m=metres, rules=rules, style=style))
    return verdicts


def _reason(found: Findings, trip: int, rules: Rules) -> NotScored | None:
    ratio, metres = found.ratio[trip], found.distance_m[trip]
    if found.unclocked[trip]:
        return NotScored.CLOCK
    if found.instants[trip] < 2:
        return NotScored.NO_SAMPLES
    if not found.dense[trip]:
        return NotScored.SPARSE
    if found.implausible[trip] or ratio < rules.guards.implied_least or ratio > rules.guards.implied_most:
        return NotScored.SPEED_IMPLAUSIBLE
    if metres < rules.scoring.min_distance_m or metres <= 0:
        return NotScored.TOO_SHORT
    return None


_SMALLEST: Final = 1_074
"""Every double is a whole number of 2^-1074."""


class Sums(NamedTuple):
    """The exact sums behind a vehicle's accumulated score. All but the trips in 2^-1074."""

    trips: int
    distance: int
    """Metres."""
    added: int
    """Metres that policies add to these trips."""
    burden: int
    """Sum of (metres + added) x `lacking(score)`, each product a double."""
    score: int
    """Sum of scores."""

    @property
    def distance_m(self) -> float:
        """All metres, rounded once."""
        return _rounded(self.distance)

    def plus(self, other: "Sums", sign: int = 1) -> "Sums":
        """These and the others together; `sign` -1: without the others."""
        return Sums(*(mine + sign * theirs for mine, theirs in zip(self, other, strict=True)))

    def written(self) -> bytes:
        """The stored form, about 80 bytes."""
        return " ".join(map(_text, self)).encode()


NOTHING: Final = Sums(0, 0, 0, 0, 0)


def read(kept: bytes) -> Sums:
    """Parse sums that `written` encoded."""
    return Sums(*map(_number, kept.decode().split(" ")))


def sums(trips: Iterable[ScoredTrip]) -> Sums:
    """The sums of trips; exact, so their order does not matter."""
    rows = list(trips)
    return Sums(
        trips=len(rows),
        distance=sum(_exact(trip.distance_m) for trip in rows),
        added=sum(_exact(trip.added_m) for trip in rows),
        burden=sum(_exact((trip.distance_m + trip.added_m) * lacking(trip.score)) for trip in rows),
        score=sum(_exact(trip.score) for trip in rows),
    )


def accumulated(total: Sums, how: Accumulation) -> float:
    """The accumulated score of at least one trip.

    Pooled is the score of all trips driven as one: their order, and the cuts between trips, do not matter. The
    metres that policies add to trips count once: their mean over the trips.
    """
    if how == "trip_mean":
        return _rounded(total.score) / total.trips
    metres = total.distance_m + _rounded(total.added) / total.trips
    return max(100.0 * math.exp(-_rounded(total.burden) / metres), math.ulp(0.0))


def _exact(value: float) -> int:
    top, bottom = value.as_integer_ratio()
    return top << (_SMALLEST + 1 - bottom.bit_length())


def _rounded(exact: int) -> float:
    return exact / (1 << _SMALLEST)


def _text(number: int) -> str:
    """Hexadecimal digits and how many bits of 0 follow them."""
    zeros = max((number & -number).bit_length() - 1, 0)
    return f"{number >> zeros:x}.{zeros:x}"


def _number(text: str) -> int:
    digits, zeros = text.split(".")
    return int(digits, 16) << int(zeros, 16)

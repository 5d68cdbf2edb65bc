"""Trends: sums of scored trips over days, weeks and months, and the scores, badges and rates derived from them.

A trip adds whole numbers to the sums, so they can be added and subtracted for ever without drift. Its burden is its
metres, plus the policy's added metres, times -ln(score / 100), in millionths: burden and metres give the combined
score of any trips, under any policies (docs/spec/scoring.md, Trends).
"""

import datetime
import math
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from tripline.domain import instants

GROUP: Final = 20
"""Smallest group of a service type that has percentiles: a smaller one would reveal single members."""
LONGEST_M: Final = 10_000_000
"""Maximum distance that a trip adds, m; `HEAVIEST` limits its burden: a month of any company stays below 2^63."""
HEAVIEST: Final = 10**13
KNOWN_LEAST: Final = 0.5
"""Least share of the distance with a limit from the map for a badge, and to be ranked by score; a badge needs the same
share with known harsh driving."""
LONGEST_MS: Final = 10**10
"""Maximum driving time that a trip adds, ms."""
_MILLIONTHS: Final = 1_000_000
_KNOWN_DAYS: Final = 4_096
"""Days whose beginning and text are cached: pages show the same ones again and again."""
_EPOCH: Final = datetime.date(1970, 1, 1).toordinal()


class Subject(StrEnum):
    """Whose trips are summed."""

    VEHICLE = "vehicle"
    DRIVER = "driver"
    COMPANY = "company"


class Period(StrEnum):
    """The interval of a sum. A week begins on Monday."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


class RankedBy(StrEnum):
    """The value that a ranking compares."""

    SCORE = "score"
    HARSH = "harsh"
    """Harsh events per metre: a member lacks limits, so scores would reward unknown ones."""


class Badge(StrEnum):
    """Three grades of a score."""

    GOOD = "GOOD"
    FAIR = "FAIR"
    POOR = "POOR"


_GOOD: Final = 90.0
_FAIR: Final = 75.0


class Sums(NamedTuple):
    """Sums over scored trips."""

    trips: int
    accel: int
    de_accel: int
    over_speed: int
    over_ms: int
    """Time over the limit."""
    driving_ms: int
    distance_m: int
    burden: int
    """Millionths of metres times -ln(score / 100)."""
    known_m: int
    """Distance with a limit from the map."""
    added_m: int = 0
    """Added by the policies to the distances of the trips."""
    vague_m: int = 0
    """Distance of trips with unknown harsh driving."""

    @property
    def score(self) -> float:
        """The score of all trips driven as one."""
        return compared(RankedBy.SCORE, self.badness)

    @property
    def badness(self) -> float:
        """The sort key of rankings by score, smallest first; the database computes the same."""
        return float(self.burden) / (float(self.distance_m) + float(self.added_m) / float(self.trips))

    @property
    def harsh(self) -> int:
        return self.accel + self.de_accel

    @property
    def harsh_rate(self) -> float:
        """The sort key of rankings by harsh driving, smallest first; the database computes the same."""
        return float(self.harsh) / float(self.distance_m)

    @property
    def over_share(self) -> float | None:
        """The share of driving time over the limit, 0 to 1; None: the driving time is unknown."""
        return min(self.over_ms / self.driving_ms, 1.0) if self.driving_ms else None

    @property
    def limit_known(self) -> float:
        """Share of the distance with a limit from the map, 0 to 1."""
        return self.known_m / self.distance_m

    @property
    def badge(self) -> Badge | None:
        """The grade of the score; None: too much is unknown."""
        return badge(self.score, limit_known=self.limit_known, harsh_known=self.harsh_known)

    @property
    def harsh_known(self) -> float:
        """Share of the distance with known harsh driving, 0 to 1."""
        return 1 - self.vague_m / self.distance_m

    def per_100_km(self, count: int) -> float:
        """A count of these trips, for each 100 km."""
        return count * 100_000 / self.distance_m

    def plus(self, other: "Sums", sign: int = 1) -> "Sums":
        """These and the others together; `sign` -1: without the others."""
        return Sums(*(mine + sign * theirs for mine, theirs in zip(self, other, strict=True)))


class Step(NamedTuple):
    """Percentiles of a group from one badness to the next."""

    badness: float
    percentile: float
    """At exactly this badness."""
    above: float
    """At any badness between this one and the next step's."""


NOTHING: Final = Sums(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)


def of_trip(
    *,
    lacking: float,
    distance_m: float,
    accel: int,
    de_accel: int,
    over_speed: int,
    over_speed_s: float,
    driving_ms: int,
    known_m: int,
    added_m: float = 0.0,
    vague_m: int = 0,
) -> Sums:
    """The sums of one scored trip; `lacking`: -ln(score / 100) (`scoring/score.py`)."""
    metres, added = min(max(round(distance_m), 1), LONGEST_M), min(round(added_m), LONGEST_M)
    burden = min(round((metres + added) * lacking * _MILLIONTHS), HEAVIEST)
    over_ms = round(over_speed_s * 1_000)
    known, vague = min(known_m, metres), min(vague_m, metres)
    return Sums(1, accel, de_accel, over_speed, over_ms, driving_ms, metres, burden, known, added, vague)


def compared(by: RankedBy, key: float) -> float:
    """The value that a ranking shows for a sort key: a score for a badness, harsh events per 100 km for a rate."""
    return 100.0 * math.exp(-key / _MILLIONTHS) if by is RankedBy.SCORE else 100_000.0 * key


def pooled(burden: float, *, metres: float, added_m: float, trips: int) -> float:
    """The score of trips driven as one; `burden`: their metres plus the added ones, times -ln(score / 100)."""
    return 100.0 * math.exp(-burden / (metres + added_m / trips))


def badge(score: float, *, limit_known: float, harsh_known: float) -> Badge | None:
    """The grade of a score; None: more than half the distance lacks limits or harsh driving."""
    if min(limit_known, harsh_known) < KNOWN_LEAST:
        return None
    return Badge.GOOD if score >= _GOOD else Badge.FAIR if score >= _FAIR else Badge.POOR


def day_of(at_ms: int, zone: ZoneInfo) -> int:
    """The day of an instant in the service's time zone: days since 1970-01-01."""
    return instants.local(max(at_ms, 0), zone).toordinal() - _EPOCH


def first_day(day: int, period: Period) -> int:
    """The first day of the period that holds a day."""
    if period is Period.DAY:
        return day
    date = _date(day)
    return day - (date.weekday() if period is Period.WEEK else date.day - 1)


def next_day(first: int, period: Period) -> int:
    """The day after a period that begins with this day."""
    return first + 1 if period is Period.DAY else first_day(first + (7 if period is Period.WEEK else 31), period)


@lru_cache(_KNOWN_DAYS)
def midnight_ms(day: int, zone: ZoneInfo) -> int:
    """The first instant of a day, epoch ms."""
    return round(datetime.datetime.combine(_date(day), datetime.time(), zone).timestamp() * 1_000)


def text(day: int) -> str:
    """The day as YYYY-MM-DD."""
    return _date(day).isoformat()


class Dates(NamedTuple):
    """A period in the service's time zone."""

    text: str
    """Its first day as YYYY-MM-DD."""
    begin_ms: int
    end_ms: int
    """Where the next one begins."""


@lru_cache(_KNOWN_DAYS)
def dates(first: int, period: Period, zone: ZoneInfo) -> Dates:
    """The dates of the period that begins with this day."""
    return Dates(text(first), midnight_ms(first, zone), midnight_ms(next_day(first, period), zone))


def _date(day: int) -> datetime.date:
    return datetime.date.fromordinal(min(_EPOCH + day, datetime.date.max.toordinal()))

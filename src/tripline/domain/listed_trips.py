"""Trips in lists: their state, the filters of a list, and a listed trip.

A trip is listed by its start; one without a start is not listed.
"""

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import msgspec

from tripline.domain import trends, trips
from tripline.domain.ids import CompanyId, RowNo, TripId, UserId, VehicleId

DUPLICATE: Final = "duplicate"
"""Reason of a trip whose drive counts as another trip."""
REASONS = (
    *("device_type", "unmapped", "parking", "clock", "no_samples", "no_position", "sparse", "speed_implausible"),
    *("too_short", "annulled", DUPLICATE),
)
"""Reasons why a trip has no score (`trip.not_scored`)."""


class State(StrEnum):
    """How far a trip is."""

    OPEN = "open"
    ENDED = "ended"
    """It waits for its score."""
    SCORED = "scored"
    UNSCORED = "unscored"


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which trips of a list to show; None: all."""

    state: State | None = None
    not_scored: str | None = None
    """One of `REASONS`."""
    min_score: float | None = None
    max_score: float | None = None
    disputed: bool | None = None
    """True: trips with an open dispute."""
    over_limit: bool | None = None
    """True: trips with an overspeed event."""


class ListedTrip(msgspec.Struct, frozen=True, kw_only=True):
    """A trip of a list."""

    no: RowNo
    id: TripId
    company_id: CompanyId
    vehicle_id: VehicleId | None
    vehicle_no: str | None
    user_id: UserId | None
    """The driver."""
    driver_name: str | None
    """None also for a driver whom the reader may not see."""
    parking: bool
    start_ms: int
    end_ms: int | None
    life: str
    """`trips.State`."""
    not_scored: str | None
    stated_m: float | None
    """Distance in the trip message."""
    score: float | None
    scored_m: float | None
    """Distance as judged."""
    added_m: float | None
    """Added to it by the policy."""
    driving_ms: int | None
    accel: int | None
    de_accel: int | None
    over_speed: int | None
    disputed: bool
    limit_known: float | None = None
    """Share of the distance with a limit from the map, 0 to 1; None: not judged."""
    harsh_known: bool | None = None
    """False: neither speeds nor positions show harsh driving; None: not judged."""

    @property
    def state(self) -> State:
        """How far it is."""
        if self.score is not None:
            return State.SCORED
        if self.life == trips.State.OPEN:
            return State.OPEN
        return State.ENDED if self.not_scored is None else State.UNSCORED

    @property
    def distance_m(self) -> float | None:
        """Distance as judged, else as the trip message says."""
        return self.stated_m if self.scored_m is None else self.scored_m

    @property
    def duration_ms(self) -> int | None:
        """Time from start to end; None while it is open."""
        return None if self.end_ms is None else max(self.end_ms - self.start_ms, 0)

    @property
    def events(self) -> int | None:
        """Number of GPS events; None without a score."""
        if self.accel is None or self.de_accel is None or self.over_speed is None:
            return None
        return self.accel + self.de_accel + self.over_speed


class CombinedScore(msgspec.Struct, frozen=True, kw_only=True):
    """The score of some trips, driven as one (docs/spec/scoring.md, Trends)."""

    trips: int
    """How many of them have a score."""
    score: float
    limit_known: float
    """Share of their distance with a limit from the map, 0 to 1."""
    harsh_known: float
    """Share of their distance with known harsh driving, 0 to 1."""

    @property
    def badge(self) -> trends.Badge | None:
        """The grade of the score; None: too much is unknown."""
        return trends.badge(self.score, limit_known=self.limit_known, harsh_known=self.harsh_known)


class TripSums(msgspec.Struct, frozen=True, kw_only=True):
    """Sums of drives: no duplicates, no trips that watched the parked vehicle."""

    trips: int
    distance_m: float
    """Where known."""
    duration_ms: int
    """From start to end, of ended trips."""
    score: CombinedScore | None
    """None: no trip has one."""


def combined(trips: Sequence[ListedTrip]) -> CombinedScore | None:
    """Return the score of these trips; None: no trip has one."""
    scored = [
        (each.scored_m, each.added_m or 0.0, each.score, each.limit_known or 0.0, each.harsh_known is not False)
        for each in trips
        if each.scored_m and each.score
    ]
    if not scored:
        return None
    metres = math.fsum(far for far, *_ in scored)
    added = math.fsum(added for _, added, *_ in scored)
    burden = math.fsum((far + added) * math.log(100.0 / score) for far, added, score, *_ in scored)
    known = math.fsum(far * known for far, *_, known, _ in scored)
    clear = math.fsum(far for far, *_, clear in scored if clear)
    score = trends.pooled(burden, metres=metres, added_m=added, trips=len(scored))
    return CombinedScore(trips=len(scored), score=score, limit_known=known / metres, harsh_known=clear / metres)


def summed(trips: Sequence[ListedTrip]) -> TripSums:
    """Return the sums of these trips."""
    drives = [each for each in trips if not each.parking and each.not_scored != DUPLICATE]
    return TripSums(
        trips=len(drives),
        distance_m=math.fsum(each.distance_m or 0.0 for each in drives),
        duration_ms=sum(each.duration_ms or 0 for each in drives),
        score=combined(drives),
    )

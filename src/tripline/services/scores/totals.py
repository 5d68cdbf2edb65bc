"""Explain a vehicle's accumulated score: the points that each of its trips cost.

If trips are pooled, a trip's burden is its distance, with the metres that its policy adds, times the logarithm of its
score deficit; for the mean of trips, the deficit itself. A trip's share of the total burden is its share of 100 minus
the accumulated score, so all costs add up to that.
"""

import heapq
import math
from typing import Final

import msgspec

from tripline.domain.access import Action, Actor, Thing
from tripline.scoring import quality
from tripline.scoring.quality import Quality
from tripline.scoring.rules import Accumulation
from tripline.services import admission
from tripline.services.scores.reads import NoScoreYet, TooLong
from tripline.store.scores import policies
from tripline.store.scores import reads as rows
from tripline.store.transactions import ReadTx

SHOWN: Final = 100
"""Trips shown one by one."""
TRIPS: Final = 50_000
"""Most scored trips of a vehicle that can be explained: 27 a day for five years."""


class TripCost(msgspec.Struct, frozen=True):
    """A trip and its cost in points."""

    trip_id: str
    score: float
    distance_m: float
    cost: float
    quality: Quality


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """The explanation of an accumulated score."""

    score: float
    limit_known: float
    """Share of the distance of all trips with a speed limit from a map, 0 to 1."""
    count: int
    distance_m: float
    how: Accumulation
    dearest: list[TripCost]
    """The most expensive trips first; ties by smaller id."""
    others: int
    others_cost: float


def explained(tx: ReadTx, *, actor: Actor, of: str) -> Explanation:
    """Explain a vehicle's accumulated score. Raises `NotFound`, `Forbidden`, `NoScoreYet`, `TooLong`."""
    admission.admit(tx, actor, Action.DRIVING_READ, Thing.VEHICLE, of)
    kept = rows.total_of_vehicle(tx, of)
    if kept is None:
        raise NoScoreYet("vehicle")
    if kept.trips > TRIPS:
        raise TooLong("trips", field="vehicleId", most=TRIPS)
    trips = rows.scored_trips(tx, of)
    how = _accumulation(tx, of)
    burdens = [_burden(score, distance_m + added_m, how) for _, score, distance_m, _, added_m in trips]
    whole = math.fsum(burdens)
    points = (100.0 - kept.score) / whole if whole else 0.0
    dearest = heapq.nsmallest(SHOWN, zip(burdens, trips, strict=True), key=lambda each: (-each[0], each[1][0]))
    kept_of = rows.qualities(tx, [trip_id for _, (trip_id, *_) in dearest])
    shown = [
        TripCost(trip_id, score, distance_m, burden * points, quality.read(kept_of[trip_id]))
        for burden, (trip_id, score, distance_m, *_) in dearest
    ]
    return Explanation(
        score=kept.score,
        limit_known=min(sum(known_m for *_, known_m, _ in trips) / kept.distance_m, 1.0),
        count=kept.trips,
        distance_m=kept.distance_m,
        how=how,
        dearest=shown,
        others=len(trips) - len(shown),
        others_cost=(whole - math.fsum(burden for burden, _ in dearest)) * points,
    )


def _burden(score: float, metres: float, how: Accumulation) -> float:
    # Not `score.lacking`: its exact logarithm takes a hundred times as long, and these sums are not stored.
    return 100.0 - score if how == "trip_mean" else metres * (0.0 - math.log(score / 100.0))


def _accumulation(tx: ReadTx, vehicle_id: str) -> Accumulation:
    """The accumulation of the newest policy that judged a trip."""
    newest = policies.one(tx, rows.newest_policy(tx, vehicle_id))
    assert newest is not None, "a score names a policy that is there"
    return newest.rules.scoring.accumulate

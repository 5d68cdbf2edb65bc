"""Explains a vehicle's accumulated score: what each of its trips cost of the 100 points.

Pooled, a trip's burden is its distance times the logarithm of what its score lacks; by the mean of trips it is what its
score lacks. A trip costs its burden's share of 100 minus the accumulated score, so all costs add up to that.
"""

import math
from typing import Final

import msgspec
from msgspec.structs import replace

from tripline.domain.access import Actor
from tripline.scoring import quality
from tripline.scoring.quality import Quality
from tripline.scoring.rules import Accumulation
from tripline.scoring.score import lacking
from tripline.services.scores.reads import NoScoreYet, admit_to_vehicle
from tripline.store.scores import policies
from tripline.store.scores import reads as rows
from tripline.store.transactions import ReadTx

SHOWN: Final = 100
"""Trips that are told one by one."""


class TripCost(msgspec.Struct, frozen=True):
    """A trip and what it cost, points."""

    trip_id: str
    score: float
    distance_m: float
    cost: float
    quality: Quality | None = None
    """None: it was judged before this was kept."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to say of an accumulated score."""

    score: float
    count: int
    distance_m: float
    how: Accumulation
    dearest: list[TripCost]
    """Those that cost most, the dearest first; of equal ones the smaller id."""
    others: int
    others_cost: float


def explained(tx: ReadTx, *, actor: Actor, of: str) -> Explanation:
    """The explanation of a vehicle's accumulated score. Raises `NotFound`, `Forbidden`, `NoScoreYet`."""
    admit_to_vehicle(tx, actor=actor, of=of)
    kept = rows.total_of_vehicle(tx, of)
    if kept is None:
        raise NoScoreYet("vehicle")
    trips = rows.scored_trips(tx, of)
    how = _accumulation(tx, of)
    burdens = [_burden(trip.score, trip.distance_m, how) for trip in trips]
    whole = math.fsum(burdens)
    points = (100.0 - kept.score) / whole if whole else 0.0
    costs = [TripCost(*trip, burden * points) for trip, burden in zip(trips, burdens, strict=True)]
    costs.sort(key=lambda each: (-each.cost, each.trip_id))
    kept_of = rows.qualities(tx, [each.trip_id for each in costs[:SHOWN]])
    return Explanation(
        score=kept.score,
        count=kept.trips,
        distance_m=kept.distance_m,
        how=how,
        dearest=[_with_quality(each, kept_of.get(each.trip_id)) for each in costs[:SHOWN]],
        others=len(costs[SHOWN:]),
        others_cost=math.fsum(each.cost for each in costs[SHOWN:]),
    )


def _with_quality(cost: TripCost, kept: bytes | None) -> TripCost:
    return cost if kept is None else replace(cost, quality=quality.read(kept))


def _burden(score: float, distance_m: float, how: Accumulation) -> float:
    return 100.0 - score if how == "trip_mean" else distance_m * lacking(score)


def _accumulation(tx: ReadTx, vehicle_id: str) -> Accumulation:
    """As the policy of the trip that was judged last says; a score from before policies is pooled."""
    newest = policies.one(tx, rows.newest_policy(tx, vehicle_id))
    return "pooled" if newest is None else newest.rules.scoring.accumulate

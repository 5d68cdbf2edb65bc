"""Every score: its range, its direction, and that neither order nor cutting matters."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tripline.scoring import policy
from tripline.scoring.rules import Rules
from tripline.scoring.score import ScoredTrip, burden, trip_score

COUNTS = st.integers(0, 500)
SECONDS = st.floats(0, 5_000)
METRES = st.floats(3_000, 1_000_000)
TRIPS = st.lists(st.tuples(COUNTS, SECONDS, METRES), min_size=1, max_size=30)


def score(harsh, over_s, metres):
    weighs = burden({"accel": harsh, "de_accel": 0}, over_s=over_s, rules=Rules())
    return trip_score(weighs, distance_m=metres)


def scored(trip, added_m=0.0):
    harsh, over_s, metres = trip
    return ScoredTrip(score(harsh, over_s, metres + added_m), metres, added_m)


@given(COUNTS, SECONDS, METRES)
def test_score_is_above_0_and_at_most_100(harsh, over_s, metres):
    assert 0 < score(harsh, over_s, metres) <= 100


@given(COUNTS, SECONDS, METRES)
def test_score_falls_strictly_with_each_harsh_event(harsh, over_s, metres):
    assert score(harsh + 1, over_s, metres) < score(harsh, over_s, metres)


@given(COUNTS, SECONDS, st.floats(0.01, 100), METRES)
def test_score_falls_strictly_with_time_over_the_limit(harsh, over_s, more_s, metres):
    assert score(harsh, over_s + more_s, metres) < score(harsh, over_s, metres)


@given(TRIPS, st.randoms(use_true_random=False))
def test_order_of_trips_does_not_matter(trips, random):
    rows = [scored(trip) for trip in trips]
    shuffled = random.sample(rows, len(rows))

    assert policy.sums(shuffled) == policy.sums(rows)


@given(TRIPS, TRIPS)
def test_sums_of_trips_taken_out_again_are_as_if_they_never_were(trips, others):
    rows, more = ([scored(trip) for trip in each] for each in (trips, others))

    both = policy.read(policy.sums(rows).plus(policy.sums(more)).written())

    assert both == policy.sums([*more, *rows])
    assert both.plus(policy.sums(more), -1) == policy.sums(rows)
    assert both.distance_m == math.fsum(metres for _, metres, _ in rows + more)


@given(TRIPS, st.sampled_from([0.0, 5_000.0]))
def test_cutting_a_drive_into_trips_does_not_matter(trips, added_m):
    """The metres that a policy adds to each trip are added once to all trips together."""
    harsh, over_s, metres = sum(t[0] for t in trips), math.fsum(t[1] for t in trips), math.fsum(t[2] for t in trips)
    whole = score(harsh, over_s, metres + added_m)

    pooled = policy.accumulated(policy.sums(scored(trip, added_m) for trip in trips), "pooled")

    assert pooled == pytest.approx(whole, rel=1e-9)


@given(TRIPS, st.sampled_from(["pooled", "trip_mean"]))
def test_accumulated_lies_between_worst_and_best(trips, how):
    scores = [score(*trip) for trip in trips]

    total = policy.accumulated(policy.sums(scored(trip) for trip in trips), how)

    assert min(scores) * (1 - 1e-9) <= total <= max(scores) * (1 + 1e-9)

"""Scores (spec/scoring 1, 5 and 6): which trips are scored, what they are worth, and what they add up to."""

import math

import numpy as np
import pytest
from tests.support.made_drives import findings

from tripline.scoring import policy
from tripline.scoring.rules import EventType, Rules, Scoring
from tripline.scoring.score import COUNTED, NotScored, ScoredTrip, TripScore, burden, lacking, trip_score


def verdict(trip, **rules):
    ours = Rules(scoring=Scoring(**rules))
    [only] = policy.judged(findings(trip, rules=ours), ours)
    return only


def score(*, harsh, over_s, distance_m, rules):
    counts = {"accel": harsh // 2, "de_accel": harsh - harsh // 2, "over_speed": 0}
    return trip_score(burden(counts, over_s=over_s, rules=rules), distance_m=distance_m)


@pytest.mark.parametrize(
    ("harsh", "over_s", "distance_m", "published"),
    [(18 + 6, 152, 49_162, 70.96813194953879), (0 + 1, 33, 3_505, 59.973)],
)
def test_published_rows_come_out(harsh, over_s, distance_m, published):
    fitted = Rules(scoring=Scoring(harsh_weight=0.443716, overspeed_weight=0.040858))

    drive = {"harsh": harsh, "over_s": over_s, "distance_m": distance_m}
    assert score(**drive, rules=Rules()) == pytest.approx(published, abs=0.5)
    assert score(**drive, rules=fitted) == pytest.approx(published, abs=0.001)


def test_one_harsh_event_a_kilometre_multiplies_by_0_64():
    assert score(harsh=10, over_s=0, distance_m=10_000, rules=Rules()) == pytest.approx(63.76, abs=0.01)


def test_no_event_scores_100():
    assert score(harsh=0, over_s=0, distance_m=3_000, rules=Rules()) == 100


def test_score_never_reaches_zero():
    assert score(harsh=100_000, over_s=0, distance_m=3_000, rules=Rules()) > 0


@pytest.mark.parametrize(
    ("distance_m", "expected"),
    [
        (2_999, NotScored.TOO_SHORT),
        (3_000, TripScore(100, 0, 0, 0, 0, 3_000)),
        (3_001, TripScore(100, 0, 0, 0, 0, 3_001)),
    ],
)
def test_distance_of_3000_m_at_below_and_above(distance_m, expected):
    assert verdict({"speed": [50] * 9, "stated_m": distance_m}) == expected


def test_summed_distance_decides_where_none_is_stated():
    lat = 36 + np.arange(101) * 30 / 111_195.08

    assert verdict({"t": range(101), "lat": lat}) == TripScore(100, 0, 0, 0, 0, 3_000)
    assert verdict({"t": range(100), "lat": lat[:100]}) == NotScored.TOO_SHORT


@pytest.mark.parametrize(("interval", "scored"), [(4.999, True), (5.0, False), (5.001, False)])
def test_median_of_five_seconds_at_below_and_above(interval, scored):
    trip = {"t": [i * interval for i in range(5)], "stated_m": 9_000}

    assert (verdict(trip) == NotScored.SPARSE) is not scored


def test_fewer_than_two_instants_are_no_samples():
    assert verdict({"t": [0, 0.005, 0.01], "stated_m": 9_000}) == NotScored.NO_SAMPLES


def test_sparse_comes_before_too_short():
    assert verdict({"t": [0, 60, 120], "stated_m": 1}) == NotScored.SPARSE


def test_distance_zero_is_too_short_whatever_the_setting():
    assert verdict({"speed": [0] * 9}, min_distance_m=0) == NotScored.TOO_SHORT


def test_counts_add_up_to_the_number_of_events():
    speed = [0, 0, 0, 0, 12, 12, 30, 30, 14, 14, 0, 0, 130, 130, 130, 116]
    found = findings({"speed": speed, "stated_m": 10_000}, {"speed": speed, "stated_m": 20_000})

    [first, second] = policy.judged(found, Rules())

    assert first == TripScore(100 * math.exp(-(0.45 * 4 + 0.04 * 3) / 10), 2, 2, 3, 3.0, 10_000)
    assert (second.accel, second.de_accel, second.over_speed) == (2, 2, 3)
    assert found.events.trip.tolist() == [0] * 7 + [1] * 7
    assert sum(getattr(first, name) for name in COUNTED) == 7


@pytest.mark.parametrize(("impossible", "refused"), [(40, False), (41, True)])
def test_more_than_a_tenth_of_impossible_speeds_refuses_a_trip(impossible, refused):
    speed = [54.0] * 360 + [301.0] * impossible + [54.0] * (40 - impossible)
    trip = {"speed": speed, "lat": 36 + np.arange(len(speed)) * 15 / 111_195.08}

    assert (verdict(trip) is NotScored.SPEED_IMPLAUSIBLE) is refused


@pytest.mark.parametrize("unknown", [255.0, 65_535.0, -1.0, 1e308])
def test_values_of_an_unknown_speed_refuse_no_trip(unknown):
    speed = np.full(400, 54.0)
    speed[::4] = unknown

    assert verdict({"speed": speed, "lat": 36 + np.arange(400) * 15 / 111_195.08}).score == 100


def test_pooled_is_the_score_of_all_trips_driven_as_one():
    rules = Rules()
    a = score(harsh=3, over_s=20, distance_m=4_000, rules=rules)
    b = score(harsh=1, over_s=0, distance_m=26_000, rules=rules)
    whole = score(harsh=4, over_s=20, distance_m=30_000, rules=rules)

    sums = policy.sums([ScoredTrip(a, 4_000), ScoredTrip(b, 26_000)])

    assert policy.accumulated(sums, "pooled") == pytest.approx(whole, rel=1e-12)
    assert (sums.trips, sums.distance_m) == (2, 30_000)


def test_trip_mean_is_the_plain_mean():
    assert policy.accumulated(policy.sums([ScoredTrip(60.0, 4_000), ScoredTrip(90.0, 40_000)]), "trip_mean") == 75


def test_one_trip_accumulates_to_itself():
    assert policy.accumulated(policy.sums([ScoredTrip(70.96813194953879, 49_162)]), "pooled") == pytest.approx(
        70.96813194953879
    )


def test_every_event_is_counted_once():
    assert sorted(kind for kinds in COUNTED.values() for kind in kinds) == sorted(EventType)


def test_smallest_score_accumulates_too():
    smallest = math.ulp(0.0)

    assert policy.accumulated(policy.sums([ScoredTrip(smallest, 4_000)]), "pooled") == smallest


def test_what_lacks_is_the_logarithm_rightly_rounded():
    assert (lacking(100.0), lacking(100 * math.exp(-1))) == (0.0, pytest.approx(1.0, rel=1e-15))
    assert all(lacking(score) == pytest.approx(-math.log(score / 100), rel=1e-12) for score in (1e-300, 0.5, 50, 99.9))

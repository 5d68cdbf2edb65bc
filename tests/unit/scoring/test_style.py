"""Driving style (spec/scoring 5): braking, corners, seconds far over the limit, and what they weigh by policy 2."""

import math

import numpy as np
import pytest
from tests.support.made_drives import drives, findings

from tripline.scoring import kernel, policy
from tripline.scoring.rules import Rules, Scoring, Style, read
from tripline.store.scores.policies import SECOND

RULES = read(SECOND)
STEADY = [50.0] * 6


def brakings(*speeds, rules=RULES, **trip):
    found = kernel.worked(drives({"speed": [*STEADY, *speeds], **trip}), rules).brakings
    return list(zip(found.first.tolist(), found.last.tolist(), found.peak.tolist(), strict=True))


def circle(radius_m, kmh, *, seconds=40, step_s=1):
    """A drive round a circle on the equator."""
    turn = kmh / 3.6 / radius_m
    angles = [turn * second for second in range(0, seconds, step_s)]
    degree_m = 111_195.0
    return {
        "t": list(range(0, seconds, step_s)),
        "speed": [kmh] * len(angles),
        "lat": [radius_m * math.sin(angle) / degree_m for angle in angles],
        "lon": [127 + radius_m * math.cos(angle) / degree_m for angle in angles],
    }


def corners(*trips, rules=RULES):
    work = kernel.worked(drives(*trips), rules)
    return work.at(work.corners.first).tolist(), work.corners.peak.tolist()


@pytest.mark.parametrize(("change", "found"), [(5.9, 0), (6.0, 1), (6.1, 1)])
def test_braking_counts_from_its_rate_on(change, found):
    assert len(brakings(50 - change, 50 - change)) == found


def test_braking_over_several_samples_is_one():
    assert brakings(43, 36, 29, 29, 22) == [(5, 8, 7.0), (9, 10, 7.0)]


def test_speeding_up_is_no_braking():
    assert brakings(60, 70) == []


def test_braking_at_the_first_fixes_is_ignored():
    assert kernel.worked(drives({"speed": [90.0, 70, 50, 50, 50]}), RULES).brakings.first.size == 0


def test_braking_over_two_seconds_needs_the_rate_of_slow_sampling():
    t = [2 * index for index in range(8)]
    least = 6 * 2**0.7

    assert len(brakings(50 - least - 0.01, 50 - least - 0.01, t=t)) == 1
    assert brakings(50 - least + 0.01, 50 - least + 0.01, t=t) == []


def test_no_braking_runs_from_one_trip_into_the_next():
    assert kernel.worked(drives({"speed": [90.0] * 8}, {"speed": [10.0] * 8}), RULES).brakings.first.size == 0


@pytest.mark.parametrize("kmh", [30.0, 50.0, 70.0])
def test_corner_is_told_by_the_path(kmh):
    for g, count in ((0.28, 0), (0.33, 1)):
        radius_m = (kmh / 3.6) ** 2 / (g * 9.81)

        trips, peaks = corners(circle(radius_m, kmh))

        assert len(trips) == count
        assert peaks == [pytest.approx(g, rel=0.05)] * count


def test_slow_corner_is_none():
    assert corners(circle(3.0, 14.9)) == ([], [])


def test_straight_on_over_the_date_line_is_no_corner():
    east = [179.999 + 0.0002 * second for second in range(20)]
    trip = {"speed": [80.0] * 20, "lat": [0.0] * 20, "lon": [lon - 360 if lon > 180 else lon for lon in east]}

    assert corners(trip) == ([], [])


def test_corners_are_told_trip_by_trip():
    bend, straight = circle(40.0, 50.0), {"speed": [50.0] * 9, "lat": [0.001 * n / 7 for n in range(9)]}

    assert corners(straight, bend, straight, bend)[0] == [1, 3]


def test_gap_within_a_corner_hides_it():
    bend = circle(40.0, 50.0, seconds=5)

    assert corners({**bend, "t": [0, 1, 2, 40, 41]})[0] == []


@pytest.mark.parametrize(("kmh", "burden"), [(131.9, 0), (132.0, 0), (132.1, 0.04), (148.5, 0.04), (148.6, 0.12)])
def test_second_far_over_the_limit_weighs_more(kmh, burden):
    assert findings({"speed": [kmh] * 8}, rules=RULES).style.tolist() == [pytest.approx(7 * burden)]


def test_policy_1_weighs_events_alone():
    found = findings({**circle(40.0, 50.0), "speed": [*[50.0] * 20, *[42.0] * 20]}, rules=Rules())

    assert found.style.tolist() == [0]


def test_style_lowers_the_score_by_its_burden_and_leaves_the_counts():
    speed = [*[50.0] * 20, 43, 36, 29, *[29.0] * 60]
    trip = {"speed": speed, "lat": np.cumsum([kmh / 3.6 / 111_195 for kmh in speed])}
    mild, strict = (
        Rules(scoring=Scoring(min_distance_m=100), style=Style(braking_weight=weight)) for weight in (0, 0.1)
    )

    (before,), (after,) = (policy.judged(findings(trip, rules=rules), rules) for rules in (mild, strict))

    assert (before.accel, before.de_accel, before.over_speed) == (after.accel, after.de_accel, after.over_speed)
    assert after.score == pytest.approx(before.score * math.exp(-0.1 * 1_000 / after.distance_m))

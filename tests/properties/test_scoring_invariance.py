"""Invariances of a judgement, and its directions: another time, another place, a cut; a lower limit, a lower threshold.

Not here: order of arrival and grouping (`test_scoring_kernel.py`), the score as a function of its counts
(`test_scoring_policy.py`).
"""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.support import made_drives

from tripline.scoring import kernel, policy
from tripline.scoring.drives import Drives
from tripline.scoring.findings import REPAIRS, Findings
from tripline.scoring.geometry import EARTH_RADIUS_M
from tripline.scoring.rules import Column, Rules, Scoring, read
from tripline.scoring.score import ScoredTrip
from tripline.scoring.speeds import FINEST_KMH, MEASURABLE, steps_kmh
from tripline.store.scores.policies import FIRST, SECOND, THIRD

MIDNIGHT_S = 86_400
"""The clock of `made_drives` begins at midnight."""
STEADY_S = 10
UNEVEN_KMH = 60.03
"""No coarse step divides the speeds of a part that is steady at this for long. A step decides on changes close to a
threshold, and a short trip does not show it."""
POLICIES = [read(FIRST), read(SECOND), read(THIRD)]
Vectors = np.ndarray[tuple[int, int], np.dtype[np.float64]]


@st.composite
def speeds(draw, *, steady_kmh=60.0, steady_s=STEADY_S):
    """Speeds of a part of a drive that begins and ends steadily."""
    changes = draw(st.lists(st.floats(-16, 16).map(lambda change: round(change, 2)), min_size=4, max_size=60))
    speed = np.clip(steady_kmh + np.cumsum(changes), 0, 160).round(2)
    back = np.linspace(speed[-1], steady_kmh, 2 + int(abs(speed[-1] - steady_kmh) / 4))
    steady = np.full(steady_s, steady_kmh)
    return np.concatenate([steady, speed, back, steady])


@st.composite
def parts(draw, **steady):
    """A part of a drive: speeds, and how much the course turns each second."""
    speed = draw(speeds(**steady))
    # To draw each turn takes Hypothesis longer than to judge the drive.
    turns = np.random.default_rng(draw(st.integers(0, 2**32))).uniform(-1, 1, speed.size)
    return speed, draw(st.floats(0, 0.12)) * turns


@st.composite
def drives_of(draw):
    """One drive on the equator, with its column."""
    speed, turns = draw(parts())
    return speed, turns, draw(st.sampled_from(list(Column)))


def walked(speed, turns) -> Vectors:
    """The places of a drive as unit vectors, shape n x 3: each second turns, then goes as far as its speeds say."""
    angles = (speed[1:] + speed[:-1]) / 7.2 / EARTH_RADIUS_M
    far, near, sideways, ahead = np.sin(angles), np.cos(angles), np.sin(turns[1:]), np.cos(turns[1:])
    # Columns: the place, the course and what is left of it, each by those of the second before.
    steps = np.array(
        [
            [near, -far, np.zeros_like(far)],
            [ahead * far, ahead * near, -sideways],
            [sideways * far, sideways * near, ahead],
        ]
    )
    frames = itertools.accumulate(np.moveaxis(steps, -1, 0), np.matmul, initial=np.eye(3))
    return np.array([frame[:, 0] for frame in frames])


def turned(places: Vectors, axis: int, degrees: float) -> Vectors:
    """The places turned around an axis of the earth."""
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    one, two = (each for each in range(3) if each != axis)
    matrix = np.eye(3)
    matrix[one, one], matrix[one, two], matrix[two, one], matrix[two, two] = cos, -sin, sin, cos
    return places @ matrix.T


def drives(speed, places: Vectors, *, begin_s=0.0, column=Column.CAR) -> Drives:
    return made_drives.drives(
        {
            "speed": speed,
            "t": begin_s + np.arange(speed.size),
            "lat": np.degrees(np.arctan2(places[:, 2], np.hypot(places[:, 0], places[:, 1]))),
            "lon": np.degrees(np.arctan2(places[:, 1], places[:, 0])),
            "column": column,
        }
    )


def told(found: Findings, *, begin_s=0.0):
    """What was found but for places: counted events, seconds over the limit, repairs."""
    events = found.events
    seconds = (events.time_ms - events.time_ms.min(initial=2**62)).tolist()
    return events.type.tolist(), seconds, found.over_s.tolist(), found.repairs.tolist(), found.period_ms.tolist()


@given(drives_of(), st.integers(-(10**9), 10**9), st.sampled_from(POLICIES))
def test_another_time_changes_nothing(drive, shift_s, rules):
    speed, turns, column = drive
    places = walked(speed, turns)
    here = kernel.findings(drives(speed, places, column=column), rules)
    then = kernel.findings(drives(speed, places, column=column, begin_s=shift_s), rules)

    assert told(then) == told(here)
    assert policy.judged(then, rules) == policy.judged(here, rules)


@given(
    drives_of(),
    st.sampled_from([(2, 180.0), (2, 179.999), (2, 90.0), (0, 90.0), (0, 37.0), (1, 60.0), (1, 85.0), (1, -89.9)]),
    st.floats(-0.01, 0.01),
)
def test_another_place_and_course_change_no_event(drive, turning, more):
    """Around the globe, across the antimeridian, along another course, next to a pole."""
    speed, turns, column = drive
    places = walked(speed, turns)
    axis, degrees = turning
    here = kernel.findings(drives(speed, places, column=column), Rules())
    there = kernel.findings(drives(speed, turned(places, axis, degrees + more), column=column), Rules())

    assert told(there) == told(here)
    assert there.distance_m == pytest.approx(here.distance_m, rel=1e-4, abs=1)


@given(st.floats(-1, 1), st.sampled_from([90.0, -90.0]), speeds())
def test_drive_over_a_pole_keeps_its_events_and_its_distance(more, degrees, speed):
    places = walked(speed, np.zeros(speed.size))
    metres = float((speed[1:] + speed[:-1]).sum()) / 7.2
    middle = metres / 2 / EARTH_RADIUS_M * 180 / np.pi
    over = turned(turned(places, 2, -middle + more * middle), 1, degrees)
    here, there = (kernel.findings(drives(speed, each), Rules()) for each in (places, over))
    # Next to a pole no path contradicts a manoeuvre or a single speed.
    assume(not here.repairs[:, [REPAIRS.index("unconfirmed"), REPAIRS.index("lone_speeds")]].any())

    assert told(there)[:3] == told(here)[:3]
    assert float(there.distance_m[0]) == pytest.approx(metres, rel=0.02, abs=30)


@given(
    *[parts(steady_kmh=UNEVEN_KMH, steady_s=MEASURABLE // 2)] * 2,
    st.sampled_from(list(Column)),
    st.sampled_from([0.0, MIDNIGHT_S]),
)
def test_cut_where_nothing_happens_changes_neither_events_nor_the_pooled_score(one, two, column, day_s):
    """At midnight, too."""
    speed = np.concatenate([one[0], two[0]])
    places = walked(speed, np.concatenate([one[1], two[1]]))
    cut = one[0].size
    begin_s = day_s - cut
    uncut, *pieces = (
        drives(speed[own], places[own], begin_s=begin_s + own.start, column=column)
        for own in (slice(0, speed.size), slice(0, cut), slice(cut, speed.size))
    )
    assert {float(steps_kmh(each)[0]) for each in (uncut, *pieces)} == {FINEST_KMH}
    whole = kernel.findings(uncut, Rules())
    cut_up = [kernel.findings(each, Rules()) for each in pieces]

    def events(*found):
        rows = (zip(each.events.type.tolist(), each.events.time_ms.tolist(), strict=True) for each in found)
        return sorted(row for each in rows for row in each)

    # The fixes that begin the second part give no rate: nothing happens in them.
    assert events(*cut_up) == events(whole)
    assert sum(each.over_s[0] for each in cut_up) == pytest.approx(whole.over_s[0])
    rules = Rules(scoring=Scoring(min_distance_m=0))
    (all_of_it,) = policy.judged(whole, rules)
    scored = [policy.judged(each, rules)[0] for each in cut_up]
    pooled = policy.accumulated(policy.sums(ScoredTrip(each.score, each.distance_m) for each in scored), "pooled")
    # The step between the parts, a second of steady speed, belongs to neither, and distances are whole metres.
    burden = -np.log(all_of_it.score / 100) * all_of_it.distance_m
    assert burden == pytest.approx(-np.log(pooled / 100) * sum(each.distance_m for each in scored), rel=1e-9)
    assert sum(each.distance_m for each in scored) == pytest.approx(all_of_it.distance_m - UNEVEN_KMH / 3.6, abs=2)


@given(drives_of(), st.integers(1, 150), st.integers(1, 100), st.sampled_from(POLICIES))
def test_lower_limit_never_raises_a_score(drive, limit, lower, rules):
    speed, turns, column = drive
    of_drive = drives(speed, walked(speed, turns), column=column)

    def judged(limit_kmh):
        own = replace(rules, scoring=replace(rules.scoring, default_limit_kmh=limit_kmh, min_distance_m=0))
        return policy.judged(kernel.findings(of_drive, own), own)[0]

    high, low = judged(float(limit)), judged(max(limit - lower, 1.0))

    assert low.over_speed_s >= high.over_speed_s
    assert low.score <= high.score


@given(drives_of(), st.floats(0.3, 1), st.sampled_from(POLICIES))
def test_stricter_thresholds_judge_no_more_kindly(drive, part, rules):
    """Every interval beyond a threshold is beyond a lower one: where there was an event, there still is one."""
    speed, turns, column = drive
    of_drive = drives(speed, walked(speed, turns), column=column)
    table = {
        name: tuple(part * each for each in getattr(rules.harsh, name))
        for name in ("start", "acceleration_to_10", "acceleration_to_20", "acceleration_above_20")
    }
    strict = replace(rules, harsh=replace(rules.harsh, **table))
    found = [kernel.findings(of_drive, each) for each in (rules, strict)]
    # The path of a longer manoeuvre may contradict it.
    assume(not any(each.repairs[:, REPAIRS.index("unconfirmed")].any() for each in found))
    before, after = (each.events for each in found)

    for kind, begin_ms, end_ms in zip(before.type, before.begin_ms, before.end_ms, strict=True):
        near = (after.begin_ms <= end_ms) & (after.end_ms >= begin_ms)
        assert (near & (np.isin(after.type, (1, 2)) == (kind in (1, 2)))).any()

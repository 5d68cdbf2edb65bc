"""Steps of a device's clock (spec/scoring 1): what is one, what is late, and what a step leaves alone."""

import numpy as np
import pytest
from msgspec.structs import replace
from tests.support.made_drives import drives, findings

from tripline.scoring import clocks, kernel, policy
from tripline.scoring.findings import REPAIRS
from tripline.scoring.rules import EventType, Rules
from tripline.scoring.score import NotScored

METRE = 1 / 111_195.08
RULES = Rules()


def steady(seconds, speed_kmh=72.0):
    """A drive northwards at one speed, told by the seconds since it began, and the clock's time of each."""
    true = np.array(seconds, np.float64)
    return {"lat": 36 + METRE * true * speed_kmh / 3.6, "speed": np.full(true.size, speed_kmh)}


def stretches(*trips):
    whole = drives(*trips)
    starts = clocks.stretches(whole, RULES).starts
    return None if starts.size == whole.starts.size else starts


def steps(*trips):
    return findings(*trips).repairs[:, REPAIRS.index("clock_steps")].tolist()


@pytest.mark.parametrize("back_s", [5, 20, 99])
def test_clock_set_back_begins_a_stretch(back_s):
    t = np.arange(200.0)
    t[100:] -= back_s
    trip = {**steady(range(200)), "t": t}

    assert stretches(trip).tolist() == [0, 100, 200]
    assert findings(trip).distance_m.tolist() == pytest.approx([198 * 20], abs=2)
    assert findings(trip).instants.tolist() == [200]


@pytest.mark.parametrize("back_s", [201, 3_600, 32_400])
def test_clock_set_back_to_before_the_trip_adds_no_way_back(back_s):
    t = np.arange(200.0)
    t[100:] -= back_s
    trip = {**steady(range(200)), "t": t}

    assert stretches(steady(range(9)), trip).tolist() == [0, 9, 109, 209]
    assert findings(trip).distance_m.tolist() == pytest.approx([198 * 20], abs=2)
    assert steps(trip) == [1]


def test_clock_set_back_twice_and_then_late_samples():
    t = np.arange(300.0)
    t[100:] -= 7_200
    t[200:] -= 7_200
    trip = {**steady(range(300)), "t": t}

    assert stretches(trip).tolist() == [0, 100, 200, 300]
    assert findings(trip).distance_m.tolist() == pytest.approx([297 * 20], abs=3)


def test_earlier_part_of_a_round_trip_that_comes_late_is_sorted_in():
    """Where it ends, the live part begins: in order of time the vehicle was nowhere else."""
    away = np.minimum(np.arange(200), 199 - np.arange(200)) * 20.0
    rows = np.array([*range(100, 200), *range(100)])
    trip = {"t": rows, "lat": 36 + METRE * away[rows], "speed": np.full(200, 72.0)}

    assert stretches(trip) is None


def test_no_rate_and_no_distance_across_the_step():
    speed = np.full(200, 72.0)
    speed[100:] = 50
    t = np.arange(200.0)
    t[100:] -= 30
    trip = {**steady(range(200)), "speed": speed, "t": t}

    assert findings(trip).events.type.tolist() == []


def test_events_behind_the_step_belong_to_the_trip_at_their_own_time():
    t = np.arange(200.0)
    t[100:] -= 30
    speed = np.full(200, 72.0)
    speed[150:] = 130
    late = {**steady(range(200)), "speed": speed, "t": t}

    found = findings(steady(range(50)), late, steady(range(50))).events

    assert set(found.trip.tolist()) == {1}
    assert found.type.tolist() == [EventType.OVERSPEED] * 50
    assert found.time_ms[0] == 1_735_689_600_000 + 120_000


def test_every_step_back_begins_a_stretch():
    t = np.arange(300.0)
    t[100:] -= 40
    t[200:] -= 40
    trip = {**steady(range(300)), "t": t}

    assert stretches(steady(range(9)), trip).tolist() == [0, 9, 109, 209, 309]
    assert steps(steady(range(9)), trip) == [0, 2]


def in_order(rows):
    rows = np.array(rows)
    return {**steady(rows), "t": rows}


@pytest.mark.parametrize(
    "rows",
    [
        [*range(100), *range(160, 200), *range(100, 160)],
        [*range(100, 200), *range(100)],
        [row for pair in zip(range(100, 200), range(100), strict=True) for row in pair],
        list(range(200))[::-1],
        [*range(0, 200, 2), *range(1, 200, 2)],
        [*range(120), *range(80, 200)],
    ],
    ids=["hole", "first half late", "backlog beside live", "backwards", "every second late", "sent twice"],
)
def test_late_samples_are_sorted_in(rows):
    assert stretches(in_order(rows)) is None
    assert findings(in_order(rows)).distance_m.tolist() == pytest.approx([199 * 20], abs=1)
    assert findings(in_order(rows)).repairs[0, REPAIRS.index("clock_steps")] == 0


def test_one_bad_position_among_late_samples_is_no_step():
    trip = in_order([*range(100), *range(160, 200), *range(99, 160)])
    trip["lat"][140] += 0.1

    assert stretches(trip) is None


def test_trip_in_order_has_one_clock():
    assert stretches(steady(range(100)), steady(range(100))) is None


def refused(*trips):
    return clocks.stretches(drives(*trips), RULES).refused


def interleaved(back_s, count=200):
    """Every sample of two receivers, the second with a clock behind."""
    rows = np.repeat(np.arange(count), 2)
    return {**steady(rows), "t": rows - np.where(np.arange(2 * count) % 2, back_s, 0.0)}


def test_two_receivers_with_one_token_are_refused():
    verdicts = policy.judged(findings(steady(range(400)), interleaved(40.0), steady(range(400))), RULES)

    assert [verdict == NotScored.CLOCK for verdict in verdicts] == [False, True, False]
    assert refused(steady(range(9)), interleaved(40.0)) == [1]


def test_search_for_steps_ends_where_they_are_too_many():
    assert len(clocks.stretches(drives(interleaved(40.0, 2_000)), RULES).starts) <= 2 + 0.02 * 4_000 + 1


def set_back(times, every=60):
    """A clock that is set back 20 s again and again."""
    rows = np.arange(times * every + every)
    return {**steady(rows), "t": rows - 20.0 * (rows // every)}


@pytest.mark.parametrize(
    ("times", "every", "refuses"), [(5, 20, False), (6, 20, True), (6, 60, False), (19, 60, False)]
)
def test_clock_may_step_on_two_in_a_hundred_samples_or_five_times(times, every, refuses):
    assert bool(refused(set_back(times, every))) is refuses


def test_trip_with_wrong_times_is_refused_before_any_other_reason():
    short = drives(steady(range(3)), steady(range(3)))
    found = kernel.findings(replace(short, untimed=np.array([False, True])), RULES)

    assert policy.judged(found, RULES) == [NotScored.TOO_SHORT, NotScored.CLOCK]


def ahead(seconds, count=100, speed_kmh=72.0):
    """A clock that is ahead for so many samples."""
    t = np.arange(400.0)
    t[200 : 200 + count] += seconds
    return {**steady(range(400), speed_kmh), "t": t}


@pytest.mark.parametrize(
    ("trip", "refuses"),
    [
        (ahead(3_600), True),
        (ahead(600), True),
        (ahead(600, 8), False),
        (ahead(600, speed_kmh=5.0), False),
        (in_order([*range(100), *range(160, 260), *range(100, 160), *range(260, 400)]), False),
    ],
    ids=["an hour", "ten minutes", "few samples", "hardly moves", "late samples"],
)
def test_clock_that_is_ahead_for_a_while_is_refused(trip, refuses):
    assert bool(refused(trip)) is refuses

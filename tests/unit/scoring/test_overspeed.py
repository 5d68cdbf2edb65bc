"""Overspeed (spec/scoring 4): which samples are over the limit, what the events say, and the seconds they stand for."""

import pytest
from tests.support.made_drives import NAN, events, findings

from tripline.scoring.rules import Rules, Scoring

NO_DEFAULT = Rules(scoring=Scoring(default_limit_kmh=0))


def seconds(trip):
    return findings(trip).over_s.tolist()


@pytest.mark.parametrize(
    ("tolerance", "last_allowed"),
    [("factor", 121.0), ("kotsa", 130.0), ("plus15", 125.0)],
)
def test_tolerance_at_below_and_above(tolerance, last_allowed):
    speed = [last_allowed - 0.1, last_allowed, last_allowed + 0.1]

    assert events({"speed": speed}, rules=Rules(scoring=Scoring(tolerance=tolerance))) == [(0, 5, 2)]


def test_every_sample_over_the_limit_is_an_event():
    assert events({"speed": [130] * 4}) == [(0, 5, 0), (0, 5, 1), (0, 5, 2), (0, 5, 3)]


def test_events_say_the_limit_of_their_road():
    found = findings({"speed": [60, 60, 60, 130, 130], "limit": [40, 60, NAN, NAN, 0]})

    assert found.events.time_ms.tolist() == [1_735_689_600_000, 1_735_689_603_000]
    assert found.events.limit_kmh.tolist() == [40, 110]


def test_limit_at_exactly_a_tenth_above_is_allowed_on_every_road():
    trips = [{"speed": [11.0 * n] * 2, "limit": [10.0 * n] * 2} for n in range(1, 14)]

    assert events(*trips) == []


def test_default_limit_zero_switches_overspeed_off():
    assert events({"speed": [250] * 3}, rules=NO_DEFAULT) == []


def test_default_limit_zero_leaves_known_roads_judged():
    assert events({"speed": [250, 250], "limit": [NAN, 100]}, rules=NO_DEFAULT) == [(0, 5, 1)]


def test_seconds_at_one_sample_a_second_equal_the_count():
    assert seconds({"speed": [130] * 30 + [100]}) == [30]


def test_seconds_at_two_second_sampling_judge_the_same():
    assert seconds({"t": range(0, 60, 2), "speed": [130] * 15 + [100] * 15}) == [30]


def test_seconds_of_one_sample_are_five_at_most():
    assert seconds({"t": [0, 4.999, 9.999, 16], "speed": [130] * 3 + [100]}) == pytest.approx([4.999 + 5 + 5])


def test_last_sample_of_a_trip_stands_for_no_time():
    found = findings({"speed": [130, 130]}, {"speed": [130]}, {"speed": [100, 130, 100]})

    assert found.over_s.tolist() == [1, 0, 1]

"""Drives (spec/scoring 1, spec/device-messages O2 and O4): order and instants; the median interval."""

import numpy as np
import pytest
from tests.support.made_drives import NAN, drives, events, findings

from tripline.scoring.drives import instants


def times(*trips):
    """Seconds of the kept samples of each trip."""
    tidy = instants(drives(*({"t": t} for t in trips)), instant_ms=920)
    seconds = ((tidy.time_ms - 1_735_689_600_000) / 1_000).tolist()
    return [seconds[a:b] for a, b in zip(tidy.starts[:-1], tidy.starts[1:], strict=True)]


def test_o2_samples_are_sorted_by_time_within_each_trip():
    assert times([2, 0, 1], [1, 0]) == [[0, 1, 2], [0, 1]]


def test_o2_sort_is_stable_so_the_last_sent_of_equal_times_is_kept():
    tidy = instants(drives({"t": [1, 0, 1], "speed": [10, 20, 30]}), instant_ms=920)

    assert tidy.speed_kmh.tolist() == [20, 30]


@pytest.mark.parametrize("second", [0.0, NAN])
def test_o2_of_equal_times_the_sample_that_moves_is_kept(second):
    tidy = instants(drives({"t": [0, 0, 1, 1], "speed": [20, second, second, 30]}), instant_ms=920)

    assert tidy.speed_kmh.tolist() == [20, 30]


def test_o4_samples_closer_than_920_ms_are_one_the_last():
    assert times([0, 0.919, 2]) == [[0.919, 2]]


def test_o4_samples_920_ms_apart_are_two():
    assert times([0, 0.92, 2]) == [[0, 0.92, 2]]


def test_o4_three_items_five_ms_apart_are_one():
    assert times([0, 0.005, 0.01]) == [[0.01]]


def test_o4_long_chain_keeps_samples_an_instant_apart_from_its_end():
    assert times([0, 0.4, 0.8, 1.2, 1.6, 2.0]) == [[0.8, 2.0]]
    assert times([0, 0.5, 1, 3]) == [[0, 1, 3]]
    assert times([0, 0.5, 1], [*range(5), 5.5, 6, 6.5, 7]) == [[0, 1], [0, 1, 2, 3, 4, 6, 7]]


@pytest.mark.parametrize("hz", [2, 5, 10])
def test_o4_device_of_many_samples_a_second_keeps_one_a_second(hz):
    every = np.arange(60 * hz + 1) / hz

    assert times(every.tolist()) == [list(range(61))]


def test_o4_chains_of_several_trips_do_not_mix():
    assert times([0, 0.1, 0.2], [0.3, 0.4], [], [0.5]) == [[0.2], [0.4], [], [0.5]]


def test_o4_fast_device_still_has_a_drive():
    found = findings({"t": np.arange(0, 60, 0.2).tolist(), "speed": None, "lat": 36 + np.arange(300) * 1e-4})

    assert found.instants.tolist() == [60]


def test_o4_unrelated_speeds_of_one_instant_make_no_event():
    quiet = list(range(-5, 0))

    assert events({"t": [*quiet, 0, 0.005, 0.01, 1], "speed": [50] * 5 + [120, 0, 51, 52]}) == []


def test_trip_without_samples_among_others_changes_nothing():
    trip = {"speed": [0, 0, 0, 0, 30, 30]}

    assert events({"speed": []}, trip, {"speed": []}, trip, {"speed": []}) == [(1, 1, 4), (3, 1, 4)]


def test_no_trip_at_all_gives_empty_findings():
    found = findings()

    assert (found.distance_m.size, found.events.trip.size) == (0, 0)


@pytest.mark.parametrize(
    ("intervals", "dense"),
    [
        ([4.999] * 5, True),
        ([5.0] * 5, False),
        ([5.001] * 5, False),
        ([1, 1, 60], True),
        ([1, 60, 60], False),
        ([4, 5.998], True),  # an even number: the mean of the middle two, 4.999
        ([4, 6], False),
        ([1, 1, 60, 60], False),
        ([], False),
    ],
)
def test_median_interval_is_under_five_seconds(intervals, dense):
    t = np.cumsum([0, *intervals]).tolist()

    assert findings({"t": t}).dense.tolist() == [dense]


def test_median_interval_is_each_trips_own():
    one, ten = list(range(10)), list(range(0, 100, 10))

    assert findings({"t": one}, {"t": ten}, {"t": one}).dense.tolist() == [True, False, True]

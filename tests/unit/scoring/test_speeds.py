"""Missing speeds (spec/scoring 2): the speed of a sample the device gave none for."""

import numpy as np
import pytest
from tests.support.made_drives import NAN, drives

from tripline.scoring import speeds
from tripline.scoring.rules import Rules

METRE = 1 / 111_195.08


def test_device_speed_is_kept_as_it_is():
    trip = drives({"speed": [50, 51, 52, 53, 54]})

    assert speeds.filled(trip, Rules()) is trip.speed_kmh


def test_missing_speed_is_distance_over_five_samples():
    trip = drives({"t": range(9), "lat": 36 + METRE * 10 * np.arange(9)})

    assert speeds.filled(trip, Rules()).tolist() == pytest.approx([36] * 9, rel=1e-5)


def test_one_displaced_position_is_spread_over_the_window():
    metres = np.array([0, 10, 20, 30, 60, 50, 60, 70, 80])
    trip = drives({"t": range(9), "lat": 36 + METRE * metres})

    # Two single positions would give 108 km/h; the windows that end on the outlier see 20 m more in 4 s.
    assert speeds.filled(trip, Rules()).max() == pytest.approx(54, rel=1e-5)


def test_only_missing_speeds_are_filled():
    trip = drives({"t": range(5), "lat": 36 + METRE * 10 * np.arange(5), "speed": [50, 50, NAN, 50, 50]})

    assert speeds.filled(trip, Rules()).tolist() == pytest.approx([50, 50, 36, 50, 50], rel=1e-5)


def test_fewer_samples_than_the_window_give_no_speed():
    assert np.isnan(speeds.filled(drives({"t": range(4)}), Rules())).tolist() == [True] * 4


def test_window_longer_than_its_intervals_may_be_gives_no_speed():
    filled = speeds.filled(drives({"t": [0, 5.5, 11, 16.5, 22]}, {"t": [0, 5.5, 11, 16.5, 22.001]}), Rules())

    assert np.isnan(filled).tolist() == [False] * 5 + [True] * 5


def test_window_stays_inside_its_trip():
    lat = 36 + METRE * 10 * np.arange(6)

    filled = speeds.filled(drives({"t": range(6), "lat": lat}, {"t": range(6), "lat": lat + 1}), Rules())

    assert filled.tolist() == pytest.approx([36] * 12, rel=1e-5)

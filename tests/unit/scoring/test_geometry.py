"""Distances: the formula against published and exact values, the fast form against the formula, whole trips."""

import numpy as np
import pytest
from tests.support.made_drives import findings

from tripline.scoring import geometry


def test_haversine_quarter_of_the_equator_is_exact():
    quarter = geometry.haversine_m(*(np.array([x]) for x in (0.0, 0.0, 0.0, 90.0)))

    assert quarter == pytest.approx(geometry.EARTH_RADIUS_M * np.pi / 2, rel=1e-12)


def test_haversine_nashville_to_los_angeles_matches_published_value():
    # 2,887.26 km on a sphere of 6,372.8 km (the usual worked example of the formula).
    metres = geometry.haversine_m(*(np.array([x]) for x in (36.12, -86.67, 33.94, -118.40)))

    assert metres * 6_372_800 / geometry.EARTH_RADIUS_M == pytest.approx(2_887_259.95, abs=1)


@pytest.mark.parametrize("latitude", [-85.0, -45.0, 0.0, 36.0, 60.0, 85.0])
def test_fast_steps_sum_to_the_haversine_within_1e_5(latitude):
    rng = np.random.default_rng(7)
    lat = latitude + np.cumsum(rng.normal(0, 2e-4, 5_000))
    lon = 127 + np.cumsum(rng.normal(0, 2e-4, 5_000))

    exact = geometry.haversine_m(lat[:-1], lon[:-1], lat[1:], lon[1:]).sum()

    assert geometry.steps_m(lat, lon).astype(float).sum() == pytest.approx(exact, rel=1e-5)


def test_step_over_a_long_gap_is_the_great_circle():
    lat, lon = np.array([37.5, 37.5, 35.1, 36.0]), np.array([127.0, 127.0, 129.0, -179.0])

    exact = geometry.haversine_m(lat[:-1], lon[:-1], lat[1:], lon[1:])

    assert geometry.steps_m(lat, lon).tolist() == pytest.approx(exact.tolist(), rel=1e-6)


def test_step_across_the_date_line_is_short():
    assert geometry.steps_m(np.array([10.0, 10.0]), np.array([179.9999, -179.9999])).tolist() == pytest.approx(
        [21.9], abs=0.1
    )


def test_distance_is_rounded_once_at_the_end():
    # Steps of 8.9 m: cut to whole metres each they would lose 10 %.
    step = 8.9 / 111_195.08
    lat = (36 + step * np.arange(1_001)).tolist()

    assert findings({"t": list(range(1_001)), "lat": lat}).distance_m.tolist() == [8_900]


def test_distance_stated_wins_over_steps():
    trip = {"t": [0, 20], "lat": [36.0, 36.01]}

    assert findings(trip, {**trip, "stated_m": 4_321.5}, trip).distance_m.tolist() == [1_112, 4_321.5, 1_112]


def test_distance_over_a_gap_is_a_straight_line():
    assert findings({"t": [0, 20, 97], "lat": [36.0, 36.01, 36.02]}).distance_m.tolist() == [2_224]


def test_distance_from_one_trip_to_the_next_is_none():
    assert findings({"t": [0, 1], "lat": [36.0, 36.0]}, {"t": [0, 1], "lat": [37.0, 37.0]}).distance_m.tolist() == [
        0,
        0,
    ]

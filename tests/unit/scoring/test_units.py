"""The fit of speeds to their path (spec/scoring 1)."""

import numpy as np
import pytest
from tests.support import dirty
from tests.support.made_drives import NAN, findings

from tripline.scoring import quality
from tripline.scoring.quality import Unit

METRE = 1 / 111_195.08


def drive(speed_kmh=54.0, told=None, seconds=600, every=1):
    t = np.arange(0, seconds, every, dtype=np.float64)
    speed = np.full(t.size, speed_kmh if told is None else told)
    return {"t": t, "lat": 36 + METRE * t * speed_kmh / 3.6, "lon": np.full(t.size, 127.0), "speed": speed}


def ratio(trip):
    return float(findings(trip).ratio[0])


@pytest.mark.parametrize("every", [0.5, 1, 2, 3, 4, 4.9])
def test_speed_that_fits_has_the_ratio_one(every):
    assert ratio(drive(every=every)) == pytest.approx(1, abs=0.002)


@pytest.mark.parametrize("before", range(1, 7))
def test_ratio_does_not_depend_on_what_is_judged_before(before):
    """Speeds come in bursts, so where the averaging begins would be seen."""
    trip = drive()
    trip["speed"] = np.where(np.arange(600) % 7 < 3, 100.0, 20.0)
    other = drive(seconds=before)

    assert float(findings(other, trip).ratio[1]) == ratio(trip)


@pytest.mark.parametrize(
    ("factor", "unit"), [(1 / 3.6, Unit.METRES_PER_SECOND), (1 / 1.852, Unit.KNOTS), (1 / 1.609344, Unit.MPH)]
)
@pytest.mark.parametrize("every", [1, 2, 4])
def test_speed_in_another_unit_tells_which(factor, unit, every):
    found = ratio(drive(told=54 * factor, every=every))

    assert found == pytest.approx(factor, abs=0.002)
    assert quality.likely(found) is unit


@pytest.mark.parametrize(
    ("factor", "unit"),
    [(10, Unit.TENTHS), (100 / 3.6, Unit.CENTIMETRES_PER_SECOND), (1_000 / 3.6, Unit.MILLIMETRES_PER_SECOND)],
)
@pytest.mark.parametrize("kmh", [20.0, 54.0, 110.0])
def test_impossible_speeds_tell_their_unit(factor, unit, kmh):
    found = ratio(drive(kmh, told=kmh * factor))

    assert found == pytest.approx(factor, rel=0.01)
    assert quality.likely(found) is unit


@pytest.mark.parametrize("impossible", [301.0, 1e308, np.inf])
def test_some_impossible_speeds_have_no_part_in_the_fit(impossible):
    trip = drive()
    trip["speed"][::20] = impossible

    assert ratio(trip) == pytest.approx(1, abs=0.002)


@pytest.mark.parametrize("huge", [100_001.0, 1e308, np.inf])
def test_values_that_are_no_speed_in_any_unit_cannot_tell(huge):
    assert np.isnan(ratio(drive(told=huge)))


def test_speed_that_is_always_0():
    assert ratio(drive(told=0.0)) == 0
    assert quality.likely(0.0) is Unit.NOTHING


@pytest.mark.parametrize("strange", [0.4, 0.8, 1.3, 3.6])
def test_unknown_unit_is_none(strange):
    assert quality.likely(strange) is None


def test_white_noise_of_ten_metres_does_not_refuse_a_trip():
    assert 0.9 < ratio(dirty.noise(drive(seconds=1_200))) < 1.02


def test_one_position_a_degree_off_changes_nothing():
    assert ratio(dirty.one_degree_off(drive())) == pytest.approx(1, abs=0.002)


def test_standing_with_drift_changes_nothing():
    assert ratio(dirty.standing_drift(drive())) == pytest.approx(1, abs=0.01)


def test_gap_is_no_part_of_the_path():
    trip = drive()
    kept = (trip["t"] < 200) | (trip["t"] > 276)

    assert ratio({name: column[kept] for name, column in trip.items()}) == pytest.approx(1, abs=0.01)


def test_trip_without_a_kilometre_cannot_be_told():
    assert np.isnan(ratio(drive(told=15.0, seconds=60)))


def test_position_that_never_changes_cannot_tell():
    trip = drive()

    assert np.isnan(ratio({**trip, "lat": np.full(trip["t"].size, 36.0)}))


def test_trip_without_speeds_cannot_be_told():
    assert np.isnan(ratio(drive(told=NAN)))


def test_each_trip_has_its_own_ratio():
    many = [drive(), drive(told=15.0), drive(every=2), drive(told=0.0, every=3), drive(seconds=5)]

    together = findings(*many).ratio

    np.testing.assert_allclose(together, [ratio(each) for each in many], equal_nan=True)
    np.testing.assert_allclose(together, [1, 15 / 54, 1, 0, np.nan], atol=0.002, equal_nan=True)

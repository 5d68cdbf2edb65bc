"""One drive by two receivers whose clocks differ, and drives along one street that only look alike."""

import numpy as np
import pytest
from tests.support import box_dirt, dirty

from tripline.scoring import shifted

HOUR_S = 3_600.0


def trace(drive, *, later_s=0.0, noise_m=0.0):
    seen = dirty.noise(drive, noise_m)
    return shifted.Trace(np.round((seen["t"] + later_s) * 1_000).astype(np.int64), seen["lat"], seen["lon"])


def town(seed=1):
    """Drives of other seeds go along the same street at other speeds."""
    return box_dirt.town(seed)


@pytest.mark.parametrize("later_s", [HOUR_S, -9 * HOUR_S, 754.25])
def test_time_between_the_clocks_is_found(later_s):
    drive = town()

    found = shifted.offset_ms(trace(drive, later_s=later_s), trace(drive))

    assert found == pytest.approx(later_s * 1_000, abs=1_000)


def test_noise_a_late_start_and_other_spacing_do_not_hide_it():
    drive = town()
    part = dirty.rows_of(drive, slice(60, None, 4))

    found = shifted.offset_ms(trace(drive, later_s=HOUR_S, noise_m=5), trace(part, noise_m=10))

    assert found == pytest.approx(HOUR_S * 1_000, abs=5_000)


def test_tunnel_where_a_place_would_be_compared_does_not_hide_it():
    drive = town()

    assert shifted.offset_ms(trace(drive), trace(box_dirt.tunnel(drive))) == pytest.approx(0, abs=1_000)


def test_other_traffic_on_the_same_street_is_another_drive():
    assert shifted.offset_ms(trace(town(1)), trace(town(2))) is None


def test_gap_shows_no_path():
    drive = town()
    seconds = np.arange(drive["t"].size)
    seldom = dirty.rows_of(drive, (seconds % 100 == 0) | (seconds > 1_150))

    assert shifted.offset_ms(trace(seldom), trace(drive)) is None


@pytest.mark.parametrize("noise_m", [0.0, 3.0])
def test_places_of_parked_vehicles_tell_nothing(noise_m):
    drive = town()
    still = drive | {"lat": np.full(1_230, 36.0), "lon": np.full(1_230, 127.0)}

    assert shifted.offset_ms(trace(still, noise_m=noise_m), trace(still, noise_m=noise_m)) is None


@pytest.mark.parametrize("samples", [0, 1, 5])
def test_few_samples_tell_nothing(samples):
    drive = dirty.rows_of(town(), slice(0, samples))
    few = shifted.Trace(np.round(drive["t"] * 1_000).astype(np.int64), drive["lat"], drive["lon"])

    assert shifted.offset_ms(trace(town()), few) is None
    assert shifted.offset_ms(few, trace(town())) is None

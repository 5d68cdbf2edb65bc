"""The track of a trip: which samples it has, and which of them stay when it is thinned."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tripline.domain import samples
from tripline.services.scores import track

NAN = float("nan")


def packed(*rows):
    return b"".join(samples.RECORD.pack(*row[:4], -1, row[4] if len(row) > 4 else 1) for row in rows)


def test_track_has_usable_samples_by_time_once_an_instant():
    found = track.of_packed(
        packed(
            (3_000, 1.0, 2.0, 255.0),
            (1_000, 1.12345678, 2.0, 41.26),
            (2_000, NAN, 2.0, 50.0),
            (1_000, 9.0, 9.0, 9.0),
            (4_000, 1.0, 2.0, 50.0, 0),
            (5_000, 1.0, 2.0, NAN),
        )
    )

    assert found == track.Track(
        samples=3,
        time_ms=[1_000, 3_000, 5_000],
        lat=[1.123457, 1.0, 1.0],
        lon=[2.0, 2.0, 2.0],
        speed_kmh=[41.3, None, None],
    )


def test_trip_without_usable_samples_has_an_empty_track():
    assert track.of_packed(b"") == track.Track(samples=0, time_ms=[], lat=[], lon=[], speed_kmh=[])


@given(st.lists(st.floats(0, 300) | st.just(NAN), max_size=300), st.integers(4, 50))
def test_thinned_track_keeps_ends_and_greatest_and_least_speed(speeds, most):
    values = np.array(speeds, np.float64)

    chosen = track.thinned(values, most)

    assert len(chosen) <= max(most, 0) or len(values) <= most
    assert list(chosen) == sorted(set(chosen.tolist()))
    if len(values):
        kept = np.nan_to_num(values[chosen])
        assert (chosen[0], chosen[-1]) == (0, len(values) - 1)
        assert (kept.min(), kept.max()) == (np.nan_to_num(values).min(), np.nan_to_num(values).max())


@pytest.mark.parametrize("count", [track.MOST, track.MOST + 1, 72_000])
def test_long_track_is_thinned(count):
    found = track.of_packed(packed(*((1_000 * no, 1.0, 2.0, no % 100) for no in range(count))))

    assert found.samples == count
    assert len(found.time_ms) <= track.MOST
    assert len(found.time_ms) == count or len(found.time_ms) > track.MOST / 2
    assert (found.time_ms[0], found.time_ms[-1]) == (0, 1_000 * (count - 1))

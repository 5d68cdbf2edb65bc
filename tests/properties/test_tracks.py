"""Tracks that are thinned keep what matters of any drive."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tripline.services.scores import track


@given(st.lists(st.floats(0, 300) | st.just(math.nan), max_size=300), st.integers(4, 50))
def test_thinned_track_keeps_ends_and_greatest_and_least_speed(speeds, most):
    values = np.array(speeds, np.float64)

    chosen = track.thinned(values, most)

    assert len(chosen) <= max(most, 0) or len(values) <= most
    assert list(chosen) == sorted(set(chosen.tolist()))
    if len(values):
        kept = np.nan_to_num(values[chosen])
        assert (chosen[0], chosen[-1]) == (0, len(values) - 1)
        assert (kept.min(), kept.max()) == (np.nan_to_num(values).min(), np.nan_to_num(values).max())

"""Percentiles in steps: exact in groups of fewer than 500, right to 0.1 in larger ones, and few rows for any group."""

from bisect import bisect_left, bisect_right

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tripline.domain import trends
from tripline.scoring.percentiles import STEPS, steps

GROUPS = st.lists(st.sampled_from([0.0, 1.0, 1.5, 7.0]) | st.floats(0, 1e12), min_size=trends.GROUP, max_size=60)


def looked_up(found, own):
    """As the store looks up a percentile."""
    at = bisect_right(found.badness, own) - 1
    return (found.percentile if found.badness[at] == own else found.above)[at]


def exact(ordered, own):
    low, high = bisect_left(ordered, own), bisect_right(ordered, own)
    return 100 * (len(ordered) - high + (high - low) / 2) / len(ordered)


@given(GROUPS)
def test_percentile_counts_the_worse_and_half_of_the_equal(badness):
    found, ordered = steps(badness), sorted(badness)

    assert [looked_up(found, each) for each in badness] == [exact(ordered, each) for each in badness]


@pytest.mark.parametrize(("own", "percentile"), [(-0.5, 97.5), (100.0, 2.5), (9.5, 52.5)])
def test_member_with_another_score_than_when_its_group_was_counted_has_a_place_in_it(own, percentile):
    assert looked_up(steps([float(each) for each in range(20)]), own) == percentile


@given(st.integers(0, 2**32), st.integers(trends.GROUP, 20_000), st.integers(1, 20_000))
def test_percentile_of_a_large_group_is_right_to_a_tenth_in_few_steps(seed, members, distinct):
    rng = np.random.default_rng(seed)
    badness = np.sort(np.floor(rng.gamma(0.5, size=members) * distinct) / distinct).tolist()
    found = steps(badness)

    off = max(abs(looked_up(found, each) - exact(badness, each)) for each in set(badness))
    assert len(found.badness) == len(found.percentile) == len(found.above) <= STEPS + 2
    assert off <= (50 / STEPS if members >= STEPS else 0)

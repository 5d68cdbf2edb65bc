"""The certainty of events at a sampling period: measured values, what lies between them, and nothing beyond."""

import pytest

from tripline.scoring import quality


@pytest.mark.parametrize("period_ms", quality.MEASURED)
def test_measured_periods_are_as_measured(period_ms):
    assert quality.at_period(period_ms) == pytest.approx(quality.MEASURED[period_ms])


def test_between_two_periods_it_lies_between():
    assert quality.at_period(1_500) == pytest.approx(0.975)
    assert quality.at_period(3_250) == pytest.approx(0.93)


def test_faster_than_measured_is_as_at_one_second_and_a_little_slower_as_at_four():
    assert quality.at_period(100) == quality.MEASURED[1_000]
    assert quality.at_period(quality.LONGEST_MS) == quality.MEASURED[4_000]


@pytest.mark.parametrize("period_ms", [0, -1, quality.LONGEST_MS + 1])
def test_what_was_not_measured_is_not_known(period_ms):
    assert quality.at_period(period_ms) is None

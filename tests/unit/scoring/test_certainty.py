"""The certainty of events at a sampling period: measured values, what lies between them, and nothing beyond."""

import pytest

from tripline.scoring import certainty


@pytest.mark.parametrize("period_ms", certainty.MEASURED)
def test_measured_periods_are_as_measured(period_ms):
    assert certainty.at_period(period_ms) == pytest.approx(certainty.MEASURED[period_ms])


def test_between_two_periods_it_lies_between():
    assert certainty.at_period(1_500) == pytest.approx(0.975)
    assert certainty.at_period(3_250) == pytest.approx(0.93)


def test_faster_than_measured_is_as_at_one_second_and_a_little_slower_as_at_four():
    assert certainty.at_period(100) == certainty.MEASURED[1_000]
    assert certainty.at_period(certainty.LONGEST_MS) == certainty.MEASURED[4_000]


@pytest.mark.parametrize("period_ms", [0, -1, certainty.LONGEST_MS + 1])
def test_what_was_not_measured_is_not_known(period_ms):
    assert certainty.at_period(period_ms) is None

"""The certainty of harsh events: by source, step, period and class as measured, and nothing beyond."""

import pytest

from tripline.scoring import certainty
from tripline.scoring.quality import HarshSource, Quality
from tripline.scoring.rules import Column

SPEEDS, POSITIONS, DEVICE, UNKNOWN, SPARSE = HarshSource


def of(period_ms, source=SPEEDS, step=1.0, column=Column.BUS):
    found = Quality(samples=600, period_ms=period_ms, harsh_source=source, speed_step=step, column=int(column))
    return certainty.of_events(found)


@pytest.mark.parametrize(("source", "step"), certainty.MEASURED)
def test_measured_cells_are_as_measured(source, step):
    for period_ms, shares in certainty.MEASURED[source, step].items():
        assert [of(period_ms, source, step, column) for column in Column] == pytest.approx(list(shares))


def test_between_two_periods_it_lies_between():
    row = {period_ms: shares[Column.BUS] for period_ms, shares in certainty.MEASURED[SPEEDS, 1.0].items()}

    assert of(1_500) == pytest.approx((row[1_000] + row[2_000]) / 2)
    assert of(3_250) == pytest.approx((3 * row[3_000] + row[4_000]) / 4)


def test_faster_than_measured_is_as_at_one_second_and_a_little_slower_as_the_last():
    assert of(920) == of(1_000)
    assert of(4_500) == of(4_000)
    assert of(1_500, POSITIONS, 0.0) == of(1_000, POSITIONS, 0.0)


@pytest.mark.parametrize(
    "cell",
    [
        (0,),
        (4_501,),
        (1_501, POSITIONS, 0.0),
        (1_000, SPEEDS, 0.5),
        (1_000, SPEEDS, 0.0),
        (1_000, DEVICE),
        (1_000, UNKNOWN),
        (1_000, SPARSE),
    ],
)
def test_cell_that_was_not_measured_is_unknown(cell):
    assert of(*cell) is None

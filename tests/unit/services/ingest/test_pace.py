"""The size of batches follows what they take."""

import pytest

from tripline.services.ingest.pace import Pace


@pytest.mark.parametrize(
    ("worked_s", "size"), [(0.4, 1000), (0.5, 500), (1.0, 500), (2.0, 250), (30.0, 16), (600.0, 8)]
)
def test_next_size_is_what_takes_a_second(worked_s: float, size: int) -> None:
    pace = Pace(most=1_000)
    pace.failed()

    pace.took(500, worked_s)

    assert pace.size == size


def test_sizes_grow_to_the_most_and_shrink_to_the_least() -> None:
    pace = Pace(most=20)

    pace.took(20, 0.0)
    largest = pace.size
    for _ in range(5):
        pace.failed()

    assert (largest, pace.size) == (20, 8)


def test_most_may_be_below_the_least() -> None:
    pace = Pace(most=1)

    pace.took(1, 60.0)

    assert pace.size == 1

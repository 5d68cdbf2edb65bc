"""Today's trail of a vehicle: which samples it has."""

import itertools

import pytest

from tripline.domain import samples
from tripline.services.live import trail

BEGIN, END = 1_000_000, 100_000_000
NAN = float("nan")


def message(*sent):
    return b"".join(samples.RECORD.pack(*each, -1, 1) for each in sent)


def test_trail_has_valid_samples_of_the_day_by_time():
    later = message((END, 3.0, 4.0, 255.0), (END - 1, NAN, 4.0, 50.0), (END + 1, 9.0, 9.0, 50.0))
    earlier = message((BEGIN - 1, 1.0, 1.0, 50.0), (BEGIN, 1.0, 2.0, 50.0))

    found = trail.way([later, earlier], begin_ms=BEGIN, end_ms=END)

    assert found == [(BEGIN, 1.0, 2.0, 50.0), (END, 3.0, 4.0, None)]


@pytest.mark.parametrize("count", [trail.POINTS, trail.POINTS + 1, 86_400])
def test_long_trail_is_thinned_evenly_between_first_and_last(count):
    sent = message(*((BEGIN + number, 1.0, 2.0, 50.0) for number in range(count)))

    times = [each.time_ms - BEGIN for each in trail.way([sent], begin_ms=BEGIN, end_ms=END)]

    gaps = {later - earlier for earlier, later in itertools.pairwise(times)}
    assert (len(times), times[0], times[-1]) == (trail.POINTS, 0, count - 1)
    assert max(gaps) - min(gaps) <= 1

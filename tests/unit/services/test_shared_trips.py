"""The shown part of a shared trip: hidden ends, time of the link, number of points."""

from tests.support import scoring_rows
from tests.support.scoring_rows import START_MS

from tripline.domain.positions import DEGREE_M
from tripline.services import shared_trips
from tripline.services.live import trail

LATE = START_MS + 10**9


def driven(metres, *, step=10):
    """Samples of a drive to the north, one a second; a hair longer, so that 200 m are not missed by rounding."""
    places = [36.0 + no * step * 1.002 / DEGREE_M for no in range(metres // step + 1)]
    return b"".join(scoring_rows.sample(no, 36.0, lat=lat) for no, lat in enumerate(places))


def seconds(found):
    return [(each.time_ms - START_MS) // 1_000 for each in found]


def test_times_are_those_of_the_shown_part_and_of_all_if_chosen():
    cut, whole = [shared_trips.shown(driven(1_000), whole=each, until_ms=LATE) for each in (False, True)]

    assert [seconds(each)[:: len(each) - 1] for each in (cut, whole)] == [[20, 80], [0, 100]]


def test_samples_after_the_link_was_made_are_not_shown():
    """A trip may go on after its end: its link does not follow the vehicle."""
    until_ms = START_MS + 100_000
    cut, whole = [shared_trips.shown(driven(3_000), whole=each, until_ms=until_ms) for each in (False, True)]

    assert [seconds(each)[-1] for each in (cut, whole)] == [80, 100]


def test_long_trip_is_thinned_after_its_ends_are_hidden():
    found = shared_trips.shown(driven(60_000, step=2), whole=False, until_ms=LATE)

    assert len(found) == trail.POINTS
    assert seconds(found)[:: trail.POINTS - 1] == [100, 29_900]

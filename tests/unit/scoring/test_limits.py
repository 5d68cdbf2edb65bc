"""Speed limits of samples: where each comes from, and the share of a trip's distance that is known in each way."""

import pytest
from tests.support import made_drives

from tripline.scoring import kernel
from tripline.scoring import quality as scoring_quality
from tripline.scoring.quality import Limits, LimitSource
from tripline.scoring.rules import Rules, Scoring

NAN = float("nan")
METRES_PER_DEGREE = 111_195.08
NO_DEFAULT = Rules(scoring=Scoring(default_limit_kmh=0))


def straight(speed, **columns):
    """A drive due north that moves as its speeds say, one sample a second."""
    lat, at = [], 36.0
    for kmh in speed:
        lat.append(at)
        at += kmh / 3.6 / METRES_PER_DEGREE
    return {"speed": speed, "lat": lat, **columns}


def quality_of(*trips, rules=None, trip=0):
    return kernel.findings(made_drives.drives(*trips), rules or Rules()).quality(trip)


def test_without_a_map_all_of_it_is_by_default_and_takes_no_room():
    found = quality_of(straight([50.0] * 20))

    assert found.limits == Limits()
    assert (found.limits.default, found.limits.known) == (1.0, 0.0)
    assert b"limits" not in scoring_quality.written(found)


def test_without_a_default_there_is_none():
    found = quality_of(straight([50.0] * 20), rules=NO_DEFAULT)

    assert found.limits == Limits(none=1.0, default=0.0)
    assert scoring_quality.read(scoring_quality.written(found)) == found


def test_shares_are_of_the_distance_and_only_the_maps_own_limits_are_known():
    """Ten seconds each at 90 by a tag, at 30 by a zone, at 60 by class, at 60 with nothing known."""
    speed = [*[90.0] * 10, *[30.0] * 10, *[60.0] * 10, *[60.0] * 11]
    limit = [*[100.0] * 10, *[30.0] * 10, *[60.0] * 10, *[NAN] * 11]
    source = [*[LimitSource.TAGGED] * 10, *[LimitSource.IMPLIED] * 10, *[LimitSource.ROAD_CLASS] * 21]

    found = quality_of(straight(speed, limit=limit, source=source)).limits

    assert found.tagged == pytest.approx(90 / 240, abs=1e-3)
    assert found.implied == pytest.approx(30 / 240, abs=1e-3)
    assert found.road_class == pytest.approx(60 / 240, abs=1e-3)
    assert found.default == pytest.approx(60 / 240, abs=1e-3)
    assert found.known == pytest.approx(0.5, abs=1e-3)


def test_each_trip_has_its_own_shares():
    known = straight([50.0] * 20, limit=[50.0] * 20)
    trips = (straight([50.0] * 20), known, straight([50.0] * 20))

    assert [quality_of(*trips, trip=trip).limits.known for trip in range(3)] == [0.0, 1.0, 0.0]


def test_trip_that_goes_nowhere_is_by_default():
    assert quality_of({"speed": [0.0] * 20, "limit": [50.0] * 20}).limits == Limits()


def test_source_goes_with_the_sample_through_every_step():
    """Samples out of order and of one instant: what is left has its own limit and source."""
    t = [0, 1, 2, 4, 3, 5, 5.1, 6.1]
    limit = [50.0, 50.0, 50.0, 30.0, 50.0, 20.0, 30.0, 30.0]
    source = [*[LimitSource.TAGGED] * 3, LimitSource.IMPLIED, LimitSource.TAGGED, LimitSource.ROAD_CLASS]
    trip = {"t": t, "speed": [50.0] * 8, "limit": limit, "source": [*source, *[LimitSource.IMPLIED] * 2]}

    events = kernel.findings(made_drives.drives(trip), Rules()).events

    assert events.limit_kmh.tolist() == [30.0] * 3
    assert events.limit_source.tolist() == [LimitSource.IMPLIED] * 3

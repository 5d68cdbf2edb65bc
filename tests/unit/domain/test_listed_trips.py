"""Sums of listed trips, and their score driven as one."""

import pytest

from tripline.domain import listed_trips, trends
from tripline.domain.listed_trips import CombinedScore, ListedTrip, TripSums

MINUTE_MS = 60_000


def listed(no, **values):
    usual = dict.fromkeys(ListedTrip.__struct_fields__)
    usual |= {"no": no, "id": str(no), "company_id": "c", "parking": False, "life": "COMPLETE", "disputed": False}
    return ListedTrip(**usual | {"start_ms": 0, "end_ms": 10 * MINUTE_MS, "stated_m": 1_000.0} | values)


def scored(no, score, scored_m, limit_known, harsh_known=True):
    return listed(no, score=score, scored_m=scored_m, limit_known=limit_known, harsh_known=harsh_known)


def test_sums_are_of_drives_and_the_score_of_scored_ones_by_distance():
    trips = [
        scored(1, 90.0, 3_000.0, 1.0),
        scored(2, 60.0, 1_000.0, 0.2, harsh_known=False),
        listed(3, not_scored="too_short"),
        listed(4, end_ms=None, stated_m=None),
        listed(5, not_scored="duplicate"),
        listed(6, parking=True, not_scored="parking"),
    ]

    assert listed_trips.summed(trips) == TripSums(
        trips=4,
        distance_m=5_000.0,
        duration_ms=30 * MINUTE_MS,
        score=CombinedScore(
            trips=2, score=pytest.approx(90**0.75 * 60**0.25), limit_known=pytest.approx(0.8), harsh_known=0.75
        ),
    )


def test_score_is_that_of_score_pages():
    values = {"accel": 0, "de_accel": 0, "over_speed": 0, "over_speed_s": 0.0, "driving_ms": 0}
    kept = trends.NOTHING
    for lacking, metres, known_m in ((0.1, 3_000.0, 0), (0.9, 1_000.0, 800)):
        kept = kept.plus(trends.of_trip(lacking=lacking, distance_m=metres, known_m=known_m, **values))

    found = listed_trips.combined([scored(1, 90.4837418, 3_000.0, None), scored(2, 40.6569660, 1_000.0, 0.8)])

    assert (found.score, found.limit_known) == (pytest.approx(kept.score), kept.limit_known)
    assert found.limit_known == 0.2


def test_without_a_score_there_is_none():
    assert listed_trips.summed([]) == TripSums(trips=0, distance_m=0.0, duration_ms=0, score=None)

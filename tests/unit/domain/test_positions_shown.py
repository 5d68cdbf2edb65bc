"""The part of a track without its ends: 200 m at least are hidden, whatever the receiver reports."""

import math

import pytest

from tripline.domain import positions
from tripline.domain.positions import DEGREE_M, END_M, Moment

LAT, LON = 35.0, 129.0


HAIR = 1.002
"""Distances are this much longer than they are called, so that 200 m are not missed by rounding."""


def at(second, east_m, north_m=0.0, *, lon=LON):
    """A place this far from the beginning."""
    east_m, north_m = east_m * HAIR, north_m * HAIR
    east = east_m / DEGREE_M / math.cos(math.radians(LAT))
    return Moment(second * 1_000, LAT + north_m / DEGREE_M, (lon + east + 180) % 360 - 180)


def straight(metres, *, step=10, lon=LON):
    return [at(no, no * step, lon=lon) for no in range(metres // step + 1)]


def passed(track):
    """Metres from the beginning to the shown places."""
    return [round(positions._metres(track[0], each) / HAIR) for each in positions.without_ends(track)]


def test_straight_trip_loses_two_hundred_metres_at_each_end():
    assert passed(straight(1_000)) == list(range(200, 801, 10))


@pytest.mark.parametrize(("metres", "points"), [(0, 0), (390, 0), (400, 0), (410, 2), (420, 3)])
def test_trip_of_four_hundred_metres_or_less_shows_nothing(metres, points):
    assert len(positions.without_ends(straight(metres))) == points


@pytest.mark.parametrize("track", [[], [at(0, 0)]], ids=["no place", "one place"])
def test_track_without_a_line_shows_nothing(track):
    assert positions.without_ends(track) == []


def test_wandering_positions_of_a_standing_vehicle_are_no_distance():
    """An hour of noise at both ends adds up to 72 km along the track."""
    noise = [(no * 7 % 20, no * 13 % 20) for no in range(3_600)]
    begin = [at(no, *each) for no, each in enumerate(noise)]
    drive = [at(3_600 + no, 10 * no) for no in range(101)]
    end = [at(3_701 + no, 1_000 + east, north) for no, (east, north) in enumerate(noise)]

    shown = positions.without_ends([*begin, *drive, *end])

    assert set(shown) < set(drive)
    homes = begin[0], end[-1]
    assert min(positions._metres(home, each) for home in homes for each in shown) >= END_M


def test_first_position_far_off_does_not_show_where_the_trip_began():
    """A receiver's first position is often its last one of yesterday."""
    wrong = [at(0, -5_000), at(1, -5_000, 3)]
    track = [*wrong, *(at(2 + no, 10 * no) for no in range(101))]

    assert passed(track)[0] == 5_200


def test_trip_that_comes_back_hides_both_ends_alone():
    out = [at(no, 10 * no) for no in range(101)]
    back = [at(101 + no, 1_000 - 10 * no) for no in range(101)]

    assert sorted(set(passed([*out, *back]))) == list(range(200, 1_001, 10))


def test_trip_inside_a_yard_shows_nothing():
    yard = [at(no, 90 * math.cos(no / 10), 90 * math.sin(no / 10)) for no in range(1_000)]

    assert positions.without_ends(yard) == []


def test_trip_across_the_date_line_is_measured_across_it():
    assert len(positions.without_ends(straight(1_000, lon=179.995))) == 61

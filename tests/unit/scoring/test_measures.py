"""Measures beside the score (spec/scoring 8): driving, bands over the limit, corners, idling, night, rests."""

import numpy as np
import pytest
from tests.support.made_drives import NAN, drives

from tripline.scoring import kernel, measures
from tripline.scoring.rules import Rules

METRE = 1 / 111_195.08
MINUTE, HOUR = 60, 3_600
HOUR_MS = 3_600_000
SEOUL_MS = 9 * HOUR_MS


def measured(speed, *, offset_ms=0, **trip):
    """Of a drive northwards that begins at midnight UTC, one sample a second unless `t` says when."""
    speed = np.array(speed, np.float64)
    if "lat" not in trip:
        t = np.array(trip.get("t", range(speed.size)), np.float64)
        known = np.nan_to_num(speed, nan=36)
        step = np.clip(np.diff(t, prepend=t[0]), 0, 30)
        trip["lat"] = 36 + METRE * np.cumsum(known / 3.6 * step)
    drive = {"speed": speed, **trip}
    (alone,) = of_trips([drive], [offset_ms])
    # Beside others: neither takes anything from the next.
    assert of_trips([OTHER, drive, {"speed": []}, OTHER, drive], [0, offset_ms, 0, 0, offset_ms])[1::3] == [alone] * 2
    return alone


def of_trips(trips, offsets_ms):
    return measures.of_trips(kernel.worked(drives(*trips), Rules()), Rules(), utc_offsets_ms=offsets_ms)


OTHER = {"speed": [0.0] * 301 + [140.0] * 400, "lat": 36 + METRE * np.cumsum([0.0] * 301 + [39.0] * 400)}
"""A trip with the measures that end of themselves, and those that go on to its end."""


def standing(seconds):
    return [0.0] * seconds


def driving(seconds):
    return [36.0] * seconds


def test_driving_is_time_above_standing_without_gaps():
    t = [*range(100), *range(200, 300)]

    assert measured([*driving(100), *driving(100)], t=t).driving_s == 198
    assert measured([*driving(100), *standing(50)]).driving_s == 100


def test_seconds_over_the_limit_by_bands_lie_one_in_the_other():
    speed = [100.0] * 10 + [110.0] * 10 + [111.0] * 5 + [122.0] * 6 + [133.0] * 7 + [149.0] * 8 + [100.0]

    assert measured(speed).over_s == (5 + 6 + 7 + 8, 6 + 7 + 8, 7 + 8, 8)


@pytest.mark.parametrize(("seconds", "idle_s"), [(299, 0), (300, 0), (301, 300), (600, 599)])
def test_idling_is_standing_for_five_minutes(seconds, idle_s):
    assert measured([*driving(60), *standing(seconds), *driving(60)]).idle_s == idle_s


def test_idling_adds_up_and_ends_in_a_gap():
    t = [*range(200), *range(300, 500)]

    assert measured([*standing(400), *driving(9), *standing(400)]).idle_s == 798
    assert measured(standing(400), t=t).idle_s == 0


def test_missing_speeds_are_no_idling():
    assert measured([*driving(600), *[NAN] * 400, *driving(600)]).idle_s == 0


@pytest.mark.parametrize(
    ("begin_h", "offset_ms", "share"),
    [(0, 0, 1.0), (12, 0, 0.0), (21, SEOUL_MS, 0.0), (20, SEOUL_MS, 0.5), (21.5, 0, 0.75), (12.5, SEOUL_MS, 0.75)],
)
def test_night_is_from_22_to_6_local_time(begin_h, offset_ms, share):
    t = begin_h * HOUR + np.arange(2 * HOUR)

    assert measured(driving(2 * HOUR), t=t, offset_ms=offset_ms).night_share == pytest.approx(share, abs=0.001)


def test_one_bad_position_by_night_does_not_make_the_drive_one_by_night():
    lat = 36 + METRE * 10 * np.arange(2.0 * HOUR)
    lat[HOUR + 600] += 1

    found = measured(driving(2 * HOUR), t=21 * HOUR + np.arange(2 * HOUR), lat=lat)

    assert found.night_share == pytest.approx(0.5, abs=0.001)


def test_night_share_of_a_trip_that_never_moves_is_0():
    assert measured(standing(100)).night_share == 0


@pytest.mark.parametrize(("rest_s", "longest_s"), [(14 * MINUTE, 60 + 40 + 14 * MINUTE), (16 * MINUTE, 60)])
def test_rest_of_a_quarter_of_an_hour_ends_a_drive(rest_s, longest_s):
    assert measured([*driving(60), *standing(rest_s), *driving(40)]).longest_drive_s == pytest.approx(longest_s, abs=2)


@pytest.mark.parametrize(("gap_s", "longest_s"), [(14 * MINUTE, 99 + 14 * MINUTE + 49), (16 * MINUTE, 99)])
def test_gap_is_a_rest_when_it_lasts_as_long(gap_s, longest_s):
    t = [*range(100), *(100 + gap_s + np.arange(50))]

    assert measured(driving(150), t=t).longest_drive_s == pytest.approx(longest_s, abs=2)


@pytest.mark.parametrize("back_s", [30, HOUR])
def test_step_of_the_clock_makes_no_drive_shorter_than_its_parts(back_s):
    t = np.arange(200.0)
    t[100:] -= back_s
    lat = 36 + METRE * 10 * np.arange(200.0)

    found = measured(driving(200), t=t, lat=lat)

    assert found.longest_drive_s == 198
    assert found.driving_s == 198


def test_corners_are_counted_with_their_time():
    """A circle of 20 m at 36 km/h: 0.51 g, once the first and the last two samples are left out."""
    angle = np.arange(40) * 10 / 20
    lat = 36 + METRE * 20 * np.sin(angle)
    lon = 127 + METRE * 20 * np.cos(angle) / np.cos(np.radians(36))

    found = measured(driving(40), lat=lat, lon=lon)

    assert (found.cornering, found.cornering_s) == (1, 35)
    assert measured(driving(40)).cornering == 0


def test_trip_of_one_sample_measures_nothing():
    found = measured([50.0])

    assert (found.driving_s, found.over_s, found.idle_s, found.longest_drive_s) == (0, (0, 0, 0, 0), 0, 0)

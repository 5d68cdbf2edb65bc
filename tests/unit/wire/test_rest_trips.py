"""Text times of trips."""

from zoneinfo import ZoneInfo

import pytest

from tripline.wire import rest_trips


@pytest.mark.parametrize(
    ("at_ms", "zone", "text"),
    [
        (None, "Asia/Seoul", None),
        (0, "Asia/Seoul", "1970-01-01 09:00:00"),
        (1_517_443_199_999, "Asia/Seoul", "2018-02-01 08:59:59"),
        (1_517_443_200_000, "UTC", "2018-02-01 00:00:00"),
        (1_540_688_400_000, "Europe/Berlin", "2018-10-28 02:00:00"),
    ],
)
def test_local_time_is_the_instant_in_the_zone_with_milliseconds_cut_off(at_ms, zone, text):
    assert rest_trips.local_time(at_ms, ZoneInfo(zone)) == text

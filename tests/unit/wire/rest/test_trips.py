"""Times in the records of trips and microtrips."""

from zoneinfo import ZoneInfo

import pytest

from tripline.domain import ids
from tripline.domain.ids import CompanyId, SensorId, TripId
from tripline.domain.stored_trips import StoredMicrotrip
from tripline.wire.rest import trips as rest_trips

CREATED_MS = 1_735_689_600_000


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


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        (CREATED_MS - 5, CREATED_MS - 5),
        (CREATED_MS // 1_000, CREATED_MS),
        (20241231235959, CREATED_MS - 1_000),
        (CREATED_MS // 1_000 + 9 * 3_600, CREATED_MS),
        (9_999_999_999_999, CREATED_MS),
        (101_500, CREATED_MS),
        (None, CREATED_MS),
    ],
)
def test_t1_t2_time_of_a_microtrip_is_shown_in_milliseconds_or_is_its_creation(sent, shown):
    stored = StoredMicrotrip(
        no=ids.first_no(CREATED_MS),
        id=ids.RecordId("m"),
        ts=sent,
        ty=2,
        payload=b"{}",
        trip_id=TripId("t"),
        sensor_id=SensorId("s"),
        vehicle_id=None,
        company_id=CompanyId("c"),
        device_type="GPS",
    )

    assert rest_trips.microtrip_record(stored).ts == shown

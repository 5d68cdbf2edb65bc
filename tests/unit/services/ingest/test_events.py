"""Device events, attributes and latest values (spec/device-messages 3.4 K8, 4.2 T4, 6.18)."""

from typing import Any

import pytest
from tests.support.ingest_rig import (
    COMPANY,
    DRIVER,
    MINUTE,
    NOW,
    SENSOR,
    UNMAPPED,
    VEHICLE,
    Rig,
    microtrip,
    trip_message,
)

from tripline.store import tables


def test_event_is_stored_with_the_open_trip_and_its_driver(rig: Rig) -> None:
    rig.send(microtrip(NOW))
    rig.send({"ty": 102, "ts": NOW + 9, "pld": {"tid": 41, "dclat": 35.1, "dclon": 129.1}}, at=NOW + 10)

    no, event_id = rig.rows(tables.device_event, "no", "id")[0]
    assert rig.rows(tables.device_event) == [
        (
            *(no, event_id, COMPANY, SENSOR, VEHICLE, DRIVER, rig.rows(tables.trip, "id")[0], "OBD", 102, 102),
            *(NOW + 9, NOW + 9, 41, 35.1, 129.1, b'{"tid": 41, "dclat": 35.1, "dclon": 129.1}', None, None),
        )
    ]


def test_event_with_another_number_is_not_linked_to_the_open_trip(rig: Rig) -> None:
    rig.send(microtrip(NOW), {"ty": 113, "pld": {"tid": 42}}, {"ty": 113, "pld": {"x": 1}})

    assert rig.rows(tables.device_event, "trip_id") == [None, rig.rows(tables.trip, "id")[0]]


def test_event_without_open_trip_has_the_vehicles_present_driver(rig: Rig) -> None:
    rig.send({"ty": 130, "pld": {"a": 1}})
    rig.send({"ty": 130, "pld": {"a": 1}}, sensor=UNMAPPED)

    assert rig.rows(tables.device_event, "vehicle_id", "user_id", "trip_id") == [
        (VEHICLE, DRIVER, None),
        (None, None, None),
    ]


def emergency(at: int, **more: Any) -> dict[str, Any]:
    return {"ty": 113, "ts": at, "pld": {"tid": 41, **more}}


@pytest.mark.parametrize("restarted", [False, True])
def test_event_before_the_first_sample_gets_the_trip_that_begins_near_it(rig: Rig, restarted: bool) -> None:
    rig.send(emergency(NOW), emergency(NOW, tid=42), emergency(NOW - 31 * MINUTE), {"ty": 130, "ts": NOW, "pld": {}})
    rig.change(tables.vehicle, VEHICLE, current_driver_id=None)
    if restarted:
        rig.restart()
    else:
        rig.take_in([], again={SENSOR})
    rig.send(microtrip(NOW + 1000), at=NOW + 1000)

    trip = rig.rows(tables.trip, "id")[0]
    assert rig.rows(tables.device_event, "trip_id", "user_id") == [
        (trip, None),
        (None, DRIVER),
        (None, DRIVER),
        (trip, None),
    ]


def test_events_of_a_whole_drive_before_its_samples_get_its_trip(rig: Rig) -> None:
    rig.send(*(emergency(NOW + minute * MINUTE) for minute in range(0, 61, 20)), at=NOW + 70 * MINUTE)
    rig.send(*(microtrip(NOW + minute * MINUTE) for minute in range(61)), at=NOW + 70 * MINUTE)
    rig.send(trip_message(NOW, NOW + 60 * MINUTE), at=NOW + 70 * MINUTE)

    assert rig.rows(tables.device_event, "trip_id") == rig.rows(tables.trip, "id") * 4


def test_late_sample_that_reaches_an_event_takes_it_into_its_ended_trip(rig: Rig) -> None:
    rig.send(microtrip(NOW + 40 * MINUTE), trip_message(None, NOW + 40 * MINUTE), emergency(NOW), at=NOW + 50 * MINUTE)
    before = rig.rows(tables.device_event, "trip_id")
    rig.send(microtrip(NOW + 15 * MINUTE), at=NOW + 50 * MINUTE)

    assert [before, rig.rows(tables.device_event, "trip_id")] == [[None], rig.rows(tables.trip, "id")]


@pytest.mark.parametrize("restarted", [False, True])
def test_i6_events_of_a_drive_and_of_the_parking_behind_it_go_by_their_times(rig: Rig, restarted: bool) -> None:
    for minute in (0, 5, 11, 20):
        at = NOW + minute * MINUTE
        rig.send({"ty": 8, "ts": at, "pld": {"tid": 41, "lat": 37.5, "lon": 126.9, "try": 1 + (minute > 5)}}, at=at)
    if restarted:
        rig.restart()
    rig.send({"ty": 7, "ts": NOW + 20 * MINUTE, "pld": {"tid": 41, "edt": NOW + 5 * MINUTE}}, at=NOW + 20 * MINUTE)
    rig.send(*(emergency(NOW + minute * MINUTE) for minute in (-1, 3, 6, 7, 15, 25)), at=NOW + 30 * MINUTE)

    drive, parking = rig.rows(tables.trip, "id")
    assert rig.rows(tables.trip, "state", "parking") == [("COMPLETE", False), ("OPEN", True)]
    # Up to a minute behind the end that its message states, an event is the drive's if that is nearer.
    assert rig.rows(tables.device_event, "trip_id") == [drive, drive, drive, parking, parking, parking]


def test_event_neither_opens_nor_ends_a_trip(rig: Rig) -> None:
    rig.send({"ty": 102, "pld": {"tid": 41}}, microtrip(NOW), {"ty": 109, "pld": {"mod": 2}})

    assert rig.rows(tables.trip, "state") == ["OPEN"]


def test_t4_event_time_is_its_own_then_the_headers_then_receipt(rig: Rig) -> None:
    rig.send(
        {"ty": 113, "ts": NOW + 1, "pld": {"clt": NOW + 2}},
        {"ty": 113, "ts": NOW + 1, "pld": {}},
        {"ty": 113, "pld": {}},
        at=NOW + 3,
    )

    assert rig.rows(tables.device_event, "event_ms") == [NOW + 2, NOW + 1, NOW + 3]


def test_g22_event_of_class_attributes_updates_the_sensors_latest_value(rig: Rig) -> None:
    rig.send({"ty": 104, "ts": NOW, "pld": {"wbv": 11.8}}, {"ty": 104, "ts": NOW + 5, "pld": {"wbv": 11.6}}, at=NOW + 9)

    assert rig.rows(tables.sensor_attribute) == [(SENSOR, "104", NOW + 5, b'{"wbv": 11.6}')]


def test_older_attribute_delivered_late_does_not_replace_a_newer(rig: Rig) -> None:
    rig.send({"ty": 104, "ts": NOW + 5, "pld": {"wbv": 11.6}}, at=NOW + 9)
    rig.send({"ty": 104, "ts": NOW, "pld": {"wbv": 11.8}}, at=NOW + 10)

    assert rig.rows(tables.sensor_attribute, "payload") == [b'{"wbv": 11.6}']
    assert len(rig.rows(tables.device_event)) == 2


def test_k8_headerless_body_that_is_no_event_updates_latest(rig: Rig) -> None:
    topic = "v1/sensors/me/attributes"
    rig.send({"cm": "01"}, {"foo": 1}, topic=topic)
    rig.send({"foo": 2}, topic=topic, at=NOW + 1)

    assert rig.rows(tables.sensor_attribute) == [
        (SENSOR, "cm", NOW, b'{"cm": "01"}'),
        (SENSOR, "latest", NOW + 1, b'{"foo": 2}'),
    ]
    assert rig.rows(tables.device_event) == []

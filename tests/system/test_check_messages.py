"""The check messages of spec/device-messages 11 through the whole path: bytes over TLS, the store, REST and doctor.

What REST shows is compared key by key; what no operation shows yet (events, manoeuvre flags, rejected bodies) is looked
up in the database file. The readings alone are in `tests/golden/device`.
"""

import json
from typing import Any

import pytest
from tests.support import servers
from tests.support.device_messages import check_body
from tests.support.fleet import Registered
from tests.support.worlds import World

from tripline.domain import ids, samples
from tripline.wire import topics

START_MS = 1_735_689_600_000
PLACEHOLDER = {"id": ids.PLACEHOLDER}


def trip_record(world: World, box: Registered, got: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The whole record of a trip; what only the server knows is taken from the answer."""
    return {
        "id": got["id"],
        "createdTime": got["createdTime"],
        "companyId": world.company.record["id"],
        "vehicleId": {"id": box.vehicle_id},
        "sensorId": {"id": box.sensor_id},
        "userId": PLACEHOLDER,
        "deviceType": "GPS",
        "serviceType": "test-fleet",
        "startTs": START_MS,
        "endTs": None,
        "startDt": "2025-01-01 09:00:00",
        "endDt": None,
        "payload": None,
        **fields,
    }


def microtrip_record(
    world: World, box: Registered, got: dict[str, Any], trip: dict[str, Any], **fields: Any
) -> dict[str, Any]:
    return {
        "id": got["id"],
        "createdTime": got["createdTime"],
        "tripId": trip["id"],
        "sensorId": {"id": box.sensor_id},
        "vehicleId": {"id": box.vehicle_id},
        "companyId": world.company.record["id"],
        "deviceType": trip["deviceType"],
        **fields,
    }


def payload_of(body: bytes) -> Any:
    return json.loads(body)["pld"]


def test_check_gps_aggregate_is_one_microtrip_with_three_samples(world: World) -> None:
    box, body = world.box(), check_body("gps_aggregate")

    world.send(box, body)

    (trip,) = world.trips(box)
    (microtrip,) = world.microtrips(trip)
    expected = microtrip_record(world, box, microtrip, trip, ts=START_MS + 4_000, payload=payload_of(body))
    assert json.dumps(trip) == json.dumps(trip_record(world, box, trip))
    assert json.dumps(microtrip) == json.dumps(expected)
    assert world.company.get(f"/api/tre/v1/vehicle/{box.vehicle_id}/trip/latest") == trip
    assert world.company.get(f"/api/tre/v1/vehicle/{box.vehicle_id}/microtrip/latest") == microtrip
    assert world.flags(trip) == [-1, -1, -1]
    assert world.kinds(box) == ["MICROTRIP", "MICROTRIP"]


@pytest.mark.parametrize(
    ("case", "flags"), [("obd_mask_as_text", 0x28), ("obd_mask_as_integer", 0x28), ("obd_mask_unreadable", -1)]
)
def test_check_obd_sample_shows_voltage_as_a_number_and_the_mask_as_sent(world: World, case: str, flags: int) -> None:
    box, body = world.box("OBD2"), check_body(case)

    world.send(box, body)

    (trip,) = world.trips(box)
    (microtrip,) = world.microtrips(trip)
    payload = {**payload_of(body), "vv": 12.7}
    expected_trip = trip_record(
        world, box, trip, deviceType="OBD", startTs=START_MS + 6_000, startDt="2025-01-01 09:00:06"
    )
    assert json.dumps(trip) == json.dumps(expected_trip)
    assert json.dumps(microtrip) == json.dumps(
        microtrip_record(world, box, microtrip, trip, ts=START_MS + 6_000, payload=payload)
    )
    assert world.flags(trip) == [flags]


@pytest.mark.parametrize("sensor_type", ["GPS", "OBD2"])
def test_check_obd_trip_under_the_old_number_ends_trip_42(world: World, sensor_type: str) -> None:
    box, body = world.box(sensor_type), check_body("obd_trip_under_old_number")

    world.send(box, check_body("obd_mask_as_text"), body)

    (trip,) = world.trips(box)
    expected = trip_record(
        world,
        box,
        trip,
        deviceType="OBD",
        endTs=START_MS + 1_800_000,
        endDt="2025-01-01 09:30:00",
        payload=payload_of(body),
    )
    assert json.dumps(trip) == json.dumps(expected)
    assert len(world.microtrips(trip)) == 1
    assert world.kinds(box) == ["TRIP", "TRIP"]
    (row,) = world.rows("SELECT message_ty, distance_m, state FROM trip WHERE id = ?", trip["id"]["id"])
    assert row == (1, 5120.0, "COMPLETE")


def test_check_obd_trip_under_the_old_number_alone_makes_an_obd_trip(world: World) -> None:
    box, body = world.box(), check_body("obd_trip_under_old_number")

    world.send(box, body)

    (trip,) = world.trips(box)
    expected = trip_record(
        world,
        box,
        trip,
        deviceType="OBD",
        endTs=START_MS + 1_800_000,
        endDt="2025-01-01 09:30:00",
        payload=payload_of(body),
    )
    assert json.dumps(trip) == json.dumps(expected)
    assert world.microtrips(trip) == []


def test_check_black_box_without_time_takes_the_header_time_and_may_be_scored(world: World) -> None:
    box, body = world.box("BLACKBOX"), check_body("blackbox_without_time")

    world.send(box, body)

    (trip,) = world.trips(box)
    (microtrip,) = world.microtrips(trip)
    expected_trip = trip_record(
        world, box, trip, deviceType="BLACKBOX", startTs=START_MS + 8_000, startDt="2025-01-01 09:00:08"
    )
    expected = microtrip_record(world, box, microtrip, trip, ts=START_MS + 8_000, payload=payload_of(body))
    assert json.dumps(trip) == json.dumps(expected_trip)
    assert json.dumps(microtrip) == json.dumps(expected)
    ((packed,),) = world.rows("SELECT samples FROM microtrip WHERE id = ?", microtrip["id"]["id"])
    assert samples.RECORD.unpack(packed) == (START_MS + 8_000, 37.566301, 126.977945, 52.0, -1, samples.FLAG_OWN_TIME)


def test_check_headerless_unplugged_warning_is_event_105_and_an_attribute(world: World) -> None:
    box, body = world.box("OBD"), check_body("headerless_unplugged")

    world.send(box, body, topic=topics.ATTRIBUTES)

    events = world.rows(
        "SELECT ty, sent_ty, device_type, ts, event_ms, lat, lon, payload, trip_id, vehicle_id FROM device_event"
        " WHERE sensor_id = ?",
        box.sensor_id,
    )
    kept = world.rows("SELECT name, updated_ms, payload FROM sensor_attribute WHERE sensor_id = ?", box.sensor_id)
    unplugged_ms = 1_735_684_000_000
    assert events == [(105, None, "OBD", None, unplugged_ms, None, None, body, None, box.vehicle_id)]
    assert kept == [("105", unplugged_ms, body)]
    assert world.trips(box) == []
    assert world.kinds(box) == [None, None]


def test_check_unusable_messages_are_acknowledged_logged_and_told_by_doctor(world: World) -> None:
    box = world.box()
    bodies = [check_body(case) for case in ("no_payload", "payload_is_text", "unknown_small_number", "not_json")]

    world.send(box, *bodies)

    reasons = ["no_payload", "payload_form", "unknown_type", "not_json"]
    logged = world.rows(
        "SELECT source, topic, reason, body FROM rejected_message WHERE sensor_id = ? ORDER BY no", box.sensor_id
    )
    assert logged == [("device", topics.TRE, reason, body) for reason, body in zip(reasons, bodies, strict=True)]
    assert world.trips(box) == []
    report = servers.run_here("doctor", "--data", str(world.server.data))
    told = [line for line in report.stdout.splitlines() if box.sensor_id in line]
    assert report.returncode == 0
    assert [line.split()[2] for line in told] == reasons[::-1]
    assert all(f"sensor {box.sensor_id}, device {topics.TRE}" in line and "`" in line for line in told[1:])


def test_check_unknown_event_is_stored_without_interpretation(world: World) -> None:
    box, body = world.box(), check_body("unknown_event")

    world.send(box, body)

    events = world.rows(
        "SELECT ty, sent_ty, device_type, ts, event_ms, lat, lon, payload FROM device_event WHERE sensor_id = ?",
        box.sensor_id,
    )
    assert events == [(130, 130, "GPS", START_MS, START_MS, None, None, b'{"a":1}')]
    assert world.trips(box) == []

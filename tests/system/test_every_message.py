"""Every recorded message of `tests/golden/device`, of every documented table, from a box to the rows."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.support import worlds
from tests.support.device_messages import CASES
from tests.support.fleet import Registered
from tests.support.worlds import World

from tripline.wire.device import answered_payloads as device_answered_payloads

TABLE_OF = {
    "Microtrip": "microtrip JOIN trip ON trip.no = trip_no",
    "Trip": "trip",
    "DeviceEvent": "device_event",
    "LatestValues": "sensor_attribute",
    "Rejected": "rejected_message",
}


def rows_expected(readings: list[dict[str, Any]]) -> Counter[str]:
    """How many rows of each kind the readings make: microtrips open trips, some events are latest values too."""
    kinds = Counter(reading["kind"] for reading in readings)
    kinds["Trip"] += len({(one["tid"], one["parking"]) for one in readings if one["kind"] == "Microtrip"})
    kinds["LatestValues"] += sum(reading.get("is_attribute", False) for reading in readings)
    return +kinds


@pytest.mark.parametrize("path", sorted(CASES.glob("*.json")), ids=lambda path: path.stem)
def test_recorded_message_is_acknowledged_and_leaves_its_rows(world: World, path: Path) -> None:
    case = json.loads(path.read_text())
    body = case["body"]
    box = world.box(case["sensor_type"])

    world.send(
        box,
        bytes.fromhex(body.removeprefix("hex:")) if body.startswith("hex:") else body.encode(),
        topic=case["topic"],
    )

    found = {
        kind: world.rows(f"SELECT count(*) FROM {table} WHERE sensor_id = ?", box.sensor_id)[0][0]
        for kind, table in TABLE_OF.items()
    }
    assert +Counter(found) == rows_expected(case["readings"])
    check_events(world, box, [reading for reading in case["readings"] if reading["kind"] == "DeviceEvent"], case)


def check_events(world: World, box: Registered, readings: list[dict[str, Any]], case: dict[str, Any]) -> None:
    """The events as REST gives them back: the vehicle's, and the latest values of the sensor (6.18)."""
    if not readings:
        return
    shown = world.company.get(f"/api/tre/v1/vehicle/{box.vehicle_id}/events", limit=10, ascOrder="true")["data"]
    latest = world.company.get(f"/api/tre/v1/sensor/{box.sensor_id}/latest")["attributes"]
    told = [
        {
            "ty": reading["ty"],
            "deviceType": reading["device_type"],
            "posLat": reading["lat"],
            "posLon": reading["lon"],
            "payload": json.loads(device_answered_payloads.coerced(
                reading["payload"].encode(), ty=reading["ty"], device_type=reading["device_type"]
            )),
        }
        for reading in readings
    ]  # fmt: skip
    assert [{key: event[key] for key in expected} for event, expected in zip(shown, told, strict=True)] == told
    for event, reading in zip(shown, readings, strict=True):
        of_receipt = reading["event_ms"] == case["received_ms"]
        assert event["eventTs"] == (event["createdTime"] if of_receipt else reading["event_ms"])
    assert set(latest) == {str(reading["ty"]) for reading in readings if reading["is_attribute"]}


def test_none_of_them_is_a_bug(world: World) -> None:
    told = worlds.log_of(world)

    assert [word for word in ("failed", "error", "Traceback") if word in told] == []

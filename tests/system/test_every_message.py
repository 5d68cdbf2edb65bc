"""Every recorded message of `tests/golden/device`, of every documented table, from a box to the rows."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support import worlds
from tests.support.device_messages import CASES
from tests.support.worlds import World

TABLE_OF = {
    "Microtrip": "microtrip JOIN trip ON trip.no = trip_no",
    "Trip": "trip",
    "Event": "device_event",
    "LatestValues": "sensor_attribute",
    "Rejected": "rejected_message",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with worlds.running(tmp_path_factory.mktemp("every") / "data") as world:
        yield world


def rows_expected(readings: list[dict[str, Any]]) -> Counter[str]:
    """How many rows of each kind the readings make: microtrips open a trip, some events are latest values too."""
    kinds = Counter(reading["kind"] for reading in readings)
    kinds["Trip"] += len({reading["tid"] for reading in readings if reading["kind"] == "Microtrip"})
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


def test_none_of_them_is_a_bug(world: World) -> None:
    told = worlds.log_of(world)

    assert [word for word in ("failed", "error", "Traceback") if word in told] == []

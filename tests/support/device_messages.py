"""Device messages for tests, and their readings with readable samples."""

import json
from pathlib import Path
from typing import Any

from tripline.domain import samples
from tripline.wire import topics
from tripline.wire.device import publish as device_publish
from tripline.wire.readings import Microtrip, Reading

CASES = Path(__file__).parents[1] / "golden" / "device"
RECEIVED_MS = 1_735_700_000_000
TS = 1_735_689_606_000
ITEM = {"tid": 41, "lat": 35.157731, "lon": 129.059114, "sp": 38, "clt": 1_735_689_600_000}


def text(ty: Any, pld: Any, **header: Any) -> bytes:
    """The JSON of a message; `ty=None` leaves the number out."""
    number = {} if ty is None else {"ty": ty}
    return json.dumps({**number, **({"ts": TS} | header), "pld": pld}, separators=(",", ":")).encode()


def read(
    body: bytes,
    *,
    topic: str = topics.TRE,
    sensor_type: str = "GPS",
    received_ms: int = RECEIVED_MS,
    max_items: int = 9,
) -> list[Reading]:
    """`device.read` with the usual surroundings."""
    return device_publish.read(topic, body, received_ms=received_ms, sensor_type=sensor_type, max_items=max_items)


def one(ty: Any, pld: Any, *, sensor_type: str = "GPS", topic: str = topics.TRE, **header: Any) -> Any:
    """The single reading of a message."""
    (reading,) = read(text(ty, pld, **header), sensor_type=sensor_type, topic=topic)
    return reading


def rows(microtrip: Microtrip) -> list[tuple[Any, ...]]:
    """The samples of a microtrip: (time_ms, lat, lon, speed_kmh, em, flags), NaN as None."""
    unpacked = samples.RECORD.iter_unpack(microtrip.samples)
    return [tuple(None if value != value else value for value in row) for row in unpacked]


def check_body(case: str) -> bytes:
    """The bytes of a check message of spec/device-messages 11, from its file in `tests/golden/device`."""
    recorded = json.loads((CASES / f"check_{case}.json").read_text())
    body: str = recorded["body"]
    return body.encode()

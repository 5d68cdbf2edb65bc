"""The captured messages of devices in `tests/golden/device`, one file a case."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tripline.wire.device import body as device_body
from tripline.wire.device import publish as device_publish

FOLDER = Path(__file__).parents[1] / "golden" / "device"


@dataclass(frozen=True)
class Case:
    """One publish as it came, and the type its sensor is registered with."""

    name: str
    topic: str
    body: bytes
    sensor_type: str
    received_ms: int


def cases() -> list[Case]:
    """Every captured message."""
    found = []
    for path in sorted(FOLDER.glob("*.json")):
        case = json.loads(path.read_text())
        text = case["body"]
        body = bytes.fromhex(text[4:]) if text.startswith("hex:") else text.encode()
        found.append(Case(path.stem, case["topic"], body, case["sensor_type"], case["received_ms"]))
    return found


def decoded(case: Case) -> Any:
    """The object in the body, however it is packed; a text when there is none."""
    text = device_publish.json_of(case.topic, case.body)
    read = text if isinstance(text, str) else device_body.decode(text)
    return read if isinstance(read, str) else read.value

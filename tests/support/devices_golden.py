"""The captured messages of devices in `tests/golden/device`, one file a case."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

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
    """The value in the body, however it is packed; its text when it is none."""
    body = case.body
    if body[:1].isalnum() and len(body) % 2 == 0:
        try:
            body = bytes.fromhex(body.decode())
        except ValueError:
            body = case.body
    if body[:1] in b"{[":
        try:
            return json.loads(body)
        except ValueError:
            return body.decode()
    try:
        return msgspec.msgpack.decode(body)
    except msgspec.DecodeError:
        return case.body.decode()

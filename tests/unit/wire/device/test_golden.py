"""Captured and published messages, one file a case in `tests/golden/device`: bytes in, readings out."""

import json
import math
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tripline.domain import samples
from tripline.wire.device import publish as device_publish
from tripline.wire.readings import Reading

CASES = sorted((Path(__file__).parents[3] / "golden" / "device").glob("*.json"))


def plain(reading: Reading) -> dict[str, Any]:
    """The reading as JSON values: its kind, its fields, samples as rows, payload and body as text."""
    fields = {name: getattr(reading, name) for name in reading.__struct_fields__}
    if "samples" in fields:
        rows = samples.RECORD.iter_unpack(fields["samples"])
        fields["samples"] = [[None if isinstance(x, float) and math.isnan(x) else x for x in row] for row in rows]
    texts = {name: value.decode(errors="replace") for name, value in fields.items() if isinstance(value, bytes)}
    return {"kind": type(reading).__name__, **fields, **texts}


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_golden_message_is_read_as_recorded(path: Path) -> None:
    case = json.loads(path.read_text())
    text = case["body"]
    body = bytes.fromhex(text.removeprefix("hex:")) if text.startswith("hex:") else text.encode()

    got = device_publish.read(
        case["topic"], body, received_ms=case["received_ms"], sensor_type=case["sensor_type"], max_items=1000
    )

    assert [plain(reading) for reading in got] == case["readings"]


def test_g21_golden_cases_cover_every_documented_table() -> None:
    seen = {reading["ty"] for path in CASES for reading in json.loads(path.read_text())["readings"] if "ty" in reading}

    assert seen >= {*range(1, 13), *range(101, 117)}


def test_golden_payloads_decode_again() -> None:
    stored = [
        reading["payload"]
        for path in CASES
        for reading in json.loads(path.read_text())["readings"]
        if "payload" in reading
    ]

    assert all(isinstance(msgspec.json.decode(payload), dict | list) for payload in stored)

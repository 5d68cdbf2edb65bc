"""However customers' messages are split into batches, ordered and delivered again: the same trips, records and scores.

And whatever a message is, reading it ends with a reading or a reason.
"""

import json
import random
import zoneinfo
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support import drives, stores
from tests.support.bus_messages import TRIP, event, microtrip, trip
from tests.support.bus_rig import BusRig
from tests.support.ingest_rig import DRIVER, NOW

from tripline.services.bus import messages as reading
from tripline.services.bus.messages import Message
from tripline.store import tables
from tripline.wire.bus import reader as bus_reader
from tripline.wire.bus import reasons as bus_reasons
from tripline.wire.bus.reader import Opened
from tripline.wire.readings import Rejected

ZONE = zoneinfo.ZoneInfo("Asia/Seoul")
ROWS: dict[Any, tuple[str, ...]] = {
    tables.trip: (
        *("id", "company_id", "sensor_id", "vehicle_id", "user_id", "device_type", "parking", "state"),
        *("start_ms", "end_ms", "message_ty", "distance_m", "payload", "not_scored", "source"),
    ),
    tables.microtrip: ("ts", "ty", "payload", "samples"),
    tables.device_event: ("id", "trip_id", "ty", "event_ms", "payload"),
    tables.driving_score: ("trip_id", "vehicle_id", "score", "accel", "de_accel", "over_speed", "distance_m"),
    tables.vehicle: ("id", "latest_trip_id", "last_trip_msg_type"),
}
"""What must come out the same; row numbers and the time of receipt may differ."""


def drive(number: int) -> list[dict[str, Any]]:
    """A drive of 3.95 km with an event, each its own trip."""
    trip_id = f"{TRIP[:7]}{number}{TRIP[8:]}"
    start = NOW + number * 200_000
    bodies = [json.loads(body) for body in drives.straight_trip(1, start)]
    items = [body["pld"] for body in bodies[:-1]]
    samples = [
        microtrip(
            items[at : at + 16],
            deviceType="GPS",
            tripId=trip_id,
            ts=items[at]["clt"],
            microTripId=f"{TRIP[:6]}{number}{at // 16}{TRIP[8:]}",
        )
        for at in range(0, len(items), 16)
    ]
    # What the message does not say comes from the samples, whichever arrives first.
    said = {} if number % 2 else {"startTs": start, "endTs": items[-1]["clt"], "userId": DRIVER}
    fields = {"startTs": None, "endTs": None, "userId": None} | said
    ended = trip({"tid": 1}, deviceType="GPS", tripId=trip_id, **fields)
    return [
        *samples,
        event(tripId=trip_id, eventId=f"{TRIP[:6]}e{number}{TRIP[8:]}", userId=None, deviceType="ADAS"),
        ended,
    ]


MESSAGES = [*drive(1), *drive(2)]


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Path]:
    return stores.folders(tmp_path)


def outcome(folder: Path, batches: list[list[dict[str, Any]]]) -> dict[str, list[Any]]:
    """The rows, sorted, after these batches and scoring."""
    with BusRig.fresh(folder) as rig:
        for batch in batches:
            rig.now_ms += 1_000
            assert rig.deliver(*batch).refused == []
        rig.score()
        return {table.name: sorted(rig.rows(table, *columns), key=repr) for table, columns in ROWS.items()}


@pytest.fixture
def expected(folders: Iterator[Path]) -> dict[str, list[Any]]:
    """The rows after every message once, in order and as one batch."""
    return outcome(next(folders), [MESSAGES])


@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.randoms(use_true_random=False), st.integers(1, 20), st.integers(0, 10))
def test_order_split_and_redelivery_change_nothing(
    folders: Iterator[Path],
    expected: dict[str, list[Any]],
    chance: random.Random,
    most: int,
    again: int,
) -> None:
    sent = [*MESSAGES, *chance.sample(MESSAGES, again)]
    chance.shuffle(sent)
    batches = []
    while sent:
        size = chance.randint(1, most)
        batches.append(sent[:size])
        sent = sent[size:]

    assert outcome(next(folders), batches) == expected
    assert len(expected["driving_score"]) == 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(max_size=6), inside, max_size=4),
    max_leaves=12,
)
FIELDS = st.sampled_from(
    [
        *microtrip()["data"],
        *trip()["data"],
        *event()["data"],
        "companyID",
        "msgType",
        "data",
        "pld",
        "startDt",
        "eventDt",
    ]
)


def read(body: bytes) -> Opened | Rejected:
    """The message, read to its end; what cannot be used has a documented reason."""
    opened = bus_reader.opened(body, topic_kind="event")
    found = [opened] if isinstance(opened, Rejected) else []
    if isinstance(opened, Opened):
        whole = reading.read(
            Message("t", body, None), opened, sensor_type="OBD2", zone=ZONE, received_ms=NOW, max_items=10
        )
        found += whole.left_out
        assert all(isinstance(json.loads(record.reading.payload), dict | list) for record in whole.records)
        assert isinstance(json.loads(opened.envelope), dict)
    assert all(each.reason in bus_reasons.REASONS or opened.kind == "header" for each in found)
    return opened


@settings(max_examples=100)
@given(st.binary(max_size=64))
def test_any_bytes_end_with_a_reading_or_a_reason(body: bytes) -> None:
    read(body)


@settings(max_examples=100)
@given(st.sampled_from([microtrip(), trip(), event()]), st.dictionaries(FIELDS, JSON, max_size=5), st.booleans())
def test_any_values_in_any_fields_end_with_a_reading_or_a_reason(
    sent: dict[str, Any], wrong: dict[str, Any], beside: bool
) -> None:
    message = {**sent, **wrong} if beside else sent | {"data": {**sent["data"], **wrong}}

    read(json.dumps(message).encode())


@settings(max_examples=200)
@given(st.sampled_from([microtrip, trip, event]), JSON, st.booleans())
def test_any_payload_ends_with_a_reading_or_a_reason(make: Any, payload: Any, as_text: bool) -> None:
    read(json.dumps(make(payload if payload is not None else {}, as_text=as_text)).encode())


HOSTILE = {
    "deep": b'{"data":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep_payload_text": json.dumps(microtrip("[" * 60_000, as_text=False)).encode(),
    "deep_data_text": json.dumps({"data": '{"a":' * 9_000, "msgType": "trip"}).encode(),
    "deep_payload": json.dumps(microtrip(1)).encode().replace(b'"1"', b"[" * 70 + b"]" * 70),
    "huge_integer": json.dumps(microtrip({"tid": 0}, as_text=False))
    .encode()
    .replace(b": 0}", b": " + b"9" * 20_000 + b"}"),
    "huge_ty": json.dumps(event(ty="9" * 5_000)).encode(),
    "nan": json.dumps(microtrip({"sp": float("nan")}, as_text=False)).encode(),
    "four_mebibytes": json.dumps(microtrip("x" * 4 * 2**20, as_text=False)).encode(),
    "utf_16": json.dumps(microtrip()).encode("utf-16"),
    "latin_1": json.dumps(microtrip(extra="ä"), ensure_ascii=False).encode("latin-1"),
    "lone_surrogate": json.dumps(microtrip(extra="?")).encode().replace(b"?", b"\\ud800"),
    "nul_in_text": json.dumps(microtrip(deviceType="G\0PS", microTripId="\0")).encode(),
    "nul_bytes": b"\0" * 100,
    "empty": b"",
    "byte_order_mark": b"\xef\xbb\xbf" + json.dumps(microtrip()).encode(),
    "twice_the_key": json.dumps(microtrip()).encode().replace(b'"data"', b'"data": 5, "data"'),
    "infinite_times": json.dumps(trip(startTs=1e308, endTs="1e400", createdTime=-1)).encode(),
}
READ = {
    "huge_integer",
    "lone_surrogate",
    "nul_in_text",
    "byte_order_mark",
    "twice_the_key",
    "infinite_times",
    "huge_ty",
}
"""Those of which something can be used."""


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_message_is_read_or_refused_and_what_is_read_can_be_stored(tmp_path: Path, name: str) -> None:
    assert isinstance(read(HOSTILE[name]), Opened) is (name in READ)

    with BusRig.fresh(tmp_path) as rig:
        told = rig.deliver(HOSTILE[name])
        beside = rig.deliver(event(eventId=None))

    assert bool(told.refused) is (name not in READ)
    assert "internal" not in {each.rejected.reason for each in told.refused}
    assert beside.counts["event"] == 1

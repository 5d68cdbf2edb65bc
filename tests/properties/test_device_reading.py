"""Reading never fails, whatever the bytes; the forms in which the decoder gives a message make no difference."""

import json
import math
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support.device_messages import ITEM, RECEIVED_MS, TS

from tripline.domain import pushes, samples
from tripline.services.ingest import notices
from tripline.wire import topics
from tripline.wire.device import answered_payloads as device_answered_payloads
from tripline.wire.device import publish as device_publish
from tripline.wire.device import reasons as device_reasons
from tripline.wire.device import tables as device_tables
from tripline.wire.explanation import messages as explanation_messages
from tripline.wire.explanation.words import Sort
from tripline.wire.readings import DeviceEvent, Microtrip, Rejected, Trip

pytestmark = pytest.mark.deep

TOPICS = st.sampled_from(sorted(device_publish.CHANNELS))
SENSOR_TYPES = st.sampled_from(["GPS", "OBD", "OBD2", "BLACKBOX", "DTG", "DTAG", "ADAS", "AVN", "", "x-y"])
MAX_ITEMS = 4
TRACK = SimpleNamespace(company_id="c", sensor_id="s", vehicle_id=None)
EVERYTHING = notices.Wanted("c", (pushes.Wish("c", pushes.OF_DEVICES),))

numbers = st.one_of(
    st.integers(-10, 200),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0, 0.0, -0.0, 10**400, 2**63, 2**63 - 1, 9_999_999_999_999, 20250101000000]),
)
times = st.one_of(st.integers(TS - 10_000, RECEIVED_MS + 310_000), st.integers(1_262_303_999_000, 1_262_304_001_000))
degrees = st.one_of(st.floats(-91, 91), st.integers(-181, 181))
leaves = st.one_of(
    st.none(), st.booleans(), numbers, st.text(max_size=8), st.sampled_from(["28", "0x2a", "12.7", "41", "19 mph"])
)
anything = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(
    sorted({key for table in device_tables.TABLES.values() for key in table} | {"em", "tripId", "cm"})
)

usual_items = st.fixed_dictionaries(
    {"lat": degrees, "lon": degrees},
    optional={
        "tid": st.integers(1, 2), "clt": times, "sp": numbers | leaves, "em": leaves, "alt": numbers, "vv": leaves,
        "try": st.sampled_from([1, 2, None, "1"]), "rpm": numbers,
    },
)  # fmt: skip
odd_items = st.dictionaries(keys, anything, max_size=6)
items = st.one_of(usual_items, usual_items, odd_items)
payloads = st.one_of(items, st.lists(st.one_of(items, usual_items), max_size=MAX_ITEMS + 1), anything)
headers = st.fixed_dictionaries(
    {"ty": st.one_of(st.integers(1, 12), st.integers(-1, 130), leaves)},
    optional={"ts": st.one_of(times, anything), "try": leaves, "ap": leaves, "sid": leaves},
)


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    """JSON of a message around the tables, keys in any order, spaced or not."""
    fields = list((draw(headers) | {"pld": draw(payloads)}).items())
    if draw(st.booleans()):
        fields = draw(st.permutations(fields))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,", " :")]))
    return json.dumps(dict(fields), separators=separators, ensure_ascii=draw(st.booleans())).encode(
        errors="surrogatepass"
    )


def check_forms(body: bytes, sensor_type: str) -> None:
    """A message decoded into structs is read like one decoded into objects."""
    around: dict[str, Any] = {"received_ms": RECEIVED_MS, "sensor_type": sensor_type, "max_items": MAX_ITEMS}

    # Nothing is skipped in a message that begins with a space.
    assert plain(device_publish.read(topics.TRE, body, **around)) == plain(
        device_publish.read(topics.TRE, b" " + body, **around)
    )


def plain(readings: Any) -> list[Any]:
    """The readings without the body of a rejected message; NaN equals NaN."""
    return [{**msgspec.structs.asdict(reading), "body": b""} for reading in readings]


@settings(max_examples=300)
@given(headers, st.one_of(items, st.lists(items, min_size=1, max_size=MAX_ITEMS)), SENSOR_TYPES)
@example({"ty": 4}, [{"lat": 1, "lon": 1, "em": "2a"}, {"lat": 1, "lon": 1, "em": 28.0}], "OBD")
@example({"ty": 2}, [{"lat": 1, "lon": 1, "clt": "1735689606"}, {"lat": "1", "lon": "nan", "sp": "inf"}], "GPS")
def test_object_that_fits_no_struct_is_read_alike(header: dict[str, Any], content: Any, sensor_type: str) -> None:
    around: dict[str, Any] = {"received_ms": RECEIVED_MS, "sensor_type": sensor_type, "max_items": MAX_ITEMS}
    sent = [item | {"tripId": item.get("tripId")} for item in (content if isinstance(content, list) else [content])]
    odd = [item | {"tripId": [] if item["tripId"] is None else item["tripId"]} for item in sent]
    both = [
        device_publish.read(topics.TRE, json.dumps({**header, "pld": pld}).encode(errors="surrogatepass"), **around)
        for pld in (sent, odd)
    ]

    assert without_payload(both[0]) == without_payload(both[1])


def check(topic: str, body: bytes, sensor_type: str) -> None:
    """What holds for the readings of any bytes: complete, storable, answerable."""
    readings = device_publish.read(topic, body, received_ms=RECEIVED_MS, sensor_type=sensor_type, max_items=MAX_ITEMS)

    for reading in readings:
        if isinstance(reading, Rejected):
            assert (reading.detail, reading.body) == (device_reasons.REASONS[reading.reason], body)
            continue
        assert isinstance(msgspec.json.decode(reading.payload), dict | list)
        if isinstance(reading, Microtrip | Trip | DeviceEvent):
            answer = device_answered_payloads.coerced(reading.payload, ty=reading.ty, device_type=reading.device_type)
            assert isinstance(msgspec.json.decode(answer), dict | list)
            check_pushed(reading, answer)
        if isinstance(reading, Microtrip):
            check_samples(reading)


def check_pushed(reading: Microtrip | Trip | DeviceEvent, answer: bytes) -> None:
    """What goes to whoever asked for everything: one message when the number is one that can be asked for."""
    told = notices.of_one(TRACK, reading, RECEIVED_MS, EVERYTHING, None)
    numbers = pushes.OF_DEVICES.intersection(notices.numbers_of(reading))
    assert [body["pld"] for body in (msgspec.json.decode(message[3]) for message in told)] == (
        [msgspec.json.decode(answer)] if numbers else []
    )


def check_samples(microtrip: Microtrip) -> None:
    content = msgspec.json.decode(microtrip.payload)
    rows = list(samples.RECORD.iter_unpack(microtrip.samples))
    assert len(rows) == (len(content) if isinstance(content, list) else 1)
    assert (min(row[0] for row in rows), max(row[0] for row in rows)) == (microtrip.first_ms, microtrip.last_ms)
    for index, (_, lat, lon, _, em, flags) in enumerate(rows):
        assert math.isnan(lat) == math.isnan(lon)
        assert math.isnan(lat) or (-90 <= lat <= 90 and -180 <= lon <= 180)
        assert -1 <= em <= 255
        # Only a black box's array is cut where driving and parking change (I6).
        parked = bool(flags & samples.FLAG_PARKING)
        assert parked is microtrip.parking or (index > 0 and microtrip.device_type != "BLACKBOX")


@settings(max_examples=200)
@given(TOPICS, st.binary(max_size=64), SENSOR_TYPES)
@example(topics.TRE, b'{"ty":2,"pld":{"lat":1e400,"clt":"1e999","tid":1e308,"em":9e99}}', "OBD")
@example(topics.TELEMETRY, b'{"\\udc00":"\\ud800"}', "OBD")
def test_any_bytes_are_read_without_an_error(topic: str, body: bytes, sensor_type: str) -> None:
    check(topic, body, sensor_type)


@settings(max_examples=150)
@given(TOPICS, messages(), st.data())
def test_damaged_messages_are_read_without_an_error(topic: str, body: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(body)))
    patch = data.draw(st.binary(max_size=3))

    check(topic, body[:at] + patch + body[at + data.draw(st.integers(0, 3)) :], "GPS")


def check_explained(topic: str, body: bytes, sensor_type: str) -> None:
    """The explanation tells what the reader did: the same readings, the same reasons, something of each."""
    surroundings: dict[str, Any] = {"received_ms": RECEIVED_MS, "sensor_type": sensor_type, "max_items": MAX_ITEMS}
    readings = device_publish.read(topic, body, **surroundings)

    told = explanation_messages.explain(topic, body, **surroundings)

    reasons = [reading.reason for reading in readings if isinstance(reading, Rejected)]
    said = [finding for finding in told.findings if finding.sort is Sort.REJECTED]
    assert told.readings == readings
    assert [finding.text.partition(":")[0] for finding in said] == reasons
    read = [finding for finding in told.findings if finding.sort is Sort.READ and not finding.where.endswith("em")]
    assert len(read) == (len(readings) - len(reasons) if readings else 1)
    assert all(finding.text for finding in told.findings)


@settings(max_examples=400)
@given(TOPICS, messages(), SENSOR_TYPES)
@example(topics.TRE, json.dumps({"ty": 2, "ts": TS, "pld": ITEM}).encode(), "GPS")
@example(topics.TRE, json.dumps({"ty": 4, "ts": TS, "pld": [ITEM, ITEM]}).encode(), "OBD")
@example(topics.TRE, b'{"ty":2,"pld":{"lat":1,"lon":1}, "pld":{"lat":2,"lon":2}}', "GPS")
@example(topics.TRE, b'{"ty":2,"pld":{"lat":1,"lon":1}, "ts":1735689606000}', "GPS")
@example(topics.TRE, b'{"sid":"\\"pld\\":","ty":2,"pld":{"lat":1,"lon":1}}', "GPS")
@example(topics.TRE, b'{"sid":"x"pld":,"ty":2,"pld":{"lat":1,"lon":1}}', "GPS")
@example(topics.TRE, b'{"ty":2,"pld":\x0b{"lat":1,"lon":1}}', "GPS")
@example(topics.TRE, b'{"ty":2,"pld":{"lat":1,"lon":1}}}', "GPS")
@example(topics.TRE, b'{"ty":2,"pld":[{"lat":1,"lon":-0.0},{"lat":-0.0,"lon":0}]}', "GPS")
@example(topics.TRE, b'{"ty":2,"\\u0070ld":5,"pld":{"lat":1,"lon":1}}', "GPS")
@example(topics.TRE, b'{"pld":"\xff","ty":2,"pld":{"lat":1,"lon":1},"ts":1735689606000}', "GPS")
@example(topics.TRE, b'{"\\u0070ld":1e999,"ty":2,"pld":{"lat":1,"lon":1},"ts":1735689606000}', "GPS")
@example(topics.TRE, b'{"pld": {"lat":1,"lon":1} , "ty":2, "ts":1735689606000 }\n', "GPS")
@example(topics.TRE, b'{"ty":2,"try":1,"pld":{"lat":1,"lon":1,"lat":3}}', "GPS")
def test_any_message_is_read_alike_in_either_form_storably_and_as_explained(
    topic: str, body: bytes, sensor_type: str
) -> None:
    check_forms(body, sensor_type)
    check(topic, body, sensor_type)
    check_explained(topic, body, sensor_type)


@settings(max_examples=200)
@given(TOPICS | st.just("v1/sensors/me/x"), st.binary(max_size=64), SENSOR_TYPES)
@example(topics.TELEMETRY, b'{"\\udc00":"\\ud800"}', "OBD")
def test_explanation_of_any_bytes_agrees_with_the_reader(topic: str, body: bytes, sensor_type: str) -> None:
    check_explained(topic, body, sensor_type)


def without_payload(readings: list[Any]) -> list[Any]:
    """What the readings say beside the payload that they keep."""
    return [
        [getattr(reading, name) for name in reading.__struct_fields__ if name not in ("payload", "body", "samples")]
        + [getattr(reading, "samples", None)]
        for reading in readings
    ]


@settings(max_examples=400)
@given(headers, st.one_of(usual_items, odd_items), SENSOR_TYPES)
@example({"ty": 5}, {"dis": 5}, "ADAS")
@example({"ty": 2}, {"lat": 0.0, "lon": 0.0, "clt": RECEIVED_MS + 300_001}, "GPS")
@example({"ty": 2}, {"lat": 1, "lon": 1, "try": 2}, "GPS")
@example({"ty": 104}, {"wbv": 1, "lat": 1, "lon": 1}, "OBD")
@example({"ty": 102}, {"DCLAT": 1, "dclon": 1}, "OBD")
def test_key_that_is_said_not_to_be_read_changes_nothing(
    header: dict[str, Any], item: dict[str, Any], sensor_type: str
) -> None:
    surroundings: dict[str, Any] = {"received_ms": RECEIVED_MS, "sensor_type": sensor_type, "max_items": MAX_ITEMS}
    body = json.dumps({**header, "pld": item}).encode(errors="surrogatepass")
    told = explanation_messages.explain(topics.TRE, body, **surroundings)
    unread = {
        finding.where.removeprefix("pld.")
        for finding in told.findings
        if finding.sort is Sort.UNKNOWN and finding.where.startswith("pld.")
    }

    rest = {key: value for key, value in item.items() if key not in unread}

    again = device_publish.read(
        topics.TRE, json.dumps({**header, "pld": rest}).encode(errors="surrogatepass"), **surroundings
    )
    assert rest.keys() == {"Latitude", "Longitude"} or without_payload(again) == without_payload(told.readings)


packable = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(), st.text(max_size=5), st.binary()
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4) | st.binary(max_size=3), inner),
    max_leaves=8,
)


@settings(max_examples=150)
@given(TOPICS, st.dictionaries(st.sampled_from(["ty", "ts", "pld", b"pld", "x"]), packable), SENSOR_TYPES)
def test_any_msgpack_map_is_read_into_storable_readings(topic: str, fields: dict[Any, Any], sensor_type: str) -> None:
    check(topic, msgspec.msgpack.encode(fields), sensor_type)
    check_explained(topic, msgspec.msgpack.encode(fields), sensor_type)

"""MessagePack bodies: M1 to M4 of spec/device-messages 8."""

import datetime
import json
import random
import struct
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.device_messages import ITEM, TS, read, rows, text

from tripline.wire import topics
from tripline.wire.device import msgpack as device_msgpack
from tripline.wire.device import reasons as device_reasons
from tripline.wire.device.body import MAX_PARTS
from tripline.wire.readings import LatestValues

MESSAGE = {"ty": 2, "ts": TS, "pld": ITEM}
PACKED = msgspec.msgpack.encode(MESSAGE)
MP = topics.TRE_MSGPACK


def reasons(body: bytes) -> list[str]:
    return [getattr(reading, "reason", "") for reading in read(body, topic=MP)]


def test_m1_map_is_read_like_its_json() -> None:
    assert read(PACKED, topic=MP) == read(text(2, ITEM))


@pytest.mark.parametrize("top", [[MESSAGE], 5, "text", None, b"raw"])
def test_m1_top_value_must_be_a_map(top: object) -> None:
    assert reasons(msgspec.msgpack.encode(top)) == ["not_msgpack"]


@pytest.mark.parametrize("body", [PACKED[:-1], PACKED + b"x", b"\xdf\xff\xff\xff\xff", b"\x81\xa1", b"\xc1", b""])
def test_m1_bytes_that_are_no_map_are_rejected(body: bytes) -> None:
    assert read(body, topic=MP) == [device_reasons.rejected("not_msgpack", body)]


@pytest.mark.parametrize("space", [b"", b"\n "])
def test_m2_json_on_the_msgpack_topic_is_read(space: bytes) -> None:
    assert read(space + text(2, ITEM), topic=MP) == read(text(2, ITEM))


def test_m2_broken_json_is_called_json() -> None:
    assert reasons(b'{"ty":2') == ["not_json"]


@pytest.mark.parametrize("digits", [PACKED.hex(), PACKED.hex().upper(), PACKED.hex() + "\n"])
def test_m2_hexadecimal_text_of_a_map_is_read(digits: str) -> None:
    assert read(digits.encode(), topic=MP) == read(text(2, ITEM))


@pytest.mark.parametrize("digits", [PACKED.hex()[:-1], PACKED.hex() + "zz", b"\x93\x01\x02\x03".hex(), "7b7d"])
def test_m2_other_text_is_rejected(digits: str) -> None:
    assert reasons(digits.encode()) == ["not_msgpack"]


def test_m3_keys_may_be_binary() -> None:
    packed = msgspec.msgpack.encode({b"ty": 2, b"ts": TS, b"pld": {key.encode(): value for key, value in ITEM.items()}})

    assert read(packed, topic=MP) == read(text(2, ITEM))


def test_m4_map_on_the_json_topic_is_read() -> None:
    assert read(PACKED, topic=topics.TRE) == read(text(2, ITEM))


def test_m4_map_on_a_headerless_topic_is_stored_as_json() -> None:
    assert read(msgspec.msgpack.encode({"a": 1}), topic=topics.TELEMETRY) == [
        LatestValues(name="latest", payload=b'{"a":1}')
    ]


def test_floats_of_32_bits_are_within_a_hundred_thousandth_of_a_degree() -> None:
    lat, lon = (b"\xca" + struct.pack(">f", degrees) for degrees in (35.157731, 127.062512))
    packed = b"\x82\xa2ty\x02\xa3pld\x82\xa3lat" + lat + b"\xa3lon" + lon

    (reading,) = read(packed, topic=MP)

    assert rows(reading)[0][1:3] == pytest.approx((35.157731, 127.062512), abs=1e-5)


def test_values_that_json_does_not_have_become_what_it_has() -> None:
    moment = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
    pld = {"text": b"abc", "hex": b"\xff\x00", "nan": float("nan"), "inf": float("inf"), "at": moment, 5: [b"x"]}
    pld["ext"] = msgspec.msgpack.Ext(7, b"data")

    (reading,) = read(msgspec.msgpack.encode({"ty": 2, "pld": pld}), topic=MP)

    assert json.loads(reading.payload) == {
        "text": "abc", "hex": "ff00", "nan": None, "inf": None, "at": 1_735_689_600_000, "5": ["x"], "ext": None,
    }  # fmt: skip


@pytest.mark.parametrize(("levels", "usable"), [(61, True), (62, True), (63, False), (5000, False)])
def test_nesting_is_limited(levels: int, usable: bool) -> None:
    packed = b"\x82\xa2ty\x02\xa3pld\x81\xa1a" + b"\x91" * levels + b"\x01"

    assert reasons(packed) == ([""] if usable else ["too_deep"])


def array_of(element: bytes, count: int) -> bytes:
    return b"\x82\xa2ty\x02\xa3pld\x81\xa1a\xdd" + count.to_bytes(4, "big") + element * count


@pytest.mark.parametrize("element", [b"\x90", b"\x80", b"\xdc\x00\x00", b"\xdf\x00\x00\x00\x00"])
def test_objects_and_arrays_are_limited(element: bytes) -> None:
    assert reasons(array_of(element, MAX_PARTS - 3)) == [""]
    assert reasons(array_of(element, MAX_PARTS - 2)) == ["too_many_parts"]


@pytest.mark.parametrize(
    "element", [b"\xa2\xdc\x90", b"\xc4\x02\x90\x91", b"\xcb" + b"\x92" * 8, b"\xd6\xff" + b"\x80" * 4, b"\xcc\x90"]
)
def test_bytes_of_values_that_look_like_arrays_do_not_count(element: bytes) -> None:
    assert reasons(array_of(element, MAX_PARTS // 4)) != ["too_many_parts"]


@pytest.mark.parametrize(
    "element", [b"\x90", b"\x80", b"\x91\x90", b"\x91" * 60 + b"\x90"], ids=["arrays", "maps", "pairs", "deep"]
)
def test_quarter_of_a_mebibyte_of_arrays_is_rejected_in_no_time(element: bytes) -> None:
    body = array_of(element, 262_000 // len(element))
    begun = time.process_time()

    assert reasons(body) == ["too_many_parts"]
    assert time.process_time() - begun < 0.05  # 0.001 s; 0.12 to 0.29 s when they were decoded first


sizes = st.sampled_from((0, 1, 15, 16, 31, 32, 255, 256, 300))
"""Lengths on both sides of each that MessagePack writes in another way."""
texts = sizes.map(lambda size: ("a\u0410" * size)[:size])
counts = st.sampled_from((0, 1, 2, 15, 16, 20))
single = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | texts
    | st.builds(lambda size, seed: random.Random(seed).randbytes(size), sizes, st.integers(0, 255))
    | st.datetimes(timezones=st.just(datetime.UTC))
    | st.builds(msgspec.msgpack.Ext, st.integers(0, 127), st.binary(max_size=40))
    | st.sampled_from(([], {}))
)
equal = st.builds(lambda each, count: [each] * count, single, counts) | st.builds(
    lambda each, count: {str(key): each for key in range(count)}, single, counts
)
values = st.recursive(
    single | equal,
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(texts, inside, max_size=3),
    max_leaves=8,
)


def parts_in(value: object) -> int:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inside is None else 1 + sum(map(parts_in, inside))


@pytest.mark.deep
@given(st.dictionaries(texts, values, max_size=4))
def test_parts_are_counted_whatever_stands_between_them(value: object) -> None:
    packed = msgspec.msgpack.encode(value)
    parts = parts_in(value)

    assert isinstance(device_msgpack.as_json(packed, parts), bytes)
    assert device_msgpack.as_json(packed, parts - 1) == device_reasons.TOO_MANY_PARTS

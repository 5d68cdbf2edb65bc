"""The explanation of a message: every rejected and converted example of spec/device-messages, in plain words."""

import json
from typing import Any

import pytest
from tests.support.device_messages import CASES, ITEM, RECEIVED_MS, TS, text

from tripline.wire import topics
from tripline.wire.device.meanings import TITLES
from tripline.wire.device.reasons import REASONS
from tripline.wire.device.values import WEEKS_MS
from tripline.wire.explanation import messages as explanation_messages
from tripline.wire.explanation.words import Sort

GOLDEN = sorted(CASES.glob("*.json"))
BBX = {**ITEM, "try": 1}


def explained(
    body: bytes, *, topic: str = topics.TRE, sensor_type: str = "GPS", max_items: int = 1000
) -> list[tuple[str, str, str]]:
    """The findings: sort, place, text."""
    told = explanation_messages.explain(
        topic, body, received_ms=RECEIVED_MS, sensor_type=sensor_type, max_items=max_items
    )
    return [(str(finding.sort), finding.where, finding.text) for finding in told.findings]


def assert_said(found: list[tuple[str, str, str]], sort: str, where: str, *fragments: str) -> None:
    """There is a finding of this sort about this place whose text holds the fragments."""
    told = [text for kind, place, text in found if (kind, place) == (sort, where)]
    assert any(all(fragment in text for fragment in fragments) for text in told), found


# Each case: section of spec/device-messages, number, payload, sort, place, what is said.
CONVERTED: list[tuple[str, Any, Any, str, str, tuple[str, ...]]] = [
    # 4.1 values
    ("4.1 V1 vv", 4, {**ITEM, "vv": "12.7"}, "coerced", "pld.vv", ('"12.7" read as the number 12.7', "`vv`")),
    ("4.1 V1 trimmed", 4, {**ITEM, "rpm": " 1830 "}, "coerced", "pld.rpm", ("number 1830",)),
    ("4.1 V1 no number", 4, {**ITEM, "vv": "high"}, "dropped", "pld.vv", ('"high" is not a number', "kept as sent")),
    ("4.1 V1 boolean", 4, {**ITEM, "vv": True}, "dropped", "pld.vv", ("true is not a number",)),
    ("4.1 V1 NaN", 4, {**ITEM, "vv": "NaN"}, "dropped", "pld.vv", ('"NaN" is not a number',)),
    ("4.1 V2 usm", 3, {"tid": 1, "usm": 1012345678}, "coerced", "pld.usm", ("1012345678 is shown as text",)),
    ("4.1 V2 fwv", 1, {"tid": 1, "fwv": 1.2}, "coerced", "pld.fwv", ("1.2 is shown as text",)),
    ("4.1 V2 object", 1, {"tid": 1, "fwv": {}}, "dropped", "pld.fwv", ("an object is not a text",)),
    ("4.1 V3 null", 2, {**ITEM, "alt": None}, "dropped", "pld.alt", ("null counts as absent",)),
    ("4.1 V1 sp", 2, {**ITEM, "sp": "19 mph"}, "coerced", "pld.sp", ('"19 mph" read as the number 30.578',)),
    ("4.1 V4 sp", 2, {**ITEM, "sp": "fast"}, "dropped", "pld.sp", ('"fast" is not a number',)),
    ("4.1 V5 unknown", 2, {**ITEM, "foo": 1}, "unknown", "pld.foo", ("kept and returned as sent",)),
    ("4.1 V5 case", 2, {**ITEM, "ALT": 1}, "unknown", "pld.ALT", ("do you mean `alt`?",)),
    ("4.1 V5 other name", 2, {**ITEM, "speed": 1}, "unknown", "pld.speed", ("do you mean `sp`?",)),
    # 4.2 times
    ("4.2 T1 seconds", 2, {**ITEM, "clt": 1735689600}, "coerced", "pld.clt", ("in seconds", "2025-01-01 00:00:00")),
    ("4.2 T1 calendar", 2, {**ITEM, "clt": 20250101000000}, "coerced", "pld.clt", ("calendar", "2025-01-01 00:00:00")),
    ("4.2 T1 calendar stt", 1, {"tid": 1, "stt": 20241231235000}, "coerced", "pld.stt", ("2024-12-31 23:50:00",)),
    ("4.2 T1 as text", 2, {**ITEM, "clt": "1735689600000"}, "coerced", "pld.clt", ("read as the number",)),
    ("4.2 T1 hhmmss", 2, {**ITEM, "clt": 123456}, "dropped", "pld.clt", ("123456 is not a time", "milliseconds")),
    ("4.2 T1 impossible date", 2, {**ITEM, "clt": 20251301000000}, "dropped", "pld.clt", ("is not a time",)),
    ("4.2 T2 before 2010", 2, {**ITEM, "clt": 1_200_000_000_000}, "dropped", "pld.clt", ("before 2010", "clock")),
    ("4.2 T2 weeks", 2, {**ITEM, "clt": ITEM["clt"] - WEEKS_MS}, "dropped", "pld.clt", ("1,024 weeks", "firmware")),
    ("4.2 T2 constant", 2, {**ITEM, "clt": 9_999_999_999_999}, "dropped", "pld.clt", ("days after it was received",)),
    ("4.2 T2 local", 2, {**ITEM, "clt": RECEIVED_MS + 32_400_000}, "dropped", "pld.clt", ("9 hours", "send UTC")),
    ("4.2 T2 minutes", 2, {**ITEM, "clt": RECEIVED_MS + 301_000}, "dropped", "pld.clt", ("5 minutes after",)),
    # 4.3 positions
    ("4.3 P1 range", 2, {**ITEM, "lat": 95.5}, "dropped", "pld.lat", ("`lat` is 95.5", "-90 to 90")),
    ("4.3 P1 longitude", 2, {**ITEM, "lon": -200}, "dropped", "pld.lat", ("`lon` is -200", "-180 to 180")),
    ("4.3 P1 zero", 2, {**ITEM, "lat": 0, "lon": 0.0}, "dropped", "pld.lat", ("both are 0",)),
    ("4.3 P1 half", 2, {"tid": 1, "lat": 35.1, "clt": TS}, "dropped", "pld.lat", ("`lon` is missing",)),
    ("4.3 P1 text", 2, {**ITEM, "lat": "N35"}, "dropped", "pld.lat", ("`lat` is not a number",)),
    # 4.4 trip numbers
    ("4.4 I5 text", 2, {**ITEM, "tid": "41"}, "coerced", "pld.tid", ('"41" read as the number 41',)),
    ("4.4 I5 tripId", 2, {"lat": 35.1, "lon": 129.1, "clt": TS, "tripId": 5}, "alias", "pld.tripId", ("`tid`",)),
    ("4.4 I5 both", 2, {**ITEM, "tripId": 5}, "unknown", "pld.tripId", ("not used, as there is a `tid`",)),
    ("4.4 I5 no number", 2, {**ITEM, "tid": "a1"}, "dropped", "pld.tid", ("not a whole number", "by time alone")),
    ("4.4 I6 try", 8, {**BBX, "try": 3}, "note", "pld.try", ("neither 1 (driving) nor 2 (parking)",)),
    # 4.5 order
    ("4.5 O2", 2, [{**ITEM, "clt": TS}, {**ITEM, "clt": TS - 2000}], "note", "pld", ("not in time order",)),
    ("4.5 O4", 2, [{**ITEM, "clt": TS - 5}, {**ITEM, "clt": TS}], "scoring", "pld", ("less than 920 ms",)),
    # 4.6 manoeuvres
    ("4.6 E1 text", 4, {**ITEM, "em": "2a"}, "read", "pld.em", ("left turn", "U-turn", "acceleration")),
    ("4.6 E1 prefix", 4, {**ITEM, "em": "0x28"}, "read", "pld.em", ("U-turn", "acceleration")),
    ("4.6 E1 integer", 4, {**ITEM, "em": 28}, "coerced", "pld.em", ("digits of 28", "U-turn", "acceleration")),
    ("4.6 E1 68", 4, {**ITEM, "em": 68}, "coerced", "pld.em", ("sudden stop",)),
    ("4.6 E1 zero", 4, {**ITEM, "em": 0}, "coerced", "pld.em", ("no manoeuvre",)),
    ("4.6 E1 unreadable", 4, {**ITEM, "em": "zz"}, "dropped", "pld.em", ('"zz" gives no manoeuvre flags',)),
    ("4.6 E1 three digits", 4, {**ITEM, "em": 128}, "dropped", "pld.em", ("two hexadecimal digits",)),
    # 5 payloads and their aliases
    ("5.2 clt missing", 2, {"tid": 1, "lat": 35.1, "lon": 129.1}, "note", "pld.clt", ("time in `ts`",)),
    ("5.2 clt missing in all", 2, [{"lat": 35.1, "lon": 129.1}] * 3, "scoring", "pld", ("2 of 3", "`clt`")),
    ("P1 exchanged", 2, {**ITEM, "lat": 129.1, "lon": 35.1}, "dropped", "pld.lat", ("129.1", "swapped?")),
    ("P1 not exchanged", 2, {**ITEM, "lat": 190.0, "lon": 35.1}, "dropped", "pld.lat", ("-90 to 90: send",)),
    ("5.2 no position", 2, {"tid": 1, "clt": TS}, "scoring", "pld", ("no sample has a valid position",)),
    ("5.2 slow", 2, [{**ITEM, "clt": TS - n * 10_000} for n in (2, 1, 0)], "scoring", "pld", ("10 s apart", "5 s")),
    ("5.4 xyz number", 4, {**ITEM, "xyz": 1}, "coerced", "pld.xyz", ("shown as text",)),
    ("5.5 ADAS", 5, {"tid": 1, "lat": 35.1, "lon": 129.1}, "scoring", "ty", ("never scored", "ADAS")),
    ("5.7 older form", 7, {"tid": 1, "lat": 35.1, "lon": 129.1, "try": 1}, "alias", "pld.lat", ("`edlat`",)),
    ("5.8 parked", 8, {"tid": 1, "try": 2, "clt": TS}, "scoring", "try", ("parked",)),
    ("5.8 mandatory when parked", 8, {"try": 2}, "missing", "pld", ("`vlt`, `tem`, `tim`",)),
    ("5.8 mandatory when driving", 8, {"try": 1}, "missing", "pld", ("`lat`, `lon`, `sp`",)),
    ("5.9 tachograph", 9, {"tid": 1, "vin": "K", "vcat": 3}, "note", "ty", ("DTG tables", "`vcat`")),
    ("5.12 AVN", 12, {"tid": 1, "clt": TS}, "scoring", "ty", ("AVN",)),
    # 6 events
    ("6 unknown number", 130, {"a": 1}, "note", "ty", ("not a documented event", "kept as sent")),
    ("6.1 missing", 101, {"dtcc": "P0420"}, "missing", "pld", ("`dtck`, `dtcs`",)),
    ("6.2 alias", 102, {"dCWlat": 35.1, "dCWlon": 129.1}, "alias", "pld.dCWlat", ("`dclat`",)),
    ("6.2 any case", 102, {"DCLAT": 35.1, "dclon": 129.1}, "alias", "pld.DCLAT", ("`dclat`",)),
    ("6.3 alias", 103, {"pclat": 35.1, "pclon": 129.1}, "alias", "pld.pclon", ("`plon`",)),
    ("6.3 position", 103, {"plat": 91, "plon": 129.1}, "dropped", "pld.plat", ("-90 to 90",)),
    ("6.5 seconds", 105, {"unpt": 1735684000, "pt": 1735687600}, "coerced", "pld.unpt", ("seconds", "22:26:40")),
    ("6.5 attached", 105, {"unpt": 1735684000, "pt": 1735687600}, "coerced", "pld.pt", ("seconds", "23:26:40")),
    ("6.6 text", 106, {"rs": 3}, "coerced", "pld.rs", ("3 is shown as text",)),
    ("6.10 time", 109, {"mod": 1, "tim": 1735689500}, "coerced", "pld.tim", ("in seconds",)),
    ("6.12 time", 111, {"kind": 1, "url": "x", "tm": 5}, "dropped", "pld.tm", ("5 is not a time",)),
    ("6.17 AVN event", 114, {"wid": 2}, "note", "ty", ("AVN event of 2018",)),
    ("6.18 latest values", 104, {"wbv": 11.4}, "note", "", ("latest values",)),
    # 7 aggregates
    ("7 A3", 2, [], "read", "pld", ("empty array",)),
    ("7 A6", 104, [{"wbv": 11.4}, {"wbv": "11.5"}], "coerced", "pld[1].wbv", ("11.5",)),
    # 9 register
    ("9 D1 K4", 2, {**ITEM, "rpm": 900}, "coerced", "ty", ("OBD tables", "`rpm`", "number is 4")),
    ("9 D5", 4, {**ITEM, "cdlt": 10}, "alias", "pld.cdlt", ("`cdit`",)),
    ("9 D9", 3, {"tid": 1, "dis": 0}, "dropped", "pld.dis", ("leave it out",)),
    ("9 D9 short", 3, {"tid": 1, "dis": 2100}, "scoring", "pld.dis", ("2,100 m", "3,000 m")),
    ("9 D15", 1, {"tid": 1, "stt": 202501010}, "dropped", "pld.stt", ("is not a time",)),
    ("9 D24", 10, {"tid": 1, "clt": TS, "gag": 1, "dtr": 1}, "alias", "pld.gag", ("`gan`",)),
    ("9 D27", 113, {"tid": 1, "clt": 1735689500}, "coerced", "pld.clt", ("in seconds",)),
    # 3.4 the kind
    ("3.4 K1", "2", ITEM, "coerced", "ty", ('"2" read as the number 2',)),
    ("3.4 K2", 4, {"dCWlat": 35.1, "dCWlon": 129.1}, "coerced", "ty", ("does not fit", "send 102")),
    ("3.4 K2 no number", None, {"wbv": 11.4}, "coerced", "ty", ("no message number", "104")),
    ("3.4 K3", 23, {"wbv": 11.4}, "alias", "ty", ("number of 2017 for 104",)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("ty", "payload", "sort", "where", "fragments"),
    [case[1:] for case in CONVERTED],
    ids=[case[0] for case in CONVERTED],
)
def test_converted_or_unused_value_is_explained(ty, payload, sort, where, fragments):
    assert_said(explained(text(ty, payload)), sort, where, *fragments)


HEADERS: list[tuple[str, Any, str, str]] = [
    ("D14 seconds", 1735689606, "coerced", "in seconds"),
    ("D14 nine hours ahead", RECEIVED_MS // 1000 + 32_400, "dropped", "9 hours after"),
    ("D14 hhmmss", 123456, "dropped", "is not a time"),
    ("D14 constant", 9_999_999_999_999, "dropped", "days after"),
    ("D14 text", "1735689606000", "coerced", "read as the number"),
]


@pytest.mark.parametrize(("ts", "sort", "said"), [case[1:] for case in HEADERS], ids=[case[0] for case in HEADERS])
def test_d14_header_time_is_explained(ts, sort, said):
    assert_said(explained(text(2, ITEM, ts=ts)), sort, "ts", said)


def test_header_key_that_is_not_documented_is_said_not_to_be_kept():
    found = explained(text(2, ITEM, ap=0, sid="sid", vendor="x"))

    assert_said(found, "unknown", "vendor", "not kept")
    assert {where for _, where, _ in found} == {"", "pld", "vendor"}


def test_d25_parking_in_the_header_is_explained():
    assert_said(explained(text(8, {"tid": 1}, **{"try": 2})), "note", "try", "2 in the header")


def test_k4_sensor_registered_as_obd_is_the_reason_that_is_given():
    assert_said(explained(text(2, ITEM), sensor_type="OBD2"), "coerced", "ty", "registered as OBD2", "number is 4")


def test_message_of_another_device_than_registered_is_pointed_out():
    assert_said(explained(text(8, BBX), sensor_type="GPS"), "note", "ty", "registered as GPS", "BLACKBOX")


@pytest.mark.parametrize(
    ("body", "fragments"),
    [
        ({"unpt": 1735684000, "pt": 1735687600}, ("event 105 (unplugged)", "`unpt`, `pt`", "no header")),
        ({"pclat": 35.1, "pclon": 129.1}, ("event 103", "`pclat`, `pclon`")),
    ],
)
def test_d3_headerless_event_is_explained(body, fragments):
    found = explained(json.dumps(body).encode(), topic=topics.ATTRIBUTES)

    assert_said(found, "note", "", *fragments)
    assert found[0][0] == "read"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"cm": "01"}, "capability report"),
        ({"Latitude": 35.1, "Longitude": 129.1}, "it is not a microtrip"),
        ({"a": 1}, "identify no event"),
    ],
)
def test_k8_headerless_latest_values_are_explained(body, said):
    assert_said(explained(json.dumps(body).encode(), topic=topics.TELEMETRY), "read", "", said)


REJECTED: list[tuple[str, str, bytes, str, tuple[str, ...]]] = [
    ("11 no payload", topics.TRE, b'{"ty":2}', "pld", ("no_payload", "there is no `pld`")),
    ("11 payload is text", topics.TRE, b'{"ty":2,"pld":"x"}', "pld", ("payload_form", '`pld` is a text, "x"')),
    ("11 unknown number", topics.TRE, b'{"ty":55,"pld":{}}', "ty", ("unknown_type", "`ty` is 55")),
    ("11 not JSON", topics.TRE, b"ty=2;lat=35.1", "", ("not_json", "character 1", "ty=2")),
    ("9 D23 trailing comma", topics.TRE, b'{"ty":5,"pld":{"tid":1,}}', "", ("not_json", "at character 2")),
    ("9 D2 missing comma", topics.TRE, b'{"ty":8,"pld":{"tid":1 "try":1}}', "", ("not_json", "',' delimiter")),
    ("4.1 NaN", topics.TRE, b'{"ty":2,"pld":{"sp":NaN}}', "", ("not_json", "NaN is not a JSON number")),
    ("4.1 infinity", topics.TRE, b'{"ty":2,"pld":{"sp":-Infinity}}', "", ("not_json", "-Infinity")),
    ("empty", topics.TRE, b"", "", ("not_json", "the body is empty")),
    ("no UTF-8", topics.TRE, b'{"ty":"\xff"}', "", ("not_json", "byte 8 is not UTF-8")),
    ("no object", topics.TRE, b"[1,2]", "", ("not_object", "the body is an array")),
    ("values beside ty", topics.TRE, b'{"ty":2,"lat":1,"lon":2}', "pld", ("`lat`, `lon` are beside `ty`",)),
    ("null payload", topics.TRE, b'{"ty":2,"pld":null}', "pld", ("no_payload", "`pld` is null")),
    ("3.4 K1", topics.TRE, b'{"ty":"two","pld":{"lat":1,"lon":1}}', "ty", ("no_type", '`ty` is a text, "two"')),
    ("3.4 K2", topics.TRE, b'{"pld":{"lat":1,"lon":1}}', "ty", ("no_type", "there is no `ty`")),
    ("3.4 K7", topics.TRE, b'{"ty":27,"pld":{}}', "ty", ("unknown_type", "`ty` is 27")),
    ("7 A4", topics.TRE, b'{"ty":2,"pld":[{"lat":1,"lon":1},7,"a"]}', "pld", ("item_form", "`pld[1]` is a number")),
    ("7 limit", topics.TRE, text(2, [ITEM] * 1001), "pld", ("too_many_items", "1,001", "1,000 are allowed")),
    ("8 M1", topics.TRE_MSGPACK, b"\x93\x01\x02\x03", "", ("not_msgpack", "0x93")),
    ("8 M2", topics.TRE_MSGPACK, b"zz", "", ("not_msgpack", "0x7a")),
    ("8 empty", topics.TRE_MSGPACK, b"", "", ("not_msgpack", "the body is empty")),
    ("8 cut", topics.TRE_MSGPACK, b"\x83\xa2ty\x02", "", ("not_msgpack", "ends early")),
    ("1.1 topic", "v1/sensors/me/other", b"{}", "", ("topic", "v1/sensors/me/other")),
    ("parts", topics.TRE, b"[" * 16_385, "", ("too_many_parts",)),
    ("deep", topics.TRE, b'{"ty":2,"pld":{"a":' + b"[" * 70 + b"]" * 70 + b"}}", "", ("too_deep",)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("topic", "body", "where", "fragments"), [case[1:] for case in REJECTED], ids=[case[0] for case in REJECTED]
)
def test_rejected_message_is_explained_with_what_exactly_is_wrong(topic, body, where, fragments):
    found = explained(body, topic=topic)

    assert_said(found, "rejected", where, *fragments)
    assert all(text.startswith(tuple(REASONS)) for sort, _, text in found if sort == "rejected")


def test_every_reason_of_rejection_has_an_example():
    assert {fragment for case in REJECTED for fragment in case[4]} >= set(REASONS)


def test_a4_used_elements_keep_their_place_in_the_array():
    found = explained(text(2, [7, ITEM, {**ITEM, "vvv": 1, "alt": 1}]))

    assert_said(found, "unknown", "pld[2].vvv", "not documented")
    assert_said(found, "missing", "pld[1]", "`alt`")


def test_a5_each_run_of_an_array_is_a_microtrip_of_its_own():
    found = explained(text(2, [{**ITEM, "tid": 1}, {**ITEM, "tid": 2, "x": 1}]))

    assert [text.partition(":")[0] for sort, _, text in found if sort == "read"] == [
        "microtrip of a GPS device, trip 1",
        "microtrip of a GPS device, trip 2",
    ]
    assert_said(found, "unknown", "pld[1].x", "not documented")


def test_same_remark_on_many_items_is_said_once_with_their_number():
    found = explained(text(2, [{**ITEM, "alt": f"{n}"} for n in range(3)]))

    assert [(where, text) for sort, where, text in found if sort == "coerced"] == [
        ("pld[0].alt", '"0" read as the number 0: `alt` is a number (so in 3 of 3 objects)')
    ]


@pytest.mark.parametrize(
    ("topic", "body", "said"),
    [
        (topics.TRE_MSGPACK, text(2, ITEM), "JSON on the MessagePack topic"),
        (topics.TRE, b'{"ty":2,"pld":{"lat":1,"lon":1,"alt":1e999}}', "became null"),
    ],
)
def test_m2_m4_body_in_another_form_than_its_topic_is_explained(topic, body, said):
    assert_said(explained(body, topic=topic), "coerced", "", said)


def test_m2_m4_msgpack_in_another_form_than_documented_is_explained():
    packed = bytes.fromhex("83a2747902a27473cf000001941f298ba0a3706c6484a374696429a36c6174ca420ca184a36c6f6eca42fe"
                           "2002a3636c74cf000001941f298ba0")  # fmt: skip

    assert_said(explained(packed, topic=topics.TRE), "coerced", "", topics.TRE_MSGPACK)
    assert_said(explained(packed.hex().encode(), topic=topics.TRE_MSGPACK), "coerced", "", "raw bytes")
    assert not [each for each in explained(packed, topic=topics.TRE_MSGPACK) if each[0] == "coerced"]


ANSWERS: list[tuple[str, str, bytes, list[tuple[str, str, str]]]] = [
    (
        "ack",
        topics.RPC_RESPONSE,
        b'{"result":2000}',
        [("read", "", "acknowledgement of the call 47: code 2000, success")],
    ),
    (
        "result",
        topics.RPC_RESULT,
        b'{"result":4001}',
        [("read", "", "result of the call 47: code 4001, the device cannot do it")],
    ),
    (
        "names of real devices",
        topics.RPC_RESULT,
        b'{"results":"2000","additionalInfo":{"sn":"1"}}',
        [
            ("read", "", "result of the call 47: code 2000, success"),
            ("alias", "results", "understood as `result`, the documented name"),
            ("alias", "additionalInfo", "understood as `addInfo`, the documented name"),
            ("coerced", "result", '"2000" read as the number 2000'),
        ],
    ),
    (
        "odd code",
        topics.RPC_RESULT,
        b'{"resultCode":77}',
        [
            ("read", "", "result of the call 47: code 77, not a success code"),
            ("alias", "resultCode", "understood as `result`, the documented name"),
        ],
    ),
    (
        "no code",
        topics.RPC_RESULT,
        b'{"result":true}',
        [
            ("read", "", "result of the call 47: no code"),
            (
                "dropped",
                "result",
                "there is no whole number in `result`; without a code the call counts as failed: send 2000 in `result`"
                " for success",
            ),
        ],
    ),
    (
        "no JSON",
        topics.RPC_RESPONSE,
        b"OK",
        [
            ("read", "", "acknowledgement of the call 47: no code"),
            ("note", "", "the body is not a JSON object: kept as sent; the call is acknowledged anyway"),
        ],
    ),
]


@pytest.mark.parametrize(("topic", "body", "found"), [case[1:] for case in ANSWERS], ids=[case[0] for case in ANSWERS])
def test_answer_to_a_call_is_explained(topic, body, found):
    assert explained(body, topic=f"{topic}47") == found


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_recorded_message_of_every_table_is_named(path):
    case = json.loads(path.read_text())
    body = case["body"]
    sent = bytes.fromhex(body[4:]) if body.startswith("hex:") else body.encode()

    found = explained(sent, topic=case["topic"], sensor_type=case["sensor_type"])

    said = " ".join(text for sort, _, text in found if sort in ("read", "rejected"))
    for reading in case["readings"]:
        if reading["kind"] == "DeviceEvent" and reading["ty"] in TITLES:
            assert f"event {reading['ty']} (" in said
        elif reading["kind"] in ("Microtrip", "Trip"):
            assert reading["device_type"] in said
        elif reading["kind"] == "Rejected":
            assert reading["reason"] in said


def test_documented_gps_example_has_nothing_to_mend():
    sent = json.loads((CASES / "check_gps_aggregate.json").read_text())["body"].encode()

    assert [sort for sort, _, _ in explained(sent)] == [Sort.READ]

"""The reading rules of spec/device-messages by their letters: K1 to K8, I5, A1 to A7, the register D1 to D29."""

import json

import pytest
from tests.support.device_messages import ITEM, RECEIVED_MS, TS, one, read, rows, text

from tripline.wire import topics
from tripline.wire.device import microtrips as device_microtrips
from tripline.wire.device import reasons as device_reasons
from tripline.wire.device.body import MAX_PARTS
from tripline.wire.readings import DeviceEvent, LatestValues, Microtrip, Rejected, Trip

PLACE = {"lat": 35.1, "lon": 129.1}


def reasons(body: bytes, **surroundings) -> list[str]:
    return [getattr(reading, "reason", "") for reading in read(body, **surroundings)]


# K: deciding the kind


@pytest.mark.parametrize("ty", [2, "2", " 2 ", 2.0, "2.0"])
def test_k1_number_or_numeric_text_is_the_message_number(ty):
    assert one(ty, ITEM).ty == 2


@pytest.mark.parametrize("ty", [None, True, [2], {"a": 2}, "two", "", 2.5, "0x2"])
def test_k1_anything_else_counts_as_missing(ty):
    assert one(ty, ITEM) == device_reasons.rejected("no_type", text(ty, ITEM))


@pytest.mark.parametrize("ty", [1, 4, 12, None])
def test_k2_event_signature_beats_small_number(ty):
    reading = one(ty, {"wbv": 11.4})

    assert (type(reading), reading.ty, reading.sent_ty) == (DeviceEvent, 104, ty)


@pytest.mark.parametrize("key", ["lat", "lon", "stt", "edt", "stlat", "stlon"])
def test_k2_signature_beside_a_driving_key_leaves_the_number(key):
    assert type(one(2, {"wbv": 11.4, key: 1})) is Microtrip


def test_k2_driving_key_that_is_null_does_not_count():
    assert type(one(2, {"wbv": 11.4, "lat": None, "lon": None})) is DeviceEvent


@pytest.mark.parametrize("ty", [13, 100, 107])
def test_k2_number_above_twelve_is_believed(ty):
    reading = one(ty, {"wbv": 11.4})

    assert reading.reason == "unknown_type" if ty < 100 else reading.ty == ty


def test_k2_capability_report_under_a_small_number_is_an_attribute():
    assert one(3, {"cm": "01"}) == LatestValues(name="cm", payload=b'{"cm":"01"}')


@pytest.mark.parametrize(("sent", "ty"), [(20, 101), (23, 104), (26, 107)])
def test_k3_numbers_of_2017_are_read_as_101_to_107(sent, ty):
    reading = one(sent, {"a": 1})

    assert (reading.ty, reading.sent_ty) == (ty, sent)


@pytest.mark.parametrize("ty", [19, 27])
def test_k3_neighbours_are_unknown(ty):
    assert one(ty, {"a": 1}).reason == "unknown_type"


@pytest.mark.parametrize(
    "key",
    ["rpm", "em", "el", "vv", "tpos", "fc", "cdit", "cdlt", "xyz", "ctp", "coe", "fct", "idt", "btv", "gnv", "wut"],
)
def test_k4_obd_only_key_reads_numbers_1_and_2_as_obd(key):
    trip, microtrip = one(1, PLACE | {key: 1}), one(2, ITEM | {key: 1})

    assert [(trip.ty, trip.device_type), (microtrip.ty, microtrip.device_type)] == [(1, "OBD"), (2, "OBD")]


def test_k4_obd_only_key_in_one_item_of_an_aggregate_is_enough():
    assert one(2, [ITEM, ITEM | {"em": "20"}]).device_type == "OBD"


def test_k4_obd_only_key_that_is_null_does_not_count():
    assert one(2, ITEM | {"rpm": None}).device_type == "GPS"


@pytest.mark.parametrize("sensor_type", ["OBD", "OBD2", "obd-ii"])
def test_k4_sensor_registered_as_obd_reads_numbers_1_and_2_as_obd(sensor_type):
    readings = [one(1, PLACE, sensor_type=sensor_type), one(2, ITEM, sensor_type=sensor_type)]

    assert [reading.device_type for reading in readings] == ["OBD", "OBD"]


def test_k4_leaves_other_numbers_alone():
    assert one(8, ITEM | {"rpm": 1}, sensor_type="OBD").device_type == "BLACKBOX"


@pytest.mark.parametrize(
    ("payload", "device_type"),
    [({"wid": 0}, "AVN"), ({"gvl": 2}, "DTAG"), ({}, "DTAG"), ({"wid": 0, "gvl": 2}, "AVN"), ({"wid": None}, "DTAG")],
)
def test_k5_event_114_is_told_by_its_key(payload, device_type):
    assert (one(114, payload).ty, one(114, payload).device_type) == (114, device_type)


@pytest.mark.parametrize(
    "key",
    ["dmid", "vcat", "vrid", "vbid", "did", "dtr", "dctr", "bsg", "gan", "acx", "acy", "tploc", "door"],
)
def test_k6_tachograph_key_reads_numbers_9_and_10_as_dtg(key):
    assert [one(ty, ITEM | {key: 1}).device_type for ty in (9, 10)] == ["DTG", "DTG"]


def test_k6_without_a_mark_the_registered_type_decides():
    assert [one(10, ITEM, sensor_type=name).device_type for name in ("DTAG", "DTG", "GPS")] == ["DTAG", "DTG", "DTAG"]


@pytest.mark.parametrize("ty", [-1, 0, 13, 55, 99, 2**31, 10**30])
def test_k7_unknown_number_below_100_or_beyond_the_store_is_rejected(ty):
    expected = "unknown_type" if abs(ty) < 2**63 else "no_type"

    assert reasons(text(ty, {})) == [expected]


@pytest.mark.parametrize("ty", [100, 117, 2**31 - 1])
def test_k7_unknown_number_of_100_or_more_is_an_event_without_interpretation(ty):
    reading = one(ty, PLACE | {"tid": 4, "clt": TS - 1})

    assert reading == DeviceEvent(
        ty=ty, sent_ty=ty, device_type="GPS", ts=TS, tid=None, event_ms=TS, lat=None, lon=None,
        payload=b'{"lat":35.1,"lon":129.1,"tid":4,"clt":%d}' % (TS - 1), is_attribute=False,
    )  # fmt: skip


@pytest.mark.parametrize("topic", [topics.TELEMETRY, topics.ATTRIBUTES])
@pytest.mark.parametrize(
    ("body", "ty"),
    [
        ({"dtcc": "P0420", "dtck": 0, "dtcs": 1}, 101),
        ({"dclat": 1, "dclon": 2}, 102),
        ({"dcwLAT": 1, "DCWlon": 2}, 102),
        ({"plat": 1, "plon": 2}, 103),
        ({"pclat": 1, "pclon": 2}, 103),
        ({"wbv": 11}, 104),
        ({"unpt": 1}, 105),
        ({"pt": 1}, 105),
        ({"rs": "off"}, 106),
    ],
)
def test_k8_headerless_body_is_told_by_its_signature(topic, body, ty):
    (reading,) = read(json.dumps(body).encode(), topic=topic)

    assert (reading.ty, reading.sent_ty, reading.payload) == (ty, None, json.dumps(body).encode())


def test_k8_body_with_header_is_read_as_on_tre():
    assert read(text(2, ITEM), topic=topics.TELEMETRY) == read(text(2, ITEM))


@pytest.mark.parametrize("body", [b'{"pld":{"a":1}}', b'{"pld":"x"}', b'{"ty":2}', b'{"ty":null,"pld":[]}'])
def test_k8_body_with_half_a_header_is_a_headerless_one(body):
    assert read(body, topic=topics.ATTRIBUTES) == [LatestValues(name="latest", payload=body)]


def test_k8_body_that_matches_nothing_updates_the_latest_values():
    body = b'{"temperature": 21, "dclat": 4}'

    assert read(body, topic=topics.TELEMETRY) == [LatestValues(name="latest", payload=body)]


def test_k8_headerless_body_on_tre_is_rejected():
    assert reasons(b'{"wbv":11}') == ["no_payload"]


def test_foreign_topic_is_rejected():
    assert reasons(text(2, ITEM), topic="v1/devices/me/tre") == ["topic"]


# I5: trip numbers


@pytest.mark.parametrize(
    ("payload", "tid"),
    [({"tid": "41"}, 41), ({"tid": 41.0}, 41), ({"tripId": 7}, 7), ({"tid": 41, "tripId": 7}, 41), ({}, None),
     ({"tripId": "abc"}, None), ({"tripId": 1.5}, None), ({"tid": None, "tripId": "7"}, 7), ({"tid": 2**63}, None)],
)  # fmt: skip
def test_i5_trip_number_is_read(payload, tid):
    readings = [one(2, PLACE | payload), one(1, PLACE | payload), one(113, PLACE | payload)]

    assert [reading.tid for reading in readings] == [tid, tid, tid]


# A: aggregates


@pytest.mark.parametrize("more", [{}, {"unknown": 1}], ids=["documented", "another key"])
@pytest.mark.parametrize("ty", [2, 4, 6, 8, 10, 12])
def test_a1_array_is_read_under_every_even_number(ty, more):
    reading = one(ty, [ITEM | more, ITEM | {"clt": TS}])

    assert (type(reading), len(rows(reading))) == (Microtrip, 2)


def test_a2_array_of_one_is_a_microtrip_alone_in_its_message():
    item = {key: value for key, value in ITEM.items() if key != "clt"}

    assert rows(one(2, [item])) == [(TS, 35.157731, 129.059114, 38.0, -1, 1)]


@pytest.mark.parametrize("ty", [1, 2, 107, 130])
def test_a3_empty_array_is_ignored(ty):
    assert read(text(ty, [])) == []


@pytest.mark.parametrize("odd", [5, "x", None, [ITEM], True])
def test_a4_element_that_is_no_object_is_left_out_and_logged(odd):
    body = text(2, [ITEM, odd, ITEM | {"clt": TS}])

    microtrip, rejected = read(body)

    assert rejected == device_reasons.rejected("item_form", body)
    assert json.loads(microtrip.payload) == [ITEM, ITEM | {"clt": TS}]


def test_a4_array_without_any_object_is_only_logged():
    assert reasons(text(2, [1, 2])) == ["item_form"]


def test_a5_change_of_trip_number_cuts_the_array():
    readings = read(text(2, [ITEM, ITEM | {"tid": 42}, ITEM | {"tid": 42}, ITEM]))

    assert [(reading.tid, len(rows(reading))) for reading in readings] == [(41, 1), (42, 2), (41, 1)]
    assert [json.loads(reading.payload) for reading in readings] == [
        [ITEM],
        [ITEM | {"tid": 42}, ITEM | {"tid": 42}],
        [ITEM],
    ]


def test_a5_missing_trip_number_fits_any():
    without = {key: value for key, value in ITEM.items() if key != "tid"}

    readings = read(text(2, [without, ITEM, without, ITEM]))

    assert [(reading.tid, len(rows(reading))) for reading in readings] == [(41, 4)]


def test_a5_samples_more_than_half_an_hour_apart_are_two_records():
    times = (TS - 7_200_000, TS - 7_199_000, TS - 3_600_000, TS - 1_800_000, TS)

    readings = read(text(2, [ITEM | {"clt": at} for at in times]))

    assert [(reading.tid, reading.first_ms, reading.last_ms) for reading in readings] == [
        (41, TS - 7_200_000, TS - 7_199_000),
        (41, TS - 3_600_000, TS),
    ]


def test_a5_i6_change_between_driving_and_parking_cuts_the_array_of_a_black_box():
    readings = read(text(8, [ITEM | {"try": 1}, ITEM | {"try": 2}]))

    assert [(reading.parking, rows(reading)[0][-1]) for reading in readings] == [(False, 1), (True, 3)]


def test_a7_change_between_driving_and_parking_leaves_other_arrays_whole():
    reading = one(2, [ITEM | {"try": 1}, ITEM | {"try": 2}])

    assert (reading.parking, [row[-1] for row in rows(reading)]) == (False, [1, 3])


@pytest.mark.parametrize(("ty", "kind"), [(1, Trip), (107, DeviceEvent), (130, DeviceEvent)])
def test_a6_elements_of_a_trip_or_event_array_are_messages_with_the_shared_header(ty, kind):
    readings = read(text(ty, [{"tid": 1}, {"tid": 2}]))

    assert [(type(reading), reading.ts, reading.payload) for reading in readings] == [
        (kind, TS, b'{"tid":1}'),
        (kind, TS, b'{"tid":2}'),
    ]


@pytest.mark.parametrize(
    "payload",
    [
        b'[ {"lat":35.10,"lon":129.1e0, "tid":"41", "\\u0078":[1 , 2]},\n{"lat":35.2,"lon":129.2} ]',
        b'{"lat":35.10, "lon":129.1e0}',
        b'{"lat":35.10, "lon":129.1e0, "tid":[1 ]}',
        b'[ {"lat":35.10, "lon":129.1e0, "clt":1735689606000} ]',
    ],
    ids=["other keys", "object", "object with a value of another kind", "array"],
)
def test_a7_payload_is_kept_byte_for_byte(payload):
    (reading,) = read(b'{"pld": ' + payload + b' , "ts":1735689606000, "ty":2}')

    assert reading.payload == payload


@pytest.mark.parametrize(("count", "expected"), [(8, ["", 8]), (9, ["", 9]), (10, ["too_many_items", None])])
@pytest.mark.parametrize("extra", [{}, {"unknown": 1}], ids=["documented", "another key"])
def test_aggregate_around_the_limit_of_items(count, expected, extra):
    (reading,) = read(text(2, [ITEM | extra] * count), max_items=9)

    length = len(rows(reading)) if isinstance(reading, Microtrip) else None
    assert [getattr(reading, "reason", ""), length] == expected


# What cannot be used


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "not_json"),
        (b"nonsense", "not_json"),
        (b'{"ty":5,"pld":{"tid":1,}}', "not_json"),
        (b'{"ty":2,"pld":{"lat":NaN}}', "not_json"),
        (b'{"ty":2,"pld":{"a":"\xff"}}', "not_json"),
        (b'{"ty":2,"pld":{}} {}', "not_json"),
        (b'\xef\xbb\xbf{"ty":2,"pld":{}}', "not_json"),
        (b"[]", "not_object"),
        (b"null", "not_object"),
        (b'"text"', "not_object"),
        (b'{"ty":2}', "no_payload"),
        (b'{"ty":2,"pld":null}', "no_payload"),
        (b'{"ty":2,"pld":"{}"}', "payload_form"),
        (b'{"ty":2,"pld":7}', "payload_form"),
        (b'{"pld":{"a":1}}', "no_type"),
        (b'{"pld":[{"wbv":1}]}', "no_type"),
        (b'{"ty":55,"pld":[{},{}]}', "unknown_type"),
        (b"[" * 10_000, "too_deep"),
        (b"[" * 16_385, "too_many_parts"),
        (b'{"ty":2,"pld":{"a":"' + b"[{" * 8_192 + b'"}}', "too_many_parts"),
        (b'{"ty":2,"pld":{"a":' + b"[" * 63 + b"]" * 63 + b"}}", "too_deep"),
        (b"\x81", "not_msgpack"),
    ],
)
def test_unusable_message_is_rejected_with_its_reason(body, reason):
    assert read(body) == [Rejected(reason=reason, detail=device_reasons.REASONS[reason], body=body)]


def test_as_many_objects_and_arrays_as_allowed_are_accepted():
    (reading,) = read(b'{"ty":2,"pld":{"a":[' + b",".join([b"[]"] * (MAX_PARTS - 3)) + b"]}}")

    assert type(reading) is Microtrip


def test_nesting_just_at_the_limit_is_accepted():
    (reading,) = read(b'{"ty":2,"pld":{"a":' + b"[" * 62 + b"]" * 62 + b"}}")

    assert type(reading) is Microtrip


def test_v8_number_beyond_doubles_becomes_null_and_half_surrogates_become_replacement():
    (reading,) = read(b'{"ty":2,"pld":{"lat":35.1,"lon":129.1,"a":1e400,"b":"\\ud800x","c":-1e999,"d":5}}')

    assert json.loads(reading.payload) == {"lat": 35.1, "lon": 129.1, "a": None, "b": "\ufffdx", "c": None, "d": 5}


def test_duplicate_keys_last_one_counts():
    (reading,) = read(b'{"ty":1,"ty":2,"pld":{},"pld":{"tid":1,"tid":2,"lat":1,"lon":1,"lat":3}}')

    assert (reading.ty, reading.tid, rows(reading)[0][1]) == (2, 2, 3.0)


def test_every_reason_fits_the_log_and_has_a_sentence():
    assert all(0 < len(sentence) <= 200 and len(reason) <= 64 for reason, sentence in device_reasons.REASONS.items())


# D: the register of inconsistencies


def test_d1_obd_payload_under_number_2_is_read_as_obd():
    assert rows(one(2, ITEM | {"em": "20", "rpm": 900}))[0][4] == 0x20


def test_d2_number_6_is_believed():
    assert one(6, ITEM | {"try": 1, "rssi": 9}).device_type == "ADAS"


def test_d3_headerless_event_is_read():
    assert read(b'{"rs":"x"}', topic=topics.ATTRIBUTES)[0].ty == 106


@pytest.mark.parametrize("ty", [4, 6, 8, 10])
def test_d4_microtrip_without_time_takes_the_header_time(ty):
    assert one(ty, PLACE).first_ms == TS


@pytest.mark.parametrize("key", ["cdit", "cdlt"])
def test_d5_both_spellings_of_the_distance_mark_obd(key):
    assert one(2, ITEM | {key: 120}).device_type == "OBD"


def test_d6_older_blackbox_trip_is_read_with_try_1_by_default():
    assert one(7, PLACE | {"vlt": 12.1}).parking is False


def test_d7_mask_as_text_or_digits_gives_the_same_flags():
    assert [rows(one(4, ITEM | {"em": em}))[0][4] for em in ("2a", "28", 28, 68, 0)] == [0x2A, 0x28, 0x28, 0x68, 0]


def test_d8_texts_in_numeric_keys_do_not_reject_the_message():
    reading = one(4, ITEM | {"xyz": "1,2,3", "vv": "12.7", "sp": "46"})

    assert rows(reading)[0][3] == 46.0


@pytest.mark.parametrize(
    ("dis", "distance"),
    [
        (5120, 5120.0),
        ("5120.5", 5120.5),
        (0, None),
        (-1, None),
        (None, None),
        ("far", None),
        (10**9, 1e9),
        (1e308, None),
    ],
)
def test_d9_distance_counts_when_above_zero_and_no_nonsense(dis, distance):
    assert one(3, PLACE | {"dis": dis}).distance_m == distance


def test_d10_total_distance_is_not_the_distance_of_the_trip():
    assert one(3, PLACE | {"tdis": 88_412_000}).distance_m is None


def test_d11_measurements_and_settings_of_one_name_are_kept_as_sent():
    assert [one(ty, {"ldws": 1}).payload for ty in (108, 112)] == [b'{"ldws":1}', b'{"ldws":1}']


@pytest.mark.parametrize("names", [("plat", "plon"), ("pclat", "pclon")])
def test_d12_position_of_103_under_both_names(names):
    reading = one(103, dict(zip(names, (35.1, 129.1), strict=True)))

    assert (reading.lat, reading.lon) == (35.1, 129.1)


@pytest.mark.parametrize("names", [("dclat", "dclon"), ("dCWlat", "dCWlon")])
def test_d13_position_of_102_under_both_names(names):
    reading = one(102, {"tripId": 3} | dict(zip(names, (35.1, 129.1), strict=True)))

    assert (reading.tid, reading.lat, reading.lon) == (3, 35.1, 129.1)


@pytest.mark.parametrize("ts", [9_999_999_999_999, 101_500, RECEIVED_MS // 1000 + 9 * 3600])
def test_d14_header_time_that_is_none_is_replaced_by_receipt(ts):
    assert one(2, PLACE, ts=ts).first_ms == RECEIVED_MS


def test_d15_calendar_digits_are_read_and_nine_digits_are_not():
    trip = one(1, PLACE | {"stt": 20250101000000, "edt": 202501010})

    assert (trip.start_ms, trip.end_ms) == (1_735_689_600_000, None)


def test_d16_unplug_time_in_seconds():
    assert one(105, {"unpt": 1_735_684_000}).event_ms == 1_735_684_000_000


def test_d18_d19_numbers_9_and_114_are_told_by_keys():
    assert [one(9, {"dmid": "x"}).device_type, one(114, {"wid": 1}).device_type] == ["DTG", "AVN"]


@pytest.mark.parametrize("ty", [6, 107])
def test_d20_d21_codes_are_kept_not_translated(ty):
    assert json.loads(one(ty, PLACE | {"fcw": 31, "dir": 33}).payload)["fcw"] == 31


def test_d22_number_of_codes_may_disagree():
    assert json.loads(one(101, {"dtcc": "P0420", "dtcs": 1203}).payload) == {"dtcc": "P0420", "dtcs": 1203}


def test_d23_trailing_comma_is_rejected():
    assert reasons(b'{"ty":5,"pld":{"tid":1,"lat":1,"lon":1,}}') == ["not_json"]


@pytest.mark.parametrize("key", ["gan", "gag"])
def test_d24_heading_under_both_names_is_kept(key):
    assert json.loads(one(10, ITEM | {key: 270}).payload)[key] == 270


@pytest.mark.parametrize(
    ("item", "header", "parking"),
    [({"try": 2}, 1, True), ({"try": 1}, 2, False), ({}, 2, True), ({}, 1, False), ({"try": "2"}, 1, True),
     ({"try": None}, 2, True), ({"try": "x"}, 2, True)],
)  # fmt: skip
def test_d25_try_of_the_payload_goes_before_the_header(item, header, parking):
    readings = [one(ty, ITEM | item, **{"try": header}) for ty in (7, 8)]

    assert [reading.parking for reading in readings] == [parking, parking]


def test_d26_black_box_with_the_keys_of_another_table_stays_a_black_box():
    adas = {"ldw": 31, "fcw": 30, "dir": 32, "chcmr": 0}

    reading = one(8, ITEM | adas)

    assert (reading.device_type, json.loads(reading.payload)) == ("BLACKBOX", ITEM | adas)


@pytest.mark.parametrize(("ty", "key"), [(111, "tm"), (109, "tim"), (112, "tim"), (113, "clt"), (116, "clt")])
def test_d27_event_time_by_event(ty, key):
    assert one(ty, {key: TS - 5000}).event_ms == TS - 5000


def test_d28_parking_duration_is_no_time():
    assert one(8, {"tim": 1_735_600_000, "try": 2}).first_ms == TS


def test_read_never_consults_the_sensor_type_for_a_documented_number():
    assert [one(2, ITEM, sensor_type=name).device_type for name in ("ADAS", "unheard of", "")] == ["GPS"] * 3


# Values that the decoder skips (V8), and keys that decide (K4, K6)


@pytest.mark.parametrize(
    "skipped",
    [
        b"1e999", b"-1E+309", b"9" * 309, b'{"a":[-1e400]}', b"1.5e+999", b'"\\ud800"', b"12" * 200 + b".5",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "around", [b'{"ty":2,"pld":{"lat":1,"lon":2,"x":%b}}', b'{"ty":2,"x":%b,"pld":{"lat":1,"lon":2}}']
)
def test_v8_unreadable_value_of_another_key_is_mended(around, skipped):
    (reading,) = read(around % skipped)

    assert json.dumps(json.loads(reading.payload), allow_nan=False)
    assert rows(reading)[0][1:3] == (1, 2)


@pytest.mark.parametrize(
    ("skipped", "reason"),
    [
        (b'"\xff"', "not_json"), (b'{"\xed\xa0\x80":1}', "not_json"), (b'"\x01"', "not_json"), (b"01", "not_json"),
        (b"NaN", "not_json"), (b"[" * 64 + b"]" * 64, "too_deep"), (b'{"a":' * 70 + b"1" + b"}" * 70, "too_deep"),
        (b"[" * 20_000 + b"]" * 20_000, "too_many_parts"), (b"[" + b"[]," * 17_000 + b"1]", "too_many_parts"),
        (b'{"a":' * 9_000 + b"1" + b"}" * 9_000, "too_deep"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "around", [b'{"ty":2,"pld":[{"lat":1,"lon":2,"x":%b}]}', b'{"ty":2,"x":%b,"pld":{"lat":1,"lon":2}}']
)
def test_v8_unusable_value_of_another_key_rejects_the_message(around, skipped, reason):
    (reading,) = read(around % skipped)

    assert reading.reason == reason


@pytest.mark.parametrize("value", [0, "null", "", [], {}, False])
@pytest.mark.parametrize("at", [0, 2])
@pytest.mark.parametrize(("ty", "key", "device"), [(2, "wut", "OBD"), (10, "door", "DTG"), (2, "em", "OBD")])
def test_k4_k6_key_of_another_table_decides_wherever_it_is(ty, key, device, at, value):
    items = [dict(ITEM) for _ in range(3)]
    without = one(ty, items).device_type
    items[at][key] = None
    with_null = one(ty, items).device_type
    items[at][key] = value

    assert without == with_null != device == one(ty, items).device_type


@pytest.mark.parametrize("odd", ["--", True, [], {"a": 1}, "nan", "inf", " 38 "])
def test_odd_speed_of_one_item_leaves_the_others_as_they_are(odd):
    reading = one(2, [ITEM, ITEM | {"sp": odd}, ITEM])

    assert [row[3] for row in rows(reading)] == [38, 38 if odd == " 38 " else None, 38]


@pytest.mark.parametrize("content", [ITEM | {"zone": "A", "hdg": 1}, [ITEM | {"zone": "A", "hdg": 1}, ITEM]])
def test_learned_keys_change_no_reading(content):
    body = text(12, content)
    form = device_microtrips.Form(12, "AVN")

    before, after = read(body), read(body)
    form.learn(content, form.ways[1])

    assert before == after
    assert {type(way.items.decode(f"[{json.dumps(ITEM | {'zone': 1})}]")[0].sp) for way in form.ways} == {float}


def test_form_learns_no_key_of_another_table_and_only_for_a_while():
    form = device_microtrips.Form(2, "GPS")
    before = form.ways

    form.learn({"wut": None}, form.ways[1])
    form.learn({f"k{number}": 1 for number in range(64)}, form.ways[1])
    assert form.ways == before
    for number in range(64):
        form.learn({f"key{number % 4}": 1}, form.ways[1])
    learned = form.ways[0]
    form.learn({"late": 1}, form.ways[1])

    assert form.ways[0] is learned is not before[0]

"""Single values: V1 to V4, T1 to T5, P1 and P2, E1 of spec/device-messages, each boundary at, below and above."""

import pytest
from tests.support.device_messages import ITEM, RECEIVED_MS, TS, one, rows

from tripline.domain import samples
from tripline.wire.device import kinds as device_kinds
from tripline.wire.device import values as device_values

LATEST_MS = RECEIVED_MS + 300_000


@pytest.mark.parametrize(
    ("sent", "number"),
    [(5, 5), (-5, -5), (12.7, 12.7), ("12.7", 12.7), (" 5 ", 5), ("-0.5", -0.5), ("+5", 5), (".5", 0.5), ("5.", 5.0),
     ("1e3", 1000.0), (10**400, 10**400), ("9" * 300, int("9" * 300)), ("0" * 400 + "7", 7)],
)  # fmt: skip
def test_v1_number_is_read_from_numbers_and_decimal_text(sent, number):
    assert device_values.number(sent) == number


@pytest.mark.parametrize(
    "sent",
    [True, False, None, "", " ", "abc", "0x10", "1_000", "1,5", "NaN", "Infinity", "1e999", "٣", "5 km", [5], {},
     float("nan"), float("inf"), float("-inf"), "9" * 310],
)  # fmt: skip
def test_v1_v4_anything_else_is_no_number(sent):
    assert device_values.number(sent) is None


def test_v1_speed_as_text_is_read():
    assert rows(one(2, ITEM | {"sp": " 38.5"}))[0][3] == 38.5


@pytest.mark.parametrize(
    ("sent", "kmh"),
    [("31 km/h", 31), ("31KMH", 31), (" 31.5 kph ", 31.5), ("19 mph", 30.578), ("8.6 m/s", 30.96), ("10 kn", 18.52),
     ("10 knots", 18.52), ("10kts", 18.52), ("-1 km/h", -1), ("38", 38), (38, 38)],
)  # fmt: skip
def test_v1_speed_with_its_unit_is_read_in_kmh(sent, kmh):
    assert device_values.speed_kmh(sent) == kmh
    assert [row[3] for row in rows(one(2, [ITEM | {"sp": sent}, ITEM]))] == [kmh, 38]


@pytest.mark.parametrize("sent", ["fast", "km/h", "31 km", "31 km/h 5", "1e400 mph", "31 kmhx", "", True, None, [31]])
def test_v4_text_without_a_speed_is_a_missing_one(sent):
    assert device_values.speed_kmh(sent) is None
    assert [row[3] for row in rows(one(2, [ITEM | {"sp": sent}, ITEM]))] == [None, 38]


@pytest.mark.parametrize("key", ["tid", "lat", "lon", "sp", "clt"])
def test_v3_null_equals_absent(key):
    without = {name: value for name, value in ITEM.items() if name != key}

    assert rows(one(2, ITEM | {key: None})) == rows(one(2, without))


@pytest.mark.parametrize("payload", [{"wbv": None}, {"dtcc": None, "x": 1}, {"plat": 1.5, "plon": None}])
def test_v3_null_under_a_key_of_a_signature_tells_no_event(payload):
    assert device_kinds.signature(payload) is None


def test_v3_null_under_a_key_that_only_obd_has_leaves_a_gps_payload():
    assert one(2, ITEM | {"rpm": None}).device_type == "GPS"


@pytest.mark.parametrize("key", ["tid", "lat", "sp", "clt"])
def test_v4_value_that_cannot_be_read_does_not_reject(key):
    without = {name: value for name, value in ITEM.items() if name != key}
    reading = one(2, ITEM | {key: "unreadable"})

    assert (rows(reading), b"unreadable" in reading.payload) == (rows(one(2, without)), True)


@pytest.mark.parametrize(("sent", "number"), [(5, 5), (5.0, 5), ("5.0", 5), (2**63 - 1, 2**63 - 1)])
def test_whole_number_is_read(sent, number):
    assert device_values.whole(sent) == number


@pytest.mark.parametrize("sent", [5.5, 2**63, -(2**63), 10**400, 1e300, True])
def test_whole_number_must_be_whole_and_fit_the_store(sent):
    assert device_values.whole(sent) is None


@pytest.mark.parametrize(
    ("sent", "at_ms"),
    [
        (10**12 - 1, None),
        (10**12, None),
        (1_262_304_000_000, 1_262_304_000_000),
        (1_735_689_600_000.7, 1_735_689_600_000),
        ("1735689600000", 1_735_689_600_000),
        (10**13, None),
        (10**9 - 1, None),
        (1_262_304_000, 1_262_304_000_000),
        (1_735_689_600, 1_735_689_600_000),
        (10**10, None),
        (20_250_101_000_000, 1_735_689_600_000),
        ("20250101000000", 1_735_689_600_000),
        (20_250_230_000_000, None),
        (20_250_101_240_000, None),
        (20_250_101_000_060, None),
        (20_091_231_235_959, None),
        (20_100_101_000_000, 1_262_304_000_000),
        (21_000_101_000_000, None),
        (101_500, None),
        (202_501_010, None),
        (0, None),
        (-1_735_689_600_000, None),
        (10**400, None),
        (None, None),
        (True, None),
    ],
)
def test_t1_time_is_read_in_three_forms(sent, at_ms):
    assert device_values.instant(sent, RECEIVED_MS) == at_ms


@pytest.mark.parametrize(
    ("at_ms", "valid"),
    [
        (1_262_303_999_999, False),
        (1_262_304_000_000, True),
        (LATEST_MS - 1, True),
        (LATEST_MS, True),
        (LATEST_MS + 1, False),
    ],
)
@pytest.mark.parametrize("extra", [{}, {"unknown": 1}], ids=["documented", "another key"])
def test_t2_time_before_2010_or_five_minutes_ahead_is_absent(at_ms, valid, extra):
    assert one(2, ITEM | extra | {"clt": at_ms}).first_ms == (at_ms if valid else TS)
    assert one(2, ITEM | extra | {"clt": None}, ts=at_ms).first_ms == (at_ms if valid else RECEIVED_MS)


@pytest.mark.parametrize(("weeks", "right"), [(1_022.9, True), (1_023, True), (1_023.1, False), (1_024, False)])
def test_t2_time_1_023_weeks_before_its_receipt_is_absent(weeks, right):
    received_ms = 2_000_000_000_000  # 2033: such a time is after 2010
    at_ms = received_ms - round(weeks * 7 * 86_400_000)

    assert device_values.instant(at_ms, received_ms) == (at_ms if right else None)
    assert device_values.instant(str(at_ms), received_ms) == (at_ms if right else None)


def test_t2_last_calendar_second_is_ahead_of_any_receipt_today():
    assert device_values.instant(20_991_231_235_959, RECEIVED_MS) is None
    assert device_values.instant(20_991_231_235_959, 4_102_444_799_000) == 4_102_444_799_000


def test_t3_sample_time_is_own_then_header_then_receipt():
    without = {key: value for key, value in ITEM.items() if key != "clt"}
    readings = [one(2, ITEM), one(2, without), one(2, without, ts=None)]

    assert [rows(reading)[0][0] for reading in readings] == [ITEM["clt"], TS, RECEIVED_MS]
    assert [reading.ts for reading in readings] == [TS, TS, None]


def test_t3_time_of_receipt_is_never_scored():
    without = {key: value for key, value in ITEM.items() if key != "clt"}
    wrong = ITEM | {"clt": TS - device_values.WEEKS_MS}
    none, flag = 0, samples.FLAG_WRONG_TIME

    assert [row[-1] for row in rows(one(2, without, ts=None))] == [none]
    assert [row[-1] for row in rows(one(2, [without, without], ts=None))] == [none, none]
    assert [row[-1] for row in rows(one(2, wrong, ts=None))] == [flag]
    assert [row[-1] for row in rows(one(2, without, ts=wrong["clt"]))] == [flag]
    assert [row[-1] for row in rows(one(2, [wrong, ITEM, wrong], ts=None))] == [flag, samples.FLAG_OWN_TIME, flag]
    assert [row[-1] for row in rows(one(2, wrong | {"try": 2}, ts=None))] == [flag | samples.FLAG_PARKING]


def test_t3_array_without_times_counts_as_one_usable_sample():
    without = {key: value for key, value in ITEM.items() if key != "clt"}
    nowhere = {"tid": 41}

    reading = one(2, [without, without, nowhere])

    assert [(row[0], row[-1]) for row in rows(reading)] == [(TS, 0), (TS, samples.FLAG_OWN_TIME), (TS, 0)]


def test_t3_item_without_time_among_others_is_not_usable():
    without = {key: value for key, value in ITEM.items() if key != "clt"}

    assert [row[-1] for row in rows(one(2, [ITEM, without]))] == [samples.FLAG_OWN_TIME, 0]


@pytest.mark.parametrize(
    ("payload", "at_ms"),
    [({"clt": TS - 1, "tim": TS - 2}, TS - 1), ({"tim": TS - 2}, TS - 2), ({"clt": 5, "tim": TS - 2}, TS - 2),
     ({"tm": TS - 2}, TS), ({}, TS)],
)  # fmt: skip
def test_t4_event_time_order(payload, at_ms):
    assert one(112, payload).event_ms == at_ms


@pytest.mark.parametrize(
    ("number", "key"),
    [(105, "unpt"), (109, "tim"), (111, "tm"), (112, "tim"), (113, "clt"), (114, "clt"), (116, "clt")],
)
def test_t4_d27_each_event_has_its_own_name_for_its_time(number, key):
    others = dict.fromkeys({"unpt", "tim", "tm"} - {key}, TS - 3)

    assert one(number, {**others, key: TS - 2}).event_ms == TS - 2
    assert one(number, others).event_ms == TS


def test_t4_event_without_any_time_takes_receipt():
    assert one(112, {}, ts=None).event_ms == RECEIVED_MS


@pytest.mark.parametrize(
    ("payload", "start", "end"),
    [({"stt": TS - 9, "edt": TS - 1, "clt": TS - 2}, TS - 9, TS - 1), ({"clt": TS - 2}, None, TS - 2), ({}, None, None),
     ({"edt": 5, "clt": TS - 2}, None, TS - 2)],
)  # fmt: skip
def test_t5_trip_times(payload, start, end):
    trip = one(3, payload)

    assert (trip.start_ms, trip.end_ms, trip.header_ms) == (start, end, TS)


@pytest.mark.parametrize(
    ("lat", "lon", "valid"),
    [(90, 180, True), (-90, -180, True), (90.0001, 0, False), (-90.0001, 0, False), (0, 180.0001, False),
     (0, -180.0001, False), (0, 0, False), (0.0, -0.0, False), (0, 1e-9, True), (5, 0, True), ("35.1", "129.1", True),
     (None, 5, False), (5, None, False), (True, True, False), (10**400, 5, False)],
)  # fmt: skip
@pytest.mark.parametrize("extra", [{}, {"unknown": 1}], ids=["documented", "another key"])
def test_p1_p2_position_is_degrees_in_range_and_not_the_origin(lat, lon, valid, extra):
    reading = one(2, ITEM | extra | {"lat": lat, "lon": lon})

    assert rows(reading)[0][1:3] == ((float(lat), float(lon)) if valid else (None, None))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("em", "flags"),
    [("28", 0x28), (28, 0x28), (68, 0x68), (0, 0), (5, 5), (99, 0x99), ("2a", 0x2A), ("2A", 0x2A), ("0x2a", 0x2A),
     ("0XFF", 255), (" 08 ", 8), ("f", 15), (100, -1), ("100", -1), ("zz", -1), ("", -1), ("0x", -1), (-1, -1),
     (2.8, -1), (28.0, -1), (True, -1), (None, -1), ([28], -1), ("0x0x1", -1), (10**30, -1)],
)  # fmt: skip
@pytest.mark.parametrize("extra", [{}, {"unknown": 1}], ids=["documented", "another key"])
def test_e1_manoeuvre_flags_are_hexadecimal_digits(em, flags, extra):
    reading = one(4, ITEM | extra | {"em": em})

    assert rows(reading)[0][4] == flags


def test_e1_flags_are_read_from_obd_items_only():
    assert rows(one(8, ITEM | {"em": "28"}))[0][4] == samples.NO_FLAGS

"""Answers show stored payloads: V1, V2, V5, V6 and the keys that real clients format (spec/rest 6)."""

import pytest
from tests.support.device_messages import ITEM, one

from tripline.wire.device import answered_payloads as device_answered_payloads
from tripline.wire.device import tables as device_tables


def shown(payload: bytes, ty: int = 4, device_type: str = "OBD") -> bytes:
    return device_answered_payloads.coerced(payload, ty=ty, device_type=device_type)


@pytest.mark.parametrize(
    "payload",
    [b'{"tid":42,"lat":35.10,"em":"28","zz":"5", "rpm" : 1830}', b"{}", b"[]", b'[{"sp":1}, {"sp":2.50}]',
     b'{"em":28}', b'{"lc":null}', b'{"n":{"vv":"1"}}', b'{"em":"zz","note":"a\\"b"}', b'{"big":1e400,"vv":1}'],
)  # fmt: skip
def test_v6_payload_whose_keys_have_their_kind_is_the_same_bytes(payload: bytes) -> None:
    assert shown(payload) is payload


def test_v1_numeric_text_becomes_a_number() -> None:
    assert shown(b'{"vv":"12.7","rpm":" 1830 ","sp":"46.0"}') == b'{"vv":12.7,"rpm":1830,"sp":46.0}'
    assert shown(b'{"sp":"19 mph","vv":"12 V"}') == b'{"sp":30.578}'


def test_v2_number_or_boolean_under_a_text_key_becomes_its_text() -> None:
    assert shown(b'{"usm":821012345678,"fwv":1.20,"tid":4}', ty=3) == b'{"usm":"821012345678","fwv":"1.20","tid":4}'
    assert shown(b'{"rs":true}', ty=106) == b'{"rs":"true"}'


def test_v5_unknown_keys_stay_byte_for_byte() -> None:
    payload = b'{"vv":"1","a":1.10,"b":[ 1 ,"2"],"c":12345678901234567890123,"d":"\\u00e9"}'

    assert shown(payload) == b'{"vv":1,"a":1.10,"b":[ 1 ,"2"],"c":12345678901234567890123,"d":"\\u00e9"}'


@pytest.mark.parametrize("em", [b'"28"', b"28", b'"zz"', b"null"])
def test_v6_manoeuvre_flags_stay_as_sent(em: bytes) -> None:
    assert shown(b'{"vv":"1","em":%b}' % em) == b'{"vv":1,"em":%b}' % em


@pytest.mark.parametrize("key", sorted(device_answered_payloads.FORMATTED - {"ctp"}))
@pytest.mark.parametrize("value", [b'"fast"', b"null", b"true", b"[1]", b"{}"])
def test_v7_key_that_clients_format_is_a_number_or_absent(key: str, value: bytes) -> None:
    payload = b'{"tid":1,"%b":%b}' % (key.encode(), value)

    assert shown(payload) == b'{"tid":1}'


def test_coolant_temperature_of_a_trip_is_a_number_or_absent() -> None:
    assert [shown(b'{"ctp":%b}' % value, ty=3) for value in (b'"84"', b"null", b"84")] == [
        b'{"ctp":84}', b"{}", b'{"ctp":84}',
    ]  # fmt: skip


@pytest.mark.parametrize("value", [b'"1,2,3"', b"null", b"false", b"[1]"])
def test_other_numeric_key_that_is_no_number_stays_as_sent(value: bytes) -> None:
    assert shown(b'{"vv":"1","tpos":%b}' % value) == b'{"vv":1,"tpos":%b}' % value


def test_every_item_of_an_aggregate_is_coerced() -> None:
    assert shown(b'[{"vv":"1"}, {"vv":2, "x":1.0}, {"vv":"3"}]') == b'[{"vv":1},{"vv":2, "x":1.0},{"vv":3}]'


def test_element_that_is_no_object_stays() -> None:
    assert shown(b'[{"vv":"1"},"x",5]') == b'[{"vv":1},"x",5]'


def test_key_written_with_escapes_is_found() -> None:
    assert shown(b'{"v\\u0076":"3"}') == b'{"vv":3}'


@pytest.mark.parametrize("device_type", ["OBD", "GPS"])
@pytest.mark.parametrize(("ty", "key"), [(1, "ctp"), (2, "vv"), (3, "ctp"), (4, "vv")])
def test_k4_obd_keys_become_numbers_whatever_samples_opened_the_trip(ty: int, key: str, device_type: str) -> None:
    assert shown(b'{"%b":"12.7"}' % key.encode(), ty=ty, device_type=device_type) == b'{"%b":12.7}' % key.encode()


def test_k4_obd_keys_under_the_number_of_another_device_stay_as_sent() -> None:
    assert shown(b'{"vv":"12.7"}', ty=6, device_type="ADAS") == b'{"vv":"12.7"}'


@pytest.mark.parametrize("ty", sorted(device_tables.TRIPS | device_tables.MICROTRIPS))
def test_no_key_has_different_kinds_in_the_tables_of_one_record(ty: int) -> None:
    tables = [device_tables.TABLES[ty], *(device_tables.table_of(ty, name) for name in device_tables.TRIP_OF)]

    assert [key for table in tables for key in table if len({each[key] for each in tables if key in each}) > 1] == []


def test_d11_d28_keys_are_read_by_table() -> None:
    assert shown(b'{"tim":"5"}', ty=112, device_type="BLACKBOX") == b'{"tim":5}'
    assert shown(b'{"wip":"1"}', ty=114, device_type="AVN") == b'{"wip":1}'
    assert shown(b'{"wip":"1"}', ty=114, device_type="DTAG") == b'{"wip":"1"}'


@pytest.mark.parametrize(("ty", "device_type"), [(130, "GPS"), (0, ""), (2, "SOMETHING"), (-4, "OBD")])
def test_number_or_device_without_a_table_changes_nothing_of_its_own(ty: int, device_type: str) -> None:
    assert shown(b'{"a":"1"}', ty=ty, device_type=device_type) == b'{"a":"1"}'


def test_stored_reading_of_the_check_message_shows_12_7_volt() -> None:
    reading = one(4, ITEM | {"em": "28", "vv": "12.7"})

    assert b'"em":"28","vv":12.7' in device_answered_payloads.coerced(
        reading.payload, ty=4, device_type=reading.device_type
    )

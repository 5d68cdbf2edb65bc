"""Bytes of calls and answers: rules Q1 to Q6, B1 to B6, R7, A1 and A2 of spec/rpc."""

import json

import msgspec
import pytest
from tests.support.refused import refused

from tripline.domain.ids import RequestId
from tripline.domain.refusals import BadParameter
from tripline.wire import rpc
from tripline.wire.rest import rpc as rest_rpc

ID = RequestId("6f1f3c10-c7a4-11ef-8a3e-5f0c5d2b9a71")


def asked(content: bytes) -> rpc.CallRequest:
    return rpc.asked(json.loads(content), content)


@pytest.mark.parametrize(
    ("params", "forwarded"),
    [
        (b'"params":{"a": 1.50,  "b":[]}', b'{"a": 1.50,  "b":[]}'),
        (b'"params":""', b'""'),
        (b'"params":{}', b"{}"),
        (b'"params":null', b"null"),
        (b'"params":"N/A"', b'"N/A"'),
        (b'"params":[1e3]', b"[1e3]"),
        ('"params":"\\uac00 가"'.encode(), '"\\uac00 가"'.encode()),
        (b'"x":1', b"{}"),
    ],
)
def test_params_are_forwarded_exactly_as_sent_q1(params, forwarded):
    got = asked(b'{"method":"reset",' + params + b"}")

    assert got.params == forwarded
    assert got.message == b'{"method":"reset","params":' + forwarded + b"}"


@pytest.mark.parametrize(
    ("body", "params"),
    [
        (b'{"method":"m","param":"x"}', b'"x"'),
        (b'{"method":"m","param":"x","params":null}', b"null"),
        (b'{"method":"m","params":{"a":1},"param":"x"}', b'{"a":1}'),
    ],
)
def test_param_is_read_where_params_is_absent_q2(body, params):
    assert asked(body).params == params


def test_names_of_parameters_keep_their_letter_case_q3():
    assert asked(b'{"method":"activationReq","params":{"Vid":"1","elt":2}}').params == b'{"Vid":"1","elt":2}'


@pytest.mark.parametrize(
    ("timeout", "ack_ms"),
    [
        ("999", 20_000),
        ("1000", 1_000),
        ("1001", 1_001),
        ("19999", 19_999),
        ("20000", 20_000),
        ("20001", 20_000),
        ("1500.0", 20_000),
        ('"1500"', 20_000),
        ("true", 20_000),
        ("null", 20_000),
    ],
)
def test_timeout_of_1000_to_20000_shortens_the_time_and_is_not_forwarded_q4(timeout, ack_ms):
    got = asked(b'{"method":"reset","timeout":%s,"extra":1}' % timeout.encode())

    assert (got.ack_ms, got.message) == (ack_ms, b'{"method":"reset","params":{}}')


@pytest.mark.parametrize("method", ["{}", '{"method":""}', '{"method":null}', '{"method":5}', '{"method":["a"]}'])
def test_method_that_is_missing_empty_or_no_text_is_refused_q5(method):
    with refused(BadParameter, match="'method'"):
        asked(method.encode())


@pytest.mark.parametrize("method", ["anything we like", "가", 'quo"te', "m" * 255])
def test_unknown_method_is_forwarded_q6(method):
    body = json.dumps({"method": method}).encode()

    assert json.loads(asked(body).message) == {"method": method, "params": {}}


def test_method_of_256_characters_is_refused():
    with refused(BadParameter, match="255"):
        asked(json.dumps({"method": "m" * 256}).encode())


def test_message_of_the_greatest_size_is_forwarded_and_a_greater_one_refused():
    room = rpc.MESSAGE_BYTES - len(b'{"method":"m","params":""}')
    body = b'{"method":"m","params":"%s"}'

    assert len(asked(body % (b"x" * room)).message) == rpc.MESSAGE_BYTES
    with refused(BadParameter, match="too long"):
        asked(body % (b"x" * (room + 1)))


def test_byte_order_mark_is_no_part_of_the_request():
    content = b'\xef\xbb\xbf{"method":"m","params":1}'

    assert rpc.asked({"method": "m", "params": 1}, content).message == b'{"method":"m","params":1}'


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"result": 2000}, 2000),
        ({"results": 2000}, 2000),
        ({"resultCode": 2000}, 2000),
        ({"result": 4001, "results": 2000, "resultCode": 1}, 4001),
        ({"results": 2000, "resultCode": 1}, 2000),
        ({"result": "2001"}, 2001),
        ({"result": " 2001 "}, 2001),
        ({"result": 2000.0}, 2000),
        ({"result": True}, None),
        ({"result": True, "results": 2000}, 2000),
        ({"result": 2000.5}, None),
        ({"result": "ok"}, None),
        ({"result": "\u0662\u0660\u0660\u0660"}, None),
        ({"result": None}, None),
        ({"result": [2000]}, None),
        ({"result": 10**30}, None),
        ({}, None),
    ],
)
def test_code_is_the_first_usable_of_its_names_b1(body, code):
    assert rpc.said(json.dumps(body).encode()).code == code


@pytest.mark.parametrize(
    ("body", "info"),
    [
        ({"addInfo": {"vid": "1"}}, {"vid": "1"}),
        ({"additionalInfo": {"sn": "1"}}, {"sn": "1"}),
        ({"addInfo": "text"}, "text"),
        ({"addInfo": "", "additionalInfo": {"sn": "1"}}, {"sn": "1"}),
        ({"addInfo": "first", "additionalInfo": "second"}, "first"),
        ({"additionalInfo": ""}, None),
        ({"addInfo": 5}, None),
        ({"addInfo": {}}, {}),
        ({}, None),
    ],
)
def test_additional_information_has_two_names_and_an_empty_text_is_none_b2(body, info):
    assert rpc.said(json.dumps(body).encode()).info == info


@pytest.mark.parametrize("body", [b'{ "results" : "2000" ,\n"x":1.10}', b'{"a":1,"a":2}', b" 5 ", b"null"])
def test_body_is_kept_byte_for_byte_b3(body):
    assert rpc.said(body).text == body


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"OK", '"OK"'),
        (b"", '""'),
        (b'{"result":20', '"{\\"result\\":20"'),
        (b"\xff\xfe", '"\ufffd\ufffd"'),
        (b"[" * 100 + b"]" * 100, f'"{"[" * 100}{"]" * 100}"'),
        (b"[1e999]", '"[1e999]"'),
    ],
)
def test_body_that_is_no_json_becomes_a_json_text_without_a_code_b4(body, text):
    said = rpc.said(body)

    assert (said.text.decode(), said.code) == (text, None)
    json.loads(said.text)


def test_other_vehicle_in_the_result_is_only_information_b6():
    said = rpc.said(b'{"results":2000,"additionalInfo":{"vid":"a constant of the demonstration"}}')

    assert (said.code, said.info) == (2000, {"vid": "a constant of the demonstration"})


def test_messagepack_map_is_read_as_the_object_it_stands_for_r7():
    said = rpc.said(msgspec.msgpack.encode({"result": 2000, "addInfo": {"sn": "1"}}))

    assert (json.loads(said.text), said.code) == ({"result": 2000, "addInfo": {"sn": "1"}}, 2000)


def test_messagepack_that_is_no_map_is_no_answer_with_a_code_r7():
    assert rpc.said(msgspec.msgpack.encode([2000])).code is None


def answer(body: bytes):
    return json.loads(msgspec.json.encode(rest_rpc.call_answer(ID, body)))


def test_answer_holds_the_acknowledgement_and_repeats_its_keys_a1():
    ack = {"results": 2000, "x": {"a": [1]}, "status": "OK", "errorCode": 5, "message": "m", "timestamp": 1}
    ack |= {"requestId": "mine", "response": "mine"}

    assert answer(json.dumps(ack).encode()) == {
        "requestId": ID,
        "response": ack,
        "results": 2000,
        "x": {"a": [1]},
    }


@pytest.mark.parametrize(("ack", "value"), [(b'"OK"', "OK"), (b"5", 5), (b"[1,2]", [1, 2]), (b"OK", "OK"), (b"", "")])
def test_acknowledgement_that_is_no_object_stands_under_value_a2(ack, value):
    assert answer(ack) == {"requestId": ID, "response": {"value": value}}


def test_activation_parameters_are_compact_and_a_displacement_that_was_not_registered_is_0():
    full = {"vehicle_no": "12A3456", "upload_period_s": 2, "displacement": 1995.4}

    assert rpc.activation_params(**full, fuel_type="LPG", mission_type="MANUAL") == (
        b'{"vid":"12A3456","upp":2,"elt":1995,"fut":3,"mty":"Manual"}'
    )
    assert rpc.activation_params(**full | {"displacement": 0.0}, fuel_type="LPG", mission_type="AUTO") == (
        b'{"vid":"12A3456","upp":2,"elt":0,"fut":3,"mty":"Automatic"}'
    )


@pytest.mark.parametrize(("registered", "number"), [("GASOLINE", b"1"), ("DIESEL", b"2"), ("LPG", b"3")])
@pytest.mark.parametrize(("gear", "text"), [("AUTO", b"Automatic"), ("MANUAL", b"Manual")])
def test_activation_parameters_hold_the_documented_values(registered, number, gear, text):
    params = rpc.activation_params(
        vehicle_no="1", upload_period_s=2, displacement=1, fuel_type=registered, mission_type=gear
    )

    assert params == b'{"vid":"1","upp":2,"elt":1,"fut":%b,"mty":"%b"}' % (number, text)


@pytest.mark.parametrize(
    ("topic", "is_result"),
    [("v1/sensors/me/rpc/response/", False), ("v1/sensors/me/rpc/result/", True)],
)
def test_request_id_is_the_last_level_of_the_topic(topic, is_result):
    got = rpc.answer(topic + ID, b"x")

    assert (got.is_result, got.request_id, got.body) == (is_result, ID, b"x")
    assert rpc.answer(topic, b"x") is None
    assert rpc.answer(topic + "a/b", b"x") is None

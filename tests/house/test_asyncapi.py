"""The AsyncAPI document is valid and true: what devices send and what is pushed fits it, what is rejected does not."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
from tests.support import devices_golden, loops

from tripline.api.documents import asyncapi, asyncapi_schemas
from tripline.domain import pushes
from tripline.wire import push, rpc, shapes, topics
from tripline.wire.bus import envelopes as bus_envelopes
from tripline.wire.device import meanings as device_meanings
from tripline.wire.device import publish as device_publish
from tripline.wire.device import tables as device_tables
from tripline.wire.readings import Rejected

SCHEMA = json.loads((Path(__file__).parents[1] / "support" / "asyncapi_schema" / "3.0.0.json").read_bytes())
DOCUMENT = json.loads(asyncapi.published().content)
MESSAGES = {
    f"{name}.{key}": message
    for name, channel in DOCUMENT["channels"].items()
    for key, message in channel["messages"].items()
}
BY_ADDRESS = {channel["address"]: name for name, channel in DOCUMENT["channels"].items() if channel["address"]}
"""Address -> channel."""


BUS = {"sensorId": "c4d91e60-c801-11ef-9d5c-6b1f6f2a4c11", "tripId": "0d3b6a00-c7d3-11ef-b1a8-27c5d9c1f0a2"}


def judge(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    components = {"components": DOCUMENT["components"]} if '"$ref"' in json.dumps(schema) else {}
    return jsonschema_rs.Draft202012Validator({**schema, **components})


@cache
def judge_of(name: str) -> jsonschema_rs.Draft202012Validator:
    return judge(MESSAGES[name]["payload"])


def fits(channel: str, payload: Any) -> list[str]:
    """The messages of the channel that the payload is."""
    return [key for key in DOCUMENT["channels"][channel]["messages"] if judge_of(f"{channel}.{key}").is_valid(payload)]


def test_document_is_valid_asyncapi_3_0():
    checked = jsonschema_rs.validator_for(SCHEMA)

    assert [error.message for error in checked.iter_errors(DOCUMENT)] == []
    assert not checked.is_valid({**DOCUMENT, "operations": {"call": {"action": "shout"}}})


def test_document_names_no_other_server():
    assert re.findall(r"https?://[\w.]+", json.dumps(DOCUMENT)) == []


def test_references_lead_somewhere_and_every_schema_is_used():
    found = set(re.findall(r'"\$ref": "(#/[^"]+)"', json.dumps(DOCUMENT)))

    for reference in found:
        place = DOCUMENT
        for part in reference[2:].split("/"):
            place = place[part]
    schemas = {name for name in DOCUMENT["components"]["schemas"] if f"#/components/schemas/{name}" in found}
    assert schemas == set(DOCUMENT["components"]["schemas"])


def test_channels_are_every_topic_and_both_pushes():
    addresses = {channel["address"] for channel in DOCUMENT["channels"].values()}

    assert addresses == {*device_publish.CHANNELS, *shapes.RPC_TOPICS.values(), *bus_envelopes.ENVELOPES, None}
    assert {address.partition("{")[0] for address in shapes.RPC_TOPICS.values()} == {
        topics.RPC_REQUEST,
        topics.RPC_RESPONSE,
        topics.RPC_RESULT,
    }


def test_directions_are_those_of_the_program():
    actions = {
        operation["channel"]["$ref"].rpartition("/")[2]: operation["action"]
        for operation in DOCUMENT["operations"].values()
    }

    assert {name for name, action in actions.items() if action == "send"} == {"rpcRequest", "notify", "rpcNotify"}
    assert actions.keys() == DOCUMENT["channels"].keys()


def test_everything_that_is_described_is_served():
    assert "x-status" not in json.dumps(DOCUMENT)


def test_every_message_of_the_tables_is_there():
    told = set(DOCUMENT["channels"]["tre"]["messages"])

    assert told == {f"message{number}" for number in device_tables.TABLES} | {"otherEvent"}
    assert device_meanings.TITLES.keys() == device_tables.TABLES.keys() == device_tables.MANDATORY.keys()


def test_every_key_of_the_tables_has_a_meaning_and_nothing_else_has():
    keys = {key for number in device_tables.TABLES for key in device_meanings.keys(number)}

    assert keys == {name.partition("@")[0] for name in device_meanings.ROWS}
    for number in device_tables.TABLES:
        assert device_tables.MANDATORY[number] <= set(device_meanings.keys(number))


@loops.every(MESSAGES)
def test_examples_fit_their_message(name):
    for example in MESSAGES[name].get("examples", []):
        judge_of(name).validate(example["payload"])


def test_every_field_is_described_and_its_examples_fit():
    wrong = []
    for name, schema in DOCUMENT["components"]["schemas"].items():
        for field, described in schema.get("properties", {}).items():
            texts = [described.get("description"), *(each.get("description") for each in described.get("anyOf", ()))]
            examples = described.get("examples", ())
            judged = judge(described)
            if not any(texts) or not all(judged.is_valid(example) for example in examples):
                wrong.append(f"{name}.{field}")

    assert wrong == []


@loops.every(device_tables.TABLES)
def test_example_of_a_message_is_read_as_what_it_is(number):
    body = msgspec.json.encode(asyncapi_schemas.example(number))

    (reading,) = device_publish.read(
        topics.TRE, body, received_ms=1_735_700_000_000, sensor_type="GPS", max_items=1_000
    )

    kind = (
        "Trip"
        if number in device_tables.TRIPS
        else "Microtrip"
        if number in device_tables.MICROTRIPS
        else "DeviceEvent"
    )
    assert (type(reading).__name__, reading.ty) == (kind, number)


@loops.every(devices_golden.cases())
def test_captured_message_fits_unless_it_is_rejected(case):
    readings = device_publish.read(
        case.topic, case.body, received_ms=case.received_ms, sensor_type=case.sensor_type, max_items=1_000
    )

    payload = devices_golden.decoded(case)

    usable = not any(isinstance(reading, Rejected) for reading in readings)
    assert bool(fits(BY_ADDRESS[case.topic], payload)) is usable


@loops.every(list(pushes.Name))
def test_push_fits_the_message_of_its_name_alone(name):
    (example,) = MESSAGES[f"notify.{name.value.lower()}"]["examples"]
    notice = example["payload"]

    assert json.loads(push.body(msgspec.json.decode(json.dumps(notice), type=push.Notice))) == notice
    assert fits("notify", notice) == [name.value.lower()]
    assert fits("notify", {**notice, "sensorId": None}) == []


@loops.every(
    [
        ({"fuel_type": "LPG", "mission_type": "AUTO"}, {"elt": 1998, "fut": 3, "mty": "Automatic"}),
        ({"fuel_type": "DIESEL", "mission_type": "MANUAL"}, {"elt": 1998, "fut": 2, "mty": "Manual"}),
    ]
)
def test_activation_fits_its_message(known, params):
    made = rpc.activation_params(vehicle_no="12A3456", upload_period_s=2, displacement=1998, **known)

    call = json.loads(rpc.message(b'"activationReq"', made))

    assert call["params"] == {"vid": "12A3456", "upp": 2, **params}
    assert fits("rpcRequest", call) == ["request", "activation"]
    assert fits("rpcRequest", {**call, "method": "reset"}) == ["request"]


@loops.every(
    [
        ({"results": 2000}, "rpcResponse"),
        ({"result": "2001"}, "rpcResponse"),
        ({"results": 2000, "additionalInfo": ""}, "rpcResult"),
        ({"result": 2000, "addInfo": {"vid": "12A3456"}}, "rpcResult"),
    ]
)
def test_answers_of_real_programs_fit(answer, channel):
    assert len(fits(channel, answer)) == 1


@loops.every(
    [
        (
            bus_envelopes.MICROTRIPS,
            {"data": {**BUS, "companyId": None, "payload": [{"tid": 88}]}, "msgType": "Microtrip"},
        ),
        (
            bus_envelopes.TRIPS,
            {"data": {**BUS, "payload": "{}", "startDt": 1735689930000}, "msgType": "trip", "latestTrip": []},
        ),
        (
            bus_envelopes.EVENTS,
            {"data": {**BUS, "payload": {"event": 1234}, "ty": 111, "eventDt": 1}, "msgType": "Event"},
        ),
    ]
)
def test_messages_of_real_producers_on_a_bus_fit(topic, message):
    without_sensor = {**message["data"], "sensorId": None}

    assert fits(BY_ADDRESS[topic], message) == ["envelope"]
    assert fits(BY_ADDRESS[topic], {**message, "data": json.dumps(message["data"])}) == ["envelope"]
    assert fits(BY_ADDRESS[topic], {**message, "data": without_sensor}) == []


def test_channels_of_a_bus_say_when_they_are_read():
    assert all("`bus.url`" in DOCUMENT["channels"][BY_ADDRESS[each]]["description"] for each in bus_envelopes.ENVELOPES)

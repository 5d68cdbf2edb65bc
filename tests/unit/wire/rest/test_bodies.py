"""Reading requests: a field of the wrong type is named, with types as every sender knows them."""

import datetime

import msgspec
import pytest
from tests.support.refused import refused

from tripline.domain.refusals import BadParameter
from tripline.language.catalogue import sentence
from tripline.wire.rest import bodies as rest_bodies


class Request(msgspec.Struct, rename="camel"):
    vehicle_no: str | None = None
    mileage: float | None = None
    model_year: float | str | None = None
    rpc_notify_port: int | None = None
    activation_required: bool | None = None
    notify_msg_type: list[int] | None = None


@pytest.mark.parametrize(
    ("body", "expected", "got"),
    [
        ({"vehicleNo": 7}, "text", "a whole number"),
        ({"vehicleNo": 7.5}, "text", "a number"),
        ({"vehicleNo": {}}, "text", "an object"),
        ({"mileage": "7"}, "a number", "text"),
        ({"mileage": True}, "a number", "true or false"),
        ({"modelYear": []}, "a number or text", "an array"),
        ({"rpcNotifyPort": 1.5}, "a whole number", "a number"),
        ({"activationRequired": "yes"}, "true or false", "text"),
        ({"notifyMsgType": [None]}, "a whole number", "null"),
    ],
)
def test_wrong_type_is_named_as_json_calls_it(body, expected, got):
    (name,) = body

    with pytest.raises(BadParameter) as refusal:
        rest_bodies.read(body, Request)

    assert sentence(refusal.value) == f"Parameter '{name}' has the wrong type: expected {expected}, got {got}."


def test_trouble_that_is_not_about_types_is_told_as_it_is():
    with refused(BadParameter, match=r"^Parameter 'at' has the wrong type: Invalid RFC3339 encoded datetime\.$"):
        rest_bodies.read({"at": "x"}, msgspec.defstruct("Timed", [("at", datetime.datetime)]))


def test_empty_text_for_a_number_counts_as_not_sent():
    assert rest_bodies.read({"mileage": "", "vehicleNo": ""}, Request) == Request(vehicle_no="")

"""JSON of calls to devices: requests, answers to the caller, and records (spec/rpc 2, 5.2 and 7)."""

from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import UNSET, UnsetType

from tripline.domain import ids
from tripline.domain.ids import RequestId
from tripline.domain.rpc import StoredCall
from tripline.domain.sensors import Sensor
from tripline.wire import rpc
from tripline.wire.described import about
from tripline.wire.rest import examples
from tripline.wire.rest import sensors as rest_sensors
from tripline.wire.rest.base import Id, record_of

_OURS: Final = frozenset({"requestId", "response", "status", "errorCode", "message", "timestamp"})
"""Keys of an acknowledgement that are not repeated beside it: the platform's own keys and the keys of errors (A1)."""


class CallRequest(msgspec.Struct, rename="camel", kw_only=True):
    """A command for a device. The device gets only `method` and `params`."""

    method: Annotated[
        str | None,
        about(
            "what to do: a documented method or anything else that device and application agree on, at most"
            " 255 characters; required",
            "reset",
        ),
    ] = None
    params: Annotated[
        Any,
        about(
            "parameters of the method: any JSON, forwarded as sent; `{}` when absent. `param` is read in its place",
            {"immediate": "true"},
        ),
    ] = None
    timeout: Annotated[
        Any,
        about(
            "how long to wait for the device's acknowledgement, ms; a whole number of 1000 to 20000"
            " shortens the 20 seconds, anything else is ignored",
            5000,
        ),
    ] = None


class CallAnswer(msgspec.Struct, rename="camel", kw_only=True):
    """The device's acknowledgement. Its own keys are repeated beside it, except keys that mark errors."""

    OPEN: ClassVar = True

    request_id: Annotated[str, about("Request-ID of the call, a bare UUID", "6f1f3c10-c7a4-11ef-8a3e-5f0c5d2b9a71")]
    response: Annotated[
        dict[str, Any],
        about(
            "the acknowledgement as sent, whatever its code; what is no object stands under `value`", {"results": 2000}
        ),
    ]


class CallRecord(msgspec.Struct, rename="camel", kw_only=True):
    """A call to a device."""

    id: Annotated[Id, about("Request-ID of the call", {"id": "6f1f3c10-c7a4-11ef-8a3e-5f0c5d2b9a71"})]
    created_time: Annotated[int, about("when it was made, epoch ms", 1735689600000)]
    sensor_id: Annotated[Id, about("sensor whose device was called", examples.SENSOR)]
    vehicle_id: Annotated[
        Id, about("vehicle that the sensor was on, or, of an activation, is for; placeholder: none", examples.VEHICLE)
    ]
    method: Annotated[str, about("what the device was to do", "serial")]
    params: Annotated[Any, about("parameters as forwarded", {})]
    response: Annotated[Any, about("the acknowledgement as sent; null: none came", {"result": 2000})]
    response_time: Annotated[
        int | None, about("when the acknowledgement came, epoch ms; null: none came", 1735689600120)
    ]
    result: Annotated[
        Any,
        about("the device's result as sent; null: none came", {"results": 2000, "additionalInfo": {"sn": "SN-0001"}}),
    ]
    result_time: Annotated[int | None, about("when the result came, epoch ms; null: none came", 1735689602000)]
    result_code: Annotated[
        int | None,
        about(
            "code in the result: 2000 to 2999 success, 4000 to 4999 the device's fault; or the platform's:"
            " 5001 not acknowledged, 5002 not delivered, 5003 cancelled; null: there is none",
            2000,
        ),
    ]
    add_info: Annotated[
        Any,
        about(
            "additional information in the result, by either of its names: an object or a text; null: none",
            {"sn": "SN-0001"},
        ),
    ]
    status: Annotated[
        str, about("REQUESTED, ACKED, DONE (success), FAILED, or TIMEOUT (no acknowledgement in time)", "DONE")
    ]


def call_record(call: StoredCall) -> CallRecord:
    """The record."""
    result = None if call.result is None else rpc.said(call.result)
    return record_of(
        CallRecord,
        call,
        created_time=ids.ms_of_no(call.no),
        params=msgspec.Raw(call.params),
        response=None if call.response is None else msgspec.Raw(rpc.said(call.response).text),
        result=None if result is None else msgspec.Raw(result.text),
        add_info=None if result is None else result.info,
        status=call.state,
    )


class MountedRecord(rest_sensors.SensorRecord, rename="camel", kw_only=True):
    """A sensor; during the activation of its device, with the acknowledged request."""

    request_id: Annotated[
        str | UnsetType,
        about("Request-ID of the activation; absent when none is needed", "6f1f3c10-c7a4-11ef-8a3e-5f0c5d2b9a71"),
    ] = UNSET
    response: Annotated[
        dict[str, Any] | UnsetType,
        about(
            "the device's acknowledgement as sent; what is no object stands under `value`; absent when no"
            " activation is needed",
            {"result": 2000},
        ),
    ] = UNSET


def mounted_record(sensor: Sensor, request_id: RequestId, body: bytes) -> dict[str, Any]:
    """The sensor of an activation that the device acknowledged with this body."""
    response, _ = rpc.as_object(rpc.said(body).text)
    record = msgspec.to_builtins(rest_sensors.sensor_record(sensor))
    return {**record, "requestId": request_id, "response": msgspec.Raw(response)}


def call_answer(request_id: RequestId, body: bytes) -> dict[str, msgspec.Raw]:
    """The answer to a call that the device acknowledged with this body (A1, A2)."""
    response, keys = rpc.as_object(rpc.said(body).text)
    repeated = {key: value for key, value in keys.items() if key not in _OURS}
    own = {"requestId": msgspec.Raw(msgspec.json.encode(request_id)), "response": msgspec.Raw(response)}
    return {**own, **repeated}

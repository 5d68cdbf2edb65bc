"""Shapes of data that passes through verbatim, for the published description: calls, answers, headers of pushes.

The program forwards most of this data without decoding it, so nothing uses these structs to read or write; a test
checks real calls and pushes against them. Follows spec/rpc 2 to 4, spec/push 3 and 4.
"""

from typing import Annotated, Any, Final

import msgspec

from tripline.wire import topics
from tripline.wire.described import about

METHODS: Final = {
    "activationReq": "Activate the device after it was mounted on a vehicle. Sent by Tripline itself.",
    "turnOnReq": "Turn the device on.",
    "fwupdate": "Update the firmware: `pkv` version, `url` address of the package.",
    "fwupchunk": "Update the firmware in pieces: `tsz` total size, `csz` size of a piece, `idx` its number, `pyd` its "
    "bytes in hexadecimal digits.",
    "reset": "Start again.",
    "serial": "Read the serial number; the result has it as `sn`.",
    "cleardata": "Erase what the device keeps.",
    "bbxauthReq": "Authenticate the black box.",
    "bbxpwroffReq": "Turn the black box off.",
    "bbxsettingReq": "Change settings; `params` has the keys of the settings report (message 110).",
    "bbxcapimgReq": "Take a picture and upload it to `url`.",
}
"""Documented methods and their effects; other methods are forwarded as well."""


class RpcRequest(msgspec.Struct, kw_only=True):
    """A call as the device gets it: exactly these two keys, as compact JSON."""

    method: Annotated[str, about("what to do", "reset")]
    params: Annotated[Any, about("its parameters, as the caller sent them; `{}` when it sent none")]


class Activation(msgspec.Struct, kw_only=True):
    """Parameters of `activationReq`."""

    vid: Annotated[str, about("number of the vehicle (`vehicleNo`)", "12A3456")]
    upp: Annotated[int, about("period of microtrips, seconds", 2)]
    elt: Annotated[int, about("engine displacement, cc; 0 when it is not known", 1998)]
    fut: Annotated[int, about("fuel: 1 gasoline, 2 diesel, 3 LPG", 1)]
    mty: Annotated[str, about("transmission: Automatic or Manual", "Automatic")]


class RpcAnswer(msgspec.Struct, rename="camel", kw_only=True):
    """A device's answer to a call. Codes: 2000 to 2999 success, 4000 to 4999 failure on the device."""

    result: Annotated[int | str | None, about("the code", 2000)] = None
    results: Annotated[int | str | None, about("the same, in other programs", 2000)] = None
    result_code: Annotated[int | str | None, about("the same, in still others", 2000)] = None
    add_info: Annotated[
        dict[str, Any] | str | None,
        about("more about it: `vid` after an activation, `sn` after `serial`", {"vid": "12A3456"}),
    ] = None
    additional_info: Annotated[
        dict[str, Any] | str | None, about("the same, in other programs", {"sn": "SN-000001"})
    ] = None


class Signed(
    msgspec.Struct,
    rename={
        "webhook_id": "webhook-id",
        "webhook_timestamp": "webhook-timestamp",
        "webhook_signature": "webhook-signature",
    },
    kw_only=True,
):
    """Headers of every request to a customer's server (Standard Webhooks)."""

    webhook_id: Annotated[
        str,
        about(
            "id of the message; the same at each attempt, so that a repeat can be dropped",
            "6f1f3c10-c7a4-11ef-8a3e-5f0c5d2b9a71",
        ),
    ]
    webhook_timestamp: Annotated[str, about("time of this attempt, epoch seconds", "1735689602")]
    webhook_signature: Annotated[
        str,
        about(
            "`v1,` and the base64 of HMAC-SHA256 over id, time and body joined by dots; several are parted by blanks",
            "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
        ),
    ]


class SignedResult(
    Signed, rename={"request_id": "X-Request-Id", "sensor_id": "X-Sensor-Id", "method": "X-Rpc-Method"}, kw_only=True
):
    """Headers of a result that goes to `rpcNotify*`: its body stays as the device sent it."""

    request_id: Annotated[str, about("id of the call", "6f1f3c10-c7a4-11ef-8a3e-5f0c5d2b9a71")]
    sensor_id: Annotated[str, about("the sensor", "c4d91e60-c801-11ef-9d5c-6b1f6f2a4c11")]
    method: Annotated[str, about("method of the call; what is no visible ASCII is percent-encoded", "reset")]


REQUEST_ID: Final = "requestId"
RPC_TOPICS: Final = {
    "rpcRequest": f"{topics.RPC_REQUEST}{{{REQUEST_ID}}}",
    "rpcResponse": f"{topics.RPC_RESPONSE}{{{REQUEST_ID}}}",
    "rpcResult": f"{topics.RPC_RESULT}{{{REQUEST_ID}}}",
}
"""Name of a channel -> its address."""

"""Shapes of data that passes through verbatim, for the published description: calls, answers, headers of pushes.

The program forwards most of this data without decoding it, so nothing uses these structs to read or write; a test
checks real calls and pushes against them. Follows spec/rpc 2 to 4, spec/push 3 and 4.

Not here: the documented messages of devices (`wire/device/meanings.py`).
"""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from tripline.wire import topics

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

    method: Annotated[str, Meta(description="what to do", examples=["reset"])]
    params: Annotated[Any, Meta(description="its parameters, as the caller sent them; `{}` when it sent none")]


class Activation(msgspec.Struct, kw_only=True):
    """Parameters of `activationReq`."""

    vid: Annotated[str, Meta(description="number of the vehicle (`vehicleNo`)", examples=["12A3456"])]
    upp: Annotated[int, Meta(description="period of microtrips, seconds", examples=[2])]
    elt: Annotated[int, Meta(description="engine displacement, cc; 0 when it is not known", examples=[1998])]
    fut: Annotated[int, Meta(description="fuel: 1 gasoline, 2 diesel, 3 LPG", examples=[1])]
    mty: Annotated[str, Meta(description="transmission: Automatic or Manual", examples=["Automatic"])]


class RpcAnswer(msgspec.Struct, rename="camel", kw_only=True):
    """A device's answer to a call. Codes: 2000 to 2999 success, 4000 to 4999 failure on the device."""

    result: Annotated[int | str | None, Meta(description="the code", examples=[2000])] = None
    results: Annotated[int | str | None, Meta(description="the same, in other programs", examples=[2000])] = None
    result_code: Annotated[int | str | None, Meta(description="the same, in still others", examples=[2000])] = None
    add_info: Annotated[
        dict[str, Any] | str | None,
        Meta(
            description="more about it: `vid` after an activation, `sn` after `serial`", examples=[{"vid": "12A3456"}]
        ),
    ] = None
    additional_info: Annotated[
        dict[str, Any] | str | None, Meta(description="the same, in other programs", examples=[{"sn": "SN-000001"}])
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
        Meta(
            description="id of the message; the same at each attempt, so that a repeat can be dropped",
            examples=["6f1f3c10-c7a4-11ef-8a3e-5f0c5d2b9a71"],
        ),
    ]
    webhook_timestamp: Annotated[str, Meta(description="time of this attempt, epoch seconds", examples=["1735689602"])]
    webhook_signature: Annotated[
        str,
        Meta(
            description="`v1,` and the base64 of HMAC-SHA256 over id, time and body joined by dots; several are parted "
            "by blanks",
            examples=["v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="],
        ),
    ]


class SignedResult(
    Signed,
    rename={"request_id": "X-Request-Id", "sensor_id": "X-Sensor-Id", "method": "X-Rpc-Method"},
    kw_only=True,
):
    """Headers of a result that goes to `rpcNotify*`: its body stays as the device sent it."""

    request_id: Annotated[str, Meta(description="id of the call", examples=["6f1f3c10-c7a4-11ef-8a3e-5f0c5d2b9a71"])]
    sensor_id: Annotated[str, Meta(description="the sensor", examples=["c4d91e60-c801-11ef-9d5c-6b1f6f2a4c11"])]
    method: Annotated[
        str, Meta(description="method of the call; what is no visible ASCII is percent-encoded", examples=["reset"])
    ]


REQUEST_ID: Final = "requestId"
RPC_TOPICS: Final = {
    "rpcRequest": f"{topics.RPC_REQUEST}{{{REQUEST_ID}}}",
    "rpcResponse": f"{topics.RPC_RESPONSE}{{{REQUEST_ID}}}",
    "rpcResult": f"{topics.RPC_RESULT}{{{REQUEST_ID}}}",
}
"""Name of a channel -> its address."""

"""Bytes of calls to devices and of their answers (spec/rpc 2 to 4)."""

import codecs
import re
from typing import Any, Final

import msgspec

from tripline.domain import fields
from tripline.domain.refusals import BadParameter
from tripline.wire import shapes, topics
from tripline.wire.device import body as device_body
from tripline.wire.device import reasons as device_reasons
from tripline.wire.readings import RpcAnswer

MESSAGE_BYTES: Final = 262_144
"""Largest message to a device, as the largest that a device may send (G35)."""
SHORTEST_ACK_MS: Final = 1_000
LONGEST_ACK_MS: Final = 20_000
ACTIVATION_VALUES: Final = {"AUTO": "Automatic", "MANUAL": "Manual"}
"""`mty` of an activation, by `missionType`; the embedded SDK can take a string only (spec/rpc 3.1)."""
FUEL_NUMBERS: Final = {"GASOLINE": 1, "DIESEL": 2, "LPG": 3}
CODE_KEYS: Final = ("result", "results", "resultCode")
INFO_KEYS: Final = ("addInfo", "additionalInfo")
"""Names of the code and of the information in an answer, the documented ones first (B1, B2)."""
_NUMERAL: Final = re.compile(r"\s*([+-]?\d{1,9})(?:\.0*)?\s*", re.ASCII)
_NO_PARAMS: Final = b"{}"
_PARTS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ANY: Final = msgspec.json.Decoder()


class CallRequest(msgspec.Struct, frozen=True):
    """An application's request to a device."""

    method: str
    params: bytes
    """JSON, byte for byte as sent (Q1)."""
    message: bytes
    """The message to the device: an object of exactly `method` and `params`."""
    ack_ms: int
    """How long the device may take to acknowledge it."""


class Said(msgspec.Struct, frozen=True):
    """The body of an acknowledgement or result."""

    text: bytes
    """Its JSON: as sent, or wrapped in a JSON string if it is not JSON (B4)."""
    code: int | None
    """Normalised result code (B1); None: missing or unusable."""
    info: Any
    """Additional information (B2): an object or a text; None: none."""


def asked(body: dict[str, Any], content: bytes) -> CallRequest:
    """Parse the body of a request; `body` is the JSON object in `content`.

    Raises `BadParameter` (Q5); a method is a line of text like any other (G5). Other keys are not forwarded (Q4).
    """
    method = body.get("method")
    if method is None or method == "":
        raise BadParameter.missing("method")
    if not isinstance(method, str):
        raise BadParameter("plain_text", field="method")
    fields.text("method", method)
    parts = _PARTS.decode(content.removeprefix(codecs.BOM_UTF8))
    # Q2: the published sample application uses `param`.
    named = next((parts[name] for name in ("params", "param") if name in parts), None)
    params = _NO_PARAMS if named is None else bytes(named)
    sent = message(bytes(parts["method"]), params)
    if len(sent) > MESSAGE_BYTES:
        raise BadParameter("params_long", field="params", most=MESSAGE_BYTES)
    return CallRequest(method, params, sent, _ack_ms(body.get("timeout")))


def message(method: bytes, params: bytes) -> bytes:
    """The bytes for the device, without blanks: small boxes have small buffers (spec/rpc 1)."""
    return b'{"method":' + method + b',"params":' + params + b"}"


def activation_params(
    *, vehicle_no: str, upload_period_s: int, displacement: float, fuel_type: str, mission_type: str
) -> bytes:
    """The parameters of `activationReq` (spec/rpc 3.1). `elt` is 0 when no displacement was registered."""
    params = shapes.Activation(
        vid=vehicle_no,
        upp=upload_period_s,
        elt=round(displacement),
        fut=FUEL_NUMBERS[fuel_type],
        mty=ACTIVATION_VALUES[mission_type],
    )
    return msgspec.json.encode(params)


def answer(topic: str, body: bytes) -> RpcAnswer | None:
    """The answer received on the topic; None for any topic without answers."""
    for prefix, is_result in ((topics.RPC_RESPONSE, False), (topics.RPC_RESULT, True)):
        request_id = topic.removeprefix(prefix)
        if request_id != topic and request_id and "/" not in request_id:
            return RpcAnswer(is_result=is_result, request_id=request_id, body=body)
    return None


def said(body: bytes) -> Said:
    """Parse the body of an answer: an object, also as MessagePack (R7), any other JSON, or other bytes."""
    decoded = device_body.decode(body)
    if isinstance(decoded, device_body.Json):
        return Said(decoded.text, _code(decoded.value), _info(decoded.value))
    if decoded == device_reasons.NOT_OBJECT:
        try:
            _ANY.decode(body)
        except ValueError:
            pass
        else:
            return Said(body, None, None)
    return Said(msgspec.json.encode(body.decode("utf-8", "replace")), None, None)


def as_object(text: bytes) -> tuple[bytes, dict[str, msgspec.Raw]]:
    """An acknowledgement as the object for the caller (A2), and the keys that the device sent."""
    if text.lstrip()[:1] == b"{":
        return text, _PARTS.decode(text)
    return b'{"value":' + text + b"}", {}


def _code(fields: dict[str, Any]) -> int | None:
    found = (_number(fields.get(key)) for key in CODE_KEYS)
    return next((code for code in found if code is not None), None)


def _number(value: Any) -> int | None:
    """A code: a whole number, or a text that spells one; never a boolean (B1)."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        found = _NUMERAL.fullmatch(value)
        return None if found is None else int(found[1])
    if isinstance(value, int | float) and abs(value) < 1_000_000_000 and value == int(value):
        return int(value)
    return None


def _info(fields: dict[str, Any]) -> Any:
    """`addInfo`, else `additionalInfo`: an object or a text; an empty text counts as absent (B2)."""
    found = (fields.get(key) for key in INFO_KEYS)
    return next((info for info in found if isinstance(info, dict | str) and info != ""), None)


def _ack_ms(timeout: Any) -> int:
    """Q4: an integer of 1000 to 20000 shortens the time for the acknowledgement; other values do not."""
    if type(timeout) is int and SHORTEST_ACK_MS <= timeout <= LONGEST_ACK_MS:
        return timeout
    return LONGEST_ACK_MS

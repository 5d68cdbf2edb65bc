"""A customer's bus message, from bytes to readings (spec/bus-messages 2 to 4; rule numbers are beside the code).

Reading takes two steps, because the meaning of a payload may depend on the sensor's registered type: `opened` decodes
the envelope, `readings` the payload, with the readers of device payloads. Neither raises; unusable messages become
`Rejected` with a reason.
"""

import datetime
from typing import Any, Final, Literal, TypeAlias

import msgspec

from tripline.wire.bus import payloads as bus_payloads
from tripline.wire.bus import reasons as bus_reasons
from tripline.wire.bus.fields import Values
from tripline.wire.bus.reasons import rejected
from tripline.wire.device import body as device_body
from tripline.wire.device import publish as device_publish
from tripline.wire.device.body import Json
from tripline.wire.readings import Reading, Rejected

Kind: TypeAlias = Literal["microtrip", "trip", "event", "header"]
"""The content of a message; `header`: a device's message with its own header (4.14)."""

LARGEST: Final = 2**20
"""Maximum bytes of a message (spec/gaps G35)."""
_KINDS: Final[dict[str, Kind]] = {"microtrip": "microtrip", "trip": "trip", "event": "event"}
_BOM: Final = b"\xef\xbb\xbf"


class Opened(msgspec.Struct, gc=False, kw_only=True):
    """A message with a usable envelope. Ids are canonical; None: missing."""

    kind: Kind
    sensor_id: str
    company_id: str | None
    vehicle_id: str | None
    user_id: str | None
    """The placeholder when the message names no driver, or no possible one."""
    trip_id: str | None
    record: str | None
    """`microTripId` or `eventId` as sent, UUID or not."""
    values: Values
    payload: Any
    """Decoded."""
    payload_text: bytes
    """Its JSON."""
    envelope: bytes
    """JSON of the message as sent, without the payload (4.19)."""
    body: bytes
    of_device: bytes | None = None
    """The message as the device would send it, when it names no trip: placed like device messages (4.14)."""


def opened(body: bytes, *, topic_kind: Kind | None) -> Opened | Rejected:
    """Decode the envelope but not the payload; `topic_kind` is the usual kind of message on its topic."""
    if len(body) > LARGEST:
        return rejected(bus_reasons.TOO_LARGE, body)
    read = device_body.json_value(body.removeprefix(_BOM), strict=False)
    if isinstance(read, str):
        return rejected(read, body)
    if not isinstance(read.value, dict):
        return rejected(bus_reasons.NOT_OBJECT, body)
    return _opened(read.value, read.text, body, topic_kind)


def readings(
    message: Opened, *, sensor_type: str, zone: datetime.tzinfo, received_ms: int, max_items: int
) -> list[Reading]:
    """The readings of the payload, in the order sent; empty for an empty aggregate. `sensor_type` is the registered
    one."""
    context = bus_payloads.Context(
        values=message.values,
        payload=message.payload,
        text=message.payload_text,
        body=message.body,
        sensor_type=sensor_type,
        zone=zone,
        received_ms=received_ms,
        max_items=max_items,
    )
    return bus_payloads.READERS[message.kind](context)


def _opened(envelope: dict[str, Any], text: bytes, body: bytes, topic_kind: Kind | None) -> Opened | Rejected:
    data = _data(envelope)
    if isinstance(data, str):
        return rejected(data, body)
    values = Values(data, envelope)
    sensor_id = values.id_of("sensorId")
    if sensor_id is None:
        return rejected(bus_reasons.NO_SENSOR, body)
    is_header = data is envelope and envelope.get("payload") is None
    kind: Kind | None = "header" if is_header else _kind(values, topic_kind)
    if kind is None:
        return rejected(bus_reasons.KIND, body)
    trip_id = values.id_of("tripId")
    if trip_id is None and kind in ("microtrip", "trip"):  # 4.20; an event does without
        return rejected(bus_reasons.NO_TRIP, body)
    payload = Json(envelope, text) if is_header else _payload(values.get("payload"), data, envelope, text)
    if isinstance(payload, str):
        return rejected(payload, body)
    return Opened(
        kind=kind,
        sensor_id=sensor_id,
        company_id=values.said("companyId"),
        vehicle_id=values.id_of("vehicleId"),
        user_id=values.said("userId"),
        trip_id=trip_id,
        record=values.key("eventId" if kind == "event" else "microTripId"),
        values=values,
        payload=payload.value,
        payload_text=payload.text,
        envelope=_around(envelope, data),
        body=body,
        of_device=_of_device(text) if is_header and values.get("tripId") is None else None,
    )


def _data(envelope: dict[str, Any]) -> dict[str, Any] | str:
    """The fields: an object, JSON text of one (4.6), or the envelope itself when it has none (4.13, 4.14)."""
    data = envelope.get("data")
    if isinstance(data, str):
        read = device_body.json_value(data.encode(), strict=False)
        data = None if isinstance(read, str) else read.value
        return data if isinstance(data, dict) else bus_reasons.DATA_FORM
    if data is None and (envelope.get("payload") is not None or envelope.get("pld") is not None):
        return envelope
    return data if isinstance(data, dict) else bus_reasons.DATA_FORM


def _kind(values: Values, topic_kind: Kind | None) -> Kind | None:
    """The kind from `msgType`, in any letter case (4.1), else from the topic (4.2)."""
    said = values.get("msgType")
    return (_KINDS.get(said.strip().lower()) if isinstance(said, str) else None) or topic_kind


def _payload(payload: Any, data: dict[str, Any], envelope: dict[str, Any], text: bytes) -> Json | str:
    """The payload with its JSON, from an object or array, or from JSON text (4.3); or the reason why it is unusable."""
    if payload is None:
        return bus_reasons.NO_PAYLOAD
    if isinstance(payload, str):
        read = device_body.json_value(payload.encode(), strict=False)
        return bus_reasons.PAYLOAD_TEXT if read == bus_reasons.NOT_JSON else read
    if not isinstance(payload, dict | list):
        return bus_reasons.PAYLOAD_FORM
    return Json(payload, _raw(payload, data, envelope, text))


_BY_KEY = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _of_device(text: bytes) -> bytes:
    """The device's part of the message, byte for byte."""
    said = _BY_KEY.decode(text)
    return b"{" + b",".join(b'"%b":%b' % (key.encode(), said[key]) for key in said if key in device_publish.KEYS) + b"}"


class _Inside(msgspec.Struct, gc=False):
    payload: msgspec.Raw


class _Message(msgspec.Struct, gc=False):
    data: _Inside


_IN_DATA = msgspec.json.Decoder(_Message)
_IN_ENVELOPE = msgspec.json.Decoder(_Inside)


def _raw(payload: Any, data: dict[str, Any], envelope: dict[str, Any], text: bytes) -> bytes:
    """The JSON of the payload, byte for byte from the message."""
    if data.get("payload") is None or data is envelope:
        return bytes(_IN_ENVELOPE.decode(text).payload)
    if envelope["data"] is data:
        return bytes(_IN_DATA.decode(text).data.payload)
    return msgspec.json.encode(payload)


def _around(envelope: dict[str, Any], data: dict[str, Any]) -> bytes:
    """The message without its payload."""
    rest = {key: value for key, value in envelope.items() if key not in ("payload", "pld", "data")}
    if data is not envelope:
        rest["data"] = {key: value for key, value in data.items() if key != "payload"}
    return msgspec.json.encode(rest)

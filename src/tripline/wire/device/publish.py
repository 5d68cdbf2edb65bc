"""A device's publish, from bytes to readings: the entry point for device messages.

`read` never raises and never drops data silently: unusable data becomes `Rejected` with its reason. It follows
spec/device-messages. The array and its elements are judged here (A1, A3, A4, A6, K7, K8); parts: `body.py` (bytes
to one object), `kinds.py` (kind of message), `microtrips.py`, `records.py` (its contents).

Not here: trips, redeliveries, the store (`services/ingest`); payloads in REST answers (`answered_payloads.py`).
"""

from collections.abc import Sequence
from typing import Any, Final, Literal

import msgspec

from tripline.wire import topics
from tripline.wire.device import body as device_body
from tripline.wire.device import kinds as device_kinds
from tripline.wire.device import microtrips as device_microtrips
from tripline.wire.device import reasons as device_reasons
from tripline.wire.device import records as device_records
from tripline.wire.device import tables as device_tables
from tripline.wire.device import values as device_values
from tripline.wire.device.body import Json
from tripline.wire.device.fields import PARKING, Fields, Header
from tripline.wire.device.kinds import Item
from tripline.wire.device.reasons import rejected
from tripline.wire.readings import DeviceEvent, LatestValues, Microtrip, Reading

_Plain = int | float | str | None


class _Header(msgspec.Struct, gc=False, kw_only=True):
    ty: _Plain = None
    ts: _Plain = None
    kind: _Plain = msgspec.field(name="try", default=None)


class _Head(_Header, kw_only=True, forbid_unknown_fields=True):
    """A header without other keys than known ones; the payload is cut out."""

    ap: _Plain = None
    sid: _Plain = None
    pld: Literal[0]


class _Message(_Header, kw_only=True):
    pld: msgspec.Raw


_HEAD = msgspec.json.Decoder(_Head)
_MESSAGE = msgspec.json.Decoder(_Message)
_KEYS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_PAYLOAD_KEY: Final = b'"pld":'
_PAYLOAD_LAST: Final = (b"}}", b"]}")
_SPACE: Final = b" \t\r\n"

CHANNELS: Final = {topics.TRE: True, topics.TRE_MSGPACK: True, topics.TELEMETRY: False, topics.ATTRIBUTES: False}
"""Topic with data of devices -> False: a body without header is a payload (K8). Another protocol adds its own here."""

KEYS: Final = ("ty", "ts", "pld", "try", "ap", "sid")
"""Keys of a message with its header, including the payload."""


def read(topic: str, body: bytes, *, received_ms: int, sensor_type: str, max_items: int) -> Sequence[Reading]:
    """Return the readings of the message, in the order sent; empty for an empty aggregate (A3).

    `sensor_type` is the sensor's registered type; `received_ms` the time of receipt (epoch ms).
    """
    text = body if body[:1] == b"{" and topic in CHANNELS else json_of(topic, body)
    if isinstance(text, bytes) and text[:1] == b"{" and CHANNELS[topic]:
        microtrips = _microtrips(text, received_ms, sensor_type, max_items)
        if microtrips is not None:
            return microtrips
    return Message(topic, body, text, received_ms, sensor_type, max_items).readings()


def json_of(topic: str, body: bytes) -> bytes | str:
    """The JSON of a publish, or the reason why it is unusable."""
    if topic not in CHANNELS:
        return device_reasons.TOPIC
    return device_body.json_text(body, packed=topic == topics.TRE_MSGPACK)


def header_of(ts: Any, kind: Any, received_ms: int) -> Header:
    """The header shared by the objects of a message, from its `ts` and `try`."""
    parking = kind is not None and device_values.whole(kind) == PARKING
    if type(ts) is int and device_values.is_right(ts, received_ms):
        return Header(ts, ts, ts, parking, received_ms)
    time_ms = device_values.instant(ts, received_ms)
    return Header(device_values.whole(ts), time_ms, received_ms if time_ms is None else time_ms, parking, received_ms)


def _microtrips(body: bytes, received_ms: int, sensor_type: str, max_items: int) -> list[Microtrip] | None:
    """The microtrips in a JSON body; None for other messages, and when a value does not fit."""
    try:
        if body.endswith(_PAYLOAD_LAST):
            # The payload is usually last. A cut in the wrong place leaves halves that are not JSON.
            start = body.find(_PAYLOAD_KEY) + len(_PAYLOAD_KEY)
            try:
                head = _HEAD.decode(body[:start] + b"0}")
                return _usual(head, body[start:-1].strip(_SPACE), body, received_ms, sensor_type, max_items)
            except msgspec.DecodeError:
                pass
        message = _MESSAGE.decode(body)
        return _usual(message, bytes(message.pld), body, received_ms, sensor_type, max_items)
    except (ValueError, RecursionError):
        return None


def _usual(
    head: _Header, payload: bytes, body: bytes, received_ms: int, sensor_type: str, max_items: int
) -> list[Microtrip] | None:
    number = head.ty if type(head.ty) is int else device_values.whole(head.ty) or 0
    form = device_microtrips.form_of(number, sensor_type)
    if form is None:
        return None
    is_object = payload[:1] == b"{"
    for way in form.ways:
        try:
            decoded: Any = (way.item if is_object else way.items).decode(payload)
            break
        except msgspec.ValidationError:
            continue
    else:
        return None
    if not is_object and len(decoded) > max_items:
        return None
    if way is not form.ways[0] or type(head) is not _Head:
        skipped = body.replace(payload, b"0", 1) if way is form.ways[0] else body
        checked = device_body.json_value(skipped, strict=True)
        if isinstance(checked, str) or checked.text is not skipped:
            return None  # to be mended, or rejected (V8)
        form.learn(checked.value["pld"], way)
    header = header_of(head.ts, head.kind, received_ms)
    if is_object:
        whole = device_microtrips.of_one(decoded, payload, header, number, way.device)
        if whole is not None:
            return [whole]
        if decoded.lat is None and decoded.lon is None:
            return None  # it may be an event (K2)
        return device_microtrips.read([decoded], payload, header, number, way.device)
    return device_microtrips.read(decoded, payload, header, number, way.device) if decoded else []


class Message:
    """A publish that is decoded into objects. `text` is that of `json_of`; the objects are read as `kind`."""

    def __init__(
        self,
        topic: str,
        body: bytes,
        text: bytes | str,
        received_ms: int,
        sensor_type: str,
        max_items: int,
        kind: type[Fields] = Fields,
    ) -> None:
        self.topic = topic
        self.body = body
        self.sensor_type = sensor_type
        self.max_items = max_items
        decoded = text if isinstance(text, str) else device_body.decode(text)
        self.reason, read = (decoded, Json({}, b"")) if isinstance(decoded, str) else ("", decoded)
        """Why the body is unusable; empty: it is an object."""
        self.fields: dict[str, Any] = read.value
        self.text = read.text
        self.objects: list[Fields] = []
        """The objects of the payload that were read, in turn."""
        self.registered = device_tables.device_type(sensor_type)
        self.sent = device_values.whole(self.fields.get("ty"))
        self.header = header_of(self.fields.get("ts"), self.fields.get("try"), received_ms)
        both = device_kinds.has(self.fields, "pld") and device_kinds.has(self.fields, "ty")
        self.is_headed = both or CHANNELS.get(topic, True)
        """False: the body itself is the payload (K8)."""
        self._kind = kind
        self._number = device_kinds.message_number(self.sent)

    def readings(self) -> list[Reading]:
        """The readings of the message, in the order sent."""
        if self.reason:
            return [rejected(self.reason, self.body)]
        if not self.is_headed:
            return [self._headerless()]
        content = self.fields.get("pld")
        if content is None:
            return [rejected(device_reasons.NO_PAYLOAD, self.body)]
        if not isinstance(content, dict | list):
            return [rejected(device_reasons.PAYLOAD_FORM, self.body)]
        payload = bytes(_KEYS.decode(self.text)["pld"])
        if isinstance(content, dict):
            return [self._object(Json(content, payload))]
        if len(content) > self.max_items:
            return [rejected(device_reasons.TOO_MANY_ITEMS, self.body)]
        return self._array(content, payload)

    def _headerless(self) -> Reading:
        told = device_kinds.signature(self.fields)
        if isinstance(told, int):
            return self._event(told, self.fields, self.text)
        return LatestValues(name=told or device_kinds.LATEST, payload=self.text)

    def _object(self, sent: Json) -> Reading:
        item, text = sent.value, sent.text
        told = device_kinds.misnumbered(self._number, item)
        if isinstance(told, str):
            return LatestValues(name=told, payload=text)
        if isinstance(told, int):
            return self._event(told, item, text)
        reason = self._unknown()
        if reason:
            return rejected(reason, self.body)
        assert self._number is not None
        if self._number in device_tables.MICROTRIPS:
            return self._microtrips([item], text)[0]
        if self._number not in device_tables.TRIPS:
            return self._event(self._number, item, text)
        device = device_kinds.vehicle_device(self._number, [item], self.registered)
        return device_records.trip(self._read(item), text, self.header, ty=self._number, device=device)

    def _array(self, content: list[Any], payload: bytes) -> list[Reading]:
        reason = self._unknown()
        if reason:
            return [rejected(reason, self.body)]
        items = [item for item in content if isinstance(item, dict)]
        left_out = [rejected(device_reasons.ITEM_FORM, self.body)] if len(items) < len(content) else []  # A4
        if self._number not in device_tables.MICROTRIPS:
            return [*map(self._object, device_body.objects_in(content, payload)), *left_out]  # A6
        if left_out:
            payload = device_body.array_of(each.text for each in device_body.objects_in(content, payload))
        return [*(self._microtrips(items, payload) if items else ()), *left_out]

    def _unknown(self) -> str | None:
        """The reason against the message number; None when it is known or may be an event's (K7)."""
        if self._number is None:
            return device_reasons.NO_TYPE
        known = self._number in device_tables.TABLES or 100 <= self._number <= device_kinds.LARGEST
        return None if known else device_reasons.UNKNOWN_TYPE

    def _microtrips(self, items: Sequence[Item], payload: bytes) -> list[Microtrip]:
        assert self._number is not None
        device = device_kinds.vehicle_device(self._number, items, self.registered)
        values = device_microtrips.of_objects([self._read(item) for item in items], self._number, device)
        return device_microtrips.read(values, payload, self.header, self._number, device)

    def _event(self, number: int, item: Item, text: bytes) -> DeviceEvent:
        device = device_kinds.event_device(number, item, self.registered)
        return device_records.event(number, self.sent, self._read(item), text, self.header, device)

    def _read(self, item: Item) -> Fields:
        self.objects.append(self._kind(item, self.header.received_ms))
        return self.objects[-1]

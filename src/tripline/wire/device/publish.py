"""A device's publish, from bytes to readings: the entry point for device messages.

`read` never raises and never drops data silently: unusable data becomes `Rejected` with its reason. It follows
spec/device-messages. The array and its elements are judged here (A1, A3, A4, A6, K7, K8); parts: `body.py` (bytes
to one object), `kinds.py` (kind of message), `microtrips.py`, `records.py` (its contents).

Not here: trips, redeliveries, the store (`services/ingest`); payloads in REST answers (`stored_payloads.py`).
"""

import functools
from collections.abc import Callable, Sequence
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
from tripline.wire.device.body import Body
from tripline.wire.device.fields import PARKING, Fields, Header, Notes
from tripline.wire.device.kinds import Item
from tripline.wire.device.reasons import rejected
from tripline.wire.readings import DeviceEvent, LatestValues, Microtrip, Reading

_Plain = int | float | str | None


class _Head(msgspec.Struct, gc=False, kw_only=True, forbid_unknown_fields=True):
    """A header without other keys than known ones; the payload is cut out."""

    ty: _Plain = None
    ts: _Plain = None
    kind: _Plain = msgspec.field(name="try", default=None)
    ap: _Plain = None
    sid: _Plain = None
    pld: Literal[0]


class _Message(msgspec.Struct, gc=False, kw_only=True):
    ty: _Plain = None
    ts: _Plain = None
    kind: _Plain = msgspec.field(name="try", default=None)
    pld: msgspec.Raw


_HEAD = msgspec.json.Decoder(_Head)
_MESSAGE = msgspec.json.Decoder(_Message)
_KEYS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_PAYLOAD_KEY: Final = b'"pld":'
_PAYLOAD_LAST: Final = (b"}}", b"]}")
_SPACE: Final = b" \t\r\n"


class Channel(msgspec.Struct, frozen=True):
    """How the bodies of a channel are read."""

    decode: Callable[[bytes], Body | str]
    headed: bool
    """A body without header is not a payload (K8)."""


CHANNELS: Final = {
    topics.TRE: Channel(device_body.decode, headed=True),
    topics.TRE_MSGPACK: Channel(device_body.decode_packed, headed=True),
    topics.TELEMETRY: Channel(device_body.decode, headed=False),
    topics.ATTRIBUTES: Channel(device_body.decode, headed=False),
}
"""Every topic with data of devices. Another protocol adds its channels here."""

KEYS: Final = ("ty", "ts", "pld", "try", "ap", "sid")
"""Keys of a message with its header, including the payload."""


def read(
    topic: str, body: bytes, *, received_ms: int, sensor_type: str, max_items: int, notes: Notes | None = None
) -> Sequence[Reading]:
    """Return the readings of the message, in the order sent; empty for an empty aggregate (A3).

    `sensor_type` is the sensor's registered type; `received_ms` the time of receipt (epoch ms). `notes`:
    of every object that is read; reading with notes takes longer and gives the same.
    """
    channel = CHANNELS.get(topic)
    if channel is None:
        return [rejected(device_reasons.TOPIC, body)]
    if notes is None and channel.headed and body[:1] == b"{":
        microtrips = _microtrips(body, received_ms, sensor_type, max_items)
        if microtrips is not None:
            return microtrips
    decoded = channel.decode(body)
    if isinstance(decoded, str):
        return [rejected(decoded, body)]
    message = _Objects(decoded.fields, body, received_ms, device_tables.device_type(sensor_type), max_items, notes)
    if is_headerless(channel, decoded.fields):
        return [message.headerless(decoded.text)]
    if not device_kinds.has(decoded.fields, "pld"):
        return [rejected(device_reasons.NO_PAYLOAD, body)]
    return message.readings(bytes(_KEYS.decode(decoded.text)["pld"]))


def is_headerless(channel: Channel, fields: Item) -> bool:
    """Return whether the body itself is the payload (K8)."""
    return not channel.headed and not (device_kinds.has(fields, "pld") and device_kinds.has(fields, "ty"))


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
    head: _Head | _Message, payload: bytes, body: bytes, received_ms: int, sensor_type: str, max_items: int
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
    count, device = 1 if is_object else len(decoded), way.device
    if count > max_items:
        return None
    if way is not form.ways[0] or type(head) is not _Head:
        skipped = body.replace(payload, b"0", 1) if way is form.ways[0] else body
        checked = device_body.json_value(skipped, strict=True)
        if isinstance(checked, str) or checked.text is not skipped:
            return None  # to be mended, or rejected (V8)
        form.learn(payload, way)
    header = header_of(head.ts, head.kind, received_ms)
    if is_object:
        whole = device_microtrips.of_one(decoded, payload, header, number, device)
        if whole is not None:
            return [whole]
        if decoded.lat is None and decoded.lon is None:
            return None  # it may be an event (K2)
        return device_microtrips.read([decoded], payload, header, number, device)
    texts = functools.partial(device_body.element_texts, payload)
    return device_microtrips.read(decoded, payload, header, number, device, texts) if decoded else []


class _Objects:
    """One decoded publish on its way to readings."""

    def __init__(
        self,
        fields: dict[str, Any],
        body: bytes,
        received_ms: int,
        registered: str,
        max_items: int,
        notes: Notes | None,
    ) -> None:
        self._fields = fields
        self._body = body
        self._registered = registered
        self._max_items = max_items
        self._received_ms = received_ms
        self._of = Fields if notes is None else notes.of
        self._sent = device_values.whole(fields.get("ty"))
        self._number = device_kinds.message_number(self._sent)
        self._header = header_of(fields.get("ts"), fields.get("try"), received_ms)

    def headerless(self, text: bytes) -> Reading:
        """The body itself is the payload (K8)."""
        told = device_kinds.signature(self._fields)
        if isinstance(told, int):
            return self._event(told, self._fields, text)
        return LatestValues(name=told or device_kinds.LATEST, payload=text)

    def readings(self, payload: bytes) -> list[Reading]:
        """The readings of `pld`, whose JSON is `payload`."""
        content = self._fields["pld"]
        if isinstance(content, dict):
            return [self._object(content, payload)]
        if not isinstance(content, list):
            return [rejected(device_reasons.PAYLOAD_FORM, self._body)]
        if len(content) > self._max_items:
            return [rejected(device_reasons.TOO_MANY_ITEMS, self._body)]
        return self._array(content, payload)

    def _object(self, item: Item, text: bytes) -> Reading:
        told = device_kinds.misnumbered(self._number, item)
        if isinstance(told, str):
            return LatestValues(name=told, payload=text)
        if isinstance(told, int):
            return self._event(told, item, text)
        reason = self._unknown()
        if reason:
            return rejected(reason, self._body)
        assert self._number is not None
        if self._number in device_tables.MICROTRIPS:
            return self._microtrips([item], text, None)[0]
        if self._number not in device_tables.TRIPS:
            return self._event(self._number, item, text)
        device = device_kinds.vehicle_device(self._number, [item], self._registered)
        return device_records.trip(
            self._of(item, self._received_ms), text, self._header, ty=self._number, device=device
        )

    def _array(self, content: list[Any], payload: bytes) -> list[Reading]:
        reason = self._unknown()
        if reason:
            return [rejected(reason, self._body)]
        usable = [item for item in content if isinstance(item, dict)]
        left_out = [rejected(device_reasons.ITEM_FORM, self._body)] if len(usable) < len(content) else []  # A4

        def texts() -> list[bytes]:
            sent = zip(content, device_body.element_texts(payload), strict=True)
            return [text for item, text in sent if isinstance(item, dict)]

        if self._number not in device_tables.MICROTRIPS:
            return [*(self._object(item, text) for item, text in zip(usable, texts(), strict=True)), *left_out]  # A6
        if not usable:
            return [*left_out]
        kept = device_body.array_of(texts()) if left_out else payload
        return [*self._microtrips(usable, kept, texts), *left_out]

    def _unknown(self) -> str | None:
        """The reason against the message number; None when it is known or may be an event's (K7)."""
        if self._number is None:
            return device_reasons.NO_TYPE
        known = self._number in device_tables.TABLES or 100 <= self._number <= device_kinds.LARGEST
        return None if known else device_reasons.UNKNOWN_TYPE

    def _microtrips(
        self, objects: Sequence[Item], payload: bytes, texts: Callable[[], Sequence[bytes]] | None
    ) -> list[Microtrip]:
        assert self._number is not None
        device = device_kinds.vehicle_device(self._number, objects, self._registered)
        fields = [self._of(item, self._received_ms) for item in objects]
        items = device_microtrips.of_objects(fields, self._number, device)
        return device_microtrips.read(items, payload, self._header, self._number, device, texts)

    def _event(self, number: int, item: Item, text: bytes) -> DeviceEvent:
        device = device_kinds.event_device(number, item, self._registered)
        fields = self._of(item, self._received_ms)
        return device_records.event(number, self._sent, fields, text, self._header, device)

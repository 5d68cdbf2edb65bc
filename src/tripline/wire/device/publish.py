"""A device's publish, from bytes to readings: the entry point for device messages.

`read` never raises and never drops data silently: unusable data becomes `Rejected` with its reason. It follows
spec/device-messages. The array and its elements are judged here (A1, A3, A4, A6, K7, K8); parts: `body.py` (bytes
to one object), `kinds.py` (kind of message), `items.py` and `events.py` (its contents).

Not here: trips, redeliveries, the store (`services/ingest`); payloads in REST answers (`stored_payloads.py`).
"""

from typing import Any, Final

from tripline.wire import topics
from tripline.wire.device import body as device_body
from tripline.wire.device import events as device_events
from tripline.wire.device import fast as device_fast
from tripline.wire.device import items as device_items
from tripline.wire.device import kinds as device_kinds
from tripline.wire.device import reasons as device_reasons
from tripline.wire.device import tables as device_tables
from tripline.wire.device import values as device_values
from tripline.wire.device.items import Header, Sent
from tripline.wire.device.kinds import Item
from tripline.wire.device.reasons import rejected
from tripline.wire.readings import DeviceEvent, LatestValues, Microtrip, Reading, Trip

KEYS: Final = ("ty", "ts", "pld", "try", "ap", "sid")
"""Keys of a message with its header, including the payload."""


def read(topic: str, body: bytes, *, received_ms: int, sensor_type: str, max_items: int) -> list[Reading]:
    """Return the readings of the message, in the order sent; empty for an empty aggregate (A3).

    `sensor_type` is the sensor's registered type; `received_ms` the time of receipt (epoch ms).
    """
    if topic == topics.TRE:
        microtrip = device_fast.microtrip(body, received_ms=received_ms, sensor_type=sensor_type, max_items=max_items)
        if microtrip is not None:
            return [microtrip]
    return read_tolerantly(topic, body, received_ms=received_ms, sensor_type=sensor_type, max_items=max_items)


def read_tolerantly(topic: str, body: bytes, *, received_ms: int, sensor_type: str, max_items: int) -> list[Reading]:
    """The same for every message, without the fast path for well-formed microtrips."""
    if topic not in topics.DATA:
        return [rejected(device_reasons.TOPIC, body)]
    decoded = device_body.decode(topic, body)
    if isinstance(decoded, str):
        return [rejected(decoded, body)]
    message = _Message(decoded.fields, body, received_ms, device_tables.device_type(sensor_type), max_items)
    if is_headerless(topic, decoded.fields):
        return [message.headerless(decoded.text)]
    if not device_kinds.has(decoded.fields, "pld"):
        return [rejected(device_reasons.NO_PAYLOAD, body)]
    return message.readings(device_body.payload_text(decoded))


def is_headerless(topic: str, fields: Item) -> bool:
    """Return whether the body itself is the payload (K8)."""
    return topic in topics.HEADERLESS and not (device_kinds.has(fields, "pld") and device_kinds.has(fields, "ty"))


def header_of(fields: Item, received_ms: int) -> Header:
    """The header shared by the objects of the message."""
    return Header(
        ts=device_values.whole(fields.get("ts")),
        time_ms=device_values.instant(fields.get("ts"), received_ms),
        parking=device_values.whole(fields.get("try")) == device_items.PARKING,
        received_ms=received_ms,
    )


class _Message:
    """One decoded publish on its way to readings."""

    def __init__(self, fields: dict[str, Any], body: bytes, received_ms: int, registered: str, max_items: int) -> None:
        self._fields = fields
        self._body = body
        self._registered = registered
        self._max_items = max_items
        self._sent = device_values.whole(fields.get("ty"))
        self._number = device_kinds.message_number(self._sent)
        self._header = header_of(fields, received_ms)

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
        if self._is_microtrip():
            return self._microtrips([Sent(item, text)], text)[0]
        return self._single(item, text)

    def _array(self, content: list[Any], payload: bytes) -> list[Reading]:
        reason = self._unknown()
        if reason:
            return [rejected(reason, self._body)]
        both = zip(content, device_body.element_texts(payload), strict=True)
        usable = [Sent(item, text) for item, text in both if isinstance(item, dict)]
        left_out: list[Reading] = []
        if len(usable) < len(content):  # A4
            left_out = [rejected(device_reasons.ITEM_FORM, self._body)]
            payload = device_items.array_of(usable)
        if not self._is_microtrip():
            return [*(self._object(item, text) for item, text in usable), *left_out]  # A6
        if not usable:
            return left_out
        return [*self._microtrips(usable, payload), *left_out]

    def _unknown(self) -> str | None:
        """The reason against the message number; None when it is known or may be an event's (K7)."""
        if self._number is None:
            return device_reasons.NO_TYPE
        known = self._number in device_tables.TABLES or 100 <= self._number <= device_kinds.LARGEST
        return None if known else device_reasons.UNKNOWN_TYPE

    def _is_microtrip(self) -> bool:
        return self._number in device_tables.MICROTRIPS

    def _microtrips(self, sent: list[Sent], payload: bytes) -> list[Microtrip]:
        assert self._number is not None
        device = device_kinds.vehicle_device(self._number, [each.item for each in sent], self._registered)
        read = [device_items.sample(each, self._header, device) for each in sent]
        return device_items.microtrips(read, payload, self._header, ty=self._number, device=device)

    def _single(self, item: Item, text: bytes) -> Trip | DeviceEvent:
        assert self._number is not None
        return self._trip(item, text) if self._number in device_tables.TRIPS else self._event(self._number, item, text)

    def _trip(self, item: Item, text: bytes) -> Trip:
        assert self._number is not None
        device = device_kinds.vehicle_device(self._number, [item], self._registered)
        return device_items.trip(item, text, self._header, ty=self._number, device=device)

    def _event(self, number: int, item: Item, text: bytes) -> DeviceEvent:
        device = device_kinds.event_device(number, item, self._registered)
        return device_events.event(number, self._sent, item, text, self._header, device)

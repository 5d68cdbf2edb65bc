"""The payload of a bus message as readings, by kind of message (spec/bus-messages 3.2, 4.3, 4.9 to 4.11, 4.14).

The items and samples are read by the readers of devices' payloads.
"""

import datetime
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from tripline.wire import topics
from tripline.wire.bus import reasons as bus_reasons
from tripline.wire.bus.fields import Values
from tripline.wire.bus.reasons import rejected
from tripline.wire.device import body as device_body
from tripline.wire.device import kinds as device_kinds
from tripline.wire.device import microtrips as device_microtrips
from tripline.wire.device import publish as device_publish
from tripline.wire.device import records as device_records
from tripline.wire.device import tables as device_tables
from tripline.wire.device import values as device_values
from tripline.wire.device.body import Json
from tripline.wire.device.fields import Fields, Header
from tripline.wire.device.kinds import Item
from tripline.wire.readings import LatestValues, Reading, Rejected

LONGEST_TYPE: Final = 32
"""Stored characters of a device type."""
NO_NUMBER: Final = 0
"""The message number of an unknown device type."""


class Context(msgspec.Struct, gc=False, kw_only=True):
    """A payload and the facts for reading it."""

    values: Values
    payload: Any
    text: bytes
    body: bytes
    sensor_type: str
    zone: datetime.tzinfo
    received_ms: int
    max_items: int

    def device(self) -> str:
        """The message's device type, which wins over the sensor's for this message (3.2)."""
        return self.said_device() or device_tables.device_type(self.sensor_type)[:LONGEST_TYPE]

    def said_device(self) -> str | None:
        """The device type in the message; an unknown one as sent."""
        said = self.values.get("deviceType")
        if not isinstance(said, str):
            return None
        return device_tables.device_type("".join(filter(str.isprintable, said)).strip())[:LONGEST_TYPE] or None

    def header(self, *times: str) -> Header:
        """The shared header of the payload's objects; `times` are the candidate time fields, the best first."""
        at_ms = (self.values.instant(name, None, self.zone, self.received_ms) for name in (*times, "createdTime"))
        time_ms = next((ms for ms in at_ms if ms is not None), None)
        return Header(
            ts=device_values.whole(self.values.get(times[0])) if times else None,
            time_ms=time_ms,
            shared_ms=self.received_ms if time_ms is None else time_ms,
            parking=False,
            received_ms=self.received_ms,
        )

    def objects(self, refusals: list[Rejected]) -> Sequence[Json]:
        """The objects in the payload; errors of the payload or of some of its elements go to `refusals` (A4)."""
        if isinstance(self.payload, dict):
            return [Json(self.payload, self.text)]
        if not isinstance(self.payload, list):
            refusals.append(rejected(bus_reasons.PAYLOAD_FORM, self.body))
            return []
        if len(self.payload) > self.max_items:
            refusals.append(rejected(bus_reasons.TOO_MANY_ITEMS, self.body))
            return []
        found = device_body.objects_in(self.payload, self.text)
        if len(found) < len(self.payload):
            refusals.append(rejected(bus_reasons.ITEM_FORM, self.body))
        return found


def _microtrips(context: Context) -> list[Reading]:
    """One record of the whole payload, under the message's trip; trip numbers in its items are ignored."""
    device_type = context.device()
    number = device_tables.TRIP_OF.get(device_type, NO_NUMBER - 1) + 1
    header = context.header("ts")
    refusals: list[Rejected] = []
    sent = context.objects(refusals)
    if not sent:
        return [*refusals]
    text = device_body.array_of(each.text for each in sent) if refusals else context.text
    items = device_microtrips.of_objects(
        [Fields(each.value, context.received_ms) for each in sent], number, device_type
    )
    return [*device_microtrips.read(items, text, header, number, device_type, cut=False), *refusals]


class _Times(NamedTuple):
    """Start and end of a trip; None: unknown."""

    start_ms: int | None
    end_ms: int | None


def _trip(context: Context) -> list[Reading]:
    """The message of a finished trip, with the times in its fields, the best first (4.11)."""
    payload, text = context.payload, context.text
    if isinstance(payload, list) and len(payload) == 1:
        payload, text = payload[0], device_body.element_texts(text)[0]
    if not isinstance(payload, dict):
        return [rejected(bus_reasons.PAYLOAD_FORM, context.body)]
    device_type = context.device()
    number = device_tables.TRIP_OF.get(device_type, NO_NUMBER)
    read = device_records.trip(
        Fields(payload, context.received_ms), text, context.header(), ty=number, device=device_type
    )
    read.ts = device_values.whole(context.values.get("endTs"))
    read.start_ms, read.end_ms = _times(context, read.start_ms, read.end_ms)
    return [read]


def _times(context: Context, stt_ms: int | None, edt_ms: int | None) -> _Times:
    """Start and end, each from the message, else from the payload; times out of order are ignored."""
    values, zone, received_ms = context.values, context.zone, context.received_ms
    start_ms = values.instant("startTs", "startDt", zone, received_ms)
    end_ms = values.instant("endTs", "endDt", zone, received_ms)
    if start_ms is not None and end_ms is not None and end_ms <= start_ms:
        start_ms = end_ms = None
    if stt_ms is not None and edt_ms is not None and edt_ms < stt_ms:
        stt_ms = edt_ms = None
    first_ms = stt_ms if start_ms is None else start_ms
    last_ms = edt_ms if end_ms is None else end_ms
    if first_ms is not None and last_ms is not None and last_ms < first_ms:
        return _Times(start_ms, end_ms)
    return _Times(first_ms, last_ms)


def _events(context: Context) -> list[Reading]:
    """Each object of the payload as an event (4.9)."""
    refusals: list[Rejected] = []
    return [*(_event(context, each.value, each.text) for each in context.objects(refusals)), *refusals]


def _event(context: Context, item: Item, text: bytes) -> Reading:
    sent = device_values.whole(context.values.get("ty"))
    told = device_kinds.signature(item) if sent is None else sent
    if told is None:
        return rejected(bus_reasons.NO_TYPE, context.body)
    if isinstance(told, str):
        return LatestValues(name=told, payload=text)
    if not 100 <= told <= device_kinds.LARGEST:  # spec/gaps G27
        return rejected(bus_reasons.UNKNOWN_TYPE, context.body)
    registered = context.device()
    of_table = device_kinds.event_device(told, item, registered)
    read = device_records.event(
        told, sent, Fields(item, context.received_ms), text, context.header("eventTs"), of_table
    )
    said_ms = context.values.instant("eventTs", "eventDt", context.zone, context.received_ms)
    if said_ms is not None:
        read.event_ms = said_ms
    if of_table != device_tables.AVN:
        read.device_type = context.said_device() or of_table
    return read


def _headed(context: Context) -> list[Reading]:
    """A device's message with its own header (4.14)."""
    return list(
        device_publish.read(
            topics.TRE,
            context.text,
            received_ms=context.received_ms,
            sensor_type=context.sensor_type,
            max_items=context.max_items,
        )
    )


def compact(payload: bytes) -> bytes:
    """The same JSON without white space between its values, which is equal for all deliveries of one payload."""
    if b" " in payload or b"\n" in payload or b"\t" in payload or b"\r" in payload:
        return msgspec.json.format(payload, indent=-1)
    return payload


READERS: Final[dict[str, Callable[[Context], list[Reading]]]] = {
    "microtrip": _microtrips,
    "trip": _trip,
    "event": _events,
    "header": _headed,
}
"""Kind of message -> the reader of its payload."""

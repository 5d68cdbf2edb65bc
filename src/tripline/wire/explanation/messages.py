"""A device's publish explained to the device's maker: its reading, and the effect of each key.

`explain` reads the message with the reader itself (`device.read`) and reports the result; the parts are `items.py` (the
keys of one object), `scoring.py` (reasons against scoring), `rejections.py` (exact errors of an unusable message),
`calls.py` (answers).

Not here: listening and printing (`services/device_check`, `cli/device.py`).
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from tripline.wire import rpc, topics
from tripline.wire.device import body as device_body
from tripline.wire.device import kinds as device_kinds
from tripline.wire.device import msgpack as device_msgpack
from tripline.wire.device import publish as device_publish
from tripline.wire.device import tables as device_tables
from tripline.wire.device import values as device_values
from tripline.wire.device.body import Body
from tripline.wire.device.items import Header
from tripline.wire.device.kinds import Item
from tripline.wire.explanation import calls as explanation_calls
from tripline.wire.explanation import items as explanation_items
from tripline.wire.explanation import rejections as explanation_rejections
from tripline.wire.explanation import scoring as explanation_scoring
from tripline.wire.explanation import words
from tripline.wire.explanation.words import Finding, Remark, Sort
from tripline.wire.readings import DeviceEvent, LatestValues, Microtrip, Reading, Rejected, Trip

_TELLING: Final = {
    101: ("dtcc",),
    102: ("dclat", "dclon", "dcwlat", "dcwlon"),
    103: ("plat", "plon", "pclat", "pclon"),
    104: ("wbv",),
    105: ("unpt", "pt"),
    106: ("rs",),
}
"""Keys, in lower case, that identify an event without its number (spec/device-messages 3.5)."""
_VALUE = msgspec.json.Decoder()


class Explanation(msgspec.Struct, frozen=True):
    """The result of a message, with reasons."""

    readings: list[Reading]
    findings: list[Finding]

    @property
    def rejected(self) -> list[str]:
        """The reasons of rejected parts."""
        return [reading.reason for reading in self.readings if isinstance(reading, Rejected)]


def explain(topic: str, body: bytes, *, received_ms: int, sensor_type: str, max_items: int) -> Explanation:
    """Explain the reader's result in sentences. Never raises, as the reader does not."""
    answer = None if topic in topics.DATA else rpc.answer(topic, body)
    if answer is not None:
        return Explanation([], list(explanation_calls.findings(answer)))
    readings = device_publish.read(topic, body, received_ms=received_ms, sensor_type=sensor_type, max_items=max_items)
    decoded = device_body.decode(topic, body) if topic in topics.DATA else ""
    fields = {} if isinstance(decoded, str) else decoded.fields
    rejected = [
        explanation_rejections.finding(reading.reason, topic, body, fields, max_items)
        for reading in readings
        if isinstance(reading, Rejected)
    ]
    if isinstance(decoded, str):
        return Explanation(readings, rejected)
    message = _Message(topic, body, decoded, received_ms, sensor_type)
    return Explanation(readings, [*rejected, *message.findings(readings)])


class _Message:
    """A message that is an object, and its findings."""

    def __init__(self, topic: str, body: bytes, decoded: Body, received_ms: int, sensor_type: str) -> None:
        self._topic = topic
        self._body = body
        self._decoded = decoded
        self._fields = decoded.fields
        self._header = device_publish.header_of(decoded.fields, received_ms)
        self._headerless = device_publish.is_headerless(topic, decoded.fields)
        self._sensor_type = sensor_type
        self._registered = device_tables.device_type(sensor_type)

    def findings(self, readings: list[Reading]) -> Iterator[Finding]:
        """Yield the findings, the whole first, then its parts."""
        used = [reading for reading in readings if not isinstance(reading, Rejected)]
        if not readings:
            yield Finding(Sort.READ, "pld", "empty array: acknowledged, nothing to keep")
        indexes = self._indexes()
        for reading in used:
            yield from self._reading(reading, indexes)
        yield from self._form()
        if not self._headerless:
            yield from self._of_header(bool(used))

    def _indexes(self) -> Iterator[int] | None:
        """Indexes of the objects in an array; None when the payload is not an array."""
        content = self._fields.get("pld")
        if self._headerless or not isinstance(content, list):
            return None
        return iter([index for index, element in enumerate(content) if isinstance(element, dict)])

    def _form(self) -> Iterator[Finding]:
        packed = device_msgpack.is_map(self._body)
        if self._topic == topics.TRE_MSGPACK and not packed:
            what = "JSON" if self._body.lstrip()[:1] == b"{" else "the hexadecimal text of a MessagePack map"
            yield Finding(Sort.COERCED, "", f"{what} on the MessagePack topic: send the raw bytes of the map")
        elif packed and self._topic != topics.TRE_MSGPACK:
            yield Finding(Sort.COERCED, "", f"MessagePack on the JSON topic: publish it to {topics.TRE_MSGPACK}")
        elif not packed and self._decoded.text != self._body:
            text = "a number beyond the range of 64-bit floats became null, or half a surrogate pair became U+FFFD"
            yield Finding(Sort.COERCED, "", text)

    def _of_header(self, used: bool) -> Iterator[Finding]:
        for key, value in self._fields.items():
            if key == "ts" and value is not None:
                remarks = explanation_items.time(key, value, self._header.received_ms)
                yield from (Finding(remark.sort, remark.key, remark.text) for remark in remarks)
            elif key == "ty" and isinstance(value, str) and self._number() is not None:
                yield Finding(Sort.COERCED, "ty", f"{words.shown(value)} read as the number {self._number()}")
            elif key == "try" and self._header.parking and used:
                yield Finding(Sort.NOTE, "try", "2 in the header counts for each object that has no `try` itself")
            elif key not in device_publish.KEYS:
                yield Finding(Sort.UNKNOWN, key, "not documented beside `pld`; not kept: put values into `pld`")

    def _number(self) -> int | None:
        return device_values.whole(self._fields.get("ty"))

    def _reading(self, reading: Reading, indexes: Iterator[int] | None) -> Iterator[Finding]:
        if isinstance(reading, LatestValues):
            yield from self._latest(reading)
            return
        assert not isinstance(reading, Rejected)
        content = _VALUE.decode(reading.payload)
        items: list[Item] = content if isinstance(content, list) else [content]
        places = self._places(len(items), indexes)
        yield Finding(Sort.READ, "", _summary(reading, self._header))
        yield from self._kind(reading, items)
        if isinstance(reading, DeviceEvent) and reading.ty not in device_tables.TABLES:
            yield Finding(Sort.NOTE, "ty", f"{reading.ty} is no documented event: kept as sent, nothing of it is read")
            return
        by = explanation_items.reader(reading.ty, reading.device_type, self._header)
        yield from _said([list(explanation_items.remarks(item, by)) for item in items], places)
        yield from explanation_scoring.findings(reading, items, self._header)

    def _places(self, count: int, indexes: Iterator[int] | None) -> list[str]:
        if indexes is None:
            return ["" if self._headerless else "pld"] * count
        return [f"pld[{next(indexes)}]" for _ in range(count)]

    def _latest(self, reading: LatestValues) -> Iterator[Finding]:
        if reading.name == device_kinds.CAPABILITIES:
            yield Finding(Sort.READ, "", "capability report, kept as the sensor's latest value `cm`")
        elif device_kinds.signature(_VALUE.decode(reading.payload)) == device_kinds.LATEST:
            yield Finding(Sort.READ, "", "position alone, kept as the sensor's latest value; it is no microtrip")
        else:
            text = "values without header that tell no event, kept as the sensor's latest values; no event is made"
            yield Finding(Sort.READ, "", text)
            yield Finding(Sort.NOTE, "", f"for trips and microtrips publish `ty`, `ts` and `pld` to {topics.TRE}")

    def _kind(self, reading: Microtrip | Trip | DeviceEvent, items: list[Item]) -> Iterator[Finding]:
        """Explain why the message was read as another kind than its number indicates."""
        sent = self._number()
        if isinstance(reading, DeviceEvent) and (self._headerless or sent != reading.ty):
            yield from self._told(reading.ty, sent, items[0])
        elif isinstance(reading, DeviceEvent) and reading.ty == 114 and reading.device_type == device_tables.AVN:
            yield Finding(Sort.NOTE, "ty", "114 with `wid` is the AVN event of 2018; without it, it is the g-sensor's")
        elif not isinstance(reading, DeviceEvent) and reading.device_type != device_tables.DEVICE_OF[reading.ty]:
            yield from self._other_table(reading, items)
        elif self._registered and self._registered != reading.device_type:
            text = (
                f"the sensor is registered as {self._sensor_type}, and this is a message of"
                f" {words.with_article(reading.device_type)} device; the message counts"
            )
            yield Finding(Sort.NOTE, "ty", text)

    def _told(self, number: int, sent: int | None, item: Item) -> Iterator[Finding]:
        name = words.event_name(number, "")
        if sent is not None and device_kinds.message_number(sent) == number and not self._headerless:
            yield Finding(Sort.ALIAS, "ty", f"{sent} is the number of 2017 for {number} ({name}): send {number}")
            return
        keys = ", ".join(f"`{key}`" for key in item if key.lower() in _TELLING[number])
        why = f"the payload ({keys}) tells event {number} ({name})"
        if self._headerless:
            yield Finding(Sort.NOTE, "", f"there is no header; {why}")
        elif sent is None:
            yield Finding(Sort.COERCED, "ty", f"there is no message number in `ty`; {why}")
        else:
            yield Finding(Sort.COERCED, "ty", f"{sent} is not what is sent here; {why}: send {number}")

    def _other_table(self, reading: Microtrip | Trip, items: list[Item]) -> Iterator[Finding]:
        documented = device_tables.TRIP_OF[reading.device_type] + isinstance(reading, Microtrip)
        if documented == reading.ty and self._registered == reading.device_type:
            return
        marks = device_tables.OBD_ONLY if reading.device_type == device_tables.OBD else device_tables.DTG_ONLY
        mark = next((key for item in items for key in item if key in marks and device_kinds.has(item, key)), None)
        why = f"`{mark}` is there" if mark else f"the sensor is registered as {self._sensor_type}"
        told = f": its documented number is {documented}" if documented != reading.ty else ""
        text = f"{reading.ty} is read with the {reading.device_type} tables, as {why}{told}"
        yield Finding(Sort.COERCED if told else Sort.NOTE, "ty", text)


def _summary(reading: Microtrip | Trip | DeviceEvent, header: Header) -> str:
    """One sentence: kind of message, device, time, place."""
    device_name = words.with_article(reading.device_type) if reading.device_type else "a"
    trip = "" if reading.tid is None else f", trip {reading.tid}"
    if isinstance(reading, DeviceEvent):
        name = words.event_name(reading.ty, reading.device_type)
        where = "" if reading.lat is None else f", at {reading.lat:.6f}, {reading.lon:.6f}"
        told = f" ({name})" if name else ""
        when = "received " if reading.event_ms == header.received_ms else ""
        return f"event {reading.ty}{told} of {device_name} device{trip}, {when}{words.utc(reading.event_ms)}{where}"
    parked = ", parking" if reading.parking else ""
    if isinstance(reading, Microtrip):
        count = explanation_scoring.samples_of(reading)
        span = words.utc(reading.first_ms)
        if reading.last_ms != reading.first_ms:
            span += f" to {words.utc(reading.last_ms)}"
        return f"microtrip of {device_name} device{trip}{parked}: {words.counted(len(count), 'sample')}, {span}"
    start = "the first sample" if reading.start_ms is None else words.utc(reading.start_ms)
    end = "the last sample" if reading.end_ms is None else words.utc(reading.end_ms)
    distance = "" if reading.distance_m is None else f", {reading.distance_m:,.0f} m"
    return f"trip message of {device_name} device{trip}{parked}: ends the trip, from {start} to {end}{distance}"


def _said(remarks: Iterable[list[Remark]], places: list[str]) -> Iterator[Finding]:
    """The remarks on each object; a remark that repeats is reported once, for the first object, with the count."""
    grouped: dict[tuple[Any, ...], list[tuple[str, Remark]]] = {}
    for place, of_item in zip(places, remarks, strict=True):
        for remark in of_item:
            grouped.setdefault((remark.sort, remark.key, remark.about or remark.text), []).append((place, remark))
    for same in grouped.values():
        place, remark = same[0]
        where = ".".join(part for part in (place, remark.key) if part)
        more = f" (so in {len(same)} of {len(places)} objects)" if len(same) > 1 else ""
        yield Finding(remark.sort, where, remark.text + more)

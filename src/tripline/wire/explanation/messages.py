"""A device's publish explained to the device's maker: its reading, and the effect of each key.

`explain` reads the message with the reader itself (`device.read`) and reports the result; the parts are `notes.py` (the
keys of one object) and `scoring.py` (reasons against scoring).

Not here: listening and printing (`services/device_check.py`, `cli/device.py`).
"""

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NoReturn

import msgspec

from tripline.wire import rpc, topics
from tripline.wire.device import body as device_body
from tripline.wire.device import kinds as device_kinds
from tripline.wire.device import msgpack as device_msgpack
from tripline.wire.device import publish as device_publish
from tripline.wire.device import reasons as device_reasons
from tripline.wire.device import tables as device_tables
from tripline.wire.device import values as device_values
from tripline.wire.device.body import Body
from tripline.wire.device.fields import Header
from tripline.wire.device.kinds import Item, has
from tripline.wire.explanation import notes as explanation_notes
from tripline.wire.explanation import scoring as explanation_scoring
from tripline.wire.explanation import words
from tripline.wire.explanation.notes import Notebook
from tripline.wire.explanation.words import Finding, Remark, Sort
from tripline.wire.readings import DeviceEvent, LatestValues, Microtrip, Reading, Rejected, RpcAnswer, Trip

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


_AROUND: Final = 20
_MOST_NAMED: Final = 5


class Explanation(msgspec.Struct, frozen=True):
    """The result of a message, with reasons."""

    readings: Sequence[Reading]
    findings: list[Finding]

    @property
    def rejected(self) -> list[str]:
        """The reasons of rejected parts."""
        return [reading.reason for reading in self.readings if isinstance(reading, Rejected)]


def explain(topic: str, body: bytes, *, received_ms: int, sensor_type: str, max_items: int) -> Explanation:
    """Explain the reader's result in sentences. Never raises, as the reader does not."""
    channel = device_publish.CHANNELS.get(topic)
    answer = rpc.answer(topic, body) if channel is None else None
    if answer is not None:
        return Explanation([], list(findings(answer)))
    notes = explanation_notes.Notebook()
    readings = device_publish.read(
        topic, body, received_ms=received_ms, sensor_type=sensor_type, max_items=max_items, notes=notes
    )
    decoded = channel.decode(body) if channel is not None else ""
    fields = {} if isinstance(decoded, str) else decoded.fields
    rejected = [
        finding(reading.reason, topic, body, fields, max_items) for reading in readings if isinstance(reading, Rejected)
    ]
    if isinstance(decoded, str):
        return Explanation(readings, rejected)
    message = _Message(topic, body, decoded, received_ms, sensor_type, notes)
    return Explanation(readings, [*rejected, *message.findings(readings)])


class _Message:
    """A message that is an object, and its findings."""

    def __init__(
        self, topic: str, body: bytes, decoded: Body, received_ms: int, sensor_type: str, notes: Notebook
    ) -> None:
        self._topic = topic
        self._body = body
        self._decoded = decoded
        self._fields = decoded.fields
        self._header = device_publish.header_of(decoded.fields.get("ts"), decoded.fields.get("try"), received_ms)
        self._headerless = device_publish.is_headerless(device_publish.CHANNELS[topic], decoded.fields)
        self._sensor_type = sensor_type
        self._noted = iter(notes.objects)
        self._registered = device_tables.device_type(sensor_type)

    def findings(self, readings: Sequence[Reading]) -> Iterator[Finding]:
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
                remarks = explanation_notes.time(key, value, self._header.received_ms)
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
        noted = [next(self._noted) for _ in (content if isinstance(content, list) else [content])]
        items = [fields.item for fields in noted]
        places = self._places(len(items), indexes)
        yield Finding(Sort.READ, "", _summary(reading, self._header))
        yield from self._kind(reading, items)
        if isinstance(reading, DeviceEvent) and reading.ty not in device_tables.TABLES:
            yield Finding(Sort.NOTE, "ty", f"{reading.ty} is no documented event: kept as sent, nothing of it is read")
            return
        remarks = [list(fields.remarks(reading.ty, reading.device_type, self._header)) for fields in noted]
        yield from _said(remarks, places)
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


def findings(answer: RpcAnswer) -> Iterator[Finding]:
    """Yield the findings about the answer."""
    said = rpc.said(answer.body)
    kind = "result" if answer.is_result else "acknowledgement"
    code = "no code" if said.code is None else f"code {said.code}, {_meaning(said.code)}"
    yield Finding(Sort.READ, "", f"{kind} of the call {answer.request_id}: {code}")
    decoded = device_body.decode(answer.body)
    if isinstance(decoded, str):
        yield Finding(Sort.NOTE, "", f"the body is no JSON object: kept as sent; {_without_code(answer)}")
        return
    if said.code is None:
        yield Finding(Sort.DROPPED, "result", f"there is no whole number in `result`; {_without_code(answer)}")
    yield from _names(decoded.fields, said.code)


def _without_code(answer: RpcAnswer) -> str:
    if answer.is_result:
        return "without a code the call counts as failed: send 2000 in `result` for success"
    return "the call is acknowledged all the same"


def _meaning(code: int) -> str:
    if 2000 <= code < 3000:
        return "success"
    return "the device cannot do it" if 4000 <= code < 5000 else "no code of success"


def _names(fields: dict[str, Any], code: int | None) -> Iterator[Finding]:
    for key, documented in (("results", "result"), ("resultCode", "result"), ("additionalInfo", "addInfo")):
        if fields.get(key) is not None and fields.get(documented) is None:
            yield Finding(Sort.ALIAS, key, f"understood as `{documented}`, the documented name")
    sent = next((fields[key] for key in ("result", "results", "resultCode") if isinstance(fields.get(key), str)), None)
    if sent is not None and code is not None:
        yield Finding(Sort.COERCED, "result", f"{words.shown(sent)} read as the number {code}")


def finding(reason: str, topic: str, body: bytes, fields: dict[str, Any], max_items: int) -> Finding:
    """The rejection with its reason and the exact error; `fields` is empty when the body is not an object."""
    where, details = _DETAILS.get(reason, ("", None))
    said = f"{reason}: {device_reasons.REASONS[reason]}"
    detail = details(topic, body, fields, max_items) if details else ""
    return Finding(Sort.REJECTED, where, f"{said} Here: {detail}." if detail else said)


def _not_json(_topic: str, body: bytes, _fields: dict[str, Any], _most: int) -> str:
    try:
        text = body.decode()
        if not text.strip():
            return "the body is empty"
        json.loads(text, parse_constant=_refuse)
    except UnicodeDecodeError as error:
        return f"byte {error.start + 1} is no UTF-8"
    except json.JSONDecodeError as error:
        start, end = max(0, error.pos - _AROUND), error.pos + _AROUND
        return f"{error.msg} at character {error.pos + 1}, near {words.shown(text[start:end])}"
    except (ValueError, RecursionError) as error:
        return str(error)[:200]
    return ""


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number: leave the key out")


def _not_msgpack(_topic: str, body: bytes, _fields: dict[str, Any], _most: int) -> str:
    if body and not device_msgpack.is_map(body):
        return f"the first byte is 0x{body[0]:02x}, and a map begins with 0x80 to 0x8f, 0xde or 0xdf"
    return "the map ends early, or goes on after its end, or nests too deeply" if body else "the body is empty"


def _not_object(_topic: str, body: bytes, _fields: dict[str, Any], _most: int) -> str:
    with contextlib.suppress(ValueError, RecursionError):
        return f"the body is {words.kind_of(json.loads(body))}"
    return ""


def _no_payload(_topic: str, _body: bytes, fields: dict[str, Any], _most: int) -> str:
    beside = [key for key in fields if key not in device_publish.KEYS][:_MOST_NAMED]
    if beside:
        return f"{', '.join(f'`{key}`' for key in beside)} stand beside `ty`: they belong into `pld`"
    return "`pld` is null" if "pld" in fields else "there is no `pld`"


def _of_key(key: str, fields: dict[str, Any]) -> str:
    return f"`{key}` is {words.kind_of(fields[key])}, {words.shown(fields[key])}"


def _item_form(_topic: str, _body: bytes, fields: dict[str, Any], _most: int) -> str:
    odd = [(index, value) for index, value in enumerate(fields["pld"]) if not isinstance(value, dict)]
    named = ", ".join(f"`pld[{index}]` is {words.kind_of(value)}" for index, value in odd[:_MOST_NAMED])
    return f"{named}{f', and {len(odd) - _MOST_NAMED} more' if len(odd) > _MOST_NAMED else ''}"


_DETAILS: Final[dict[str, tuple[str, Callable[[str, bytes, dict[str, Any], int], str]]]] = {
    device_reasons.NOT_JSON: ("", _not_json),
    device_reasons.NOT_MSGPACK: ("", _not_msgpack),
    device_reasons.NOT_OBJECT: ("", _not_object),
    device_reasons.TOPIC: ("", lambda topic, *_: f"the topic was {words.shown(topic)}"),
    device_reasons.NO_PAYLOAD: ("pld", _no_payload),
    device_reasons.PAYLOAD_FORM: ("pld", lambda _topic, _body, fields, _most: _of_key("pld", fields)),
    device_reasons.NO_TYPE: (
        "ty", lambda _topic, _body, fields, _most: _of_key("ty", fields) if has(fields, "ty") else "there is no `ty`"
    ),
    device_reasons.UNKNOWN_TYPE: ("ty", lambda _topic, _body, fields, _most: f"`ty` is {words.shown(fields['ty'])}"),
    device_reasons.TOO_MANY_ITEMS: (
        "pld", lambda _topic, _body, fields, most: f"there are {len(fields['pld']):,}, and {most:,} are allowed"
    ),
    device_reasons.ITEM_FORM: ("pld", _item_form),
}  # fmt: skip
"""Reason -> the key at fault, and the exact error."""

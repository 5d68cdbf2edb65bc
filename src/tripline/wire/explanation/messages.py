"""A device's publish explained to the device's maker: its reading, and the effect of each key.

`explain` has the reader itself (`wire/device/publish.py`) take notes; the parts are `notes.py` (the keys of one object)
and `scoring.py` (reasons against scoring).
"""

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from tripline.domain import samples
from tripline.wire import rpc, topics
from tripline.wire.device import body as device_body
from tripline.wire.device import kinds as device_kinds
from tripline.wire.device import msgpack as device_msgpack
from tripline.wire.device import publish as device_publish
from tripline.wire.device import reasons as device_reasons
from tripline.wire.device import tables as device_tables
from tripline.wire.device.fields import Header, Noted
from tripline.wire.device.kinds import Item, has
from tripline.wire.device.publish import Message
from tripline.wire.explanation import notes as explanation_notes
from tripline.wire.explanation import scoring as explanation_scoring
from tripline.wire.explanation import words
from tripline.wire.explanation.words import Finding, Sort
from tripline.wire.readings import DeviceEvent, LatestValues, Microtrip, Reading, Rejected, RpcAnswer, Trip

_AROUND: Final = 20
_MOST_NAMED: Final = 5


class Explanation(msgspec.Struct, frozen=True):
    """The result of a message, with reasons."""

    readings: Sequence[Reading]
    findings: list[Finding]


def explain(topic: str, body: bytes, *, received_ms: int, sensor_type: str, max_items: int) -> Explanation:
    """Explain the reader's result in sentences. Never raises, as the reader does not."""
    answer = rpc.answer(topic, body)
    if answer is not None:
        return Explanation([], list(findings(answer)))
    text = device_publish.json_of(topic, body)
    message = Message(topic, body, text, received_ms, sensor_type, max_items, Noted)
    readings = message.readings()
    told = [_rejection(reading.reason, message) for reading in readings if isinstance(reading, Rejected)]
    if not message.reason:
        is_used = len(told) < len(readings)
        told += [*_parts(message, readings), *_form(message), *_header(message, is_used=is_used)]
    return Explanation(readings, told)


def _parts(message: Message, readings: Sequence[Reading]) -> Iterator[Finding]:
    """Yield the findings about each reading."""
    if not readings:
        yield Finding(Sort.READ, "pld", "empty array: acknowledged, nothing to keep")
    objects = (fields for fields in message.objects if isinstance(fields, Noted))
    for reading in readings:
        if isinstance(reading, LatestValues):
            yield from _latest(reading)
        elif not isinstance(reading, Rejected):
            count = len(reading.samples) // samples.RECORD.size if isinstance(reading, Microtrip) else 1
            yield from _reading(message, reading, list(itertools.islice(objects, count)))


def _form(message: Message) -> Iterator[Finding]:
    packed = device_msgpack.is_map(message.body)
    if message.topic == topics.TRE_MSGPACK and not packed:
        what = "JSON" if message.body.lstrip()[:1] == b"{" else "the hexadecimal text of a MessagePack map"
        yield Finding(Sort.COERCED, "", f"{what} on the MessagePack topic: send the raw bytes of the map")
    elif packed and message.topic != topics.TRE_MSGPACK:
        yield Finding(Sort.COERCED, "", f"MessagePack on the JSON topic: publish it to {topics.TRE_MSGPACK}")
    elif not packed and message.text != message.body:
        text = "a number beyond the range of 64-bit floats became null, or half a surrogate pair became U+FFFD"
        yield Finding(Sort.COERCED, "", text)


def _header(message: Message, *, is_used: bool) -> Iterator[Finding]:
    for key, value in message.fields.items() if message.is_headed else ():
        if key == "ts" and value is not None:
            yield from _said([list(explanation_notes.time(key, value, message.header.received_ms))], [""])
        elif key == "ty" and isinstance(value, str) and message.sent is not None:
            yield Finding(Sort.COERCED, "ty", f"{words.shown(value)} read as the number {message.sent}")
        elif key == "try" and message.header.parking and is_used:
            yield Finding(Sort.NOTE, "try", "2 in the header counts for each object that has no `try` itself")
        elif key not in device_publish.KEYS:
            yield Finding(Sort.UNKNOWN, key, "not documented beside `pld`; not kept: put values into `pld`")


def _reading(message: Message, reading: Microtrip | Trip | DeviceEvent, objects: list[Noted]) -> Iterator[Finding]:
    yield Finding(Sort.READ, "", _summary(reading, message.header))
    items = [fields.item for fields in objects]
    yield from _kind(message, reading, items)
    if isinstance(reading, DeviceEvent) and reading.ty not in device_tables.TABLES:
        yield Finding(Sort.NOTE, "ty", f"{reading.ty} is not a documented event: kept as sent, none of it is read")
        return
    remarks = [
        list(explanation_notes.remarks(fields, reading.ty, reading.device_type, message.header)) for fields in objects
    ]
    yield from _said(remarks, _places(message, items))
    yield from explanation_scoring.findings(reading, items, message.header)


def _places(message: Message, items: list[Item]) -> list[str]:
    content = message.fields.get("pld")
    places = {id(each): f"pld[{at}]" for at, each in enumerate(content if isinstance(content, list) else ())}
    return [places.get(id(item), "pld" if message.is_headed else "") for item in items]


def _latest(reading: LatestValues) -> Iterator[Finding]:
    if reading.name == device_kinds.CAPABILITIES:
        yield Finding(Sort.READ, "", "capability report, kept as the sensor's latest value `cm`")
    elif device_kinds.signature(msgspec.json.decode(reading.payload)) == device_kinds.LATEST:
        yield Finding(Sort.READ, "", "position alone, kept as the sensor's latest value; it is not a microtrip")
    else:
        text = "values without header that identify no event, kept as the sensor's latest values; no event is made"
        yield Finding(Sort.READ, "", text)
        yield Finding(Sort.NOTE, "", f"for trips and microtrips publish `ty`, `ts` and `pld` to {topics.TRE}")


def _kind(message: Message, reading: Microtrip | Trip | DeviceEvent, items: list[Item]) -> Iterator[Finding]:
    """Explain why the message was read as another kind than its number indicates."""
    device = reading.device_type
    if isinstance(reading, DeviceEvent) and (not message.is_headed or message.sent != reading.ty):
        yield _told(message, reading.ty, items[0])
    elif isinstance(reading, DeviceEvent) and reading.ty == 114 and device == device_tables.AVN:
        yield Finding(Sort.NOTE, "ty", "114 with `wid` is the AVN event of 2018; without it, it is the g-sensor's")
    elif not isinstance(reading, DeviceEvent) and device != device_tables.DEVICE_OF[reading.ty]:
        yield from _other_table(message, reading, items)
    elif message.registered and message.registered != device:
        text = (
            f"the sensor is registered as {message.sensor_type}, and this is a message of"
            f" {words.with_article(device)} device; the message counts"
        )
        yield Finding(Sort.NOTE, "ty", text)


def _told(message: Message, number: int, item: Item) -> Finding:
    name = words.event_name(number, "")
    if message.is_headed and device_kinds.message_number(message.sent) == number:
        return Finding(Sort.ALIAS, "ty", f"{message.sent} is the number of 2017 for {number} ({name}): send {number}")
    telling = set().union(*device_kinds.SIGNATURES[number])
    keys = ", ".join(f"`{key}`" for key in item if key.lower() in telling)
    why = f"the payload ({keys}) identifies event {number} ({name})"
    if not message.is_headed:
        return Finding(Sort.NOTE, "", f"there is no header; {why}")
    if message.sent is None:
        return Finding(Sort.COERCED, "ty", f"there is no message number in `ty`; {why}")
    return Finding(Sort.COERCED, "ty", f"{message.sent} does not fit; {why}: send {number}")


def _other_table(message: Message, reading: Microtrip | Trip, items: list[Item]) -> Iterator[Finding]:
    documented = device_tables.documented(reading.ty, reading.device_type)
    if documented == reading.ty and message.registered == reading.device_type:
        return
    marks = device_tables.MARKS[reading.device_type]
    mark = next((key for item in items for key in item if key in marks and has(item, key)), None)
    why = f"`{mark}` is there" if mark else f"the sensor is registered as {message.sensor_type}"
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
        count = len(reading.samples) // samples.RECORD.size
        span = words.utc(reading.first_ms)
        if reading.last_ms != reading.first_ms:
            span += f" to {words.utc(reading.last_ms)}"
        return f"microtrip of {device_name} device{trip}{parked}: {words.counted(count, 'sample')}, {span}"
    start = "the first sample" if reading.start_ms is None else words.utc(reading.start_ms)
    end = "the last sample" if reading.end_ms is None else words.utc(reading.end_ms)
    distance = "" if reading.distance_m is None else f", {reading.distance_m:,.0f} m"
    return f"trip message of {device_name} device{trip}{parked}: ends the trip, from {start} to {end}{distance}"


def _said(remarks: Iterable[list[Finding]], places: list[str]) -> Iterator[Finding]:
    """The remarks on each object; a remark that repeats is reported once, for the first object, with the count."""
    grouped: dict[tuple[Any, ...], list[tuple[str, Finding]]] = {}
    for place, of_item in zip(places, remarks, strict=True):
        for remark in of_item:
            grouped.setdefault((remark.sort, remark.where, remark.about or remark.text), []).append((place, remark))
    for same in grouped.values():
        place, remark = same[0]
        where = ".".join(part for part in (place, remark.where) if part)
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
        yield Finding(Sort.NOTE, "", f"the body is not a JSON object: kept as sent; {_without_code(answer)}")
        return
    if said.code is None:
        yield Finding(Sort.DROPPED, "result", f"there is no whole number in `result`; {_without_code(answer)}")
    yield from _names(decoded.value, said.code)


def _without_code(answer: RpcAnswer) -> str:
    if answer.is_result:
        return "without a code the call counts as failed: send 2000 in `result` for success"
    return "the call is acknowledged anyway"


def _meaning(code: int) -> str:
    if 2000 <= code < 3000:
        return "success"
    return "the device cannot do it" if 4000 <= code < 5000 else "not a success code"


def _names(fields: Item, code: int | None) -> Iterator[Finding]:
    for documented, *others in (rpc.CODE_KEYS, rpc.INFO_KEYS):
        for key in others:
            if has(fields, key) and not has(fields, documented):
                yield Finding(Sort.ALIAS, key, f"understood as `{documented}`, the documented name")
    sent = next((fields[key] for key in rpc.CODE_KEYS if isinstance(fields.get(key), str)), None)
    if sent is not None and code is not None:
        yield Finding(Sort.COERCED, "result", f"{words.shown(sent)} read as the number {code}")


def _rejection(reason: str, message: Message) -> Finding:
    """The rejection with its reason and the exact error."""
    where = _AT_FAULT.get(reason, "")
    detail = _detail(reason, message)
    said = f"{reason}: {device_reasons.REASONS[reason]}"
    return Finding(Sort.REJECTED, where, f"{said} Here: {detail}." if detail else said)


_AT_FAULT: Final = {
    **dict.fromkeys(("no_payload", "payload_form", "too_many_items", "item_form"), "pld"),
    **dict.fromkeys(("no_type", "unknown_type"), "ty"),
}
"""Reason -> the key at fault."""


def _detail(reason: str, message: Message) -> str:
    """The exact error."""
    body, fields = message.body, message.fields
    content: Any = fields.get("pld")
    match reason:
        case device_reasons.NOT_JSON:
            return _not_json(body)
        case device_reasons.NOT_MSGPACK if body and not device_msgpack.is_map(body):
            return f"the first byte is 0x{body[0]:02x}, and a map begins with 0x80 to 0x8f, 0xde or 0xdf"
        case device_reasons.NOT_MSGPACK:
            return "the map ends early, or goes on after its end" if body else "the body is empty"
        case device_reasons.NOT_OBJECT:
            read = device_body.json_value(body, strict=True)
            return "" if isinstance(read, str) else f"the body is {words.kind_of(read.value)}"
        case device_reasons.TOPIC:
            return f"the topic was {words.shown(message.topic)}"
        case device_reasons.NO_PAYLOAD:
            return _no_payload(fields)
        case device_reasons.PAYLOAD_FORM:
            return f"`pld` is {words.kind_of(content)}, {words.shown(content)}"
        case device_reasons.NO_TYPE if has(fields, "ty"):
            return f"`ty` is {words.kind_of(fields['ty'])}, {words.shown(fields['ty'])}"
        case device_reasons.NO_TYPE:
            return "there is no `ty`"
        case device_reasons.UNKNOWN_TYPE:
            return f"`ty` is {words.shown(fields['ty'])}"
        case device_reasons.TOO_MANY_ITEMS:
            return f"there are {len(content):,}, and {message.max_items:,} are allowed"
        case device_reasons.ITEM_FORM:
            return _item_form(content)
    return ""


def _not_json(body: bytes) -> str:
    try:
        text = body.decode()
        if not text.strip():
            return "the body is empty"
        device_body.loaded(text, strict=True)
    except UnicodeDecodeError as error:
        return f"byte {error.start + 1} is not UTF-8"
    except json.JSONDecodeError as error:
        start, end = max(0, error.pos - _AROUND), error.pos + _AROUND
        return f"{error.msg} at character {error.pos + 1}, near {words.shown(text[start:end])}"
    except (ValueError, RecursionError) as error:
        return str(error)[:200]
    return ""


def _no_payload(fields: Item) -> str:
    beside = [key for key in fields if key not in device_publish.KEYS][:_MOST_NAMED]
    if beside:
        return f"{', '.join(f'`{key}`' for key in beside)} are beside `ty`: move them into `pld`"
    return "`pld` is null" if "pld" in fields else "there is no `pld`"


def _item_form(content: list[Any]) -> str:
    odd = [(index, value) for index, value in enumerate(content) if not isinstance(value, dict)]
    named = ", ".join(f"`pld[{index}]` is {words.kind_of(value)}" for index, value in odd[:_MOST_NAMED])
    return f"{named}{f', and {len(odd) - _MOST_NAMED} more' if len(odd) > _MOST_NAMED else ''}"

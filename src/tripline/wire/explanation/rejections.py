"""Explains the rejection of one message: which key, which character, how many.

The general sentence of each reason, as in the rejected-message log, is in `wire/device/reasons.py`.
"""

import contextlib
import json
from collections.abc import Callable
from typing import Any, Final, NoReturn

from tripline.wire.device import kinds as device_kinds
from tripline.wire.device import msgpack as device_msgpack
from tripline.wire.device import publish as device_publish
from tripline.wire.device import reasons as device_reasons
from tripline.wire.explanation import words
from tripline.wire.explanation.words import Finding, Sort

_AROUND: Final = 20
_MOST_NAMED: Final = 5


def finding(reason: str, topic: str, body: bytes, fields: dict[str, Any], max_items: int) -> Finding:
    """The rejection with its reason and the exact error; `fields` is empty when the body is not an object."""
    where, detail = _DETAILS[reason](topic, body, fields, max_items)
    said = f"{reason}: {device_reasons.REASONS[reason]}"
    return Finding(Sort.REJECTED, where, f"{said} Here: {detail}." if detail else said)


def _not_json(_topic: str, body: bytes, _fields: dict[str, Any], _most: int) -> tuple[str, str]:
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        return "", f"byte {error.start + 1} is no UTF-8"
    if not text.strip():
        return "", "the body is empty"
    try:
        json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        start, end = max(0, error.pos - _AROUND), error.pos + _AROUND
        return "", f"{error.msg} at character {error.pos + 1}, near {words.shown(text[start:end])}"
    except (ValueError, RecursionError) as error:
        return "", str(error)[:200]
    return "", ""


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number: leave the key out")


def _not_msgpack(_topic: str, body: bytes, _fields: dict[str, Any], _most: int) -> tuple[str, str]:
    if not body:
        return "", "the body is empty"
    if not device_msgpack.is_map(body):
        return "", f"the first byte is 0x{body[0]:02x}, and a map begins with 0x80 to 0x8f, 0xde or 0xdf"
    return "", "the map ends early, or goes on after its end, or nests too deeply"


def _not_object(_topic: str, body: bytes, _fields: dict[str, Any], _most: int) -> tuple[str, str]:
    with contextlib.suppress(ValueError, RecursionError):
        return "", f"the body is {words.kind_of(json.loads(body))}"
    return "", ""


def _no_payload(_topic: str, _body: bytes, fields: dict[str, Any], _most: int) -> tuple[str, str]:
    beside = [key for key in fields if key not in device_publish.KEYS][:_MOST_NAMED]
    if beside:
        return "pld", f"{', '.join(f'`{key}`' for key in beside)} stand beside `ty`: they belong into `pld`"
    return "pld", "`pld` is null" if "pld" in fields else "there is no `pld`"


def _payload_form(_topic: str, _body: bytes, fields: dict[str, Any], _most: int) -> tuple[str, str]:
    return "pld", f"`pld` is {words.kind_of(fields['pld'])}, {words.shown(fields['pld'])}"


def _no_type(_topic: str, _body: bytes, fields: dict[str, Any], _most: int) -> tuple[str, str]:
    if not device_kinds.has(fields, "ty"):
        return "ty", "there is no `ty`"
    return "ty", f"`ty` is {words.kind_of(fields['ty'])}, {words.shown(fields['ty'])}"


def _unknown_type(_topic: str, _body: bytes, fields: dict[str, Any], _most: int) -> tuple[str, str]:
    return "ty", f"`ty` is {words.shown(fields['ty'])}"


def _too_many(_topic: str, _body: bytes, fields: dict[str, Any], most: int) -> tuple[str, str]:
    return "pld", f"there are {len(fields['pld']):,}, and {most:,} are allowed"


def _item_form(_topic: str, _body: bytes, fields: dict[str, Any], _most: int) -> tuple[str, str]:
    odd = [(index, value) for index, value in enumerate(fields["pld"]) if not isinstance(value, dict)]
    named = ", ".join(f"`pld[{index}]` is {words.kind_of(value)}" for index, value in odd[:_MOST_NAMED])
    return "pld", f"{named}{f', and {len(odd) - _MOST_NAMED} more' if len(odd) > _MOST_NAMED else ''}"


def _topic(topic: str, _body: bytes, _fields: dict[str, Any], _most: int) -> tuple[str, str]:
    return "", f"the topic was {words.shown(topic)}"


def _nothing_more(_topic: str, _body: bytes, _fields: dict[str, Any], _most: int) -> tuple[str, str]:
    return "", ""


_DETAILS: Final[dict[str, Callable[[str, bytes, dict[str, Any], int], tuple[str, str]]]] = {
    device_reasons.NOT_JSON: _not_json,
    device_reasons.NOT_MSGPACK: _not_msgpack,
    device_reasons.NOT_OBJECT: _not_object,
    device_reasons.TOO_DEEP: _nothing_more,
    device_reasons.TOO_MANY_PARTS: _nothing_more,
    device_reasons.TOPIC: _topic,
    device_reasons.NO_PAYLOAD: _no_payload,
    device_reasons.PAYLOAD_FORM: _payload_form,
    device_reasons.NO_TYPE: _no_type,
    device_reasons.UNKNOWN_TYPE: _unknown_type,
    device_reasons.TOO_MANY_ITEMS: _too_many,
    device_reasons.ITEM_FORM: _item_form,
}
"""Reason -> the key at fault, and the exact error."""

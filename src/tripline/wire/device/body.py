"""The bytes of a device's publish as JSON and as one decoded object.

JSON is read strictly (D23), with two repairs of valid JSON that no reader can hold: numbers beyond the range of doubles
become null, halves of surrogate pairs become U+FFFD. MessagePack (spec/device-messages 8) becomes the equivalent JSON
object. Every accepted payload decodes again later, so the store holds only payloads that an answer can carry.
"""

import json
import math
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from tripline.wire.device import msgpack as device_msgpack
from tripline.wire.device import reasons as device_reasons

MAX_DEPTH: Final = 64
"""Deepest nesting accepted. Documented payloads have two levels; readers of the store decode far down the stack."""
MAX_PARTS: Final = 16_384
"""Most objects and arrays accepted: one costs as much time as twenty plain values."""


class Json(msgspec.Struct, gc=False):
    """A decoded value, and its JSON."""

    value: Any
    text: bytes


_NESTING: Final = frozenset({dict, list})
_AS_IS: Final = frozenset({int, float, bool, type(None)})
_ANY = msgspec.json.Decoder()
_ELEMENTS = msgspec.json.Decoder(list[msgspec.Raw])


def json_text(body: bytes, *, packed: bool = False) -> bytes | str:
    """The body, as JSON if it is a MessagePack map; or the reason why it is unusable (`device_reasons`).

    When `packed`, MessagePack is expected: a body other than JSON may be the hexadecimal text of a map (M2).
    """
    if device_msgpack.is_map(body):
        return device_msgpack.as_json(body, MAX_PARTS)
    if packed and body.lstrip()[:1] != b"{":
        return device_msgpack.as_json(device_msgpack.unhexed(body), MAX_PARTS)
    return body


def decode(body: bytes) -> Json | str:
    """Decode the object in the body, or return the reason why it is unusable."""
    text = json_text(body)
    read = text if isinstance(text, str) else json_value(text, strict=True)
    return read if isinstance(read, str) or isinstance(read.value, dict) else device_reasons.NOT_OBJECT


def element_texts(payload: bytes) -> list[bytes]:
    """The JSON of each element of an array."""
    return [bytes(element) for element in _ELEMENTS.decode(payload)]


def objects_in(content: list[Any], payload: bytes) -> list[Json]:
    """The objects among the elements of an array, whose JSON is `payload`."""
    both = zip(content, element_texts(payload), strict=True)
    return [Json(value, text) for value, text in both if isinstance(value, dict)]


def array_of(texts: Iterable[bytes]) -> bytes:
    """The JSON of an array of these."""
    return b"[" + b",".join(texts) + b"]"


def json_value(body: bytes, *, strict: bool) -> Json | str:
    """The value, and its JSON byte for byte from the body unless it was repaired; or the reason why it is unusable.
    Texts may hold raw control characters when not `strict`."""
    text = body
    parts = body.count(b"[") + body.count(b"{")
    if parts > MAX_PARTS:
        return device_reasons.TOO_MANY_PARTS
    try:
        value = _ANY.decode(body)
    except RecursionError:
        return device_reasons.TOO_DEEP
    except ValueError:
        try:
            value = _mended(loaded(body.decode(), strict=strict))
        except (ValueError, RecursionError):
            return device_reasons.NOT_JSON
        text = msgspec.json.encode(value)
    if parts > MAX_DEPTH and _is_deep(value):
        return device_reasons.TOO_DEEP
    return Json(value, text)


def loaded(text: str, *, strict: bool) -> Any:
    """The value in the text. Raises `ValueError`, which names the error, and `RecursionError`."""
    return json.loads(text, strict=strict, parse_constant=_refuse, parse_int=_bounded, parse_float=_finite)


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        inside = (part.values() if type(part) is dict else part for part in level)
        level = [element for elements in inside for element in elements if type(element) in _NESTING]
        if not level:
            return False
    return True


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number: leave the key out")


def _bounded(digits: str) -> int | None:
    return int(digits) if len(digits) <= 310 else None


def _finite(numeral: str) -> float | None:
    value = float(numeral)
    return value if math.isfinite(value) else None


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [part if type(part) in _AS_IS else _mended(part) for part in value]
    if isinstance(value, dict):
        return {_mended(key): part if type(part) in _AS_IS else _mended(part) for key, part in value.items()}
    return value

"""MessagePack bodies as the JSON object they stand for (spec/device-messages 8, M1 to M4).

Values that JSON does not have: binary becomes text (hexadecimal digits when it is not UTF-8), NaN and infinities
become null, a MessagePack timestamp becomes epoch milliseconds, other extensions become null. Keys become text.
"""

import datetime
import math
import string
from typing import Any, Final

import msgspec

_DECODER = msgspec.msgpack.Decoder()
_MAP_MARKERS: Final = frozenset({*range(0x80, 0x90), 0xDE, 0xDF})
_AS_IS: Final = frozenset({str, int, bool, type(None)})
_HEX_DIGITS: Final = frozenset(string.hexdigits.encode())


class NotAMap(Exception):  # noqa: N818  an answer to the caller, not an error of ours
    """The bytes are no MessagePack map that JSON could hold."""


def is_map(body: bytes) -> bool:
    """Whether the first byte announces a map; none of these bytes begins JSON."""
    return body[:1] != b"" and body[0] in _MAP_MARKERS


def unhexed(body: bytes) -> bytes:
    """The bytes that an even number of hexadecimal digits spells (M2); empty when the body is no such text."""
    digits = body.strip()
    if len(digits) % 2 or not _HEX_DIGITS.issuperset(digits):
        return b""
    return bytes.fromhex(digits.decode())


def decode(packed: bytes, max_depth: int) -> dict[str, Any]:
    """The top-level map with JSON's kinds of values only. Raises NotAMap."""
    if not is_map(packed):
        raise NotAMap
    try:
        value = _plain(_DECODER.decode(packed), max_depth)
    except (ValueError, TypeError, RecursionError, OverflowError, MemoryError) as error:
        raise NotAMap from error
    assert isinstance(value, dict)
    return value


def _plain(value: Any, levels: int) -> Any:
    # Called for what may not be JSON alone: a device may send a quarter of a million values in a message.
    kind = type(value)
    if kind is dict:
        inside = _inside(value, levels)
        return {
            key if type(key) is str else _key(key): part if type(part) in _AS_IS else _plain(part, inside)
            for key, part in value.items()
        }
    if kind is list or kind is tuple:
        inside = _inside(value, levels)
        return [part if type(part) in _AS_IS else _plain(part, inside) for part in value]
    if kind is bytes:
        return _text(value)
    if kind is float:
        return value if math.isfinite(value) else None
    if isinstance(value, datetime.datetime):
        return int(value.timestamp() * 1000)
    return value if kind in _AS_IS else None


def _inside(value: dict[Any, Any] | list[Any] | tuple[Any, ...], levels: int) -> int:
    """How many levels may follow inside a map or list. Raises NotAMap when something is inside that may not."""
    if levels == 0 and value:
        raise NotAMap
    return levels - 1


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    return _text(key) if isinstance(key, bytes) else str(key)


def _text(binary: bytes) -> str:
    try:
        return binary.decode()
    except UnicodeDecodeError:
        return binary.hex()

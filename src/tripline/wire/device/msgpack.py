"""MessagePack bodies as the equivalent JSON object (spec/device-messages 8, M1 to M4).

Values that JSON does not have: binary becomes text (hexadecimal digits when it is not UTF-8), NaN and infinities
become null, a MessagePack timestamp becomes epoch milliseconds, other extensions become null. Keys become text.
"""

import datetime
import string
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from tripline.wire.device import reasons as device_reasons

_CONTAINERS: Final = bytes([*range(0x80, 0xA0), *range(0xDC, 0xE0)])
_MOST_CONTAINERS: Final = 65_536
"""Bytes of numbers and texts may look like markers of containers, but not so many: these would take long to decode."""
_DECODER = msgspec.msgpack.Decoder()
_MAP_MARKERS: Final = frozenset({*range(0x80, 0x90), 0xDE, 0xDF})
_AS_IS: Final = frozenset({str, int, float, bool, type(None)})
_HEX_DIGITS: Final = frozenset(string.hexdigits.encode())


def is_map(body: bytes) -> bool:
    """Return whether the first byte announces a map; none of these bytes begins JSON."""
    return body[:1] != b"" and body[0] in _MAP_MARKERS


def unhexed(body: bytes) -> bytes:
    """The bytes encoded by an even number of hexadecimal digits (M2); empty when the body is other text."""
    digits = body.strip()
    if len(digits) % 2 or not _HEX_DIGITS.issuperset(digits):
        return b""
    return bytes.fromhex(digits.decode())


def as_json(packed: bytes, most: int) -> bytes | str:
    """The JSON of the map; or the reason why it is unusable, such as more than `most` maps and arrays."""
    if not is_map(packed):
        return device_reasons.NOT_MSGPACK
    if len(packed) - len(packed.translate(None, _CONTAINERS)) > _MOST_CONTAINERS:
        return device_reasons.TOO_MANY_PARTS
    try:
        return msgspec.json.encode(_plain(_DECODER.decode(packed), iter(range(most))))
    except StopIteration:
        return device_reasons.TOO_MANY_PARTS
    except RecursionError:
        return device_reasons.TOO_DEEP
    except (ValueError, TypeError, OverflowError, MemoryError):
        return device_reasons.NOT_MSGPACK


def _plain(value: Any, parts: Iterator[int]) -> Any:
    """The value with JSON's kinds of values only. Raises `StopIteration` after the last of the `parts`."""
    # Called only for values that may not be JSON: a device may send a quarter of a million values in a message.
    kind = type(value)
    if kind is dict:
        next(parts)
        return {
            key if type(key) is str else _key(key): part if type(part) in _AS_IS else _plain(part, parts)
            for key, part in value.items()
        }
    if kind is list or kind is tuple:
        next(parts)
        return [part if type(part) in _AS_IS else _plain(part, parts) for part in value]
    if kind is bytes:
        return _text(value)
    return int(value.timestamp() * 1000) if isinstance(value, datetime.datetime) else None


def _key(key: Any) -> str:
    return _text(key) if isinstance(key, bytes) else str(key)


def _text(binary: bytes) -> str:
    try:
        return binary.decode()
    except UnicodeDecodeError:
        return binary.hex()

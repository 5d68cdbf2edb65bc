"""MessagePack bodies as the equivalent JSON object (spec/device-messages 8, M1 to M4).

Values that JSON does not have: binary becomes text (hexadecimal digits when it is not UTF-8), NaN and infinities
become null, a MessagePack timestamp becomes epoch milliseconds, other extensions become null. Keys become text.
"""

import datetime
import math
import string
from typing import Any, Final

import msgspec

_CONTAINERS: Final = bytes([*range(0x80, 0xA0), *range(0xDC, 0xE0)])
_CONTAINER_MARKERS: Final = frozenset(_CONTAINERS)
_DECODER = msgspec.msgpack.Decoder()
_MAP_MARKERS: Final = frozenset({*range(0x80, 0x90), 0xDE, 0xDF})
_AS_IS: Final = frozenset({str, int, bool, type(None)})
_HEX_DIGITS: Final = frozenset(string.hexdigits.encode())


def _sizes() -> list[int]:
    sizes = [1] * 256
    sizes[0xA0:0xC0] = range(1, 33)
    sizes[0xCA:0xDE] = 5, 9, 2, 3, 5, 9, 2, 3, 5, 9, 3, 4, 6, 10, 18, 0, 0, 0, 3, 5
    sizes[0xDE:0xE0] = 3, 5
    sizes[0xC4:0xCA] = [0] * 6
    return sizes


_SIZES: Final = _sizes()
"""Bytes by marker, of a container without its elements; 0: a length follows."""
_LENGTHS: Final = {0xC4: (1, 0), 0xC5: (2, 0), 0xC6: (4, 0), 0xC7: (1, 1), 0xC8: (2, 1), 0xC9: (4, 1)} | {
    0xD9 + step: (1 << step, 0) for step in range(3)
}
"""Bytes of the length by marker, and bytes between length and content."""


class NotAMap(Exception):  # noqa: N818  an answer to the caller, not an error of ours
    """The bytes are not a MessagePack map that JSON can hold."""


def is_map(body: bytes) -> bool:
    """Return whether the first byte announces a map; none of these bytes begins JSON."""
    return body[:1] != b"" and body[0] in _MAP_MARKERS


def unhexed(body: bytes) -> bytes:
    """The bytes encoded by an even number of hexadecimal digits (M2); empty when the body is other text."""
    digits = body.strip()
    if len(digits) % 2 or not _HEX_DIGITS.issuperset(digits):
        return b""
    return bytes.fromhex(digits.decode())


def has_more_parts(packed: bytes, most: int) -> bool:
    """True when there are more maps and arrays than `most`. Found without decoding, in one pass at most."""
    if len(packed) <= most or len(packed) - len(packed.translate(None, _CONTAINERS)) <= most:
        return False
    at, end, parts = 0, len(packed), 0
    while at < end:
        marker = packed[at]
        if marker in _CONTAINER_MARKERS:
            parts += 1
            if parts > most:
                return True
        size = _SIZES[marker]
        if not size:
            width, between = _LENGTHS[marker]
            size = 1 + width + between + int.from_bytes(packed[at + 1 : at + 1 + width], "big")
        at += size
    return False


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
    # Called only for values that may not be JSON: a device may send a quarter of a million values in a message.
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
    """Remaining levels inside a map or list. Raises NotAMap when its contents are nested too deeply."""
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

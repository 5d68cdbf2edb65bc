"""MessagePack as devices write it: decimals as 32-bit floats, the smallest integers (spec/device-messages 8)."""

import struct
from typing import Any


def packed(value: Any) -> bytes:
    """The bytes of a JSON value."""
    if isinstance(value, dict):
        head = _head(len(value), 0x80, 0xDE)
        return head + b"".join(packed(key) + packed(element) for key, element in value.items())
    if isinstance(value, list):
        return _head(len(value), 0x90, 0xDC) + b"".join(map(packed, value))
    if isinstance(value, str):
        return _text(value.encode())
    if isinstance(value, float):
        return struct.pack(">Bf", 0xCA, value)
    assert isinstance(value, int)
    return _whole(value)


def _head(count: int, short: int, long: int) -> bytes:
    return bytes((short | count,)) if count < 16 else struct.pack(">BH", long, count)


def _text(raw: bytes) -> bytes:
    if len(raw) < 32:
        return bytes((0xA0 | len(raw),)) + raw
    return struct.pack(">BH", 0xDA, len(raw)) + raw


def _whole(value: int) -> bytes:
    if value < 0:
        return struct.pack(">Bq", 0xD3, value)
    if value < 0x80:
        return bytes((value,))
    if value < 2**32:
        return struct.pack(">BI", 0xCE, value)
    return struct.pack(">BQ", 0xCF, value)

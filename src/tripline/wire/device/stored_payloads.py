"""Stored payloads for REST and pushes: as sent, with documented keys in their documented kind.

Numeric keys sent as text become numbers (V1), text keys sent as numbers or booleans become text (V2), unknown keys and
`em` stay byte for byte (V5, V6). Published clients format a few keys without checking them (spec/rest 6); null and
other values than numbers are left out of these keys, but stay in the stored payload.

Not here: the tables (`tables.py`), the envelope of the answer (`wire/rest/trips.py`).
"""

import functools
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from tripline.wire.device import tables as device_tables
from tripline.wire.device import values as device_values
from tripline.wire.device.tables import Table

FORMATTED: Final = frozenset({"lat", "lon", "sp", "el", "vv", "ctp"})
"""Keys that must be finite numbers when present: real clients call number functions on them."""

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_VALUE = msgspec.json.Decoder()
_LEFT_OUT: Final = b""
_NOT_A_NUMBER: Final = re.compile(rb':[ \t\r\n]*["tfn\[{]')
"""A value that is not a number."""


class _Patterns(NamedTuple):
    """The search patterns for the payloads of a table."""

    text_key: re.Pattern[bytes]
    wrong: re.Pattern[bytes]
    """A documented key with a value of another kind."""


def coerced(payload: bytes, *, ty: int, device_type: str) -> bytes:
    """The JSON to answer with: the same bytes when every documented key already has its kind.

    `payload` is a stored object or array of objects; `ty` and `device_type` are its record's.
    """
    if not _may_change(payload, ty, device_type):
        return payload
    table = device_tables.kinds_of(ty, device_type)
    if payload.lstrip()[:1] == b"[":
        return b"[" + b",".join(_coerced_object(bytes(element), table) for element in _ARRAY.decode(payload)) + b"]"
    return _coerced_object(payload, table)


def _may_change(payload: bytes, ty: int, device_type: str) -> bool:
    """Return whether values may need conversion. Most payloads hold only numbers, which a cheap search confirms."""
    if b"\\" in payload:
        return True  # a key may be written with escapes
    patterns = _patterns(ty, device_type)
    if _NOT_A_NUMBER.search(payload) is None and patterns.text_key.search(payload) is None:
        return False
    return patterns.wrong.search(payload) is not None


@functools.lru_cache(maxsize=256)
def _patterns(ty: int, device_type: str) -> _Patterns:
    table = device_tables.kinds_of(ty, device_type)
    numeric = _any_of(key for key, kind in table.items() if kind is device_tables.NUMERIC)
    text = _any_of(key for key, kind in table.items() if kind is device_tables.TEXT)
    space = r"[ \t\r\n]*"
    wrong = rf'{numeric}{space}:{space}["tfn\[{{]|{text}{space}:{space}[-0-9tf]'
    return _Patterns(re.compile(text.encode()), re.compile(wrong.encode()))


def _any_of(keys: Iterable[str]) -> str:
    """A pattern for one of the quoted keys. Without keys: a byte that JSON cannot hold, which fails fast."""
    names = "|".join(keys)
    return f'"(?:{names})"' if names else r"\x00"


def _coerced_object(text: bytes, table: Table) -> bytes:
    if text.lstrip()[:1] != b"{":
        return text
    sent = {key: bytes(raw) for key, raw in _OBJECT.decode(text).items()}
    shown = {key: _shown(key, raw, table) for key, raw in sent.items()}
    if shown == sent:
        return text
    return msgspec.json.encode({key: msgspec.Raw(value) for key, value in shown.items() if value != _LEFT_OUT})


def _shown(key: str, raw: bytes, table: Table) -> bytes:
    kind = table.get(key)
    if kind is device_tables.NUMERIC:
        return _as_number(key, raw)
    return b'"%b"' % raw if kind is device_tables.TEXT and raw[:1] in b"-0123456789tf" else raw


def _as_number(key: str, raw: bytes) -> bytes:
    if raw[:1] in b"-0123456789":
        return raw
    read = device_values.speed_kmh if key == "sp" else device_values.number
    number = read(_VALUE.decode(raw)) if raw[:1] == b'"' else None
    if number is None:
        return _LEFT_OUT if key in FORMATTED else raw
    return msgspec.json.encode(number)

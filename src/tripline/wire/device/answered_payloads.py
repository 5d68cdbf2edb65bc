"""Stored payloads for REST and pushes: as sent, with documented keys in their documented kind.

Numeric keys sent as text become numbers (V1), text keys sent as numbers or booleans become text (V2), unknown keys and
`em` stay byte for byte (V5, V6). Published clients format a few keys without checking them (spec/rest 6); null and
other values than numbers are left out of these keys, but stay in the stored payload.
"""

import functools
from typing import Any, Final

import msgspec

from tripline.wire.device import body as device_body
from tripline.wire.device import tables as device_tables
from tripline.wire.device import values as device_values
from tripline.wire.device.tables import Table

FORMATTED: Final = frozenset({"lat", "lon", "sp", "el", "vv", "ctp"})
"""Keys that must be finite numbers when present: real clients call number functions on them."""

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LEFT_OUT: Final = b""


def coerced(payload: bytes, *, ty: int, device_type: str) -> bytes:
    """The JSON to answer with: the same bytes when every documented key already has its kind.

    `payload` is a stored object or array of objects; `ty` and `device_type` are its record's.
    """
    try:
        _documented(ty, device_type).decode(payload)
    except msgspec.ValidationError:
        table = device_tables.kinds_of(ty, device_type)
    else:
        return payload
    if payload.lstrip()[:1] == b"[":
        return device_body.array_of(_coerced_object(element, table) for element in device_body.element_texts(payload))
    return _coerced_object(payload, table)


@functools.lru_cache(maxsize=256)
def _documented(ty: int, device_type: str) -> msgspec.json.Decoder[Any]:
    """A decoder that fails at a documented key of another kind."""
    kinds: dict[str, Any] = {
        key: (float if key in FORMATTED else float | None) if kind is device_tables.NUMERIC else str | None
        for key, kind in device_tables.kinds_of(ty, device_type).items()
    }
    fields = [(f"key_{at}", kind, msgspec.field(name=key, default=0.0)) for at, (key, kind) in enumerate(kinds.items())]
    item: Any = msgspec.defstruct("Documented", fields, gc=False)
    return msgspec.json.Decoder(item | list[item])


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
    number = read(msgspec.json.decode(raw)) if raw[:1] == b'"' else None
    if number is None:
        return _LEFT_OUT if key in FORMATTED else raw
    return msgspec.json.encode(number)

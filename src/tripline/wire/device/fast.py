"""The common microtrip message without a detour through dicts: documented keys, documented kinds, nothing odd.

Any irregularity (an unknown key, a number as text, a time out of range, another trip number inside the aggregate) makes
`microtrip` return None, and `publish.py` reads the message with all its tolerance. Both must agree on every message
read here: `tests/properties/test_device_reading.py`.

The payload is decoded once and copied once: `pld` is usually last in the message, so the bytes before it make a header,
the bytes after it the payload, and each half is decoded strictly by itself. After a cut in the wrong place the halves
would not be JSON.
"""

import functools
import math
from typing import Annotated, Any, Final, Literal, Protocol

import msgspec
from msgspec import Meta

from tripline.domain import samples
from tripline.wire.device import kinds as device_kinds
from tripline.wire.device import tables as device_tables
from tripline.wire.device import values as device_values
from tripline.wire.readings import Microtrip

_Millis = Annotated[int, Meta(ge=device_values.EARLIEST_MS, lt=10**13)]
_Counter = Annotated[int, Meta(ge=-(2**63) + 1, le=2**63 - 1)]
_Driving = Literal[1]
_Stored = float | str | None
"""A documented key that is only stored."""
_KINDS: Final[dict[str, Any]] = {
    "tid": _Counter | None,
    "clt": _Millis | None,
    "sp": float,
    "try": _Driving | None,
    "em": Annotated[int, Meta(ge=0, le=10**6)] | Annotated[str, Meta(max_length=8)] | None,
}


_REQUIRED: Final[dict[str, Any]] = {
    "lat": Annotated[float, Meta(ge=-90, le=90)],
    "lon": Annotated[float, Meta(ge=-180, le=180)],
}


class _Header(msgspec.Struct, gc=False, kw_only=True, forbid_unknown_fields=True):
    ty: int
    ts: _Millis | None = None
    try_: _Driving | None = msgspec.field(name="try", default=None)
    ap: int | None = None
    sid: str | None = None


class _Head(_Header, gc=False, kw_only=True, forbid_unknown_fields=True):
    """A message whose payload was cut off its end."""

    pld: Literal[0]


class _Message(_Header, gc=False, kw_only=True, forbid_unknown_fields=True):
    pld: msgspec.Raw


class _Item(Protocol):
    """The fields of an item that are used. A position is required: without one the message may be an event (K2)."""

    tid: int | None
    lat: float
    lon: float
    sp: float
    clt: int | None
    em: int | str | None
    """OBD items only."""


class _Form(msgspec.Struct):
    """How the items of one table are decoded."""

    device: str
    item: msgspec.json.Decoder[_Item]
    items: msgspec.json.Decoder[list[_Item]]


_HEAD = msgspec.json.Decoder(_Head)
_MESSAGE = msgspec.json.Decoder(_Message)
_PAYLOAD_KEY: Final = b'"pld":'
_PAYLOAD_LAST: Final = (b"}}", b"]}")
_SPACE: Final = b" \t\r\n"
_manoeuvres = functools.lru_cache(maxsize=1024)(device_values.manoeuvres)


def microtrip(body: bytes, *, received_ms: int, sensor_type: str, max_items: int) -> Microtrip | None:
    """The microtrip in the body of a publish on `.../tre`; None: read it tolerantly."""
    try:
        return _of_body(body, sensor_type, received_ms, max_items)
    except (ValueError, RecursionError):
        return None


def of_payload(
    payload: bytes, *, ty: int, ts: int | None, received_ms: int, sensor_type: str, max_items: int
) -> Microtrip | None:
    """The same for a payload without header; `ts`, if any, must be a valid instant."""
    header = _Header(ty=ty, ts=ts)
    try:
        return _of_payload(payload, header, sensor_type, received_ms, max_items)
    except (ValueError, RecursionError):
        return None


def _of_body(body: bytes, sensor_type: str, received_ms: int, max_items: int) -> Microtrip | None:
    """Cut the payload out; raise ValueError when the header has further content."""
    start = body.find(_PAYLOAD_KEY) + len(_PAYLOAD_KEY)
    if start < len(_PAYLOAD_KEY):
        return None
    if body.endswith(_PAYLOAD_LAST):
        # With a 0 in place of the payload the header is JSON by itself.
        header = _HEAD.decode(body[:start] + b"0}")
        return _of_payload(body[start:-1].strip(_SPACE), header, sensor_type, received_ms, max_items)
    if b"\\" in body or body.find(_PAYLOAD_KEY, start) >= 0:
        return None  # a payload overridden by a second one would go unchecked
    message = _MESSAGE.decode(body)
    return _of_payload(bytes(message.pld), message, sensor_type, received_ms, max_items)


def _of_payload(
    payload: bytes, header: _Header, sensor_type: str, received_ms: int, max_items: int
) -> Microtrip | None:
    form = _form(header.ty, sensor_type)
    if form is None:
        return None
    if payload[:1] == b"{":
        return _one(form.item.decode(payload), payload, header, form.device, received_ms)
    items = form.items.decode(payload)
    return _many(items, payload, header, form.device, received_ms) if 0 < len(items) <= max_items else None


def _one(item: _Item, payload: bytes, header: _Header, device: str, received_ms: int) -> Microtrip | None:
    ts = header.ts
    time_ms = item.clt or ts or received_ms
    latest_ms = received_ms + device_values.AHEAD_MS
    # Boxes without a fix send latitude and longitude 0.
    if time_ms > latest_ms or (ts is not None and ts > latest_ms) or item.lat == item.lon == 0:
        return None
    em = _manoeuvres(item.em) if device == device_tables.OBD else samples.NO_FLAGS
    packed = samples.RECORD.pack(time_ms, item.lat, item.lon, item.sp, em, samples.FLAG_OWN_TIME)
    return Microtrip(
        ty=header.ty, device_type=device, ts=ts, tid=item.tid, parking=False, payload=payload, samples=packed,
        first_ms=time_ms, last_ms=time_ms
    )  # fmt: skip


def _many(items: list[_Item], payload: bytes, header: _Header, device: str, received_ms: int) -> Microtrip | None:
    ts, tid = header.ts, items[0].tid
    is_obd = device == device_tables.OBD
    em, usable = samples.NO_FLAGS, samples.FLAG_OWN_TIME
    values: list[float] = []
    for item in items:
        time_ms, lat = item.clt, item.lat
        if not time_ms or lat == 0.0 or item.tid != tid:
            return None
        if is_obd:
            em = _manoeuvres(item.em)
        values += (time_ms, lat, item.lon, item.sp, em, usable)
    times: list[Any] = values[:: len(samples.LAYOUT) - 1]
    first_ms, last_ms = min(times), max(times)
    latest_ms = received_ms + device_values.AHEAD_MS
    if last_ms > latest_ms or (ts is not None and ts > latest_ms):
        return None
    return Microtrip(
        ty=header.ty, device_type=device, ts=ts, tid=tid, parking=False, payload=payload,
        samples=samples.records(len(items)).pack(*values), first_ms=first_ms, last_ms=last_ms
    )  # fmt: skip


@functools.lru_cache(maxsize=256)
def _form(ty: int, sensor_type: str) -> _Form | None:
    """The form of the message number for a sensor of this type; None for numbers of other kinds."""
    if ty not in device_tables.MICROTRIPS:
        return None
    device = device_kinds.vehicle_device(ty, [], device_tables.device_type(sensor_type))
    item: Any = msgspec.defstruct(
        f"{device.capitalize()}Item", _fields(ty, device), gc=False, kw_only=True, forbid_unknown_fields=True
    )
    return _Form(device, msgspec.json.Decoder(item), msgspec.json.Decoder(list[item]))


def _fields(ty: int, device: str) -> list[tuple[str, Any] | tuple[str, Any, Any]]:
    """The keys of the table, without keys that mark another device type (K6).

    An OBD sensor may send GPS payloads under the GPS number, and is still read as OBD (K4).
    """
    keys = list(device_tables.TABLES[ty] | device_tables.table_of(ty, device))
    if device == device_tables.OBD:
        keys.append("em")
    if device == device_tables.DTAG:
        keys = [key for key in keys if key not in device_tables.DTG_ONLY]
    optional = {"sp": math.nan}
    return [
        (key, _REQUIRED[key]) if key in _REQUIRED else (key, _KINDS.get(key, _Stored), optional.get(key))
        for key in keys
    ]

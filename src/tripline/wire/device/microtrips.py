"""Microtrip payloads, from JSON to packed samples in one pass.

The items are decoded into structs, in which a text that spells a number is one too (V1). An item that does not fit its
struct is read value by value from its object; the others of its message are not. Items stay in the order sent (O1).
Rules: spec/device-messages T3, P1, E1, I5, I6, A5, A7, D25; decision 201.

The decoder does not check UTF-8, range and depth of values that it skips. Therefore a form learns the keys that devices
send; a message with others is decoded as a whole, too.
"""

import contextlib
import functools
import math
import struct
import sys
from collections.abc import Sequence
from typing import Annotated, Any, Final, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta

from tripline.domain import samples
from tripline.wire.device import body as device_body
from tripline.wire.device import kinds as device_kinds
from tripline.wire.device import tables as device_tables
from tripline.wire.device import values as device_values
from tripline.wire.device.fields import PARKING, Fields, Header
from tripline.wire.readings import Microtrip

_Whole = Annotated[int, Meta(ge=-device_values.INT64_MAX, le=device_values.INT64_MAX)] | None
_IN_USE: Final[dict[str, Any]] = {
    "tid": _Whole,
    "clt": int | float | None,
    "lat": Annotated[float, Meta(ge=-90, le=90)] | None,
    "lon": Annotated[float, Meta(ge=-180, le=180)] | None,
    "sp": Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)] | None,
    "try": _Whole,
    "tripId": _Whole,
    "em": Annotated[int, Meta(ge=0, le=10**6)] | float | Annotated[str, Meta(max_length=8)] | None,
}
"""Keys that are read from any table, with the numbers that fit, also as text; NaN and infinities do not."""
_NAMES: Final = {key: key for key in _IN_USE} | {"try": "kind", "tripId": "trip_id"}
_PLAIN: Final[Any] = float | str | bool | None
"""The type of a key that is only stored."""
_APART_MS: Final = 1_800_000
"""Neighbouring samples further apart are two records: by the default gap between trips, two drives (I1)."""
_MOST_KEYS: Final = 64
"""Keys of a form, learned ones too."""
_LESSONS: Final = 64
"""Payloads that a form learns from: a device may send other keys each time."""
_OWN: Final = samples.FLAG_OWN_TIME
_OWN_PARKING: Final = samples.FLAG_OWN_TIME | samples.FLAG_PARKING
_NULL: Final[Any] = Annotated[str, Meta(min_length=1, max_length=0)] | None
"""The type of a key that marks another device type: null, which counts as absent (V3), and no text, not even "null"."""
_manoeuvres = functools.lru_cache(maxsize=1024, typed=True)(device_values.manoeuvres)

Values: TypeAlias = Any
"""A struct of an item: `kind` is `try`, `trip_id` is `tripId`, other keys have their names. NaN or None: unusable."""


class Way(NamedTuple):
    """Decoders of a payload: of an object, and of an array of objects."""

    device: str
    item: msgspec.json.Decoder[Any]
    items: msgspec.json.Decoder[list[Any]]


class Form:
    """How the payloads of one message number are decoded, from sensors of one type."""

    __slots__ = ("_known", "_lessons", "_marks", "ways")

    def __init__(self, ty: int, device: str) -> None:
        known = _kinds(ty, device)
        marked = device_tables.MARKED.get(device, device)
        self._marks = device_tables.MARKS[marked] if marked != device else set()
        self._known = {key: kind for key, kind in known.items() if key not in self._marks}
        self._lessons = _LESSONS
        self.ways: tuple[Way, ...] = (
            _way(self._known, device, forbid=True),
            _way(self._known | dict.fromkeys(self._marks, _NULL), device),
        )
        """To be tried in turn. The first one fits only documented and learned keys, so that no value goes unchecked.
        The second one skips other keys, unless they mark another device type (K4, K6), which the third one is for."""
        if self._marks:
            self.ways += (way_of(ty, marked),)

    def learn(self, content: Any, way: Way) -> None:
        """Learn the keys of a payload that the second way fits: some keys, of some payloads."""
        if not self._lessons or way is not self.ways[1]:
            return
        self._lessons -= 1
        sent = dict.fromkeys(key for item in ([content] if isinstance(content, dict) else content) for key in item)
        # The decoder looks for the next key first: the order in which they come is the quickest.
        known = {key: self._known.get(key, _PLAIN) for key in sent | self._known}
        if len(known) <= _MOST_KEYS and self._marks.isdisjoint(known):
            self._known = known
            self.ways = (_way(known, way.device, forbid=True), *self.ways[1:])


def _kinds(ty: int, device: str) -> dict[str, Any]:
    documented = dict.fromkeys(device_tables.TABLES.get(ty, {}) | device_tables.table_of(ty, device), _PLAIN)
    return documented | _IN_USE


def _way(kinds: dict[str, Any], device: str, *, forbid: bool = False) -> Way:
    fields = [
        (_NAMES.get(key, f"key_{at}"), kind, msgspec.field(name=key, default=math.nan if key == "sp" else None))
        for at, (key, kind) in enumerate(kinds.items())
    ]
    item: Any = msgspec.defstruct(
        f"{device.capitalize()}Item", fields, gc=False, kw_only=True, forbid_unknown_fields=forbid
    )
    return Way(device, msgspec.json.Decoder(item, strict=False), msgspec.json.Decoder(list[item], strict=False))


@functools.lru_cache(maxsize=256)
def way_of(ty: int, device: str) -> Way:
    """Decoders of the items of a device of this type, which skip other keys."""
    return _way(_kinds(ty, device), device)


class _Sample(NamedTuple):
    tid: int | None
    own_ms: int | None
    lat: float
    lon: float
    speed_kmh: float
    em: int
    flags: int


def of_objects(objects: Sequence[Fields], ty: int, device: str) -> list[Values]:
    """The values of decoded objects, each decoded for itself."""
    kind = way_of(ty, device).item.type
    return [_of_object(fields, kind, device) for fields in objects]


def _of_object(fields: Fields, kind: Any, device: str) -> Values:
    if type(fields) is Fields:  # no notes are taken
        with contextlib.suppress(msgspec.ValidationError):
            return msgspec.convert(fields.item, kind, strict=False)
    place = fields.place() or device_values.NOWHERE
    own_ms = fields.instant("clt")
    speed = fields.speed_kmh()
    flags = fields.manoeuvres() if device == device_tables.OBD else samples.NO_FLAGS
    return kind(
        tid=fields.trip_number(),
        clt=device_values.real(fields.item.get("clt")) if own_ms is None else own_ms,  # a wrong time counts as one
        lat=place.lat,
        lon=place.lon,
        sp=math.nan if speed is None else speed,
        kind=fields.kind(),
        em=None if flags < 0 else f"{flags:x}",
    )


def read(
    items: list[Values], payload: bytes, header: Header, ty: int, device: str, *, cut: bool = True
) -> list[Microtrip]:
    """One record for each run of items of one drive (A5); unless `cut` one record, regardless of trip numbers.

    `payload` is the JSON of all items, stored as sent when they make one record (A7).
    """
    one = len(items) == 1
    whole = of_one(items[0], payload, header, ty, device) if one else _of_equal(items, payload, header, ty, device)
    if whole is not None:
        return [whole]
    read = [_sample(item, header, device) for item in items]
    cuts = _cuts(read, at_parking=device == device_tables.BLACKBOX) if cut else [0]
    if len(cuts) == 1:
        return [_of_run(read, payload, header, ty, device)]
    sent = device_body.element_texts(payload)
    return [
        _of_run(read[start:end], device_body.array_of(sent[start:end]), header, ty, device)
        for start, end in zip(cuts, [*cuts[1:], len(read)], strict=True)
    ]


def of_one(item: Values, payload: bytes, header: Header, ty: int, device: str) -> Microtrip | None:
    """The record of an item with a position; None for others."""
    time_ms: Any = header.time_ms if item.clt is None else item.clt
    # Latitude 0 may be a box without a fix (P1).
    if time_ms is None or not item.lat:
        return None
    if time_ms != header.time_ms and not device_values.is_right(time_ms, header.received_ms):
        return None
    parking = header.parking if item.kind is None else item.kind == PARKING
    em = _manoeuvres(item.em) if device == device_tables.OBD else samples.NO_FLAGS
    try:
        packed = samples.RECORD.pack(time_ms, item.lat, item.lon, item.sp, em, _OWN_PARKING if parking else _OWN)
    except struct.error:  # a value is missing, or the time is not a whole number
        return None
    tid = item.trip_id if item.tid is None else item.tid
    return Microtrip(ty, device, header.ts, tid, parking, payload, packed, time_ms, time_ms)


def _of_equal(items: list[Values], payload: bytes, header: Header, ty: int, device: str) -> Microtrip | None:
    """The record of items that agree in trip and `try`, each with its own time and a position; None for others."""
    first = items[0]
    tid, kind = first.tid, first.kind
    parking = header.parking if kind is None else kind == PARKING
    flags = _OWN_PARKING if parking else _OWN
    em, is_obd = samples.NO_FLAGS, device == device_tables.OBD
    values: list[Any] = []
    for item in items:
        lat = item.lat
        if not lat or item.tid != tid or item.kind != kind:
            return None
        if is_obd:
            em = _manoeuvres(item.em)
        values += (item.clt, lat, item.lon, item.sp, em, flags)
    try:
        packed = samples.records(len(items)).pack(*values)
    except struct.error:
        return None
    times = sorted(values[:: len(samples.LAYOUT) - 1])
    latest_ms = min(header.received_ms + device_values.AHEAD_MS, times[0] + _APART_MS)
    if times[-1] > latest_ms or not device_values.is_right(times[0], header.received_ms):
        return None
    if tid is None:
        tid = first.trip_id
        if any(item.trip_id != tid for item in items):
            return None
    return Microtrip(ty, device, header.ts, tid, parking, payload, packed, times[0], times[-1])


def _sample(item: Values, header: Header, device: str) -> _Sample:
    lat, lon = item.lat, item.lon
    if lat is None or lon is None or lat == lon == 0:
        lat = lon = math.nan
    own_ms = device_values.instant(item.clt, header.received_ms)
    parking = header.parking if item.kind is None else item.kind == PARKING
    flags = samples.FLAG_PARKING if parking else 0
    if own_ms is not None:
        flags |= _OWN
    elif header.time_ms is None and (item.clt is not None or header.ts is not None):
        flags |= samples.FLAG_WRONG_TIME
    tid = item.trip_id if item.tid is None else item.tid
    speed_kmh = math.nan if item.sp is None else item.sp
    em = _manoeuvres(item.em) if device == device_tables.OBD else samples.NO_FLAGS
    return _Sample(tid, own_ms, lat, lon, speed_kmh, em, flags)


def _cuts(read: list[_Sample], *, at_parking: bool) -> list[int]:
    """Starts of runs: another trip number (A5; a missing one fits any), a drive more than `_APART_MS` away (I1), or a
    black box parks or drives off (I6)."""
    cuts = [0]
    tid, last_ms = read[0].tid, read[0].own_ms
    for index, item in enumerate(read):
        changed = item.tid is not None and tid is not None and item.tid != tid
        apart = item.own_ms is not None and last_ms is not None and abs(item.own_ms - last_ms) > _APART_MS
        parks = (item.flags ^ read[cuts[-1]].flags) & samples.FLAG_PARKING
        if changed or apart or (at_parking and parks):
            cuts.append(index)
            tid = item.tid
        elif tid is None:
            tid = item.tid
        last_ms = last_ms if item.own_ms is None else item.own_ms
    return cuts


def _of_run(run: list[_Sample], payload: bytes, header: Header, ty: int, device: str) -> Microtrip:
    times = [header.shared_ms if item.own_ms is None else item.own_ms for item in run]
    flags = [item.flags for item in run]
    if header.time_ms is not None and all(item.own_ms is None for item in run):
        # One item at the header's time may take part in scoring (T3).
        flags[max((at for at, item in enumerate(run) if not math.isnan(item.lat)), default=-1)] |= _OWN
    values: list[Any] = []
    for time_ms, item, of_item in zip(times, run, flags, strict=True):
        values += (time_ms, item.lat, item.lon, item.speed_kmh, item.em, of_item)
    tid = next((item.tid for item in run if item.tid is not None), None)
    parking = bool(flags[0] & samples.FLAG_PARKING)
    packed = samples.records(len(run)).pack(*values)
    return Microtrip(ty, device, header.ts, tid, parking, payload, packed, min(times), max(times))


@functools.lru_cache(maxsize=256)
def form_of(ty: int, sensor_type: str) -> Form | None:
    """The form for a message number from a sensor of this registered type; None for other numbers than microtrips'."""
    if ty not in device_tables.MICROTRIPS:
        return None
    return Form(ty, device_kinds.vehicle_device(ty, [], device_tables.device_type(sensor_type)))

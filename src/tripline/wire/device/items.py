"""Microtrip items and trip payloads to records: times, packed samples, splitting an aggregate into runs of one trip.

Items stay in the order sent (O1). Rules: spec/device-messages T3, P1, E1, I5, I6, A5, A7, D25. Not here: the array
itself (`publish.py`), the packed layout (`domain/samples.py`), the same for well-formed messages without a detour
through dicts (`fast.py`).
"""

import math
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from tripline.domain import samples
from tripline.wire.device import tables as device_tables
from tripline.wire.device import values as device_values
from tripline.wire.device.kinds import Item
from tripline.wire.readings import Microtrip, Trip

PARKING: Final = 2
"""Value of `try`."""
FARTHEST_M: Final = 1e9
"""Longer distances are not believed (D9): a million kilometres is more than a vehicle drives in its life."""


class Sent(NamedTuple):
    """An object of a payload."""

    item: Item
    text: bytes
    """Its JSON as sent."""


class Header(msgspec.Struct, gc=False, kw_only=True):
    """The header fields shared by the items of a message."""

    ts: int | None
    """`ts` as sent, when it is a whole number."""
    time_ms: int | None
    """`ts` when it is a valid instant."""
    parking: bool
    received_ms: int


class Sample(msgspec.Struct, gc=False, kw_only=True):
    """One item, interpreted. Position and speed are NaN when absent or invalid."""

    text: bytes
    """Its JSON."""
    tid: int | None
    parking: bool
    own_ms: int | None
    lat: float
    lon: float
    speed_kmh: float
    em: int


def trip_number(item: Item) -> int | None:
    """`tid`, else `tripId` (I5)."""
    tid = device_values.whole(item.get("tid"))
    return device_values.whole(item.get("tripId")) if tid is None else tid


def is_parking(item: Item, header: Header) -> bool:
    """Return whether `try` is 2, the item's own before the header's copy (D25)."""
    kind = device_values.whole(item.get("try"))
    return header.parking if kind is None else kind == PARKING


def sample(sent: Sent, header: Header, device: str) -> Sample:
    """The item as numbers; manoeuvre flags are read from OBD items only."""
    item = sent.item
    place = device_values.position(item.get("lat"), item.get("lon")) or device_values.NOWHERE
    speed = device_values.real(item.get("sp"))
    return Sample(
        text=sent.text,
        tid=trip_number(item),
        parking=is_parking(item, header),
        own_ms=device_values.instant(item.get("clt"), header.received_ms),
        lat=place.lat,
        lon=place.lon,
        speed_kmh=math.nan if speed is None else speed,
        em=device_values.manoeuvres(item.get("em")) if device == device_tables.OBD else samples.NO_FLAGS,
    )


def microtrips(read: list[Sample], payload: bytes, header: Header, *, ty: int, device: str) -> list[Microtrip]:
    """One record for each run of items of one trip (A5).

    `payload` is the JSON of all items, stored as sent when they make one record (A7).
    """
    cuts = _cuts(read, at_parking=device == device_tables.BLACKBOX)
    if len(cuts) == 1:
        return [record(read, payload, header, ty=ty, device=device)]
    return [
        record(read[start:end], array_of(read[start:end]), header, ty=ty, device=device)
        for start, end in zip(cuts, [*cuts[1:], len(read)], strict=True)
    ]


def array_of(objects: Iterable[Sent | Sample]) -> bytes:
    """The JSON of all of these, as an array."""
    return b"[" + b",".join([each.text for each in objects]) + b"]"


def trip(item: Item, payload: bytes, header: Header, *, ty: int, device: str) -> Trip:
    """The record of a trip message. `stt`, `edt`, `clt`, `dis` mean the same in every trip table (T5, D9)."""
    end_ms = device_values.instant(item.get("edt"), header.received_ms)
    return Trip(
        ty=ty,
        device_type=device,
        ts=header.ts,
        tid=trip_number(item),
        parking=is_parking(item, header),
        start_ms=device_values.instant(item.get("stt"), header.received_ms),
        end_ms=device_values.instant(item.get("clt"), header.received_ms) if end_ms is None else end_ms,
        header_ms=header.time_ms,
        distance_m=distance(item.get("dis")),
        payload=payload,
    )


def distance(value: object) -> float | None:
    """The metres of `dis` when they can be a trip's (D9)."""
    metres = device_values.real(value)
    return metres if metres is not None and 0 < metres <= FARTHEST_M else None


def _cuts(read: list[Sample], *, at_parking: bool) -> list[int]:
    """Starts of runs: another trip number (A5; a missing one fits any), or a black box parks or drives off (I6)."""
    cuts = [0]
    tid = read[0].tid
    for index, item in enumerate(read):
        changed = item.tid is not None and tid is not None and item.tid != tid
        if changed or (at_parking and item.parking != read[cuts[-1]].parking):
            cuts.append(index)
            tid = item.tid
        elif tid is None:
            tid = item.tid
    return cuts


def record(run: list[Sample], payload: bytes, header: Header, *, ty: int, device: str) -> Microtrip:
    """One record of these items, regardless of their trip numbers."""
    shared_ms = header.received_ms if header.time_ms is None else header.time_ms
    times = [shared_ms if item.own_ms is None else item.own_ms for item in run]
    usable = _usable(run)
    packed = b"".join(
        samples.RECORD.pack(time_ms, item.lat, item.lon, item.speed_kmh, item.em, _flags(item, index in usable))
        for index, (item, time_ms) in enumerate(zip(run, times, strict=True))
    )
    return Microtrip(
        ty=ty,
        device_type=device,
        ts=header.ts,
        tid=next((item.tid for item in run if item.tid is not None), None),
        parking=run[0].parking,
        payload=payload,
        samples=packed,
        first_ms=min(times),
        last_ms=max(times),
    )


def _usable(run: list[Sample]) -> set[int]:
    """Items that may take part in scoring: all with their own time; if there are none, a single one (T3)."""
    own = {index for index, item in enumerate(run) if item.own_ms is not None}
    if own:
        return own
    placed = [index for index, item in enumerate(run) if not math.isnan(item.lat)]
    return {placed[-1] if placed else len(run) - 1}


def _flags(item: Sample, usable: bool) -> int:
    return (samples.FLAG_OWN_TIME if usable else 0) | (samples.FLAG_PARKING if item.parking else 0)

"""Trip messages to records; the header that the objects of a message share (spec/device-messages T5, D9, D25).

Not here: samples (`microtrips.py`), events (`events.py`).
"""

import msgspec

from tripline.wire.device.fields import PARKING, Fields
from tripline.wire.readings import Trip


class Header(msgspec.Struct, gc=False):
    """The header fields shared by the items of a message."""

    ts: int | None
    """`ts` as sent, when it is a whole number."""
    time_ms: int | None
    """`ts` when it is a valid instant."""
    shared_ms: int
    """The time of items without a time of their own (T3)."""
    parking: bool
    received_ms: int


def trip(fields: Fields, payload: bytes, header: Header, *, ty: int, device: str) -> Trip:
    """The record of a trip message. `stt`, `edt`, `clt`, `dis` mean the same in every trip table (T5, D9)."""
    kind = fields.kind()
    return Trip(
        ty=ty,
        device_type=device,
        ts=header.ts,
        tid=fields.trip_number(),
        parking=header.parking if kind is None else kind == PARKING,
        start_ms=fields.instant("stt"),
        end_ms=fields.instant("edt", "clt"),
        header_ms=header.time_ms,
        distance_m=fields.distance(),
        payload=payload,
    )

"""Trip messages to records; the header that the objects of a message share (spec/device-messages T5, D9, D25, I5).

Not here: samples (`microtrips.py`), events (`events.py`).
"""

from typing import Final

import msgspec

from tripline.wire.device import values as device_values
from tripline.wire.device.kinds import Item
from tripline.wire.readings import Trip

PARKING: Final = 2
"""Value of `try`."""
FARTHEST_M: Final = 1e9
"""Longer distances are not believed (D9): a million kilometres is more than a vehicle drives in its life."""


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


def trip_number(item: Item) -> int | None:
    """`tid`, else `tripId` (I5)."""
    tid = device_values.whole(item.get("tid"))
    return device_values.whole(item.get("tripId")) if tid is None else tid


def is_parking(item: Item, header: Header) -> bool:
    """Return whether `try` is 2, the item's own before the header's copy (D25)."""
    kind = device_values.whole(item.get("try"))
    return header.parking if kind is None else kind == PARKING


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

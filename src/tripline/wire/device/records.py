"""Trip messages and events to records (spec/device-messages T4, T5, P1, D9, 6)."""

from typing import Final

from tripline.wire.device import kinds as device_kinds
from tripline.wire.device import tables as device_tables
from tripline.wire.device.fields import PARKING, Fields, Header
from tripline.wire.readings import DeviceEvent, Trip

_TIME_KEY: Final = {105: "unpt", 109: "tim", 111: "tm", 112: "tim"}
"""The time key of an event without `clt` (D27); `tim` of 114 counts only for the AVN event."""
COLLISIONS: Final = (102, 103)
"""Events whose position has names of its own, in any letter case. All other events: `lat`, `lon`."""


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


def event(number: int, sent_ty: int | None, fields: Fields, payload: bytes, header: Header, device: str) -> DeviceEvent:
    """The event record. A number without a table is not interpreted (K7)."""
    place = tid = at_ms = None
    if number in device_tables.TABLES:
        key = "tim" if device == device_tables.AVN else _TIME_KEY.get(number, "clt")
        at_ms = fields.instant("clt", key)
        place = fields.place(device_kinds.SIGNATURES[number], any_case=True) if number in COLLISIONS else fields.place()
        tid = fields.trip_number()
    return DeviceEvent(
        ty=number,
        sent_ty=sent_ty,
        device_type=device,
        ts=header.ts,
        tid=tid,
        event_ms=header.shared_ms if at_ms is None else at_ms,
        lat=place.lat if place else None,
        lon=place.lon if place else None,
        payload=payload,
        is_attribute=number in device_tables.ATTRIBUTE_EVENTS,
    )

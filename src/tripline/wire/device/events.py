"""Event payloads: time and place of the event (spec/device-messages T4, P1, 6).

Not here: identifying the event (`kinds.py`).
"""

from typing import Final

from tripline.wire.device import fields as device_fields
from tripline.wire.device import tables as device_tables
from tripline.wire.device.fields import Fields
from tripline.wire.device.items import Header
from tripline.wire.readings import DeviceEvent

_TIME_KEY: Final = {105: "unpt", 109: "tim", 111: "tm", 112: "tim"}
"""The time key of an event without `clt` (D27); `tim` of 114 counts only for the AVN event."""
_POSITION_KEYS: Final = {
    102: (("dclat", "dclon"), ("dcwlat", "dcwlon")),
    103: (("plat", "plon"), ("pclat", "pclon")),
}
"""Names of the position, in any letter case, the documented ones first (D12, D13). All other events: `lat`, `lon`."""


def event(number: int, sent_ty: int | None, fields: Fields, payload: bytes, header: Header, device: str) -> DeviceEvent:
    """The event record. A number without a table is not interpreted (K7)."""
    place = tid = at_ms = None
    if number in device_tables.TABLES:
        key = "tim" if device == device_tables.AVN else _TIME_KEY.get(number, "clt")
        at_ms = fields.instant(*dict.fromkeys(("clt", key)))
        names = _POSITION_KEYS.get(number)
        place = fields.place(names or device_fields.HERE, any_case=names is not None)
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

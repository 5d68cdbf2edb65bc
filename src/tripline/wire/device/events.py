"""Event payloads: time and place of the event (spec/device-messages T4, P1, 6).

Not here: identifying the event (`kinds.py`).
"""

from typing import Final

from tripline.wire.device import items as device_items
from tripline.wire.device import tables as device_tables
from tripline.wire.device import values as device_values
from tripline.wire.device.items import Header
from tripline.wire.device.kinds import Item
from tripline.wire.device.values import Place
from tripline.wire.readings import DeviceEvent

_TIME_KEY: Final = {105: "unpt", 109: "tim", 111: "tm", 112: "tim"}
"""The time key of an event without `clt` (D27); `tim` of 114 counts only for the AVN event."""
POSITION_KEYS: Final = {
    102: (("dclat", "dclon"), ("dcwlat", "dcwlon")),
    103: (("plat", "plon"), ("pclat", "pclon")),
}
"""Names of the position, in lower case, the documented ones first (D12, D13). All other events: `lat`, `lon`."""


def event(number: int, sent_ty: int | None, item: Item, payload: bytes, header: Header, device: str) -> DeviceEvent:
    """The event record. A number without a table is not interpreted (K7)."""
    known = number in device_tables.TABLES
    place = _place(number, item) if known else None
    return DeviceEvent(
        ty=number,
        sent_ty=sent_ty,
        device_type=device,
        ts=header.ts,
        tid=device_items.trip_number(item) if known else None,
        event_ms=_time(number, item, header, device) if known else header.shared_ms,
        lat=place.lat if place else None,
        lon=place.lon if place else None,
        payload=payload,
        is_attribute=number in device_tables.ATTRIBUTE_EVENTS,
    )


def _time(number: int, item: Item, header: Header, device: str) -> int:
    for value in map(item.get, time_keys(number, device)):
        at_ms = device_values.instant(value, header.received_ms)
        if at_ms is not None:
            return at_ms
    return header.shared_ms


def time_keys(number: int, device: str) -> tuple[str, ...]:
    """Keys of the event's own time; the first valid one counts (T4)."""
    key = "tim" if device == device_tables.AVN else _TIME_KEY.get(number, "clt")
    return ("clt",) if key == "clt" else ("clt", key)


def _place(number: int, item: Item) -> Place | None:
    names = POSITION_KEYS.get(number)
    if names is None:
        return device_values.position(item.get("lat"), item.get("lon"))
    folded = {key.lower(): value for key, value in item.items()}
    places = (device_values.position(folded.get(lat), folded.get(lon)) for lat, lon in names)
    return next((place for place in places if place), None)

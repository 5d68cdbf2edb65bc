"""Decides the kind of a device's message: the rules K1 to K8 of spec/device-messages 3.4 and the signatures of 3.5.

Real programs use other numbers than the documents: OBD payloads under 1 and 2, events under small numbers or without
any.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from tripline.wire.device import tables as device_tables
from tripline.wire.device import values as device_values

Item = Mapping[str, Any]
"""One payload object, decoded."""

LARGEST: Final = 2**31 - 1
"""The largest event number that the store keeps."""
_RENUMBERED: Final = {old: old + 81 for old in range(20, 27)}
"""K3: document examples of December 2017."""

CAPABILITIES: Final = "cm"
LATEST: Final = "latest"
SIGNATURES: Final[dict[int | str, tuple[tuple[str, ...], ...]]] = {
    101: (("dtcc",),),
    102: (("dclat", "dclon"), ("dcwlat", "dcwlon")),
    103: (("plat", "plon"), ("pclat", "pclon")),
    104: (("wbv",),),
    105: (("unpt",), ("pt",)),
    106: (("rs",),),
    CAPABILITIES: (("cm",),),
}
"""Sets of keys by event number or name of the latest value; one set identifies the event (3.5), for 102 in any letter
case. Those of collisions are the names of its position, the documented ones first (D12, D13)."""


def message_number(value: object) -> int | None:
    """`ty` from a number or numeric text; None (missing) for anything else (K1), with 20 to 26 renumbered (K3)."""
    sent = device_values.whole(value)
    return None if sent is None else _RENUMBERED.get(sent, sent)


def has(item: Item, key: str) -> bool:
    """Return whether the key is present; null equals absent (V3)."""
    return item.get(key) is not None


def has_any(items: Iterable[Item], keys: set[str]) -> bool:
    """Return whether any of the items has any of the keys."""
    return any(has(item, key) for item in items for key in keys.intersection(item))


def signature(item: Item) -> int | str | None:
    """The event number, or the name of the latest value, recognised from the payload's keys (3.5); None when
    unclear."""
    keys = {key for key in item if has(item, key)}
    folded = {key.lower() for key in keys}
    for told, signs in SIGNATURES.items():
        if any((folded if told == 102 else keys).issuperset(sign) for sign in signs):
            return told
    return LATEST if item.keys() == {"Latitude", "Longitude"} else None


def misnumbered(number: int | None, item: Item) -> int | str | None:
    """The signature of a payload whose small or missing number must be ignored (K2); None: use the number."""
    if (number is not None and not 1 <= number <= 12) or has_any([item], device_tables.MOVING):
        return None
    return signature(item)


def vehicle_device(number: int, items: Iterable[Item], registered: str) -> str:
    """The device type of a trip or microtrip message (K4, K6); `registered` is the sensor's device type."""
    device = device_tables.DEVICE_OF[number]
    marked = device_tables.MARKED.get(device)
    return marked if marked and (registered == marked or has_any(items, device_tables.MARKS[marked])) else device


def event_device(number: int, item: Item, registered: str) -> str:
    """The device type an event comes from: its table's, AVN for 114 with `wid` (K5), the sensor's for unknown ones."""
    if number == 114 and has(item, "wid"):
        return device_tables.AVN
    return device_tables.DEVICE_OF.get(number, registered)

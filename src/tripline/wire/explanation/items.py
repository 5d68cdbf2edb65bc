"""Explains one object of a payload key by key: converted, unused, another name, unknown, missing.

All findings come from the functions that read the message (`wire/device/values.py`, `wire/device/items.py`,
`wire/device/events.py`), so that explanation and reader cannot disagree.

Not here: the result of the message as a whole (`messages.py`).
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from tripline.wire.device import events as device_events
from tripline.wire.device import items as device_items
from tripline.wire.device import tables as device_tables
from tripline.wire.device import values as device_values
from tripline.wire.device.items import Header
from tripline.wire.device.kinds import Item, has
from tripline.wire.device.tables import Table
from tripline.wire.explanation import words
from tripline.wire.explanation.words import Remark, Sort

_TRIP_TIMES: Final = ("stt", "edt", "clt")
_HERE: Final = (("lat", "lon"),)
_ENDS: Final = (("stlat", "stlon"), ("edlat", "edlon"), *_HERE)


class Reader(msgspec.Struct, frozen=True, gc=False):
    """How the objects of one reading were read."""

    number: int
    """Number of the table."""
    device: str
    keys: Table
    header: Header
    times: tuple[str, ...]
    places: tuple[tuple[str, str], ...]
    """Keys of positions, in lower case where their case does not matter."""

    also: frozenset[str] = frozenset()
    """Keys that are read although they are missing from the table."""

    @property
    def is_event(self) -> bool:
        """True for the table of an event."""
        return self.number >= 100


def reader(number: int, device: str, header: Header) -> Reader:
    """The reader of a message of this number, from this type of device."""
    if number in device_tables.MICROTRIPS or number in device_tables.TRIPS:
        table = device_tables.TRIP_OF.get(device, number - 1 + number % 2) + (number in device_tables.MICROTRIPS)
        keys = device_tables.table_of(number, device)
        if number in device_tables.MICROTRIPS:
            return Reader(table, device, keys, header, ("clt",), _HERE, frozenset({"try"}))
        return Reader(table, device, keys, header, _TRIP_TIMES, _ENDS, frozenset({"try", "dis"}))
    times = device_events.time_keys(number, device)
    places = device_events.POSITION_KEYS.get(number, _HERE)
    also = frozenset({"lat", "lon"}) if number not in device_events.POSITION_KEYS else frozenset()
    return Reader(number, device, device_tables.table_of(number, device), header, times, places, also)


def remarks(item: Item, by: Reader) -> Iterator[Remark]:
    """Yield remarks on the object, in the order of its keys, then on missing keys."""
    for key, value in item.items():
        if value is None:
            yield Remark(Sort.DROPPED, key, "null counts as absent: leave the key out")
        else:
            yield from _of_key(key, value, item, by)
    yield from _positions(item, by)
    yield from _missing(item, by)


def _of_key(key: str, value: Any, item: Item, by: Reader) -> Iterator[Remark]:
    if key == "em" and by.device == device_tables.OBD and not by.is_event:
        yield from _manoeuvres(value)
    elif key in by.times or (by.number == 105 and key == "pt"):
        yield from time(key, value, by.header.received_ms)
    elif key in ("tid", "tripId"):
        yield from _trip_number(key, value, item)
    elif key in by.keys or key in by.also:
        if key not in by.keys:
            yield Remark(Sort.NOTE, key, "not documented here, and read all the same")
        yield from _renamed(key, by)
        yield from _kind(key, value, by)
        if key == "try":
            yield from _driving(value)
        if key == "dis":
            yield from _distance(value)
    elif by.is_event and key.lower() not in by.keys and any(key.lower() in names for names in by.places):
        yield from _renamed(key, by)
    elif by.is_event and by.number in device_events.POSITION_KEYS and key.lower() in by.keys:
        yield Remark(Sort.ALIAS, key, f"read as `{key.lower()}`, the documented spelling")
    else:
        yield _unknown(key, by)


def _kind(key: str, value: Any, by: Reader) -> Iterator[Remark]:
    if by.keys.get(key, device_tables.NUMERIC) is device_tables.TEXT:
        if isinstance(value, int | float):  # bool too (V2)
            yield Remark(Sort.COERCED, key, f"{words.shown(value)} is shown as text: `{key}` is a text", "text")
        elif not isinstance(value, str):
            yield Remark(Sort.DROPPED, key, f"{words.kind_of(value)} is no text; kept as sent", "text")
        return
    number = device_values.number(value)
    if number is None:
        why = f"{words.shown(value)} is no number, and `{key}` is one; kept as sent, not used"
        yield Remark(Sort.DROPPED, key, why, "number")
    elif isinstance(value, str):
        text = f"{words.shown(value)} read as the number {words.shown(number)}: `{key}` is a number"
        yield Remark(Sort.COERCED, key, text, "number")


def time(key: str, value: Any, received_ms: int) -> Iterator[Remark]:
    """Yield the remarks on a time (T1, T2)."""
    spelled = device_values.spelled_ms(value)
    text = words.shown(value)
    if spelled is None:
        yield Remark(Sort.DROPPED, key, f"{text} is no time: send epoch milliseconds, 13 digits, UTC", "form")
    elif spelled < device_values.EARLIEST_MS:
        yield Remark(Sort.DROPPED, key, f"{text} is {words.utc(spelled)}, before 2010: set the device's clock", "old")
    elif device_values.instant(value, received_ms) is None:
        ahead_s = (spelled - received_ms) // 1000
        why = (
            f"{text} is {words.utc(spelled)}, {_lasting(ahead_s)} after it was received; at most 5 minutes are taken:"
            f" {'send UTC, not local time' if ahead_s < 50_400 else 'look at the unit and at the clock'}"
        )
        yield Remark(Sort.DROPPED, key, why, "ahead")
    elif (number := device_values.number(value)) is not None and number < 10**12:
        yield Remark(Sort.COERCED, key, f"{text} is in seconds; read as {words.utc(spelled)}: send milliseconds", "s")
    elif number is not None and number >= 10**13:
        why = f"{text} is a calendar time; read as {words.utc(spelled)}: send epoch milliseconds"
        yield Remark(Sort.COERCED, key, why, "calendar")
    elif isinstance(value, str):
        yield Remark(Sort.COERCED, key, f"{text} read as the number {words.shown(number)}: `{key}` is a number", "text")


def _lasting(seconds: int) -> str:
    if seconds < 7_200:
        return f"{seconds // 60} minutes"
    return f"{seconds // 3600} hours" if seconds < 172_800 else f"{seconds // 86_400:,} days"


def _manoeuvres(value: Any) -> Iterator[Remark]:
    flags = device_values.manoeuvres(value)
    text = words.shown(value)
    if flags < 0:
        why = f'{text} gives no manoeuvre flags, kept as sent: send two hexadecimal digits such as "28"'
        yield Remark(Sort.DROPPED, "em", why, "flags")
        return
    told = ", ".join(name for bit, name in enumerate(words.MANOEUVRES) if flags >> bit & 1) or "no manoeuvre"
    if isinstance(value, str):
        yield Remark(Sort.READ, "em", f"{text} read as hexadecimal digits: {told}", f"{flags}")
    else:
        why = f"the digits of {text} read as hexadecimal {flags:02x}: {told}; returned as sent"
        yield Remark(Sort.COERCED, "em", why, f"{flags}")


def _trip_number(key: str, value: Any, item: Item) -> Iterator[Remark]:
    number = device_values.whole(value)
    if number is None:
        why = f"{words.shown(value)} is no whole number of 64 bits; the message goes to whichever trip is open"
        yield Remark(Sort.DROPPED, key, why, "number")
    elif key == "tripId":
        if device_values.whole(item.get("tid")) is None:
            yield Remark(Sort.ALIAS, key, "read as `tid`, the documented name")
        else:
            yield Remark(Sort.UNKNOWN, key, "not used, as there is a `tid`; kept as sent")
    elif isinstance(value, str):
        yield Remark(Sort.COERCED, key, f"{words.shown(value)} read as the number {number}: `tid` is a number", "text")


def _driving(value: Any) -> Iterator[Remark]:
    kind = device_values.whole(value)
    if kind is not None and kind not in (1, device_items.PARKING):
        yield Remark(Sort.NOTE, "try", f"{words.shown(value)} is neither 1 (driving) nor 2 (parking); taken as driving")


def _distance(value: Any) -> Iterator[Remark]:
    if device_values.real(value) is None or device_items.distance(value) is not None:
        return
    why = f"{words.shown(value)} is no distance in metres; the distance is measured from the samples: leave it out"
    yield Remark(Sort.DROPPED, "dis", f"{why} when it is not exact", "range")


def _renamed(key: str, by: Reader) -> Iterator[Remark]:
    documented = words.ALIASES.get(key.lower())
    if documented is not None and documented in by.keys:
        yield Remark(Sort.ALIAS, key, f"understood as `{documented}`, the documented name")
    elif by.number == 7 and key in ("lat", "lon"):
        yield Remark(Sort.ALIAS, key, f"understood as `ed{key}`, the end of the trip, the documented name")


def _unknown(key: str, by: Reader) -> Remark:
    marks = {device_tables.OBD: device_tables.OBD_ONLY, device_tables.DTG: device_tables.DTG_ONLY}.get(by.device, ())
    if key in marks and not by.is_event:
        return Remark(Sort.NOTE, key, f"a key of other messages of {by.device} devices; kept and returned as sent")
    meant = next((known for known in by.keys if known.lower() == key.lower()), None) or words.MISTAKEN.get(key.lower())
    hint = f": do you mean `{meant}`?" if meant is not None and meant in by.keys else ""
    return Remark(Sort.UNKNOWN, key, f"not documented here; kept and returned as sent, not read{hint}")


def _positions(item: Item, by: Reader) -> Iterator[Remark]:
    there = [(key, value) for key, value in item.items() if value is not None]
    folded = {key.lower() if by.is_event else key: (key, value) for key, value in there}
    for lat, lon in by.places:
        if lat not in folded and lon not in folded:
            continue
        (key, north), (other, east) = folded.get(lat, (lat, None)), folded.get(lon, (lon, None))
        if device_values.position(north, east) is None:
            yield Remark(Sort.DROPPED, key, f"no valid position, {_why_nowhere(north, east, key, other)}", "position")


def _why_nowhere(north: Any, east: Any, lat: str, lon: str) -> str:
    if north is None or east is None:
        return f"`{lat if north is None else lon}` is missing: send both or none"
    values = device_values.real(north), device_values.real(east)
    if values[0] is None or values[1] is None:
        return f"`{lat if values[0] is None else lon}` is no number: send decimal degrees"
    if values == (0, 0):
        return "both are 0: leave the position out while there is no fix"
    if abs(values[1]) <= 90 < abs(values[0]) <= 180:
        return f"`{lat}` is {words.shown(north)}, outside -90 to 90: are `{lat}` and `{lon}` exchanged?"
    wrong, limit, value = (lat, 90, north) if not -90 <= values[0] <= 90 else (lon, 180, east)
    return f"`{wrong}` is {words.shown(value)}, outside -{limit} to {limit}: send decimal degrees (WGS84)"


def _missing(item: Item, by: Reader) -> Iterator[Remark]:
    parking = device_items.is_parking(item, by.header)
    there = {key for key in item if has(item, key)}
    if by.is_event:
        there |= {words.ALIASES.get(key.lower(), key.lower()) for key in there}
    if device_items.trip_number(item) is not None:
        there.add("tid")
    if by.number == 7 and {"lat", "lon"} <= there:
        there |= {"edlat", "edlon"}
    absent = [key for key in words.mandatory(by.number, by.device, parking=parking) if key not in there]
    if absent:
        names = ", ".join(f"`{key}`" for key in absent)
        yield Remark(Sort.MISSING, "", f"documented as mandatory but not there: {names}; the rest is used all the same")

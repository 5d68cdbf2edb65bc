"""Remarks on the objects of a message: converted, unused, another name, unknown, missing.

The reader (`wire/device`) notes the keys that it reads, so the remarks cannot differ from the reading.
"""

from collections.abc import Iterator
from typing import Any, Final

from tripline.wire.device import fields as device_fields
from tripline.wire.device import kinds as device_kinds
from tripline.wire.device import records as device_records
from tripline.wire.device import tables as device_tables
from tripline.wire.device import values as device_values
from tripline.wire.device.fields import PARKING, Fields, Header, Noted
from tripline.wire.device.kinds import Item, has
from tripline.wire.device.tables import Table
from tripline.wire.explanation import words
from tripline.wire.explanation.words import Finding, Sort

_ENDS: Final = (("stlat", "stlon"), ("edlat", "edlon"), *device_fields.HERE)
"""Positions of a trip, which are kept and shown, but not read."""
_TIMES: Final = frozenset({"clt", "stt", "edt", "tim", "tm", "unpt", "pt"})
_LATELY_MS: Final = 31 * 86_400_000
"""A time this little older than 1,024 weeks is recent but for the count of weeks."""


def remarks(fields: Noted, number: int, device: str, header: Header) -> Iterator[Finding]:
    """Yield the remarks on an object of this message number, in the order of its keys, then on missing keys."""
    keys = device_tables.table_of(number, device)
    read = fields.read | ({"pt"} & keys.keys())  # the reader needs the time of removal only
    documented = device_tables.documented(number, device)
    for key, value in fields.item.items():
        if value is None:
            yield Finding(Sort.DROPPED, key, "null counts as absent: leave the key out")
        elif key in ("tid", "tripId") and key in read:
            yield from _trip_number(key, value, fields.item)
        elif key in _TIMES and key in read:
            yield from time(key, value, header.received_ms)
        elif key == "em" and key in read:
            yield _manoeuvres(value)
        elif key in keys or key in read:
            if key not in keys:
                yield Finding(Sort.NOTE, key, "not documented here, but read anyway")
            yield from _renamed(key, documented, keys)
            yield from _kind(key, value, keys)
            if key in read:
                yield from _limits(key, value)
        else:
            yield from _not_read(key, documented, device, keys)
    yield from _positions(fields.item, number)
    yield from _missing(fields, documented, device, header)


def _limits(key: str, value: Any) -> Iterator[Finding]:
    if key == "try" and device_values.whole(value) not in (None, 1, PARKING):
        yield Finding(Sort.NOTE, key, f"{words.shown(value)} is neither 1 (driving) nor 2 (parking); taken as driving")
    elif key == "dis" and device_values.real(value) is not None and Fields({key: value}, 0).distance() is None:
        why = f"{words.shown(value)} is not a distance in metres; the distance is measured from the samples"
        yield Finding(Sort.DROPPED, key, f"{why}: leave it out when it is not exact", "range")


def _not_read(key: str, number: int, device: str, keys: Table) -> Iterator[Finding]:
    lower = key.lower()
    if number in device_records.COLLISIONS and any(lower in names for names in device_kinds.SIGNATURES[number]):
        if lower in keys:
            yield Finding(Sort.ALIAS, key, f"read as `{lower}`, the documented spelling")
        else:
            yield from _renamed(key, number, keys)
        return
    if key in device_tables.MARKS.get(device, ()) and number < 100:
        yield Finding(Sort.NOTE, key, f"a key of other messages of {device} devices; kept and returned as sent")
        return
    meant = next((known for known in keys if known.lower() == lower), None) or words.MISTAKEN.get(lower)
    hint = f": do you mean `{meant}`?" if meant is not None and meant in keys else ""
    yield Finding(Sort.UNKNOWN, key, f"not documented here; kept and returned as sent, not read{hint}")


def _positions(item: Item, number: int) -> Iterator[Finding]:
    any_case = number in device_records.COLLISIONS
    ends = _ENDS if number in device_tables.TRIPS else device_fields.HERE
    there = {key.lower() if any_case else key: (key, value) for key, value in item.items() if value is not None}
    for lat, lon in device_kinds.SIGNATURES[number] if any_case else ends:
        (key, north), (other, east) = there.get(lat, (lat, None)), there.get(lon, (lon, None))
        if (lat in there or lon in there) and device_values.position(north, east) is None:
            yield Finding(Sort.DROPPED, key, f"no valid position, {_why_nowhere(north, east, key, other)}", "position")


def _missing(fields: Fields, number: int, device: str, header: Header) -> Iterator[Finding]:
    kind = fields.kind()
    there = {key for key in fields.item if has(fields.item, key)}
    if number >= 100:
        there |= {words.ALIASES.get(key.lower(), key.lower()) for key in there}
    if fields.trip_number() is not None:
        there.add("tid")
    if number == 7 and {"lat", "lon"} <= there:
        there |= {"edlat", "edlon"}
    parking = header.parking if kind is None else kind == PARKING
    absent = [key for key in words.mandatory(number, device, parking=parking) if key not in there]
    if absent:
        names = ", ".join(f"`{key}`" for key in absent)
        yield Finding(Sort.MISSING, "", f"documented as mandatory but missing: {names}; the rest is used anyway")


def _kind(key: str, value: Any, keys: Table) -> Iterator[Finding]:
    if keys.get(key, device_tables.NUMERIC) is device_tables.TEXT:
        if isinstance(value, int | float):  # bool too (V2)
            yield Finding(Sort.COERCED, key, f"{words.shown(value)} is shown as text: `{key}` is a text", "text")
        elif not isinstance(value, str):
            yield Finding(Sort.DROPPED, key, f"{words.kind_of(value)} is not a text; kept as sent", "text")
        return
    number = device_values.speed_kmh(value) if key == "sp" else device_values.number(value)
    if number is None:
        why = f"{words.shown(value)} is not a number, but `{key}` is one; kept as sent, not used"
        yield Finding(Sort.DROPPED, key, why, "number")
    elif isinstance(value, str):
        text = f"{words.shown(value)} read as the number {words.shown(number)}: `{key}` is a number"
        yield Finding(Sort.COERCED, key, text, "number")


def time(key: str, value: Any, received_ms: int) -> Iterator[Finding]:
    """Yield the remarks on a time (T1, T2)."""
    spelled = device_values.spelled_ms(value)
    text = words.shown(value)
    if spelled is None:
        yield Finding(Sort.DROPPED, key, f"{text} is not a time: send epoch milliseconds, 13 digits, UTC", "form")
    elif 0 <= received_ms - spelled - device_values.WEEKS_MS < _LATELY_MS:
        why = f"{text} is {words.utc(spelled)}, 1,024 weeks behind: the receiver's week counter rolled over"
        yield Finding(Sort.DROPPED, key, f"{why}; update its firmware", "weeks")
    elif spelled < device_values.EARLIEST_MS:
        yield Finding(Sort.DROPPED, key, f"{text} is {words.utc(spelled)}, before 2010: set the device's clock", "old")
    elif device_values.instant(value, received_ms) is None:
        ahead_s = (spelled - received_ms) // 1000
        why = (
            f"{text} is {words.utc(spelled)}, {_lasting(ahead_s)} after it was received; at most 5 minutes are taken:"
            f" {'send UTC, not local time' if ahead_s < 50_400 else 'check the unit and the clock'}"
        )
        yield Finding(Sort.DROPPED, key, why, "ahead")
    elif (number := device_values.number(value)) is not None and number < 10**12:
        yield Finding(Sort.COERCED, key, f"{text} is in seconds; read as {words.utc(spelled)}: send milliseconds", "s")
    elif number is not None and number >= 10**13:
        why = f"{text} is a calendar time; read as {words.utc(spelled)}: send epoch milliseconds"
        yield Finding(Sort.COERCED, key, why, "calendar")
    elif isinstance(value, str):
        yield Finding(
            Sort.COERCED, key, f"{text} read as the number {words.shown(number)}: `{key}` is a number", "text"
        )


def _lasting(seconds: int) -> str:
    if seconds < 7_200:
        return f"{seconds // 60} minutes"
    return f"{seconds // 3600} hours" if seconds < 172_800 else f"{seconds // 86_400:,} days"


def _manoeuvres(value: Any) -> Finding:
    flags = device_values.manoeuvres(value)
    text = words.shown(value)
    if flags < 0:
        why = f'{text} gives no manoeuvre flags, kept as sent: send two hexadecimal digits such as "28"'
        return Finding(Sort.DROPPED, "em", why, "flags")
    told = ", ".join(name for bit, name in enumerate(words.MANOEUVRES) if flags >> bit & 1) or "no manoeuvre"
    if isinstance(value, str):
        return Finding(Sort.READ, "em", f"{text} read as hexadecimal digits: {told}", f"{flags}")
    why = f"the digits of {text} read as hexadecimal {flags:02x}: {told}; returned as sent"
    return Finding(Sort.COERCED, "em", why, f"{flags}")


def _trip_number(key: str, value: Any, item: Item) -> Iterator[Finding]:
    number = device_values.whole(value)
    if number is None:
        why = f"{words.shown(value)} is not a whole number of 64 bits; the trip is found by time alone"
        yield Finding(Sort.DROPPED, key, why, "number")
    elif key == "tripId":
        if device_values.whole(item.get("tid")) is None:
            yield Finding(Sort.ALIAS, key, "read as `tid`, the documented name")
        else:
            yield Finding(Sort.UNKNOWN, key, "not used, as there is a `tid`; kept as sent")
    elif isinstance(value, str):
        yield Finding(Sort.COERCED, key, f"{words.shown(value)} read as the number {number}: `tid` is a number", "text")


def _renamed(key: str, number: int, keys: Table) -> Iterator[Finding]:
    documented = words.ALIASES.get(key.lower())
    if documented is not None and documented in keys:
        yield Finding(Sort.ALIAS, key, f"understood as `{documented}`, the documented name")
    elif number == 7 and key in ("lat", "lon"):
        yield Finding(Sort.ALIAS, key, f"understood as `ed{key}`, the end of the trip, the documented name")


def _why_nowhere(north: Any, east: Any, lat: str, lon: str) -> str:
    if north is None or east is None:
        return f"`{lat if north is None else lon}` is missing: send both or none"
    values = device_values.real(north), device_values.real(east)
    if values[0] is None or values[1] is None:
        return f"`{lat if values[0] is None else lon}` is not a number: send decimal degrees"
    if values == (0, 0):
        return "both are 0: leave the position out while there is no fix"
    if abs(values[1]) <= 90 < abs(values[0]) <= 180:
        return f"`{lat}` is {words.shown(north)}, outside -90 to 90: are `{lat}` and `{lon}` swapped?"
    wrong, limit, value = (lat, 90, north) if not -90 <= values[0] <= 90 else (lon, 180, east)
    return f"`{wrong}` is {words.shown(value)}, outside -{limit} to {limit}: send decimal degrees (WGS84)"

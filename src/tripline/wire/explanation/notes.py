"""Notes on the objects of a message, taken while they are read: converted, unused, another name, unknown, missing.

The reader (`wire/device`) reads each value through `Noted`, which reads it the same way and keeps a remark on it, so
the remarks cannot differ from the reading.

Not here: the result of the message as a whole (`messages.py`).
"""

from collections.abc import Iterator
from typing import Any, Final

from tripline.wire.device import fields as device_fields
from tripline.wire.device import tables as device_tables
from tripline.wire.device import values as device_values
from tripline.wire.device.fields import PARKING, Fields, Header
from tripline.wire.device.kinds import Item, has
from tripline.wire.device.tables import Table
from tripline.wire.device.values import Place
from tripline.wire.explanation import words
from tripline.wire.explanation.words import Remark, Sort

_ENDS: Final = (("stlat", "stlon"), ("edlat", "edlon"), *device_fields.HERE)
"""Positions of a trip, which are kept and shown, but not read."""

_LATELY_MS: Final = 31 * 86_400_000
"""A time this little older than 1,024 weeks is recent but for the count of weeks."""


class Notebook:
    """The noted objects of a message, in the order in which they were read."""

    def __init__(self) -> None:
        self.objects: list[Noted] = []

    def of(self, item: Item, received_ms: int) -> Fields:
        """The object to be read next."""
        self.objects.append(Noted(item, received_ms))
        return self.objects[-1]


class Noted(Fields):
    """An object whose values are noted as they are read."""

    __slots__ = ("_any_case", "_numbers", "_others", "_places")

    def __init__(self, item: Item, received_ms: int) -> None:
        super().__init__(item, received_ms)
        self._numbers: dict[str, list[Remark]] = {}
        """Remarks on keys that were read as numbers, beside those on their kind."""
        self._others: dict[str, list[Remark]] = {}
        """All remarks on keys that were read otherwise."""
        self._places: tuple[tuple[str, str], ...] = ()
        self._any_case = False

    def trip_number(self) -> int | None:
        for key in ("tid", "tripId"):
            self._others[key] = list(_trip_number(key, self.item.get(key), self.item))
        return super().trip_number()

    def kind(self) -> int | None:
        kind = super().kind()
        self._numbers["try"] = []
        if kind is not None and kind not in (1, PARKING):
            text = f"{words.shown(self.item['try'])} is neither 1 (driving) nor 2 (parking); taken as driving"
            self._numbers["try"].append(Remark(Sort.NOTE, "try", text))
        return kind

    def real(self, key: str) -> float | None:
        self._numbers.setdefault(key, [])
        return super().real(key)

    def speed_kmh(self) -> float | None:
        self._numbers.setdefault("sp", [])
        return super().speed_kmh()

    def distance(self) -> float | None:
        metres = super().distance()
        if metres is None and super().real("dis") is not None:
            why = f"{words.shown(self.item['dis'])} is no distance in metres; the distance is measured from the samples"
            remark = Remark(Sort.DROPPED, "dis", f"{why}: leave it out when it is not exact", "range")
            self._numbers["dis"] = [remark]
        return metres

    def instant(self, *keys: str) -> int | None:
        for key in keys:
            self._others[key] = list(time(key, self.item.get(key), self.received_ms))
        return super().instant(*keys)

    def place(self, names: tuple[tuple[str, str], ...] = device_fields.HERE, *, any_case: bool = False) -> Place | None:
        self._places, self._any_case = names, any_case
        if not any_case:
            self._numbers |= {key: [] for pair in names for key in pair}
        return super().place(names, any_case=any_case)

    def manoeuvres(self) -> int:
        self._others["em"] = list(_manoeuvres(self.item.get("em")))
        return super().manoeuvres()

    def remarks(self, number: int, device: str, header: Header) -> Iterator[Remark]:
        """Yield the remarks on an object of this message number, in the order of its keys, then on missing keys."""
        keys = device_tables.table_of(number, device)
        if number in device_tables.TRIPS:
            self._places = _ENDS
        if number == 105:
            self._others["pt"] = list(time("pt", self.item.get("pt"), self.received_ms))
        if number < 100:
            number = device_tables.TRIP_OF.get(device, number - 1 + number % 2) + (number in device_tables.MICROTRIPS)
        for key, value in self.item.items():
            if value is None:
                yield Remark(Sort.DROPPED, key, "null counts as absent: leave the key out")
            elif key in self._others:
                yield from self._others[key]
            else:
                yield from self._of_key(key, value, number, device, keys)
        yield from self._positions()
        yield from self._missing(number, device, header)

    def _of_key(self, key: str, value: Any, number: int, device: str, keys: Table) -> Iterator[Remark]:
        lower = key.lower()
        if key in keys or key in self._numbers:
            if key not in keys:
                yield Remark(Sort.NOTE, key, "not documented here, and read all the same")
            yield from _renamed(key, number, keys)
            yield from _kind(key, value, keys)
            yield from self._numbers.get(key, ())
        elif self._any_case and lower in keys:
            yield Remark(Sort.ALIAS, key, f"read as `{lower}`, the documented spelling")
        elif self._any_case and any(lower in names for names in self._places):
            yield from _renamed(key, number, keys)
        else:
            yield _unknown(key, number, device, keys)

    def _positions(self) -> Iterator[Remark]:
        there = [(key, value) for key, value in self.item.items() if value is not None]
        folded = {key.lower() if self._any_case else key: (key, value) for key, value in there}
        for lat, lon in self._places:
            if lat not in folded and lon not in folded:
                continue
            (key, north), (other, east) = folded.get(lat, (lat, None)), folded.get(lon, (lon, None))
            if device_values.position(north, east) is None:
                why = _why_nowhere(north, east, key, other)
                yield Remark(Sort.DROPPED, key, f"no valid position, {why}", "position")

    def _missing(self, number: int, device: str, header: Header) -> Iterator[Remark]:
        kind = super().kind()
        there = {key for key in self.item if has(self.item, key)}
        if number >= 100:
            there |= {words.ALIASES.get(key.lower(), key.lower()) for key in there}
        if super().trip_number() is not None:
            there.add("tid")
        if number == 7 and {"lat", "lon"} <= there:
            there |= {"edlat", "edlon"}
        parking = header.parking if kind is None else kind == PARKING
        absent = [key for key in words.mandatory(number, device, parking=parking) if key not in there]
        if absent:
            names = ", ".join(f"`{key}`" for key in absent)
            text = f"documented as mandatory but not there: {names}; the rest is used all the same"
            yield Remark(Sort.MISSING, "", text)


def _kind(key: str, value: Any, keys: Table) -> Iterator[Remark]:
    if keys.get(key, device_tables.NUMERIC) is device_tables.TEXT:
        if isinstance(value, int | float):  # bool too (V2)
            yield Remark(Sort.COERCED, key, f"{words.shown(value)} is shown as text: `{key}` is a text", "text")
        elif not isinstance(value, str):
            yield Remark(Sort.DROPPED, key, f"{words.kind_of(value)} is no text; kept as sent", "text")
        return
    number = device_values.speed_kmh(value) if key == "sp" else device_values.number(value)
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
    elif 0 <= received_ms - spelled - device_values.WEEKS_MS < _LATELY_MS:
        why = f"{text} is {words.utc(spelled)}, 1,024 weeks behind: the receiver's count of weeks began anew"
        yield Remark(Sort.DROPPED, key, f"{why}; update its firmware", "weeks")
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


def _renamed(key: str, number: int, keys: Table) -> Iterator[Remark]:
    documented = words.ALIASES.get(key.lower())
    if documented is not None and documented in keys:
        yield Remark(Sort.ALIAS, key, f"understood as `{documented}`, the documented name")
    elif number == 7 and key in ("lat", "lon"):
        yield Remark(Sort.ALIAS, key, f"understood as `ed{key}`, the end of the trip, the documented name")


def _unknown(key: str, number: int, device: str, keys: Table) -> Remark:
    marks = {device_tables.OBD: device_tables.OBD_ONLY, device_tables.DTG: device_tables.DTG_ONLY}.get(device, ())
    if key in marks and number < 100:
        return Remark(Sort.NOTE, key, f"a key of other messages of {device} devices; kept and returned as sent")
    meant = next((known for known in keys if known.lower() == key.lower()), None) or words.MISTAKEN.get(key.lower())
    hint = f": do you mean `{meant}`?" if meant is not None and meant in keys else ""
    return Remark(Sort.UNKNOWN, key, f"not documented here; kept and returned as sent, not read{hint}")


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

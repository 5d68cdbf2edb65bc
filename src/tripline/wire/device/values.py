"""Reads a single value of a device's payload: numbers, texts, times, positions, manoeuvre flags.

An unreadable value is None, never an error (spec/device-messages V1-V4, T1-T2, P1, E1).
"""

import datetime
import math
import re
from typing import Final

import msgspec

from tripline.domain import deliveries

_SPELLED: Final = r"\s*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*"
NUMERAL: Final = re.compile(_SPELLED, re.ASCII)
_SPEED: Final = re.compile(_SPELLED + r"(km/h|kmh|kph|mph|m/s|knots?|kn|kts?)\s*", re.ASCII | re.IGNORECASE)
_KMH: Final = {"km": 1.0, "kp": 1.0, "mp": 1.609344, "m/": 3.6, "kn": 1.852, "kt": 1.852}
"""First two letters of a unit of speed -> km/h."""
_HEX_PAIR: Final = re.compile(r"\s*(?:0[xX])?([0-9a-fA-F]{1,2})\s*", re.ASCII)

INT64_MAX: Final = 2**63 - 1
_SECONDS_FROM: Final = 10**9
_MILLIS_FROM: Final = 10**12
_CALENDAR_FROM: Final = 20_100_101_000_000
_CALENDAR_BELOW: Final = 21_000_101_000_000

EARLIEST_MS: Final = 1_262_304_000_000
"""2010-01-01T00:00:00Z: no device of this kind is older (T2)."""
WEEKS_MS: Final = 1_024 * 7 * 86_400_000
"""What a GPS receiver is behind whose count of weeks, ten bits, began anew."""
OLDEST_MS: Final = WEEKS_MS - 7 * 86_400_000
"""How long ago a sample may have been taken: less than such a receiver is behind (T2)."""
AHEAD_MS: Final = deliveries.AHEAD_MS
"""How far a device's clock may run ahead of ours (T2)."""


def number(value: object) -> int | float | None:
    """The finite number of an integer, a decimal, or a text that spells one (V1)."""
    if isinstance(value, str):
        return _spelled(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _spelled(text: str) -> int | float | None:
    match = NUMERAL.fullmatch(text)
    if match is None:
        return None
    value = float(match[1])
    if not math.isfinite(value):
        return None
    sign, digits = ("-" if match[1][0] == "-" else ""), match[1].lstrip("+-")
    # A finite number has 309 digits at most, besides zeros.
    return int(sign + (digits.lstrip("0") or "0")) if digits.isdigit() else value


def whole(value: object) -> int | None:
    """The whole number that fits a signed 64-bit column, from a number or a text that spells one (V1)."""
    if type(value) is int:
        return value if -INT64_MAX <= value <= INT64_MAX else None
    read = number(value)
    if read is None or read != (cut := int(read)) or not -INT64_MAX <= cut <= INT64_MAX:
        return None
    return cut


def real(value: object) -> float | None:
    """The number as a double; None when it is not a number or out of the range of doubles."""
    read = number(value)
    if read is None:
        return None
    try:
        return float(read)
    except OverflowError:
        return None


def speed_kmh(value: object) -> int | float | None:
    """The number, km/h; also of a text with a unit of speed (V1)."""
    match = _SPEED.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return number(value)
    read, factor = real(match[1]), _KMH[match[2][:2].lower()]
    return None if read is None else round(read * factor, 3)


def is_right(time_ms: int, received_ms: int) -> bool:
    """True if a time may be right at its receipt: since 2010, not 1,023 weeks ago, and not ahead (T2)."""
    return EARLIEST_MS <= time_ms <= received_ms + AHEAD_MS and time_ms >= received_ms - OLDEST_MS


def instant(value: object, received_ms: int) -> int | None:
    """Epoch ms of a time in ms, in seconds, or as the digits YYYYMMDDhhmmss in UTC (T1).

    None for any other value, and for a time that cannot be right (T2).
    """
    if type(value) is int and is_right(value, received_ms):
        return value
    at_ms = spelled_ms(value)
    return at_ms if at_ms is not None and is_right(at_ms, received_ms) else None


def spelled_ms(value: object) -> int | None:
    """Epoch ms of any time that the value spells (T1); None for other values."""
    read = number(value)
    if read is None:
        return None
    if _MILLIS_FROM <= read < _MILLIS_FROM * 10:
        return int(read)
    if _SECONDS_FROM <= read < _SECONDS_FROM * 10:
        return int(read * 1000)
    if _CALENDAR_FROM <= read < _CALENDAR_BELOW and read == int(read):
        return _calendar_ms(int(read))
    return None


def _calendar_ms(digits: int) -> int | None:
    date, clock = divmod(digits, 1_000_000)
    try:
        moment = datetime.datetime.fromisoformat(f"{date}T{clock:06}Z")
    except ValueError:
        return None
    return int(moment.timestamp()) * 1000


class Place(msgspec.Struct, frozen=True, gc=False):
    """Degrees WGS84."""

    lat: float
    lon: float


NOWHERE: Final = Place(math.nan, math.nan)


def position(lat: object, lon: object) -> Place | None:
    """The place; None when out of range, incomplete, or exactly 0, 0 (P1).

    `microtrips.py`, which reads most positions, has the same rule in the types of its fields.
    """
    north, east = real(lat), real(lon)
    if north is None or east is None:
        return None
    return Place(north, east) if -90 <= north <= 90 and -180 <= east <= 180 and (north or east) else None


def manoeuvres(value: object) -> int:
    """The manoeuvre flags 0..255 that the value spells in hexadecimal digits; -1 for other values (E1)."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return -1
    if isinstance(value, int) and not 0 <= value <= 99:
        return -1
    match = _HEX_PAIR.fullmatch(str(value))
    return int(match[1], 16) if match else -1

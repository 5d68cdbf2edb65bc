"""Words for a device's maker on how a message was read: findings, names of kinds, values and times."""

import datetime
import json
from enum import StrEnum
from typing import Any, Final

import msgspec

from tripline.domain import instants
from tripline.wire.device import meanings as device_meanings
from tripline.wire.device import tables as device_tables


class Sort(StrEnum):
    """The subject of a finding."""

    READ = "read"
    """The reading of the message, or of a part of it."""
    COERCED = "coerced"
    """A value of another kind or form than documented that was read anyway."""
    DROPPED = "dropped"
    """A value that is stored as sent but not used."""
    ALIAS = "alias"
    """A key under another name than the documented one."""
    UNKNOWN = "unknown"
    """An undocumented key; stored as sent."""
    MISSING = "missing"
    """A documented key that is absent."""
    SCORING = "scoring"
    """A reason against scoring the message, or some of its samples."""
    NOTE = "note"
    """Something worth knowing; nothing is wrong."""
    REJECTED = "rejected"
    """The message, or a part of it, cannot be used."""


class Finding(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One sentence about a message."""

    sort: Sort
    where: str
    """Path of the key, `pld[2].clt`, or in an object `clt`; empty: the whole message, or object."""
    text: str
    about: str = ""
    """The topic of the sentence, when its text holds a value: findings about many objects become one."""


_SUDDEN: Final = ("start", "left turn", "right turn", "U-turn", "deceleration", "acceleration", "stop")
MANOEUVRES: Final = (*(f"sudden {name}" for name in _SUDDEN), "reserved")
"""Meaning of the bits of `em`, the lowest first (spec/device-messages 4.6)."""

_KINDS: Final = {
    type(None): "null", bool: "true or false", int: "a number", float: "a number", str: "a text", list: "an array",
}  # fmt: skip
ALIASES: Final = {
    "cdlt": "cdit", "gag": "gan", "pclat": "plat", "pclon": "plon", "dcwlat": "dclat", "dcwlon": "dclon",
}  # fmt: skip
"""Names that real devices use, in lower case -> the documented key (D5, D12, D13, D24)."""
MISTAKEN: Final = {
    "latitude": "lat", "longitude": "lon", "lng": "lon", "long": "lon", "speed": "sp", "spd": "sp", "time": "clt",
    "timestamp": "clt", "collecttime": "clt", "altitude": "alt", "tripid": "tid", "trip": "tid",
}  # fmt: skip
"""Plausible wrong names, in lower case -> the documented key that was probably meant."""


def mandatory(table: int, device: str, *, parking: bool) -> list[str]:
    """The documented mandatory keys of a table, in its order; without `dis`, which is optional when inexact (D9)."""
    if table == 114 and device == device_tables.AVN:
        return ["wid"]
    asked = device_tables.MANDATORY.get(table, frozenset())
    keys = [key for key in device_tables.TABLES.get(table, ()) if key in asked and key != "dis"]
    if table == 8:
        keys += ("vlt", "tem", "tim") if parking else ("lat", "lon", "sp")
    return keys


def event_name(number: int, device: str) -> str:
    """The name of the event; empty for an unknown number."""
    if number == 114:
        return "event of an in-dash unit" if device == device_tables.AVN else "g-sensor"
    title = device_meanings.TITLES.get(number, "")
    return title if title[1:2].isupper() else f"{title[:1].lower()}{title[1:]}"


def shown(value: Any) -> str:
    """The value as JSON, cut when it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 48 else f"{text[:45]}..."


def kind_of(value: Any) -> str:
    """The sort of JSON value, with its article."""
    return _KINDS.get(type(value), "an object")


def utc(at_ms: int) -> str:
    """The instant for people."""
    moment = instants.local(at_ms, datetime.UTC)
    digits = f"{moment:%Y-%m-%d %H:%M:%S}"
    return f"{digits}.{moment.microsecond // 1000:03d} UTC" if at_ms % 1000 else f"{digits} UTC"


def counted(number: int, noun: str) -> str:
    """`1 sample`, `3 samples`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def with_article(noun: str) -> str:
    """The device type with its article: `an OBD`, `a GPS`."""
    return f"{'an' if noun[:1] in 'AEIOU' else 'a'} {noun}"

"""Bad habits of real devices, one function and one row each: the behaviour, and the platform's interpretation.

Each was seen in a published device program or in the documents' own examples (spec/device-messages 1.2, 3.3, 4, 7, 8,
9); the rule letters come from spec/device-messages. A device has one habit or none.
"""

import datetime
from collections.abc import Callable
from typing import Any, Final

import msgspec

from tripline.simulator.drafts import Draft, Kind
from tripline.simulator.payloads import TYPES
from tripline.wire import topics

SHARED_CLIENT_ID: Final = "tripline-simulated"
_TIMES: Final = ("clt", "stt", "edt", "unpt", "pt", "tm")
_NINE_HOURS_S: Final = 9 * 3_600
_OBD: Final = ("OBD",)
_SPOILED_EVERY: Final = 10
_LOST_EVERY: Final = 5


class Habit(msgspec.Struct, frozen=True):
    """One row. `types`: the types of devices that can have it."""

    does: str
    read: str
    bend: Callable[[Draft], None] = lambda _: None
    types: tuple[str, ...] = TYPES
    client_id: str | None = None
    unplugged: bool = False
    """Its power is cut in the middle of a drive, permanently."""


def _setting(*kinds: Kind, **values: Any) -> Callable[[Draft], None]:
    """Set attributes of the drafts of these kinds; without kinds, of every one."""

    def bend(draft: Draft) -> None:
        if not kinds or draft.kind in kinds:
            for name, value in values.items():
                setattr(draft, name, value)

    return bend


def _numeric_strings(draft: Draft) -> None:
    draft.ty = str(draft.ty)
    for item in draft.items:
        item.update({key: str(value) for key, value in item.items() if isinstance(value, int | float)})


def _times(draft: Draft, form: Callable[[int], int]) -> None:
    keys = (*_TIMES, "tim") if draft.kind is Kind.EVENT else _TIMES
    for item in draft.items:
        item.update({key: form(item[key]) for key in keys if key in item})


def _seconds(draft: Draft) -> None:
    draft.ts = None if draft.ts is None else draft.ts // 1_000
    _times(draft, lambda time_ms: time_ms // 1_000)


def _calendar(draft: Draft) -> None:
    _times(draft, lambda time_ms: int(f"{_utc(time_ms):%Y%m%d%H%M%S}"))


def _nine_hours(draft: Draft) -> None:
    draft.ts = None if draft.ts is None else draft.ts // 1_000 + _NINE_HOURS_S


def _clock_digits(draft: Draft) -> None:
    if draft.ts is not None and draft.kind is not Kind.EVENT:
        draft.ts = int(f"{_utc(draft.ts):%H%M%S}")


def _no_clt(draft: Draft) -> None:
    if draft.kind is Kind.MICROTRIP:
        for item in draft.items:
            item.pop("clt", None)


def _em(draft: Draft, form: Callable[[str], Any]) -> None:
    for item in draft.items:
        if "em" in item:
            item["em"] = form(item["em"])


def _as_gps(draft: Draft) -> None:
    if draft.ty in (3, 4):
        draft.ty = int(draft.ty) - 2


def _old_events(draft: Draft) -> None:
    if draft.kind is Kind.EVENT:
        draft.ty = int(draft.ty) - 81


def _headerless(draft: Draft) -> None:
    if draft.kind is Kind.EVENT:
        draft.topic = topics.ATTRIBUTES if int(draft.ty) >= 104 else topics.TELEMETRY
        draft.has_header, draft.packed = False, False


def _other_names(draft: Draft) -> None:
    aliases = {"cdit": "cdlt", "dclat": "dCWlat", "dclon": "dCWlon", "plat": "pclat", "plon": "pclon", "gan": "gag"}
    if draft.ty == 102:
        aliases["tid"] = "tripId"
    for item in draft.items:
        for old, new in aliases.items():
            if old in item:
                item[new] = item.pop(old)


def _extra_header(draft: Draft) -> None:
    draft.extra["sid"] = "sid"
    if draft.kind is Kind.MICROTRIP:
        draft.extra["ap"] = 0
    if "try" in draft.items[0]:
        draft.extra["try"] = draft.items[0]["try"]


def _array_of_one(draft: Draft) -> None:
    if draft.kind is Kind.MICROTRIP and not isinstance(draft.content, list):
        draft.content = [draft.content]


def _impossible_places(draft: Draft) -> None:
    if draft.number % _LOST_EVERY == 0:
        for item in draft.items:
            if "lat" in item:
                item.update(lat=195.5, lon=-270.25)


def _trailing_comma(draft: Draft) -> None:
    spoiled = draft.kind is Kind.MICROTRIP and draft.number % _SPOILED_EVERY == _SPOILED_EVERY - 1
    draft.spoiled, draft.packed = spoiled, draft.packed and not spoiled


def _utc(time_ms: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(time_ms / 1_000, datetime.UTC)


HABITS: Final = {
    "numeric-strings": Habit("every number is a text, `ty` too", "as numbers (V1, K1)", _numeric_strings),
    "seconds": Habit("`ts`, `clt`, `stt`, `edt`, `unpt`, ... are seconds", "multiplied by 1,000 (T1)", _seconds),
    "calendar": Habit("`clt`, `stt`, `edt`, ... are digits YYYYMMDDhhmmss", "as UTC (T1)", _calendar),
    "nine-hours-ahead": Habit("`ts` is seconds and local time in Korea", "no `ts` (T2)", _nine_hours),
    "clock-digits": Habit("`ts` of microtrips and trips is hhmmss", "no `ts` (T1)", _clock_digits),
    "far-future": Habit(
        "`ts` of microtrips and trips is 9999999999999",
        "no `ts` (T2)",
        _setting(Kind.MICROTRIP, Kind.TRIP, ts=9_999_999_999_999)
    ),
    "no-clt": Habit("samples have no `clt`", "the time is `ts`; an aggregate is one usable sample (T3)", _no_clt),
    "no-ts": Habit("messages have no `ts`", "`clt` is the time, else the time of receipt (T3, T4)", _setting(ts=None)),
    "em-digits": Habit(
        "`em` is an integer that has the hexadecimal digits, where it can",
        "its digits are hexadecimal (E1)",
        lambda draft: _em(draft, lambda text: int(text) if text.isdigit() else text),
        _OBD
    ),
    "em-zero": Habit(
        "`em` is always the integer 0", "no manoeuvres (E1)", lambda draft: _em(draft, lambda _: 0), _OBD
    ),
    "em-prefix": Habit(
        "`em` begins with 0x", "the prefix is dropped (E1)", lambda draft: _em(draft, lambda text: f"0x{text}"), _OBD
    ),
    "obd-as-gps": Habit("OBD trips and microtrips have `ty` 1 and 2", "with the OBD tables (K4)", _as_gps, _OBD),
    "old-events": Habit("events 101 to 107 have `ty` 20 to 26", "as 101 to 107 (K3)", _old_events, ("OBD", "ADAS")),
    "headerless": Habit(
        "events come without header on the topics telemetry and attributes", "by their keys (K8)", _headerless, _OBD
    ),
    "other-names": Habit(
        "`cdlt`, `dCWlat`, `tripId`, `pclat`, `gag` in place of the documented keys",
        "as the documented keys (D5, D12, D13, D24, I5)",
        _other_names,
        ("OBD", "DTG")
    ),
    "extra-header": Habit("the header has `sid`, `ap`, `try`", "ignored; an item's `try` first (D25)", _extra_header),
    "array-of-one": Habit("a single sample is an array of one", "like the object (A2)", _array_of_one),
    "impossible-places": Habit(
        f"every {_LOST_EVERY}th message lies off the globe", "kept without position (P1)", _impossible_places
    ),
    "trailing-comma": Habit(
        f"every {_SPOILED_EVERY}th message, when a microtrip, has a comma too many",
        "acknowledged, rejected and logged as not_json (C5, D23)",
        _trailing_comma
    ),
    "packed-elsewhere": Habit(
        "MessagePack comes on the topic of JSON", "by its first byte (M4)", _setting(packed=True, topic=topics.TRE)
    ),
    "packed-in-digits": Habit(
        "MessagePack is sent as hexadecimal digits",
        "the digits are read (M2)",
        _setting(packed=True, hexadecimal=True, topic=topics.TRE_MSGPACK)
    ),
    "retained": Habit("every message has the retained flag", "the flag is ignored (C6)", _setting(retain=True)),
    "qos-0": Habit("microtrips are sent at QoS 0", "kept, never acknowledged (C1)", _setting(Kind.MICROTRIP, qos=0)),
    "twice": Habit("every message is sent twice", "the second is a redelivery: kept once (O3, I3)", _setting(copies=2)),
    "shared-client-id": Habit(
        "all devices have one client identifier", "distinguished by their user names (C3)", client_id=SHARED_CLIENT_ID
    ),
    "unplugged": Habit(
        "the plug is pulled in the middle of a drive, for good",
        "the trip stays open until 30 minutes of silence end it (I1)",
        unplugged=True
    ),
}  # fmt: skip
"""Name -> habit."""

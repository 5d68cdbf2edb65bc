"""The limits of one road by its tags: by direction, kind of vehicle and time (spec/scoring 4).

The most specific limit counts: a condition that applies, then the kind of vehicle, the direction, the road, the zone,
the place, and last the class. A kind with a limit of its own obeys a condition for all vehicles only where that is
lower.

Of conditional limits (`maxspeed:conditional`) those for some days, times or vehicles count. Other conditions are left
out: rain, weight, holidays, children, the sun. A position does not show if they are met, and a wrong limit is worse
than none.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tripline.roads import countries, values
from tripline.roads.classes import Tags
from tripline.roads.values import Limit
from tripline.scoring.quality import LimitSource
from tripline.scoring.rules import Column

DIRECTIONS: Final = ("forward", "backward")
_KINDS: Final = {Column.CAR: "", Column.BUS: "bus", Column.TRUCK: "hgv"}
"""Tag part for the vehicles of a column; empty: no tags of their own."""
_ZONES: Final = ("zone:maxspeed", "maxspeed:type", "source:maxspeed", "zone:traffic")

ALWAYS: Final = 0b1111111
DAY_MIN: Final = 1_440
MOST: Final = 16
"""Most conditions that are read from one tag; no road has as many."""
VEHICLES: Final = ("hgv", "bus")
_DAYS: Final = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")
_RULE: Final = re.compile(r"([^@;]+)@\s*(?:\(([^)]*)\)|([^;(]+))")
_TIME: Final = re.compile(r"(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})", re.ASCII)
_DAY: Final = re.compile(rf"({'|'.join(_DAYS)})(?:\s*-\s*({'|'.join(_DAYS)}))?")
_SPAN: Final = re.compile(rf"{_DAY.pattern}|{_TIME.pattern}|[\s,]+", re.ASCII)


class Timed(NamedTuple):
    """A limit that applies on some days from one minute to another."""

    limit: values.Limit
    days: int = ALWAYS
    """Bit 0 is Monday."""
    begin_min: int = 0
    end_min: int = DAY_MIN
    """If not after `begin_min`: on the next day."""
    vehicle: str = ""
    """`hgv` or `bus`; empty: any."""

    def holds(self, weekday: int, minute: int) -> bool:
        """True if it applies at this time; weekday 0 is Monday."""
        if self.begin_min < self.end_min:
            return bool(self.days >> weekday & 1) and self.begin_min <= minute < self.end_min
        # Over midnight: a period that begins on a day ends on the next.
        began = self.days >> weekday & 1 if minute >= self.begin_min else self.days >> (weekday - 1) % 7 & 1
        return bool(began) and (minute >= self.begin_min or minute < self.end_min)


class Lane(NamedTuple):
    """The limits of one direction for one kind of vehicle."""

    limit: Limit | None
    """At any time; None: unknown."""
    timed: tuple[Timed, ...] = ()
    """At some times, in place of that; the last one that applies counts."""


RoadLimits = tuple[Lane, ...]
"""Six lanes: forward for car, bus and truck, then backward; `at` is their order."""

Place = TypeVar("Place", int, NDArray[np.int64])


def at(direction: Place, column: Place) -> Place:
    """Index of a direction (0 forward, 1 backward) and a `Column` in `RoadLimits`; arrays element by element."""
    return direction * len(_KINDS) + column


def of_road(tags: Tags, road_class: str, *, country: str, built_up: bool) -> RoadLimits:
    """The limits of a road.

    `country`: ISO 3166-1 alpha-2; empty: unknown. `built_up`: true in a mapped built-up area.
    """
    default = _default(tags, road_class, country, built_up=built_up)
    return tuple(_lane(tags, direction, kind, default) for direction in DIRECTIONS for kind in _KINDS.values())


def _lane(tags: Tags, direction: str, kind: str, default: Limit | None) -> Lane:
    own = _plain(tags, direction, kind) if kind else None
    limit = own or _plain(tags, direction, "") or _implied(tags, direction) or default
    return Lane(limit, _timed(tags, direction, kind, own))


def _keys(direction: str, kind: str) -> tuple[str, str]:
    """The keys with the limit of a kind of vehicle, or of any; the most specific first."""
    base = f"maxspeed:{kind}" if kind else "maxspeed"
    return f"{base}:{direction}", base


def _plain(tags: Tags, direction: str, kind: str) -> Limit | None:
    known = (values.limit(tags.get(key, "")) for key in _keys(direction, kind))
    return next((each for each in known if each), None)


def _implied(tags: Tags, direction: str) -> Limit | None:
    known = (values.zone(tags.get(each, "")) for key in _ZONES for each in (f"{key}:{direction}", key))
    return next((each for each in known if each), None)


def _timed(tags: Tags, direction: str, kind: str, own: Limit | None) -> tuple[Timed, ...]:
    """The conditions, the most specific last. `own`: the limit of the kind; a condition for all does not raise it."""
    keys = [key for each in dict.fromkeys(("", kind)) for key in reversed(_keys(direction, each))]
    found = [
        each._replace(vehicle=each.vehicle or (kind if f":{kind}" in key else ""))
        for key in keys
        for each in timed(tags.get(f"{key}:conditional", ""))
        if each.vehicle in ("", kind)
    ]
    own = own or next((each.limit for each in found if kind and each == Timed(each.limit, vehicle=kind)), None)
    if own is None:
        return tuple(found)
    return tuple(each if each.vehicle else each._replace(limit=values.lower(each.limit, own)) for each in found)


def _default(tags: Tags, road_class: str, country: str, *, built_up: bool) -> Limit | None:
    motorroad = tags.get("motorroad") == "yes"
    kmh = countries.of_class(country, road_class, motorroad=motorroad, built_up=built_up)
    if kmh is None:
        return None
    by_place = built_up and road_class != "motorway" and not motorroad
    return Limit(kmh, LimitSource.IMPLIED if by_place else LimitSource.ROAD_CLASS)


def timed(text: str) -> list[Timed]:
    """The supported conditions of a value; the last one that applies counts."""
    found: list[Timed] = []
    if len(text) > values.MOST_TEXT:
        return found
    for rule in _RULE.finditer(text):
        limit = values.limit(rule[1].strip())
        if limit is not None:
            found.extend(_conditions(limit, (rule[2] or rule[3] or "").strip()))
    return found[:MOST]


def _conditions(limit: values.Limit, text: str) -> Iterator[Timed]:
    """Parse `hgv`, `Mo-Fr 07:00-17:00; Sa`, or both: `hgv AND 22:00-06:00`."""
    parts = [part.strip() for part in text.split(" AND ")]
    vehicles = [part for part in parts if part in VEHICLES]
    rest = [part for part in parts if part not in VEHICLES]
    if len(vehicles) > 1 or len(rest) > 1:
        return
    vehicle = vehicles[0] if vehicles else ""
    if not rest:
        yield Timed(limit, vehicle=vehicle)
        return
    for part in rest[0].split(";"):
        for days, begin, end in _hours(part.strip()):
            yield Timed(limit, days, begin, end, vehicle)


def _hours(text: str) -> list[tuple[int, int, int]]:
    """Days, begin and end of `Mo-Fr 07:00-17:00,19:00-20:00, Sa 10:00-12:00`; empty for any other text."""
    spans: list[tuple[int, list[tuple[int, int]]]] = [(0, [])]
    at = 0
    while at < len(text):
        found = _SPAN.match(text, at)
        if found is None:
            return []
        at = found.end()
        if found[1]:
            if spans[-1][1]:
                # A day after a time begins the next rule.
                spans.append((0, []))
            days, times = spans[-1]
            spans[-1] = (days | _run(_DAYS.index(found[1]), _DAYS.index(found[2] or found[1])), times)
        elif found[3]:
            begin, end = int(found[3]) * 60 + int(found[4]), int(found[5]) * 60 + int(found[6])
            if begin >= DAY_MIN or end > 2 * DAY_MIN:
                return []
            spans[-1][1].append((begin, end if end <= DAY_MIN else end - DAY_MIN))
    return [(days or ALWAYS, *time) for days, times in spans if days or times for time in times or [(0, DAY_MIN)]]


def _run(first: int, last: int) -> int:
    bits = 0
    while True:
        bits |= 1 << first
        if first == last:
            return bits
        first = (first + 1) % 7

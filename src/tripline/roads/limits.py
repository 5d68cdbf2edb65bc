"""The limits of one road by its tags: by direction, kind of vehicle and time (spec/scoring 4).

The most specific limit counts: a condition that applies, then the kind of vehicle, the direction, the road, the zone,
the place, and last the class. A kind with a limit of its own obeys a condition for all vehicles only where that is
lower.

Not here: one value (`values.py`), one condition (`conditions.py`), which direction was driven (`matcher.py`).
"""

from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tripline.roads import conditions, countries, values
from tripline.roads.classes import Tags
from tripline.roads.conditions import Timed
from tripline.roads.values import Limit
from tripline.scoring.quality import LimitSource
from tripline.scoring.rules import Column

DIRECTIONS: Final = ("forward", "backward")
_KINDS: Final = {Column.CAR: "", Column.BUS: "bus", Column.TRUCK: "hgv"}
"""Tag part for the vehicles of a column; empty: no tags of their own."""
_ZONES: Final = ("zone:maxspeed", "maxspeed:type", "source:maxspeed", "zone:traffic")


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
        for each in conditions.timed(tags.get(f"{key}:conditional", ""))
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

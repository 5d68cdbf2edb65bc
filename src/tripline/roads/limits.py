"""The limits of one road by its tags: by direction, kind of vehicle and time (spec/scoring 4).

What is nearer to the vehicle counts first: a condition that holds, then what is said of its kind, then of its
direction, then of the road, then of its zone, then of its place, then of its class.

Not here: one value (`values.py`), one condition (`conditions.py`), which direction was driven (`matcher.py`).
"""

from collections.abc import Iterator
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
_KINDS: Final = {Column.CAR: (), Column.BUS: ("bus",), Column.TRUCK: ("hgv",)}
"""What tags call the vehicles of a column, the nearest first."""
_ZONES: Final = ("zone:maxspeed", "maxspeed:type", "source:maxspeed", "zone:traffic")


class Lane(NamedTuple):
    """The limits of one direction for one kind of vehicle."""

    limit: Limit | None
    """At any time; None: unknown."""
    timed: tuple[Timed, ...] = ()
    """At some times, in place of that; the last that holds counts."""


RoadLimits = tuple[Lane, ...]
"""Six: forward for car, bus and truck, then backward; `at` is their order."""


Place = TypeVar("Place", int, NDArray[np.int64])


def at(direction: Place, column: Place) -> Place:
    """Where a direction (0 forward, 1 backward) and a `Column` stand in `RoadLimits`; of arrays, each."""
    return direction * len(_KINDS) + column


def of_road(tags: Tags, road_class: str, *, country: str, built_up: bool) -> RoadLimits:
    """The limits of a road.

    `country`: where it lies, ISO 3166-1 alpha-2; empty: unknown. `built_up`: it lies in a built-up area that is mapped.
    """
    otherwise = _implied(tags) or _default(tags, road_class, country, built_up=built_up)
    return tuple(
        Lane(_plain(tags, direction, kinds) or otherwise, _timed(tags, direction, kinds))
        for direction in DIRECTIONS
        for kinds in _KINDS.values()
    )


def _keys(direction: str, kinds: tuple[str, ...]) -> Iterator[str]:
    """The keys that may say it, the nearest first."""
    for kind in (*kinds, ""):
        base = f"maxspeed:{kind}" if kind else "maxspeed"
        yield f"{base}:{direction}"
        yield base


def _plain(tags: Tags, direction: str, kinds: tuple[str, ...]) -> Limit | None:
    for key in _keys(direction, kinds):
        if key in tags and (known := values.limit(tags[key])) is not None:
            return known
    return None


def _timed(tags: Tags, direction: str, kinds: tuple[str, ...]) -> tuple[Timed, ...]:
    found: list[Timed] = []
    for key in reversed([f"{each}:conditional" for each in _keys(direction, kinds)]):
        if key in tags:
            found += [each for each in conditions.timed(tags[key]) if each.vehicle in ("", *kinds)]
    return tuple(found)


def _implied(tags: Tags) -> Limit | None:
    for key in _ZONES:
        if key in tags and (known := values.zone(tags[key])) is not None:
            return known
    return None


def _default(tags: Tags, road_class: str, country: str, *, built_up: bool) -> Limit | None:
    motorroad = tags.get("motorroad") == "yes"
    kmh = countries.of_class(country, road_class, motorroad=motorroad, built_up=built_up)
    if kmh is None:
        return None
    by_place = built_up and road_class != "motorway" and not motorroad
    return Limit(kmh, LimitSource.IMPLIED if by_place else LimitSource.ROAD_CLASS)

"""One value of a limit tag: a number, miles an hour, `none`, `walk`, or a name such as `KR:urban`."""

import re
from typing import Final, NamedTuple

from tripline.roads import countries
from tripline.scoring.quality import LimitSource

LEAST_KMH: Final = 1.0
MOST_KMH: Final = 200.0
"""Numbers beyond these are a mapper's mistake and ignored."""
MOST_TEXT: Final = 255
"""Longest value that OpenStreetMap allows, characters. A longer one is ignored."""
_NUMBER: Final = re.compile(r"(\d{1,3}(?:\.\d{1,2})?) ?(km/h|kmh|kph|mph|knots)?", re.ASCII)
_NAMED: Final = re.compile(r"([A-Z]{2})(?:-[A-Z0-9]{1,3})?:(?:(?:shared_)?zone:?)?([a-z0-9_. ]+)", re.ASCII)
_UNITS: Final = {"km/h": 1.0, "kmh": 1.0, "kph": 1.0, "mph": countries.MPH, "knots": 1.852}


class Limit(NamedTuple):
    """A limit and its source."""

    kmh: float
    """0: none by law."""
    source: LimitSource


def limit(text: str) -> Limit | None:
    """The limit in a value of `maxspeed` and related tags; None: unreadable.

    A number comes from a sign, a name from a zone or a kind of place. Of several numbers the greatest counts.
    """
    if len(text) > MOST_TEXT:
        return None
    known = [each for part in text.split(";") if (each := _one(part.strip())) is not None]
    return max(known, key=_height, default=None)


def lower(one: Limit, other: Limit) -> Limit:
    """The lower of two limits; the first of them where they are equal."""
    return min(one, other, key=_height)


def _height(limit: Limit) -> float:
    return limit.kmh or float("inf")


def zone(text: str) -> Limit | None:
    """The limit in `zone:maxspeed`, `maxspeed:type` and `source:maxspeed`, which is implied."""
    known = limit(text)
    return None if known is None else Limit(known.kmh, LimitSource.IMPLIED)


def _one(text: str) -> Limit | None:
    if text == "none":
        return Limit(countries.NO_LIMIT, LimitSource.TAGGED)
    if text == "walk":
        return Limit(countries.WALK_KMH, LimitSource.TAGGED)
    if (kmh := _number(text)) is not None:
        return Limit(kmh, LimitSource.TAGGED)
    if (name := _NAMED.fullmatch(text)) is None:
        return None
    country, of_what = countries.named(name[1]), name[2]
    kmh = countries.WALK_KMH if of_what == "walk" else countries.of_zone(country, of_what)
    if kmh is None and not (country in countries.MILES and of_what.isdigit()):
        # A bare number is km/h; in countries with miles its unit would be unknown.
        kmh = _number(of_what)
    return None if kmh is None else Limit(kmh, LimitSource.IMPLIED)


def _number(text: str) -> float | None:
    if (found := _NUMBER.fullmatch(text)) is None:
        return None
    kmh = float(found[1]) * _UNITS[found[2] or "km/h"]
    return kmh if LEAST_KMH <= kmh <= MOST_KMH else None

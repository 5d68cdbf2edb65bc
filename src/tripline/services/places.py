"""Words for coordinates: the road and the place where something was.

Not here: which road and place are near enough (`roads/places.py`).
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar

from tripline import cooperative
from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.ports.maps import PlaceName, PlaceNames, Point

AT_ONCE: Final = 128
"""Points named without a pause; they take about 2 ms."""
P = TypeVar("P", bound=tuple[float, float])
"""Latitude and longitude, degrees."""


async def words(
    names: PlaceNames | None, points: Sequence[P | None], *, language: Language, roads: Sequence[str] = ()
) -> list[str | None]:
    """The words for each point, such as "Hauptstrasse, Vaduz"; None if no map names it.

    One call names all the points of a page. `roads`: for each point the road that it is on, empty for the nearest one.
    """
    found = await asyncio.to_thread(_found, names, [each for each in points if each is not None], language)

    def worded(point: P | None, road: str) -> str | None:
        name = None if point is None else found.get(point)
        return None if name is None else _text(name._replace(road=road or name.road), language)

    return [worded(point, road) for point, road in zip(points, roads or [""] * len(points), strict=True)]


def named(names: PlaceNames | None, points: Iterable[P], *, language: Language) -> Mapping[P, str]:
    """Return the words for those points that a map names. Takes milliseconds for a page; for any thread."""
    texts = ((point, _text(name, language)) for point, name in _found(names, points, language).items())
    return {point: text for point, text in texts if text is not None}


async def shown(
    names: PlaceNames | None, points: Sequence[P | None], *, language: Language, roads: Sequence[str]
) -> list[str | None]:
    """As `words`, but a point that no map names has its road, else its coordinates."""
    found = await words(names, points, language=language, roads=roads)
    return [text(point, name or road) for point, name, road in zip(points, found, roads, strict=True)]


def text(point: tuple[float, float] | None, name: str | None = None) -> str | None:
    """Return the name of a point, else its coordinates; None without a point."""
    if point is None:
        return None
    return name or "{:.4f}, {:.4f}".format(*point)


def _found(names: PlaceNames | None, points: Iterable[P], language: Language) -> dict[P, PlaceName]:
    known = list(dict.fromkeys(points))
    found: dict[P, PlaceName] = {}
    if names is None:
        return found
    for begin in cooperative.each(range(0, len(known), AT_ONCE)):
        some = known[begin : begin + AT_ONCE]
        found.update(zip(some, names.named([Point(*each) for each in some], language=language.value), strict=True))
    return found


def _text(name: PlaceName, language: Language) -> str | None:
    if name.road and name.place:
        return catalogue.text("place.road_and_place", language, road=name.road, place=name.place)
    return name.road or name.place or None

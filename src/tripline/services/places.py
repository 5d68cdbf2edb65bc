"""Words for coordinates: the road and the place where something was.

Not here: which road and place are near enough (`roads/places.py`).
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.ports.maps import PlaceName, PlaceNames, Point

P = TypeVar("P", bound=tuple[float, float])
"""Latitude and longitude, degrees."""


async def words(names: PlaceNames | None, points: Sequence[P | None], *, language: Language) -> list[str | None]:
    """The words for each point, such as "Hauptstrasse, Vaduz"; None if no map names it.

    One call names all the points of a page.
    """
    texts = await asyncio.to_thread(named, names, [each for each in points if each is not None], language=language)
    return [None if point is None else texts.get(point) for point in points]


def named(names: PlaceNames | None, points: Iterable[P], *, language: Language) -> Mapping[P, str]:
    """Return the words for those points that a map names. Takes milliseconds for a page; for any thread."""
    known = list(dict.fromkeys(points))
    if names is None or not known:
        return {}
    found = names.named([Point(*each) for each in known], language=language.value)
    texts = ((point, _text(name, language)) for point, name in zip(known, found, strict=True))
    return {point: text for point, text in texts if text is not None}


def coordinates(point: tuple[float, float]) -> str:
    """Return the text for a point without words."""
    return "{:.4f}, {:.4f}".format(*point)


def _text(name: PlaceName, language: Language) -> str | None:
    if name.road and name.place:
        return catalogue.text("place.road_and_place", language, road=name.road, place=name.place)
    return name.road or name.place or None

"""Words for coordinates: the road and the place where something was.

Not here: which road and place are near enough (`roads/places.py`).
"""

import asyncio
from collections.abc import Sequence

from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.ports.maps import PlaceName, PlaceNames, Point


async def words(names: PlaceNames | None, points: Sequence[Point | None], *, language: Language) -> list[str | None]:
    """The words for each point, such as "Hauptstrasse, Vaduz"; None if no map names it.

    One call names all the points of a page.
    """
    known = list(dict.fromkeys(point for point in points if point is not None))
    if names is None or not known:
        return [None] * len(points)
    found = await asyncio.to_thread(names.named, known, language=language.value)
    texts = {point: _text(name, language) for point, name in zip(known, found, strict=True)}
    return [None if point is None else texts[point] for point in points]


def _text(name: PlaceName, language: Language) -> str | None:
    if name.road and name.place:
        return catalogue.text("place.road_and_place", language, road=name.road, place=name.place)
    return name.road or name.place or None

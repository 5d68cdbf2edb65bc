"""Layers of the base map, and the things in them.

Not here: which thing is in which (`features.py`).
"""

from enum import IntEnum
from typing import Final, NamedTuple

Told = dict[str, str | int]
"""What is told of a thing, by name."""

LARGEST_ZOOM: Final = 14
"""Closer looks are drawn from tiles of this zoom."""
MOST_ZOOM: Final = 22
"""Of tiles from elsewhere."""
ATTRIBUTION: Final = "© OpenStreetMap contributors"
"""Whom to name beside what is made of their data."""


class Layer(IntEnum):
    """What tiles are divided into, in the order in which it is drawn."""

    LANDUSE = 0
    WATER = 1
    BOUNDARY = 2
    BUILDING = 3
    RAIL = 4
    ROAD = 5
    LIMIT = 6
    PLACE = 7

    @property
    def label(self) -> str:
        """What tiles call it."""
        return self.name.lower()


class Feature(NamedTuple):
    """A thing that is shown."""

    layer: Layer
    zoom: int
    """The least at which it is shown."""
    told: Told

"""Layers of the base map, and the features in them."""

from enum import IntEnum
from typing import Final, NamedTuple

Properties = dict[str, str | int]
"""Properties of a feature, by name."""

LARGEST_ZOOM: Final = 14
"""Higher zooms are drawn from tiles of this zoom."""
MOST_ZOOM: Final = 22
"""Largest zoom of tiles from elsewhere."""
ATTRIBUTION: Final = "© OpenStreetMap contributors"
"""Credit required beside maps made from their data."""


class Layer(IntEnum):
    """Layers of the tiles, in drawing order."""

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
        """The layer's name in tiles."""
        return self.name.lower()


class Feature(NamedTuple):
    """A feature on the map."""

    layer: Layer
    zoom: int
    """The least zoom that shows it."""
    properties: Properties

"""Roads and places by imported maps (`ports.maps.PlaceNames`).

Maps that cannot be read name nothing. Maps imported before tables of places existed name roads only.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tripline.adapters.maps import stamps
from tripline.adapters.maps.open_maps import OpenMap, OpenMaps
from tripline.later import Later
from tripline.ports.maps import PlaceName, Point

if TYPE_CHECKING:
    import numpy as np

    from tripline.adapters.maps import files as map_files
    from tripline.roads import places
    from tripline.roads.places import Places
    from tripline.scoring.drives import Flags, Floats
else:
    # A process that names no places needs none of these.
    np = Later("numpy")
    map_files = Later("tripline.adapters.maps.files")
    places = Later("tripline.roads.places")


class MapPlaceNames:
    """Implements `ports.maps.PlaceNames`. One for each process."""

    def __init__(self, folder: Path, *, maps: OpenMaps | None = None) -> None:
        """`maps`: those that the process has open already."""
        self._folder = folder
        self._maps = maps or OpenMaps(folder)
        self._tables: dict[str, Places | None] = {}
        """By the folder of the map."""

    def named(self, points: Sequence[Point], *, language: str) -> list[PlaceName]:
        names = [PlaceName("", "")] * len(points)
        if not points or not stamps.stamp(self._folder):
            return names
        lat, lon = np.array(points, np.float64).T
        road_far, place_far = np.full(lat.size, np.inf), np.full(lat.size, np.inf)
        known = self._maps.now().known
        tables = {each.area.folder: self._table(each) for each in known}
        self._tables = tables
        for each in known:
            near = np.flatnonzero(_within(each, lat, lon))
            if not near.size:
                continue
            found = places.nearest_roads(each.arrays, lat[near], lon[near])
            for at in np.flatnonzero(found.far < road_far[near]).tolist():
                name = each.texts.names[each.arrays.name[found.number[at]]]
                names[near[at]] = names[near[at]]._replace(road=name)
            road_far[near] = np.minimum(road_far[near], found.far)
            if (table := tables[each.area.folder]) is None:
                continue
            found = places.nearest_places(table, lat[near], lon[near])
            for at in np.flatnonzero(found.far < place_far[near]).tolist():
                name = table.name(int(found.number[at]), language)
                names[near[at]] = names[near[at]]._replace(place=name)
            place_far[near] = np.minimum(place_far[near], found.far)
        return names

    def _table(self, of: OpenMap) -> "Places | None":
        """The places of a map. Folders never change, so a table is opened once."""
        if of.area.folder in self._tables:
            return self._tables[of.area.folder]
        try:
            return map_files.opened_places(self._folder / of.area.folder)
        except (OSError, ValueError):
            return None


def _within(of: OpenMap, lat: "Floats", lon: "Floats") -> "Flags":
    west, south, east, north = of.area.bounds
    inside: Flags = (lat >= south) & (lat <= north) & (lon >= west) & (lon <= east)
    return inside

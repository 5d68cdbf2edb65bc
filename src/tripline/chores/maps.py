"""Imported maps: making one from a file, listing and removing them, beside running servers or without one.

Not here: reading the file (`adapters/map_import.py`), where maps lie (`adapters/map_files.py`).
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

from tripline import clock
from tripline.adapters import map_features, map_files, map_import, map_tiles
from tripline.adapters.map_files import Area, LostAreaError
from tripline.roads.index import UNITS, RoadIndex, Texts


def imported(
    folder: Path,
    file: Path,
    *,
    name: str,
    country: str,
    told: Callable[[int], None],
) -> Area:
    """Make a map of the file and put it in place of the former one of this name, if there is one.

    `told`: how many roads and tiles were made so far. `country`: that of roads which lie in none that the file has
    whole. Raises `MapFileError`, `NoAreaError`; what was there stays then.
    """
    with map_files.changing(folder), map_files.new_folder(folder, name) as made:
        others = [area for area in map_files.areas(folder) if area.name != name]
        if len(others) >= map_files.MOST_AREAS:
            raise map_files.NoAreaError(f"There are {len(others)} maps already; remove one first.")
        index, texts = map_import.read(file, scratch=made, told=told).built(otherwise=country)
        bounds = _bounds(index)
        _draw(file, made, index, texts, bounds=bounds, told=told)
        area = Area(
            name=name,
            format=map_files.FORMAT,
            folder=made.name,
            map=map_files.fingerprint(file),
            source=file.name,
            imported_ms=clock.now_ms(),
            roads=index.link.size,
            bounds=bounds,
        )
        return map_files.keep(folder, area, index, texts)


def listed(folder: Path) -> list[Area]:
    """All maps whose description can be read, by name."""
    return map_files.areas(folder)


def lost(folder: Path) -> list[LostAreaError]:
    """Those that cannot be read, by name."""
    return list(map_files.lost(folder))


def removed(folder: Path, name: str) -> None:
    """Forget a map. Raises `NoAreaError`."""
    with map_files.changing(folder):
        map_files.remove(folder, name)


def _draw(
    file: Path,
    made: Path,
    index: RoadIndex,
    texts: Texts,
    *,
    bounds: tuple[float, float, float, float],
    told: Callable[[int], None],
) -> None:
    """Make the tiles of the base map."""
    with tempfile.TemporaryFile(dir=made) as opened:
        features = map_features.Features(opened)
        map_features.read(file, features, scratch=made)
        map_features.limits(index, texts, features)
        map_tiles.write(
            features.told(), made / map_files.TILES, bounds=bounds, told=lambda count: told(index.link.size + count)
        )


def _bounds(index: RoadIndex) -> tuple[float, float, float, float]:
    least_lat, most_lat, least_lon, most_lon = (
        float(each) / UNITS for each in (index.lat.min(), index.lat.max(), index.lon.min(), index.lon.max())
    )
    return least_lat, most_lat, least_lon, most_lon

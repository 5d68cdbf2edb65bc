"""Reads a map file (`.osm.pbf`) with pyosmium: its roads, countries and built-up areas.

libosmium does the reading, in C++. Where the places of nodes wait is up to the file's size: in memory, or for a large
one in a file that goes when we are done. Decision 310 has the figures.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import osmium
from osmium import osm

from tripline.roads import classes
from tripline.roads.areas import Ring
from tripline.roads.builder import Builder

IN_MEMORY_BYTES: Final = 200 << 20
"""Files up to this size keep the places of their nodes in memory: 16 bytes a node, about twice the file."""
MOST_TAGS: Final = 200
"""Tags of a road that are read; none has as many."""
_BUILT_UP: Final = ("residential", "retail", "commercial")
_COUNTRY: Final = ("ISO3166-1:alpha2", "ISO3166-1")
_PBF: Final = b"OSMHeader"


class MapFileError(Exception):
    """The file is no map that can be used; the text is the one line to show."""


class UnreadFileError(MapFileError):
    """What is in the file was not found out; another try may do better."""


def read(file: Path, *, scratch: Path, told: Callable[[int], None]) -> Builder:
    """Its roads and areas. `scratch`: a folder for what does not fit; `told`: how many roads were read so far.

    Raises `MapFileError`.
    """
    look(file)
    builder = Builder()
    try:
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            for thing in _things(file, Path(folder)):
                if thing.is_way():
                    _take_road(builder, thing)
                    told(builder.roads)
                elif thing.is_area():
                    _take_area(builder, thing)
    except (RuntimeError, osmium.InvalidLocationError) as error:
        raise MapFileError(f"{file} is damaged or cut off: {error}.") from error
    if not builder.roads:
        raise MapFileError(f"{file} has no roads.")
    return builder


def look(file: Path) -> None:
    """See whether it may be a map file, before anything is read of it. Raises `MapFileError`."""
    try:
        with file.open("rb") as opened:
            head = opened.read(64)
    except OSError as error:
        raise UnreadFileError(f"{file} cannot be read: {error.strerror}.") from error
    if not head:
        raise MapFileError(f"{file} is empty.")
    if _PBF not in head:
        raise MapFileError(f"{file} is no OpenStreetMap file in PBF form (.osm.pbf).")


def storage(file: Path, scratch: Path) -> str:
    """Where the places of the file's nodes wait; `scratch`: a folder of their own."""
    return "flex_mem" if file.stat().st_size <= IN_MEMORY_BYTES else f"sparse_file_array,{scratch / 'nodes'}"


def _things(file: Path, scratch: Path) -> Iterator[Any]:
    """Roads, and the areas that count."""
    areas = osmium.filter.KeyFilter("landuse", "boundary")
    things = (
        osmium.FileProcessor(osmium.io.File(str(file), "pbf")).with_locations(storage(file, scratch)).with_areas(areas)
    )
    # Before areas are made nothing but ways and relations gets as far as Python.
    return iter(
        things.with_filter(osmium.filter.EntityFilter(osm.WAY | osm.AREA)).with_filter(
            osmium.filter.KeyFilter("highway", "landuse", "boundary")
        )
    )


def _take_road(builder: Builder, way: Any) -> None:
    # Most ways are passed over, by their tags as they lie in the file.
    if classes.class_of(way.tags) is None:
        return
    tags = dict(zip(range(MOST_TAGS), way.tags, strict=False)).values()
    known = {tag.k: tag.v for tag in tags}
    line: list[tuple[int, int, int]] = []
    for node in way.nodes:
        place = node.location
        if place.valid():
            line.append((node.ref, place.y, place.x))
            continue
        # The extract lacks this node: the road goes on behind it as another one.
        if len(line) > 1:
            builder.road(way.id, known, line)
        line = []
    if len(line) > 1:
        builder.road(way.id, known, line)


def _take_area(builder: Builder, area: Any) -> None:
    if area.tags.get("landuse") in _BUILT_UP:
        builder.built_up(list(_rings(area)))
    elif area.tags.get("admin_level") == "2":
        code = next((area.tags[key] for key in _COUNTRY if key in area.tags), None)
        if code:
            builder.country(code, list(_rings(area)))


def _rings(area: Any) -> Iterator[Ring]:
    for outer in area.outer_rings():
        yield _ring(outer)
        for inner in area.inner_rings(outer):
            yield _ring(inner)


def _ring(nodes: Any) -> Ring:
    places = np.array([(node.location.y, node.location.x) for node in nodes], np.int32)
    return Ring(places[:, 0], places[:, 1])

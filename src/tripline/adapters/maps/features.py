"""Reads the things that the base map shows from a map file, and keeps them on disk until they are cut into tiles.

On disk a thing is its shape in the plane of tiles (Web Mercator, 0..1 from the north-west corner of the world) and its
tags. In memory it is its layer, its least zoom, its bounds and its place in that file.
"""

import contextlib
import functools
import mmap
import tempfile
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias

import msgspec
import numpy as np
import osmium
import shapely
from numpy.typing import NDArray
from osmium import osm

from tripline.adapters.maps import osm_file
from tripline.adapters.maps.osm_file import MapFileError
from tripline.basemap import features
from tripline.basemap.layers import Feature, Properties
from tripline.roads.index import UNITS, RoadIndex, Texts
from tripline.roads.limits import at
from tripline.scoring.drives import Floats, Ints
from tripline.scoring.rules import Column

AT_ONCE: Final = 10_000
"""Things whose shapes are in memory while they are read."""
_TOLD: Final = 10_000
"""Size of the cache of decoded tags: many objects have equal ones, and each is read once per tile."""
_EDGE_DEG: Final = 85.0511
"""The tile grid ends at this latitude."""
Shapes: TypeAlias = NDArray[np.object_]


class Features:
    """The objects of one area, in a file."""

    def __init__(self, opened: BinaryIO) -> None:
        """`opened`: for reading and writing, and empty."""
        self._file = opened
        self._ends = array("q", [0])
        self._shape_ends = array("q")
        self._layers, self._zooms = array("b"), array("b")
        self._bounds: list[Floats] = []
        self._waiting: list[tuple[bytes, Feature]] = []

    def take(self, shape: bytes, feature: Feature) -> None:
        """Keep a thing; `shape`: in degrees, as WKB."""
        self._waiting.append((shape, feature))
        if len(self._waiting) >= AT_ONCE:
            self.flush()

    def flush(self) -> None:
        if self._waiting:
            shapes, taken = zip(*self._waiting, strict=True)
            self._waiting = []
            self.take_all(shapely.from_wkb(list(shapes)), taken)

    def take_all(self, shapes: Shapes, taken: Sequence[Feature]) -> None:
        """Keep things whose shapes are in degrees."""
        placed = shapely.transform(shapes, _on_plane)
        self._bounds.append(shapely.bounds(placed))
        parts: list[bytes] = []
        for shape, feature in zip(shapely.to_wkb(placed).tolist(), taken, strict=True):
            parts += (shape, msgspec.json.encode(feature.properties))
            self._layers.append(feature.layer)
            self._zooms.append(feature.zoom)
        ends = self._ends[-1] + np.cumsum([len(each) for each in parts])
        self._shape_ends.extend(ends[::2].tolist())
        self._ends.extend(ends[1::2].tolist())
        self._file.write(b"".join(parts))

    def stored(self) -> "StoredFeatures":
        """All things. Nothing can be added afterwards."""
        self.flush()
        self._file.flush()
        size = self._ends[-1]
        return StoredFeatures(
            mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) if size else b"",
            np.array(self._ends, np.int64),
            np.array(self._shape_ends, np.int64),
            np.array(self._layers, np.int8),
            np.array(self._zooms, np.int8),
            np.concatenate(self._bounds) if self._bounds else np.zeros((0, 4)),
        )


class StoredFeatures(msgspec.Struct, frozen=True):
    """Things on disk."""

    body: Any
    """A buffer."""
    ends: NDArray[np.int64]
    """One more than there are things: where each begins, and where the last ends."""
    shape_ends: NDArray[np.int64]
    layer: NDArray[np.int8]
    zoom: NDArray[np.int8]
    bounds: Floats
    """Of each: west, north, east, south."""

    def shapes(self, things: Ints) -> Shapes:
        """The shapes of some objects, projected onto the plane."""
        shapes: Shapes = shapely.from_wkb(self._parts(self.ends[things], self.shape_ends[things]))
        return shapes

    def properties(self, things: Ints) -> list[Properties]:
        """The tags of each object; read-only."""
        return [_decoded(text) for text in self._parts(self.shape_ends[things], self.ends[things + 1])]

    def _parts(self, begins: Ints, ends: Ints) -> list[bytes]:
        return [self.body[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]


@functools.lru_cache(_TOLD)
def _decoded(text: bytes) -> Properties:
    return msgspec.json.decode(text, type=Properties)


def read(file: Path, into: Features, *, scratch: Path) -> None:
    """Take everything that the base map shows from a map file. `scratch`: a folder for large
    intermediate data. Raises `MapFileError`."""
    try:
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            for thing in osm_file.tagged(file, Path(folder), areas=features.AREA_KEYS, keys=_KEYS):
                _take(thing, into)
    except RuntimeError as error:
        raise MapFileError(f"{file} is damaged or cut off: {error}.") from error


_KEYS: Final = {osm.NODE: features.POINT_KEYS, osm.WAY: features.LINE_KEYS, osm.AREA: features.AREA_KEYS}
_SHAPES: Final = osmium.geom.WKBFactory()


def _take(thing: Any, into: Features) -> None:
    # The tags in their stored form: building a dict would take longer than all lookups.
    tags = thing.tags
    make: Any
    if thing.is_node():
        found, make = features.of_point(tags), _SHAPES.create_point
    elif thing.is_way():
        found, make = features.of_line(tags), _SHAPES.create_linestring
    elif thing.is_area():
        found, make = features.of_area(tags), _SHAPES.create_multipolygon
    else:
        return
    if found is not None:
        # Skip objects with missing parts or an invalid shape.
        with contextlib.suppress(RuntimeError, osmium.InvalidLocationError):
            # As hexadecimal digits shapely would read it in ten times the time.
            into.take(bytes.fromhex(make(thing)), found)


def limits(index: RoadIndex, texts: Texts, into: Features) -> None:
    """Take the limits of the roads of an index, for cars, along each."""
    into.flush()
    lanes = [each[at(0, int(Column.CAR))].limit for each in texts.limits]
    chosen = [
        features.of_limit(limit.kmh, limit.source.name.lower()) if limit is not None and limit.kmh else None
        for limit in lanes
    ]
    shown = np.array([each is not None for each in chosen], np.bool_)[index.limits]
    for first in range(0, index.link.size, AT_ONCE):
        roads = first + np.flatnonzero(shown[first : first + AT_ONCE])
        if not roads.size:
            continue
        begin, end = np.searchsorted(index.road, (first, first + AT_ONCE))
        vertices = begin + np.flatnonzero(shown[index.road[begin:end]])
        places = np.column_stack((index.lon[vertices], index.lat[vertices])) / UNITS
        lines = shapely.linestrings(places, indices=np.unique(index.road[vertices], return_inverse=True)[1])
        into.take_all(lines, [each for number in index.limits[roads].tolist() if (each := chosen[number]) is not None])


def _on_plane(degrees: Floats) -> Floats:
    lat = np.radians(np.clip(degrees[:, 1], -_EDGE_DEG, _EDGE_DEG))
    return np.column_stack((degrees[:, 0] / 360.0 + 0.5, 0.5 - np.arcsinh(np.tan(lat)) / (2.0 * np.pi)))

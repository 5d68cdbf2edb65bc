"""Reads the things that the base map shows from a map file, and keeps them on disk until they are cut into tiles.

On disk a thing is its shape in the plane of tiles (Web Mercator, 0..1 from the north-west corner of the world) and its
tags. In memory it is its layer, its least zoom, its bounds and its place in that file.
"""

import contextlib
import mmap
import tempfile
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias

import msgspec
import numpy as np
import osmium
import shapely
from numpy.typing import NDArray

from tripline.adapters import map_import
from tripline.adapters.map_import import MapFileError
from tripline.basemap import features
from tripline.basemap.layers import Feature, Told
from tripline.roads.index import UNITS, RoadIndex, Texts
from tripline.roads.limits import at
from tripline.scoring.drives import Floats
from tripline.scoring.rules import Column

AT_ONCE: Final = 10_000
"""Things whose shapes are in memory while they are read."""
_EDGE_DEG: Final = 85.0511
"""Beyond this latitude there are no tiles."""
Shapes: TypeAlias = NDArray[np.object_]


class Features:
    """Those of one area, in a file."""

    def __init__(self, opened: BinaryIO) -> None:
        """`opened`: for reading and writing, and empty."""
        self._file = opened
        self._ends = array("q", [0])
        self._shape_ends = array("q")
        self._layers, self._zooms = array("b"), array("b")
        self._bounds: list[Floats] = []
        self._waiting: list[tuple[str, Feature]] = []

    def take(self, shape: str, feature: Feature) -> None:
        """Keep a thing; `shape`: in degrees, as hexadecimal WKB."""
        self._waiting.append((shape, feature))
        if len(self._waiting) >= AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what waits in memory."""
        if self._waiting:
            shapes, taken = zip(*self._waiting, strict=True)
            self._waiting = []
            self.take_all(shapely.from_wkb(list(shapes)), taken)

    def take_all(self, shapes: Shapes, taken: Sequence[Feature]) -> None:
        """Keep things whose shapes are in degrees."""
        placed = shapely.transform(shapes, _on_plane)
        self._bounds.append(shapely.bounds(placed))
        for shape, feature in zip(shapely.to_wkb(placed), taken, strict=True):
            told = msgspec.json.encode(feature.told)
            self._file.write(shape)
            self._file.write(told)
            self._shape_ends.append(self._ends[-1] + len(shape))
            self._ends.append(self._shape_ends[-1] + len(told))
            self._layers.append(feature.layer)
            self._zooms.append(feature.zoom)

    def told(self) -> "Kept":
        """All things. Nothing can be added afterwards."""
        self.flush()
        self._file.flush()
        size = self._ends[-1]
        return Kept(
            mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) if size else b"",
            np.array(self._ends, np.int64),
            np.array(self._shape_ends, np.int64),
            np.array(self._layers, np.int8),
            np.array(self._zooms, np.int8),
            np.concatenate(self._bounds) if self._bounds else np.zeros((0, 4)),
        )


class Kept(msgspec.Struct, frozen=True):
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

    def shape(self, number: int) -> bytes:
        """WKB on the plane."""
        return self.body[self.ends[number] : self.shape_ends[number]]  # type: ignore[no-any-return]

    def told(self, number: int) -> Told:
        """What is told of it."""
        return msgspec.json.decode(self.body[self.shape_ends[number] : self.ends[number + 1]], type=Told)


def read(file: Path, into: Features, *, scratch: Path) -> None:
    """Take everything that the base map shows from a map file. `scratch`: a folder for large
    intermediate data. Raises `MapFileError`."""
    try:
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            for thing in _things(file, Path(folder)):
                _take(thing, into)
    except RuntimeError as error:
        raise MapFileError(f"{file} is damaged or cut off: {error}.") from error


_SHAPES: Final = osmium.geom.WKBFactory()


def _take(thing: Any, into: Features) -> None:
    # As they lie in the file: a dict of them would take longer than everything that is asked of them.
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
        # The extract may lack a part of it, or it is no shape at all.
        with contextlib.suppress(RuntimeError, osmium.InvalidLocationError):
            into.take(make(thing), found)


def limits(index: RoadIndex, texts: Texts, into: Features) -> None:
    """Take the limits of the roads of an index, for cars, along each."""
    into.flush()
    starts = np.searchsorted(index.road, np.arange(index.link.size + 1))
    for first in range(0, index.link.size, AT_ONCE):
        roads = range(first, min(first + AT_ONCE, index.link.size))
        lanes = [texts.limits[index.limits[road]][at(0, int(Column.CAR))] for road in roads]
        known = [(road, lane.limit) for road, lane in zip(roads, lanes, strict=True) if lane.limit is not None]
        told = [(road, limit) for road, limit in known if np.isfinite(limit.kmh)]
        if not told:
            continue
        lines = [
            shapely.LineString(
                np.column_stack(
                    (index.lon[starts[road] : starts[road + 1]], index.lat[starts[road] : starts[road + 1]])
                )
                / UNITS
            )
            for road, _ in told
        ]
        into.take_all(
            np.array(lines, object), [features.of_limit(limit.kmh, limit.source.name.lower()) for _, limit in told]
        )


def _things(file: Path, scratch: Path) -> Iterator[Any]:
    key = osmium.filter.KeyFilter(*features.KEYS)
    things = osmium.FileProcessor(osmium.io.File(str(file), "pbf")).with_locations(map_import.storage(file, scratch))
    return iter(things.with_areas(key).with_filter(key))


def _on_plane(degrees: Floats) -> Floats:
    lat = np.radians(np.clip(degrees[:, 1], -_EDGE_DEG, _EDGE_DEG))
    return np.column_stack((degrees[:, 0] / 360.0 + 0.5, 0.5 - np.arcsinh(np.tan(lat)) / (2.0 * np.pi)))

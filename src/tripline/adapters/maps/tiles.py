"""Cuts the things of the base map into vector tiles, and writes them tile by tile into one PMTiles file.

It holds the tile numbers of one zoom and the shapes of one tile in memory. The message of a tile comes from
mapbox-vector-tile; its own encoder works vertex by vertex, this one on arrays.
"""

import gzip
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import shapely
from mapbox_vector_tile.Mapbox import vector_tile_pb2
from numpy.typing import NDArray
from pmtiles.tile import Compression, TileType, zxy_to_tileid
from pmtiles.writer import Writer

from tripline.adapters.maps.features import Shapes, StoredFeatures
from tripline.basemap.layers import ATTRIBUTION, LARGEST_ZOOM, Layer, Properties
from tripline.domain.maps import Bounds

EXTENT: Final = 4_096
"""Units across a tile."""
BUFFER: Final = 64
"""Units around a tile that it includes, so that lines and outlines do not end at its edge."""
_SMALLEST: Final = 8
"""Units: smaller areas are left out of a tile, except at the largest zoom."""
_COARSE: Final = 4.0
"""How far shapes of a tile may be off, units; at the largest zoom one."""
_GEOMETRIES: Final = {0: 1, 1: 2, 5: 2, 3: 3, 6: 3}
"""Point, line or polygon, as the format numbers them, by shapely's kind of shape."""
KINDS: Final = tuple(_GEOMETRIES)
"""Those kinds of shape that a tile can hold."""
_KINDS: Final = np.arange(8)
_POLYGONS: Final = np.isin(_KINDS, (3, 6))
_DRAWN: Final = np.isin(_KINDS, KINDS)
"""Of each kind of shape, as shapely numbers them."""
Numbers = NDArray[np.int64]

_MOVE: Final = 1 << 3 | 1
_LINE: Final = 2
_CLOSE: Final = 1 << 3 | 7


def write(kept: StoredFeatures, file: Path, *, bounds: Bounds, progress: Callable[[int], None]) -> int:
    """Write the tiles of all zooms and return their number.

    `bounds`: of the area; `progress`: called with the number so far. Without any tile the file is empty.
    """
    count = 0
    with file.open("wb") as opened:
        writer = Writer(opened)
        for zoom in range(LARGEST_ZOOM + 1):
            for tile_id, body in _tiles(kept, zoom):
                writer.write_tile(tile_id, body)
                count += 1
                progress(count)
        if count:
            writer.finalize(_header(bounds), _METADATA)
        opened.flush()
        os.fsync(opened.fileno())
    return count


def _header(bounds: Bounds) -> dict[str, Any]:
    west, south, east, north = (round(each * 10_000_000) for each in bounds)
    return {
        "tile_type": TileType.MVT,
        "tile_compression": Compression.GZIP,
        "min_lat_e7": south,
        "max_lat_e7": north,
        "min_lon_e7": west,
        "max_lon_e7": east,
        "center_zoom": 10,
        "center_lat_e7": (south + north) // 2,
        "center_lon_e7": (west + east) // 2,
    }


_METADATA: Final = {
    "name": "Tripline base map",
    "attribution": ATTRIBUTION,
    "vector_layers": [{"id": layer.label, "fields": {}, "minzoom": 0, "maxzoom": LARGEST_ZOOM} for layer in Layer],
}


def _tiles(kept: StoredFeatures, zoom: int) -> Iterator[tuple[int, bytes]]:
    """Number and body of each tile of a zoom, in ascending order; empty tiles are left out."""
    tiles, things = _touched(kept, zoom)
    edges = np.flatnonzero(np.diff(tiles)) + 1
    groups = np.split(things, edges)
    firsts = tiles[np.concatenate(([0], edges))].tolist() if tiles.size else []
    places = [(each >> 32, each & 0xFFFFFFFF) for each in firsts]
    numbered = [(zxy_to_tileid(zoom, x, y), x, y, group) for (x, y), group in zip(places, groups, strict=False)]
    for tile_id, x, y, group in sorted(numbered, key=lambda each: each[0]):
        body = _tile(kept, zoom, x, y, group)
        if body:
            yield tile_id, gzip.compress(body, mtime=0)


def _touched(kept: StoredFeatures, zoom: int) -> tuple[Numbers, Numbers]:
    """Pairs of tile and thing whose bounds touch, by tile; a tile is `x << 32 | y`."""
    across = 1 << zoom
    west, north, east, south = kept.bounds.T
    shown = kept.zoom <= zoom
    if zoom < LARGEST_ZOOM:
        is_area = np.isin(kept.layer, (Layer.LANDUSE, Layer.WATER))
        size = np.maximum(east - west, south - north) * across * EXTENT
        shown &= ~is_area | (size >= _SMALLEST)
    things = np.flatnonzero(shown)
    reach = BUFFER / EXTENT

    def columns(least: Any, most: Any) -> tuple[Numbers, Numbers]:
        edges = (np.floor(least[things] * across - reach), np.floor(most[things] * across + reach))
        first, last = (np.clip(each, 0, across - 1).astype(np.int64) for each in edges)
        return first, last - first + 1

    (x, wide), (y, high) = columns(west, east), columns(north, south)
    counts = wide * high
    nth = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    high_of = np.repeat(high, counts)
    tiles = ((np.repeat(x, counts) + nth // high_of) << 32) | (np.repeat(y, counts) + nth % high_of)
    order = np.argsort(tiles, kind="stable")
    return tiles[order], np.repeat(things, counts)[order]


def _tile(kept: StoredFeatures, zoom: int, x: int, y: int, things: Numbers) -> bytes:
    """The tile with these things; empty when none of them shows in it."""
    across, edge = 1 << zoom, BUFFER / EXTENT
    shapes = shapely.clip_by_rect(
        kept.shapes(things), (x - edge) / across, (y - edge) / across, (x + 1 + edge) / across, (y + 1 + edge) / across
    )
    here = ~shapely.is_empty(shapes)
    shapes, things = shapes[here], things[here]
    shapes = shapely.transform(shapes, lambda places: (places * across - (x, y)) * EXTENT)
    shapes = shapely.simplify(shapes, 1.0 if zoom == LARGEST_ZOOM else _COARSE, preserve_topology=False)
    shapes = _on_units(shapes)
    kinds = shapely.get_type_id(shapes)
    polygons = _POLYGONS[kinds]
    # With the y axis pointing south, this is the format's clockwise.
    shapes[polygons] = shapely.orient_polygons(shapes[polygons], exterior_cw=False)
    shown = _DRAWN[kinds] & ~shapely.is_empty(shapes)
    shapes, things = shapes[shown], things[shown]
    if not things.size:
        return b""
    layer = kept.layer[things]
    return encoded(
        [
            (Layer(each).label, shapes[layer == each], kept.properties(things[layer == each]))
            for each in np.unique(layer).tolist()
        ],
        extent=EXTENT,
    )


def _on_units(shapes: Shapes) -> Shapes:
    """Shapes with their vertices on whole units, and without outlines that cross themselves; some may be empty."""
    whole: Shapes = shapely.transform(shapes, np.rint)
    wrong = ~shapely.is_valid(whole)
    if wrong.any():
        # Rounding each vertex makes these shapes collapse, or touch or cross themselves; clipping and simplifying can
        # do the same, and rounding to a whole grid then fails. The repair is much slower than the check.
        found = shapes[wrong]
        crossed = ~shapely.is_valid(found)
        found[crossed] = shapely.make_valid(found[crossed])
        whole[wrong] = shapely.set_precision(found, 1.0)
    # After that: of outlines that collapsed it would leave less than an outline has.
    places, owner = shapely.get_coordinates(whole, return_index=True)
    repeated = np.unique(owner[1:][(places[1:] == places[:-1]).all(axis=1) & (owner[1:] == owner[:-1])])
    whole[repeated] = shapely.remove_repeated_points(whole[repeated])
    return whole


def encoded(layers: Sequence[tuple[str, Shapes, Sequence[Properties]]], *, extent: int) -> bytes:
    """A tile of these layers: name, shapes and tags of each. Outlines are wound as the format requires."""
    tile = vector_tile_pb2.tile()
    all_shapes = np.concatenate([shapes for _, shapes, _ in layers])
    drawn = zip(shapely.get_type_id(all_shapes).tolist(), _commands(all_shapes), strict=True)
    for name, _, properties in layers:
        layer = tile.layers.add(name=name, version=2, extent=extent)
        tags = _Tags(layer)
        for each, (kind, commands) in zip(properties, islice(drawn, len(properties)), strict=True):
            layer.features.add(type=_GEOMETRIES[kind], geometry=commands, tags=tags.of(each))
    body: bytes = tile.SerializeToString()
    return body


class _Tags:
    """Names and values of a layer, each written once."""

    def __init__(self, layer: Any) -> None:
        self._layer = layer
        self._keys: dict[str, int] = {}
        self._values: dict[str | int, int] = {}
        self._known: dict[int, list[int]] = {}

    def of(self, properties: Properties) -> list[int]:
        """The numbers of an object's tags, cached by identity: objects often share them, and they live as long as the
        encoder."""
        found = self._known.get(id(properties))
        if found is None:
            found = self._known[id(properties)] = self._numbers(properties)
        return found

    def _numbers(self, properties: Properties) -> list[int]:
        found: list[int] = []
        for key, value in properties.items():
            if key not in self._keys:
                self._keys[key] = len(self._keys)
                self._layer.keys.append(key)
            if value not in self._values:
                self._values[value] = len(self._values)
                kept = self._layer.values.add()
                if isinstance(value, str):
                    kept.string_value = value
                else:
                    kept.int_value = value
            found += (self._keys[key], self._values[value])
        return found


def _commands(shapes: Shapes) -> list[list[int]]:
    parts, owner = shapely.get_parts(shapes, return_index=True)
    filled = shapely.get_type_id(parts) == shapely.GeometryType.POLYGON
    rings, part = shapely.get_rings(parts[filled], return_index=True)
    strings = np.concatenate((parts[~filled], rings))
    closed = np.repeat((False, True), (np.count_nonzero(~filled), rings.size))
    owner = np.concatenate((owner[~filled], owner[filled][part]))
    order = np.argsort(owner, kind="stable")
    strings, closed, owner = strings[order], closed[order], owner[order]

    counts = shapely.get_num_coordinates(strings)
    places = np.rint(shapely.get_coordinates(strings)).astype(np.int64)
    # The close command replaces a ring's last point, which equals its first.
    there = np.ones(len(places), bool)
    there[np.cumsum(counts)[closed] - 1] = False
    places, counts = places[there], counts - closed
    steps = np.diff(places, axis=0, prepend=0)
    firsts = (np.cumsum(counts) - counts)[np.diff(owner, prepend=-1) > 0]
    steps[firsts] = places[firsts]

    # Of each string: move, its first place, draw a line, the other places, close.
    goes_on = counts > 1
    sizes = 1 + 2 * counts + goes_on + closed
    ends = np.cumsum(sizes)
    begins = ends - sizes
    numbers = np.zeros(sizes.sum(), np.int64)
    numbers[begins] = _MOVE
    numbers[begins[goes_on] + 3] = (counts[goes_on] - 1) << 3 | _LINE
    numbers[ends[closed] - 1] = _CLOSE
    numbers[numbers == 0] = ((steps << 1) ^ (steps >> 63)).ravel()
    edges = np.append(0, ends)[np.searchsorted(owner, np.arange(shapes.size + 1))].tolist()
    commands = numbers.tolist()
    return [commands[begin:end] for begin, end in pairwise(edges)]

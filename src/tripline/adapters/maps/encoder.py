"""Encodes one vector tile: shapes in whole units as drawing commands, and their tags.

The message comes from mapbox-vector-tile. Its own encoder works vertex by vertex, this one on arrays.
"""

from collections.abc import Sequence
from itertools import islice, pairwise
from typing import Any, Final

import numpy as np
import shapely
from mapbox_vector_tile.Mapbox import vector_tile_pb2
from numpy.typing import NDArray

from tripline.basemap.layers import Properties

_MOVE: Final = 1 << 3 | 1
_LINE: Final = 2
_CLOSE: Final = 1 << 3 | 7
_KINDS: Final = {0: 1, 1: 2, 5: 2, 3: 3, 6: 3}
"""Point, line or polygon, as the format numbers them, by shapely's kind of shape."""
KINDS: Final = tuple(_KINDS)
"""Those kinds of shape that a tile can hold."""
Shapes = NDArray[np.object_]


def encoded(layers: Sequence[tuple[str, Shapes, Sequence[Properties]]], *, extent: int) -> bytes:
    """A tile of these layers: name, shapes and tags of each. Outlines are wound as the format requires."""
    tile = vector_tile_pb2.tile()
    all_shapes = np.concatenate([shapes for _, shapes, _ in layers])
    drawn = zip(shapely.get_type_id(all_shapes).tolist(), _commands(all_shapes), strict=True)
    for name, _, properties in layers:
        layer = tile.layers.add(name=name, version=2, extent=extent)
        tags = _Tags(layer)
        for each, (kind, commands) in zip(properties, islice(drawn, len(properties)), strict=True):
            layer.features.add(type=_KINDS[kind], geometry=commands, tags=tags.of(each))
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
        encoder.
        """
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
    """The commands that draw each shape."""
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

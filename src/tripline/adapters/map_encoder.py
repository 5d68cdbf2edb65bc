"""Encodes one vector tile: shapes in whole units as drawing commands, and their tags.

The message comes from mapbox-vector-tile. Its own encoder works vertex by vertex, this one on arrays.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import shapely
from mapbox_vector_tile.Mapbox import vector_tile_pb2
from numpy.typing import NDArray

from tripline.basemap.layers import Told

_MOVE: Final = 1 << 3 | 1
_LINE: Final = 2
_CLOSE: Final = 1 << 3 | 7
_KINDS: Final = {0: 1, 1: 2, 5: 2, 3: 3, 6: 3}
"""Point, line or polygon, as the format numbers them, by shapely's kind of shape."""
KINDS: Final = tuple(_KINDS)
"""Those kinds of shape that a tile can hold."""
Shapes = NDArray[np.object_]


def encoded(layers: Sequence[tuple[str, Shapes, Sequence[Told]]], *, extent: int) -> bytes:
    """A tile of these layers: name, shapes and tags of each. Outlines are wound as the format requires."""
    tile = vector_tile_pb2.tile()
    for name, shapes, told in layers:
        layer = tile.layers.add()
        layer.name, layer.version, layer.extent = name, 2, extent
        tags = _Tags(layer)
        for kind, commands, each in zip(shapely.get_type_id(shapes).tolist(), _commands(shapes), told, strict=True):
            feature = layer.features.add()
            feature.type = _KINDS[kind]
            feature.geometry.extend(commands)
            feature.tags.extend(tags.of(each))
    body: bytes = tile.SerializeToString()
    return body


class _Tags:
    """Names and values of a layer, each written once."""

    def __init__(self, layer: Any) -> None:
        self._layer = layer
        self._keys: dict[str, int] = {}
        self._values: dict[str | int, int] = {}

    def of(self, told: Told) -> list[int]:
        found: list[int] = []
        for key, value in told.items():
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
    # A ring ends where it began: the command to close it stands for its last place.
    there = np.ones(len(places), bool)
    there[np.cumsum(counts)[closed] - 1] = False
    places, counts = places[there], counts - closed
    steps = np.diff(places, axis=0, prepend=0)
    firsts = (np.cumsum(counts) - counts)[np.diff(owner, prepend=-1) > 0]
    steps[firsts] = places[firsts]
    numbers = ((steps << 1) ^ (steps >> 63)).ravel().tolist()

    found: list[list[int]] = [[] for _ in shapes]
    at = 0
    for number, count, is_ring in zip(owner.tolist(), counts.tolist(), closed.tolist(), strict=True):
        commands, end = found[number], at + 2 * count
        commands += (_MOVE, *numbers[at : at + 2])
        if count > 1:
            commands += ((count - 1) << 3 | _LINE, *numbers[at + 2 : end])
        if is_ring:
            commands.append(_CLOSE)
        at = end
    return found

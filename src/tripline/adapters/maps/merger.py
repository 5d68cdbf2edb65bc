"""Merges the vector tiles of several areas into one, layer by layer, without duplicates.

Overlapping areas clip and simplify a thing in the same way, so it has the same bytes in both tiles.
"""

from collections.abc import Sequence
from typing import Any

from google.protobuf.message import DecodeError
from mapbox_vector_tile.Mapbox import vector_tile_pb2


def merged(bodies: Sequence[bytes]) -> bytes:
    """The merged tile; bodies that are not vector tiles are ignored."""
    tile = vector_tile_pb2.tile()
    layers: dict[str, _Layer] = {}
    for body in bodies:
        try:
            one = vector_tile_pb2.tile.FromString(body)
        except DecodeError:
            continue
        for layer in one.layers:
            if layer.name not in layers:
                layers[layer.name] = _Layer(tile.layers.add(), layer)
            layers[layer.name].take(layer)
    made: bytes = tile.SerializeToString()
    return made


class _Layer:
    def __init__(self, layer: Any, like: Any) -> None:
        self._layer = layer
        layer.name, layer.version, layer.extent = like.name, like.version, like.extent
        self._keys: dict[str, int] = {}
        self._values: dict[bytes, int] = {}
        self._taken: set[tuple[int, tuple[int, ...], tuple[int, ...]]] = set()

    def take(self, layer: Any) -> None:
        """Add the features that the merged layer lacks."""
        keys = [self._numbered(self._keys, key, self._layer.keys, key) for key in layer.keys]
        values = [
            self._numbered(self._values, value.SerializeToString(), self._layer.values, value) for value in layer.values
        ]
        for feature in layer.features:
            tags = list(feature.tags)
            tags[::2] = [keys[at] for at in tags[::2]]
            tags[1::2] = [values[at] for at in tags[1::2]]
            one = (feature.type, tuple(feature.geometry), tuple(tags))
            if one not in self._taken:
                self._taken.add(one)
                added = self._layer.features.add()
                added.type = feature.type
                added.geometry.extend(feature.geometry)
                added.tags.extend(tags)

    @staticmethod
    def _numbered(known: dict[Any, int], key: Any, there: Any, value: Any) -> int:
        if key not in known:
            known[key] = len(known)
            there.append(value)  # a message is copied
        return known[key]

"""Small PMTiles files, made from nothing."""

import gzip
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mapbox_vector_tile
from pmtiles.tile import Compression, TileType, deserialize_header, serialize_header, zxy_to_tileid
from pmtiles.writer import Writer
from shapely.geometry import Point

Place = tuple[int, int, int]
"""Zoom, column, row."""
WORLD = (-180.0, -85.0, 180.0, 85.0)


def tile(*names: str, layer: str = "place") -> bytes:
    """A vector tile with a point of each name."""
    features = [{"geometry": Point(number, 7), "properties": {"name": name}} for number, name in enumerate(names)]
    made: bytes = mapbox_vector_tile.encode([{"name": layer, "features": features}])
    return made


def names(body: bytes) -> list[str]:
    """The names of a tile's points."""
    layers = mapbox_vector_tile.decode(body)
    return [each["properties"]["name"] for layer in layers.values() for each in layer["features"]]


def written(
    file: Path,
    tiles: Mapping[Place, bytes],
    *,
    packed: bool = True,
    zooms: tuple[int, int] = (0, 14),
    bounds: tuple[float, float, float, float] = WORLD,
    metadata: Any = None,
    **header: Any,
) -> Path:
    """A file of these tiles. `header`: what else it says of itself, true or not."""
    made = io.BytesIO()
    writer = Writer(made)
    for place in sorted(tiles, key=lambda each: zxy_to_tileid(*each)):
        writer.write_tile(zxy_to_tileid(*place), gzip.compress(tiles[place], mtime=0) if packed else tiles[place])
    edges = dict(zip(("min_lon_e7", "min_lat_e7", "max_lon_e7", "max_lat_e7"), bounds, strict=True))
    writer.finalize(
        {
            "tile_type": TileType.MVT,
            "tile_compression": Compression.GZIP if packed else Compression.NONE,
            **{edge: round(degrees * 10_000_000) for edge, degrees in edges.items()},
            "center_lon_e7": 0,
            "center_lat_e7": 0,
            "center_zoom": 0,
        },
        metadata or {},
    )
    file.write_bytes(made.getvalue())
    return with_header(file, **{"min_zoom": zooms[0], "max_zoom": zooms[1], **header})


def with_header(file: Path, **header: Any) -> Path:
    """The file, which says this of itself, true or not."""
    body = bytearray(file.read_bytes())
    told: Any = {**deserialize_header(body[:127]), **header}
    body[:127] = serialize_header(told)
    file.write_bytes(body)
    return file

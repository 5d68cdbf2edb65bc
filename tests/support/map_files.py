"""Small map files, made from nothing: roads of a few nodes with their tags."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import osmium
from osmium.osm import mutable

Place = tuple[float, float]
"""Latitude, longitude."""


def written(
    file: Path,
    nodes: Mapping[int, Place],
    ways: Sequence[tuple[int, Sequence[int], Mapping[str, str]]],
    relations: Sequence[tuple[int, Sequence[int], Mapping[str, str]]] = (),
) -> Path:
    """A map file of these nodes, ways (id, nodes, tags) and areas (id, ways of the outline, tags)."""
    with osmium.SimpleWriter(str(file), overwrite=True) as writer:
        for no, (lat, lon) in sorted(nodes.items()):
            writer.add_node(mutable.Node(id=no, location=(lon, lat)))
        for no, refs, tags in sorted(ways):
            writer.add_way(mutable.Way(id=no, nodes=list(refs), tags=dict(tags)))
        for no, members, tags in sorted(relations):
            outer = [("w", member, "outer") for member in members]
            writer.add_relation(mutable.Relation(id=no, members=outer, tags=dict(tags)))
    return file


def street(file: Path, **tags: str) -> Path:
    """A map of one street of 3 km due north, way 7, of nodes every 300 m."""
    nodes = {no: (47.0 + no * 300 / 111_195.08, 9.5) for no in range(1, 12)}
    return written(file, nodes, [(7, list(nodes), {"highway": "secondary", "name": "High Street", **tags})])

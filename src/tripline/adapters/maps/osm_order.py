"""Map files in the form that libosmium reads: nodes before ways, no node with a negative id.

Editors write negative ids, and some programs write ways first. A file that begins so is copied, part after part.

Not here: reading the file (`osm_file.py`).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import osmium
from osmium import osm

_BEYOND: Final = 1 << 40
"""Negative ids of nodes go on from here: OpenStreetMap's are below."""


def in_order(file: Path, scratch: Path) -> Path:
    """The file, or a copy in `scratch` if its first thing is not a node, or one with a negative id.

    Files sorted by id begin with their negative ones. Raises `RuntimeError` for a damaged file.
    """
    for first in _things(file):
        if first.is_node() and first.id >= 0:
            break
        return _copied(file, scratch / "in-order.osm.pbf")
    return file


def _copied(file: Path, copy: Path) -> Path:
    with osmium.SimpleWriter(str(copy)) as writer:
        for kind in (osm.NODE, osm.WAY, osm.RELATION):
            for thing in _things(file, kind):
                writer.add(_renumbered(thing))
    return copy


def _renumbered(thing: Any) -> Any:
    if thing.is_node() and thing.id < 0:
        return thing.replace(id=_moved(thing.id))
    if thing.is_way() and any(node.ref < 0 for node in thing.nodes):
        return thing.replace(nodes=[_moved(node.ref) for node in thing.nodes])
    return thing


def _moved(node: int) -> int:
    return node if node >= 0 else _BEYOND - node


def _things(file: Path, kind: osm.osm_entity_bits = osm.ALL) -> Iterator[Any]:
    return iter(osmium.FileProcessor(osmium.io.File(str(file), "pbf"), kind))

"""Small map files, made from nothing: roads of a few nodes with their tags."""

import asyncio
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import osmium
from osmium.osm import mutable

from tripline.adapters.maps import cancels

Place = tuple[float, float]
"""Latitude, longitude."""


def written(
    file: Path,
    nodes: Mapping[int, Place],
    ways: Sequence[tuple[int, Sequence[int], Mapping[str, str]]],
    relations: Sequence[tuple[int, Sequence[int], Mapping[str, str]]] = (),
    *,
    of_nodes: Mapping[int, Mapping[str, str]] = MappingProxyType({}),
) -> Path:
    """A map file of these nodes, ways (id, nodes, tags) and areas (id, ways of the outline, tags).

    `of_nodes`: the tags of those nodes that have any.
    """
    with osmium.SimpleWriter(str(file), overwrite=True) as writer:
        for no, (lat, lon) in sorted(nodes.items()):
            writer.add_node(mutable.Node(id=no, location=(lon, lat), tags=dict(of_nodes.get(no, {}))))
        for no, refs, tags in sorted(ways):
            writer.add_way(mutable.Way(id=no, nodes=list(refs), tags=dict(tags)))
        for no, members, tags in sorted(relations):
            outer = [("w", member, "outer") for member in members]
            writer.add_relation(mutable.Relation(id=no, members=outer, tags=dict(tags)))
    return file


TOWN_ROADS = 220
HOUSES = 98
"""In a row, and rows."""
PATIENCE_S = 60.0


def street(file: Path, **tags: str) -> Path:
    """A map of one street of 3 km due north, way 7, of nodes every 300 m."""
    nodes = {no: (47.0 + no * 300 / 111_195.08, 9.5) for no in range(1, 12)}
    return written(file, nodes, [(7, list(nodes), {"highway": "secondary", "name": "High Street", **tags})])


def town(file: Path) -> Path:
    """A map of 220 streets that cross each other every 100 m, with 9,604 houses: its import takes about a second."""
    streets, step = TOWN_ROADS // 2, 100 / 111_195.0
    nodes = {
        1 + north * streets + east: (47.0 + north * step, 9.5 + east * step)
        for north in range(streets)
        for east in range(streets)
    }
    ways: list[tuple[int, Sequence[int], Mapping[str, str]]] = []
    for no in range(streets):
        tags = {"highway": "residential", "maxspeed": "30"}
        along = [1 + no * streets + east for east in range(streets)]
        across = [1 + north * streets + no for north in range(streets)]
        ways.append((1 + 2 * no, along, {**tags, "name": f"Street {no}"}))
        ways.append((2 + 2 * no, across, {**tags, "name": f"Avenue {no}"}))
    for no in range(HOUSES**2):
        lat, lon = 47.0 + (no // HOUSES + 0.3) * step, 9.5 + (no % HOUSES + 0.3) * step
        first = 1 + streets**2 + 4 * no
        corners = ((0.0, 0.0), (0.0, 0.3), (0.3, 0.3), (0.3, 0.0))
        nodes.update({first + at: (lat + up * step, lon + right * step) for at, (up, right) in enumerate(corners)})
        ways.append((1_000 + no, [first, first + 1, first + 2, first + 3, first], {"building": "yes"}))
    return written(file, nodes, ways)


async def cancelling(folder: Path) -> None:
    """Returns once the import of this folder of maps is to end."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if cancels.marked(folder) is not None:
                return
            await asyncio.sleep(0.01)


def process_of(folder: Path) -> int:
    """The process that imports a file of this folder of maps."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        for place in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = place.read_bytes().split(b"\0")
            except OSError:
                continue
            if b"import" in words and any(word.startswith(str(folder).encode()) for word in words):
                return int(place.parent.name)
        time.sleep(0.01)
    raise AssertionError(folder)


def nodes_at_one_place(file: Path, count: int) -> Path:
    """A map file of this many nodes at one place in very few bytes, before a street."""
    content = street(file).read_bytes()
    # The first block is the header.
    end = _head_end(content)

    def block(nodes: int) -> bytes:
        dense = _message(1, b"\x02" * nodes) + _message(8, bytes(nodes)) + _message(9, bytes(nodes))
        data = _message(1, _message(1, b"")) + _message(2, _message(2, dense))
        blob = b"\x10" + _varint(len(data)) + _message(3, zlib.compress(data, 9))
        head = _message(1, b"OSMData") + b"\x18" + _varint(len(blob))
        return len(head).to_bytes(4, "big") + head + blob

    at_once = 8_000_000
    blocks = [block(min(at_once, count - at)) for at in range(0, count, at_once)]
    file.write_bytes(content[:end] + b"".join(blocks) + content[end:])
    return file


def _head_end(content: bytes) -> int:
    """Where the first block of a map file ends."""
    head = 4 + int.from_bytes(content[:4], "big")
    # Its length is the last field of its head, in one byte or two.
    size = content.index(b"\x18", 4 + len("OSMHeader"), head) + 1
    length = content[size] if content[size] < 0x80 else (content[size] & 0x7F) | content[size + 1] << 7
    return head + length


def _varint(value: int) -> bytes:
    low, value = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + _varint(value) if value else bytes([low])


def _message(field: int, content: bytes) -> bytes:
    return bytes([field << 3 | 2]) + _varint(len(content)) + content

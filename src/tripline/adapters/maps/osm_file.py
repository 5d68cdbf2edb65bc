"""Reads a map file (`.osm.pbf`) with pyosmium: its roads, countries, built-up areas and places.

libosmium does the reading, in C++. Where the places of nodes wait is up to the file's size: in memory, or for a large
one in a file that goes when we are done. Decision 310 has the figures.

libosmium takes nodes before ways, and no node with a negative id. Editors write negative ids, and some programs write
ways first: a file that begins so is copied, part after part.
"""

import itertools
import mmap
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import osmium
from osmium import osm

from tripline.roads import classes
from tripline.roads.areas import Ring
from tripline.roads.builder import Builder
from tripline.roads.places import Collector

IN_MEMORY_BYTES: Final = 200 << 20
"""Files up to this size keep the places of their nodes in memory: 16 bytes a node, about twice the file."""
USUAL_RATIO: Final = 3
"""Files that unpack to more than this many times their size keep the places of their nodes on disk."""
MOST_RATIO: Final = 6
"""Files that unpack to more are refused: OpenStreetMap's unpack to two or three times their size."""
LEAST_BYTES: Final = 2 << 20
"""A file may always unpack to this many bytes more."""
MOST_NODES: Final = 50_000
"""Nodes of a road that are read; OpenStreetMap takes 2,000."""
MOST_TAGS: Final = 200
"""Tags of a road that are read; none has as many."""
_AREAS: Final = ("landuse", "boundary")
_KEYS: Final = {osm.NODE: ("place",), osm.WAY | osm.AREA: ("highway", *_AREAS)}
"""Roads, places, and the areas that count."""
_BUILT_UP: Final = ("residential", "retail", "commercial")
_COUNTRY: Final = ("ISO3166-1:alpha2", "ISO3166-1")
_PBF: Final = b"OSMHeader"
_DISORDER: Final = "out of order"
"""In libosmium's error for ids that do not ascend."""

_SIZE_OF_HEAD: Final = 4
_MOST_HEAD: Final = 65_536
"""Bytes of a block's head, by the format."""
_LONGEST: Final = 63
"""Bits of a number before its last byte."""
_BYTES: Final = 2
_FIXED: Final = {1: 8, 5: 4}
"""Wire types of fields: their bytes, where the number is fixed."""
_DATASIZE: Final = 3
"""In a block's head: the bytes of the block."""
_RAW, _RAW_SIZE = 1, 2
"""In a block: its content when it is not packed; else how many bytes that has unpacked."""


class MapFileError(Exception):
    """The file is not a usable map; the text is shown as one line."""


class UnreadFileError(MapFileError):
    """The file could not be read; another attempt may succeed."""


def read(file: Path, *, scratch: Path, progress: Callable[[int], None], places: Collector | None = None) -> Builder:
    """Read the roads and areas of a file; its places go to `places`.

    `scratch`: a folder for data that exceeds memory; `progress`: called with the number of roads read so far.
    Raises `MapFileError`.
    """
    look(file)
    if unpacked(file) > LEAST_BYTES + MOST_RATIO * file.stat().st_size:
        raise MapFileError(f"{file} unpacks to more than {MOST_RATIO} times its size: it is not a real map.")
    builder = Builder()
    roads, places = _Roads(builder), places or Collector()
    try:
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            for thing in tagged(file, Path(folder), areas=_AREAS, keys=_KEYS):
                if thing.is_way():
                    roads.take(thing)
                    progress(builder.roads)
                elif thing.is_area():
                    _take_area(builder, thing)
                elif thing.location.valid():
                    places.take(thing.tags, thing.location.y, thing.location.x)
    except (RuntimeError, osmium.InvalidLocationError) as error:
        if _DISORDER in str(error):
            raise _unsorted(file) from error
        raise MapFileError(f"{file} is damaged or cut off: {error}.") from error
    roads.check(file)
    return builder


def look(file: Path) -> None:
    """See whether it may be a map file, before anything is read of it. Raises `MapFileError`."""
    try:
        with file.open("rb") as opened:
            head = opened.read(64)
    except OSError as error:
        raise UnreadFileError(f"{file} cannot be read: {error.strerror}.") from error
    if not head:
        raise MapFileError(f"{file} is empty.")
    if _PBF not in head:
        raise MapFileError(f"{file} is not an OpenStreetMap file in PBF format (.osm.pbf).")


def tagged(
    file: Path, scratch: Path, *, areas: Sequence[str], keys: Mapping[osm.osm_entity_bits, Sequence[str]]
) -> Iterator[Any]:
    """Things of a file that have one of the keys of their kind, ways with the places of their nodes, and the areas with
    one of these keys. `scratch`: a folder of its own."""
    readable = in_order(file, scratch)
    things = osmium.FileProcessor(osmium.io.File(str(readable), "pbf"))
    things = things.with_locations(storage(readable, scratch)).with_areas(osmium.filter.KeyFilter(*areas))
    # Drop everything else before it reaches Python.
    things.with_filter(osmium.filter.EntityFilter(osm.NODE | osm.WAY | osm.AREA))
    for kinds, of_kind in keys.items():
        has_key = osmium.filter.KeyFilter(*of_kind)
        has_key.enable_for(kinds)
        things.with_filter(has_key)
    return iter(things)


def storage(file: Path, scratch: Path) -> str:
    """Where the places of the file's nodes wait."""
    size = file.stat().st_size
    usual = size <= IN_MEMORY_BYTES and unpacked(file) <= LEAST_BYTES + USUAL_RATIO * size
    return "flex_mem" if usual else f"sparse_file_array,{scratch / 'nodes'}"


class _Roads:
    """Takes roads from ways, and counts those without the places of their nodes."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._lost = 0

    def take(self, way: Any) -> None:
        # Most ways are skipped by their raw tags, before these are copied.
        if classes.class_of(way.tags) is None:
            return
        tags = dict(zip(range(MOST_TAGS), way.tags, strict=False)).values()
        known = {tag.k: tag.v for tag in tags}
        line: list[tuple[int, int, int]] = []
        is_lost = True
        for node in itertools.islice(way.nodes, MOST_NODES):
            place = node.location
            if place.valid():
                is_lost = False
                line.append((node.ref, place.y, place.x))
                continue
            # The extract lacks this node: the road goes on behind it as another one.
            if len(line) > 1:
                self._builder.road(way.id, known, line)
            line = []
        if len(line) > 1:
            self._builder.road(way.id, known, line)
        self._lost += is_lost

    def check(self, file: Path) -> None:
        """Raise `MapFileError` when the file has no roads, or no places for most of them."""
        if self._lost > self._builder.roads:
            raise _unsorted(file)
        if not self._builder.roads:
            raise MapFileError(f"{file} has no roads.")


def _unsorted(file: Path) -> MapFileError:
    return MapFileError(f"{file} is not sorted, or lacks the nodes of its roads; sort it first: osmium sort.")


def _take_area(builder: Builder, area: Any) -> None:
    if area.tags.get("landuse") in _BUILT_UP:
        builder.built_up(list(_rings(area)))
    elif area.tags.get("admin_level") == "2":
        code = next((area.tags[key] for key in _COUNTRY if key in area.tags), None)
        if code:
            builder.country(code, list(_rings(area)))


def _rings(area: Any) -> Iterator[Ring]:
    for outer in area.outer_rings():
        yield _ring(outer)
        for inner in area.inner_rings(outer):
            yield _ring(inner)


def _ring(nodes: Any) -> Ring:
    places = np.array([(node.location.y, node.location.x) for node in nodes], np.int32)
    return Ring(places[:, 0], places[:, 1])


def unpacked(file: Path) -> int:
    """Bytes of all blocks, unpacked; of a damaged file, of those before the damage. Raises `OSError`."""
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return sum(_sizes(data))


def _sizes(data: mmap.mmap) -> Iterator[int]:
    at = 0
    while at + _SIZE_OF_HEAD <= len(data):
        begin = at + _SIZE_OF_HEAD
        length = int.from_bytes(data[at:begin], "big")
        if not 0 < length <= _MOST_HEAD:
            return
        block = begin + length
        at = block + sum(value for field, value in _numbers(data, begin, block) if field == _DATASIZE)
        yield sum(value for field, value in _numbers(data, block, at) if field in (_RAW, _RAW_SIZE))


def _numbers(data: mmap.mmap, at: int, end: int) -> Iterator[tuple[int, int]]:
    """The fields of a message of Protocol Buffers: number, and value or length. Up to the first that is cut off."""
    end = min(end, len(data))
    while at < end:
        key, at = _varint(data, at, end)
        if key & 7 in _FIXED:
            at += _FIXED[key & 7]
            continue
        value, at = _varint(data, at, end)
        yield key >> 3, value
        if key & 7 == _BYTES:
            at += value


def _varint(data: mmap.mmap, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        if (shift := shift + 7) > _LONGEST:
            break
    return value, at


_BEYOND: Final = 1 << 40
"""Negative ids of nodes go on from here: OpenStreetMap's are below."""


def in_order(file: Path, scratch: Path) -> Path:
    """The file, or a copy in `scratch` if its first thing is not a node, or one with a negative id.

    Files sorted by id begin with their negative ones. Raises `RuntimeError` for a damaged file.
    """
    for first in _ordered_things(file):
        if first.is_node() and first.id >= 0:
            break
        return _copied(file, scratch / "in-order.osm.pbf")
    return file


def _copied(file: Path, copy: Path) -> Path:
    with osmium.SimpleWriter(str(copy)) as writer:
        for kind in (osm.NODE, osm.WAY, osm.RELATION):
            for thing in _ordered_things(file, kind):
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


def _ordered_things(file: Path, kind: osm.osm_entity_bits = osm.ALL) -> Iterator[Any]:
    return iter(osmium.FileProcessor(osmium.io.File(str(file), "pbf"), kind))

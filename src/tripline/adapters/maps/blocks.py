"""The size of a map file (`.osm.pbf`) unpacked, read from the heads of its blocks.

libosmium unpacks a block into as many bytes as its head announces, so this bounds the whole file.
"""

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

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

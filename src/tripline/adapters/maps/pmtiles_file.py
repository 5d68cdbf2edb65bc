"""Reads one PMTiles file (version 3) of vector tiles: its header, its directories on demand, single tiles.

Everything is read by its position in the file. Mapped memory would crash the process when the file is truncated in
place. All sizes that the file states are bounded, because its source is untrusted.
"""

import functools
import itertools
import os
import zlib
from array import array
from bisect import bisect_right
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from pmtiles.tile import Compression, MagicNumberNotFound, SpecVersionUnsupported, TileType, deserialize_header

from tripline.basemap.layers import MOST_ZOOM
from tripline.domain.maps import Bounds

MOST_TILE: Final = 4 * 2**20
"""Bytes of a tile, as stored."""
MOST_DIRECTORY: Final = 2**20
"""Bytes of a directory or of the metadata, packed and unpacked."""
DIRECTORIES: Final = 64
"""Size of the directory cache."""
_DEPTH: Final = 4
"""Directories on the way to a tile: more than the format has."""
_HEADER: Final = 127
_GZIP: Final = 31
"""For zlib: a window of any size, and gzip's header."""
_READ: Final = (Compression.NONE, Compression.GZIP)


class TileFileError(Exception):
    """The file cannot be read, or holds something else; the text says why."""


class _Directory(NamedTuple):
    """Entries, by the number of their first tile."""

    first: "array[int]"
    runs: "array[int]"
    """Tiles in a row that are the same; 0: the entry is another directory."""
    lengths: "array[int]"
    offsets: "array[int]"


class _Metadata(msgspec.Struct):
    attribution: str = ""


class TileFile:
    """One file, open until it is closed; it stays readable when it is deleted or replaced."""

    def __init__(self, file: Path) -> None:
        """Raises `TileFileError`."""
        self._file = file
        try:
            self._descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise TileFileError(f"{file} cannot be opened: {error.strerror}") from error
        try:
            self._header = self._read_header()
        except BaseException:
            self.close()
            raise
        self.packed: Final = self._header["tile_compression"] is Compression.GZIP
        """True if the tiles are packed with gzip, false if they are uncompressed."""
        self.least_zoom: Final[int] = self._header["min_zoom"]
        self.most_zoom: Final[int] = self._header["max_zoom"]
        self._directory = functools.lru_cache(maxsize=DIRECTORIES)(self._read_directory)

    @property
    def bounds(self) -> Bounds:
        edges = ("min_lon_e7", "min_lat_e7", "max_lon_e7", "max_lat_e7")
        return Bounds(*(self._header[edge] / 10_000_000 for edge in edges))

    def attribution(self) -> str:
        """Whom it names as its source. Raises `TileFileError`."""
        told = self._read(self._header["metadata_offset"], self._header["metadata_length"], most=MOST_DIRECTORY)
        try:
            return msgspec.json.decode(self._unpacked(told), type=_Metadata).attribution
        except msgspec.DecodeError as error:
            raise TileFileError(f"what {self._file} says of itself cannot be read: {error}") from error

    def tile(self, number: int) -> bytes | None:
        """The tile of this number (`pmtiles.tile.zxy_to_tileid`) as it is stored. Raises `TileFileError`."""
        offset, length = self._header["root_offset"], self._header["root_length"]
        for _ in range(_DEPTH):
            directory = self._directory(offset, length)
            at = bisect_right(directory.first, number) - 1
            if at < 0:
                return None
            offset, length = directory.offsets[at], directory.lengths[at]
            if run := directory.runs[at]:
                if number >= directory.first[at] + run:
                    return None
                return self._read(self._header["tile_data_offset"] + offset, length, most=MOST_TILE)
            offset += self._header["leaf_directory_offset"]
        raise TileFileError(f"directories of {self._file} go in circles")

    def close(self) -> None:
        os.close(self._descriptor)

    def _read_header(self) -> Any:
        try:
            header = deserialize_header(self._read(0, _HEADER, most=_HEADER))
        except (MagicNumberNotFound, UnicodeDecodeError, ValueError) as error:
            raise TileFileError(f"{self._file} is no PMTiles file") from error
        except SpecVersionUnsupported as error:
            raise TileFileError(f"{self._file} is PMTiles of another version than 3") from error
        kind, packing = header["tile_type"], header["tile_compression"]
        if kind is not TileType.MVT:
            raise TileFileError(f"{self._file} has tiles of the kind {kind.name}; vector tiles (MVT) can be shown")
        for each in (packing, header["internal_compression"]):
            if each not in _READ:
                raise TileFileError(f"{self._file} is packed with {each.name.lower()}; gzip or nothing can be read")
        if not header["min_zoom"] <= header["max_zoom"] <= MOST_ZOOM:
            zooms = f"{header['min_zoom']} to {header['max_zoom']}"
            raise TileFileError(f"{self._file} has the zooms {zooms}; they must lie between 0 and {MOST_ZOOM}")
        return header

    def _read_directory(self, offset: int, length: int) -> _Directory:
        body = self._unpacked(self._read(offset, length, most=MOST_DIRECTORY))
        try:
            numbers = _numbers(body)
            steps, runs, lengths, places = _columns(numbers)
            first = array("Q", itertools.accumulate(steps))
            offsets = array("Q")
            end = 0
            for place, length in zip(places, lengths, strict=True):
                offsets.append(place - 1 if place else end)
                end = offsets[-1] + length
        except (IndexError, OverflowError, ValueError) as error:
            raise TileFileError(f"a directory of {self._file} is damaged") from error
        return _Directory(first, runs, lengths, offsets)

    def _unpacked(self, body: bytes) -> bytes:
        if self._header["internal_compression"] is Compression.NONE:
            return body
        return unpacked(body, most=MOST_DIRECTORY, name=str(self._file))

    def _read(self, offset: int, length: int, *, most: int) -> bytes:
        if length > most:
            raise TileFileError(f"{self._file} has a part of {length} bytes; {most} can be read")
        try:
            body = os.pread(self._descriptor, length, offset)
        except (OSError, OverflowError) as error:
            raise TileFileError(f"{self._file} cannot be read: {error}") from error
        if len(body) < length:
            raise TileFileError(f"{self._file} is cut off")
        return body


def unpacked(body: bytes, *, most: int, name: str) -> bytes:
    """Unpack gzip data, up to `most` bytes. Raises `TileFileError`."""
    unpacking = zlib.decompressobj(_GZIP)
    try:
        found = unpacking.decompress(body, most + 1)
    except zlib.error as error:
        raise TileFileError(f"a part of {name} is damaged") from error
    if len(found) > most or not unpacking.eof:
        raise TileFileError(f"a part of {name} is damaged, or longer than {most} bytes")
    return found


def _columns(numbers: "array[int]") -> "list[array[int]]":
    """The four columns of a directory. Raises `ValueError`, `IndexError`."""
    count = numbers[0]
    if len(numbers) != 1 + 4 * count:
        raise ValueError
    return [numbers[1 + at * count : 1 + (at + 1) * count] for at in range(4)]


def _numbers(body: bytes) -> "array[int]":
    """The whole numbers of a directory, seven bits a byte. Raises `ValueError`, `OverflowError`."""
    found = array("Q")
    value = shift = 0
    for byte in body:
        value |= (byte & 127) << shift
        if byte < 128:
            found.append(value)
            value = shift = 0
        elif (shift := shift + 7) > 63:
            raise ValueError
    if shift:
        raise ValueError
    return found

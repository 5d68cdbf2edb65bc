"""One file of tiles: what it holds is found, what it cannot hold is refused in words, what it says has bounds."""

import gzip
import os
from pathlib import Path
from random import Random

import pytest
from pmtiles.tile import Compression, TileType, zxy_to_tileid
from tests.support import tile_files as made

from tripline.adapters.maps import pmtiles_file
from tripline.adapters.maps.pmtiles_file import TileFile, TileFileError
from tripline.basemap.layers import MOST_ZOOM

TILES = {(0, 0, 0): b"whole world", (3, 4, 2): b"a corner", (3, 4, 3): b"a corner"}


def read(file, *place):
    opened = TileFile(file)
    try:
        return opened.tile(zxy_to_tileid(*place))
    finally:
        opened.close()


@pytest.mark.parametrize("packed", [True, False])
def test_tile_is_given_as_it_is_stored(tmp_path, packed):
    file = made.written(tmp_path / "a", TILES, packed=packed)

    for place, body in TILES.items():
        assert read(file, *place) == (gzip.compress(body, mtime=0) if packed else body)
    opened = TileFile(file)
    assert (opened.packed, opened.least_zoom, opened.most_zoom) == (packed, 0, 14)
    opened.close()


@pytest.mark.parametrize("place", [(1, 0, 0), (3, 3, 2), (3, 4, 1), (3, 7, 7), (14, 0, 0), (22, 5, 5)])
def test_tile_that_is_not_there_is_none(tmp_path, place):
    assert read(made.written(tmp_path / "a", TILES), *place) is None


def many_tiles():
    """So many, of such lengths, that their directory does not fit into the first one."""
    random = Random(1)
    return {(9, x, y): random.randbytes(random.randrange(8, 400)) for x in range(170) for y in range(100)}


def test_every_tile_of_a_file_with_many_directories_is_found(tmp_path):
    tiles = many_tiles()
    opened = TileFile(made.written(tmp_path / "a", tiles, packed=False))

    found = {place: opened.tile(zxy_to_tileid(*place)) for place in tiles}
    opened.close()

    assert found == tiles
    assert opened._header["leaf_directory_length"] > 0


def test_directories_are_kept_up_to_the_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(pmtiles_file, "DIRECTORIES", 2)
    tiles = many_tiles()
    opened = TileFile(made.written(tmp_path / "a", tiles, packed=False))

    for place in list(tiles)[::500]:
        assert opened.tile(zxy_to_tileid(*place)) == tiles[place]
        assert opened._directory.cache_info().currsize == 2
    opened.close()


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ({"tile_type": TileType.PNG}, "tiles of the kind PNG"),
        ({"tile_type": TileType.MLT}, "tiles of the kind MLT"),
        ({"tile_compression": Compression.BROTLI}, "packed with brotli"),
        ({"tile_compression": Compression.UNKNOWN}, "packed with unknown"),
        ({"internal_compression": Compression.ZSTD}, "packed with zstd"),
        ({"max_zoom": MOST_ZOOM + 1}, f"between 0 and {MOST_ZOOM}"),
        ({"min_zoom": 9, "max_zoom": 8}, "zooms 9 to 8"),
    ],
)
def test_file_of_another_kind_is_refused_in_words(tmp_path, header, said):
    file = made.written(tmp_path / "a", TILES, **header)

    with pytest.raises(TileFileError, match=said):
        TileFile(file)


def test_file_of_the_largest_zoom_is_read(tmp_path):
    assert read(made.written(tmp_path / "a", TILES, max_zoom=MOST_ZOOM), 0, 0, 0) is not None


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "cut off"),
        (b"PMTiles\x03" + bytes(100), "cut off"),
        (b"PMTiles\x02" + bytes(200), "another version"),
        (b"\xff" * 200, "no PMTiles"),
        (b"SQLite format 3\x00" + bytes(200), "no PMTiles"),
        (b"PMTiles\x03" + b"\xff" * 200, "no PMTiles"),
    ],
)
def test_anything_else_is_refused_in_words(tmp_path, body, said):
    (tmp_path / "a").write_bytes(body)

    with pytest.raises(TileFileError, match=said):
        TileFile(tmp_path / "a")


def test_missing_file_is_refused_in_words(tmp_path):
    with pytest.raises(TileFileError, match="No such file"):
        TileFile(tmp_path / "a")


def test_refused_files_are_closed(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 200)
    before = len(list(Path("/proc/self/fd").iterdir()))

    for _ in range(5):
        with pytest.raises(TileFileError):
            TileFile(tmp_path / "a")

    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize("more", [0, 1])
def test_tile_may_be_as_long_as_the_bound(tmp_path, monkeypatch, more):
    monkeypatch.setattr(pmtiles_file, "MOST_TILE", 100)
    file = made.written(tmp_path / "a", {(0, 0, 0): b"x" * (100 + more)}, packed=False)

    if more:
        with pytest.raises(TileFileError, match="101 bytes"):
            read(file, 0, 0, 0)
    else:
        assert read(file, 0, 0, 0) == b"x" * 100


@pytest.mark.parametrize("more", [0, 1])
def test_directory_may_be_as_long_unpacked_as_the_bound(tmp_path, monkeypatch, more):
    file = made.written(tmp_path / "a", {(9, x, 5): b"%d" % x for x in range(300)}, packed=False)
    opened = TileFile(file)
    length = len(gzip.decompress(opened._read(opened._header["root_offset"], opened._header["root_length"], most=9999)))
    opened.close()
    monkeypatch.setattr(pmtiles_file, "MOST_DIRECTORY", length - more)

    if more:
        with pytest.raises(TileFileError, match=f"longer than {length - 1} bytes"):
            read(file, 9, 7, 5)
    else:
        assert read(file, 9, 7, 5) == b"7"


def test_file_that_is_cut_off_while_it_is_open_is_told(tmp_path):
    """In place: a file that is mapped into memory would end the process."""
    file = made.written(tmp_path / "a", TILES)
    opened = TileFile(file)
    opened.tile(0)
    os.truncate(file, opened._header["tile_data_offset"] + 3)

    with pytest.raises(TileFileError, match="cut off"):
        opened.tile(0)
    opened.close()


def test_file_that_is_replaced_while_it_is_open_stays_readable(tmp_path):
    file = made.written(tmp_path / "a", TILES, packed=False)
    opened = TileFile(file)
    made.written(tmp_path / "b", {(0, 0, 0): b"other"}, packed=False).replace(file)

    assert opened.tile(0) == b"whole world"
    opened.close()
    assert read(file, 0, 0, 0) == b"other"


@pytest.mark.parametrize(
    "directory",
    [
        b"",
        b"\x80",
        b"\x02\x00",
        b"\xff" * 12 + b"\x00",
        b"\x01\x00\x01\x05" + b"\xff" * 9 + b"\x7f",
        # Itself, as a directory below.
        b"\x01\x00\x00\x05\x01",
    ],
)
def test_damaged_directory_is_told(tmp_path, directory):
    file = made.written(tmp_path / "a", TILES, packed=False)
    body = bytearray(file.read_bytes())
    (tmp_path / "b").write_bytes(body + directory)
    place = {"root_offset": len(body), "root_length": len(directory), "internal_compression": Compression.NONE}
    changed = made.with_header(tmp_path / "b", leaf_directory_offset=len(body), **place)

    with pytest.raises(TileFileError):
        read(changed, 0, 0, 0)


def test_credit_is_read(tmp_path):
    for metadata, said in (({"attribution": "© Somebody"}, "© Somebody"), ({}, "")):
        opened = TileFile(made.written(tmp_path / "a", TILES, metadata=metadata))
        assert opened.attribution() == said
        opened.close()


@pytest.mark.parametrize("metadata", [{"attribution": 5}, ["no object"]])
def test_file_that_tells_nonsense_of_itself_is_refused(tmp_path, metadata):
    opened = TileFile(made.written(tmp_path / "a", TILES, metadata=metadata))

    with pytest.raises(TileFileError, match="says of itself"):
        opened.attribution()
    opened.close()

"""The base map of all areas together: found, replaced, removed and lost while it is read; or a file from elsewhere."""

import asyncio
import gzip
import json
import os
from pathlib import Path

import pytest
from pmtiles.tile import TileType
from structlog.testing import capture_logs
from tests.support import tile_files as made

from tripline.adapters.maps import base_map, files
from tripline.adapters.maps.pmtiles_file import TileFileError
from tripline.domain.maps import Area, Bounds
from tripline.ports.maps import NO_MAP
from tripline.ports.outages import Outage

HERE = (3, 4, 2)


class Folder:
    """A folder of maps, and the clock of who looks at it."""

    def __init__(self, path):
        self.path = path
        self.now_s = 0.0
        self._imports = 0
        path.mkdir()

    def put(self, name, tiles, **header):
        """Import an area, as far as its tiles go; what was there under this name goes."""
        self._imports += 1
        place = self.path / f"{name}.{self._imports}"
        place.mkdir()
        if tiles is not None:
            made.written(place / files.TILES, tiles, **header)
        before = [area for area in files.areas(self.path) if area.name == name]
        area = Area(
            name=name,
            format=files.FORMAT,
            folder=place.name,
            map="0" * 12,
            source="x",
            imported_ms=0,
            roads=1,
            size=sum(file.stat().st_size for file in place.iterdir()),
            bounds=Bounds(0, 0, 1, 1),
        )
        (self.path / "new").write_bytes(json.dumps({**area_of(area)}).encode())
        (self.path / "new").replace(self.path / f"{name}.json")
        for each in before:
            self.clear(each.folder)
        return place

    def remove(self, name):
        """As `tripline map remove`."""
        (area,) = (area for area in files.areas(self.path) if area.name == name)
        (self.path / f"{name}.json").unlink()
        self.clear(area.folder)

    def clear(self, folder):
        for file in (self.path / folder).iterdir():
            file.unlink()
        (self.path / folder).rmdir()

    def shown(self, **named):
        return base_map.BaseMaps(self.path, monotonic=lambda: self.now_s, **named)

    def later(self):
        self.now_s += base_map.LOOKED_S


def area_of(area):
    return {field: getattr(area, field) for field in area.__struct_fields__}


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "maps")


def names(maps, *place):
    tile = asyncio.run(maps.tile(*(place or HERE)))
    return None if tile is None else made.names(maps.unpacked(tile))


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


def test_without_maps_there_is_nothing(folder, tmp_path):
    for maps in (folder.shown(), base_map.BaseMaps(tmp_path / "none")):
        assert names(maps) is None
        assert maps.shown() == NO_MAP


def test_tile_of_one_area_is_given_as_it_is_stored(folder):
    folder.put("li", {HERE: made.tile("Vaduz"), (3, 0, 0): made.tile("Ruggell")})
    folder.put("at", {(3, 4, 3): made.tile("Wien")})
    maps = folder.shown()

    tile = asyncio.run(maps.tile(*HERE))

    assert tile == (maps.shown().version, gzip.compress(made.tile("Vaduz"), mtime=0), True)
    assert names(maps, 3, 4, 3) == ["Wien"]
    assert names(maps, 3, 7, 7) is None


def test_tile_of_several_areas_is_one_of_all(folder):
    for name in ("li", "at", "ch"):
        folder.put(name, {HERE: made.tile(name, "Rhein")})
    maps = folder.shown()

    assert sorted(names(maps)) == ["Rhein", "Rhein", "Rhein", "at", "ch", "li"][2:]
    first, second = (asyncio.run(maps.tile(*HERE)) for _ in range(2))
    assert first.packed
    assert first.body is second.body


def test_merged_tiles_are_kept_up_to_the_bound(folder, monkeypatch):
    places = [(3, x, 0) for x in range(8)]
    for name in ("li", "at"):
        folder.put(name, {place: made.tile(name, str(place)) for place in places})
    maps = folder.shown()
    size = len(asyncio.run(maps.tile(*places[0])).body)
    monkeypatch.setattr(base_map, "MERGED_BYTES", 3 * (size + 5))

    for place in places:
        assert sorted(names(maps, *place)) == sorted({"at", "li", str(place)})

    assert list(maps._merged) == [maps_number(place) for place in places[-3:]]


def maps_number(place):
    return base_map.zxy_to_tileid(*place)


def test_extent_of_all_is_that_of_the_areas_together(folder):
    folder.put("li", {HERE: made.tile("a")}, bounds=(9.0, 47.0, 9.6, 47.3), zooms=(3, 14))
    folder.put("at", {HERE: made.tile("a")}, bounds=(9.5, 46.4, 17.1, 49.0), zooms=(5, 12))

    shown = folder.shown().shown()

    assert shown.bounds == (9.0, 46.4, 17.1, 49.0)
    assert (shown.least_zoom, shown.most_zoom) == (3, 14)
    assert shown.attribution == "© OpenStreetMap contributors"


def test_replaced_map_is_shown_as_it_was_or_as_it_is(folder):
    folder.put("li", {HERE: made.tile("before")})
    maps = folder.shown()
    before = maps.shown().version
    assert names(maps) == ["before"]

    folder.put("li", {HERE: made.tile("after")})
    assert (names(maps), maps.shown().version) == (["before"], before)
    folder.later()

    assert names(maps) == ["after"]
    assert maps.shown().version != before


def test_merged_tile_does_not_outlive_its_map(folder):
    folder.put("li", {HERE: made.tile("before")})
    folder.put("at", {HERE: made.tile("beside")})
    maps = folder.shown()
    assert sorted(names(maps)) == ["before", "beside"]

    folder.put("li", {HERE: made.tile("after")})
    folder.later()

    assert sorted(names(maps)) == ["after", "beside"]


def test_map_that_is_replaced_while_tiles_are_merged_is_not_kept(folder, monkeypatch):
    folder.put("li", {HERE: made.tile("before")})
    folder.put("at", {HERE: made.tile("beside")})
    maps = folder.shown()
    merge = base_map._merged

    def slowly(tiles):
        monkeypatch.setattr(base_map, "_merged", merge)
        folder.put("li", {HERE: made.tile("after")})
        folder.later()
        maps.shown()
        return merge(tiles)

    monkeypatch.setattr(base_map, "_merged", slowly)

    assert sorted(names(maps)) == ["before", "beside"]
    assert sorted(names(maps)) == ["after", "beside"]


def test_removed_map_is_gone_and_closed(folder):
    folder.put("li", {HERE: made.tile("Vaduz")})
    maps = folder.shown()
    before = descriptors()
    assert names(maps) == ["Vaduz"]
    assert descriptors() == before + 1

    folder.remove("li")
    folder.later()

    assert names(maps) is None
    assert maps.shown() == NO_MAP
    assert descriptors() == before


def test_map_of_an_earlier_version_has_no_tiles(folder):
    folder.put("li", None)
    (folder.put("at", {HERE: made.tile("Wien")}) / "x").touch()

    assert names(folder.shown()) == ["Wien"]


def test_area_with_nothing_to_see_is_left_out(folder):
    place = folder.put("li", None)
    (place / files.TILES).touch()

    assert names(folder.shown()) is None


def test_lost_map_leaves_the_others_and_is_told_once(folder):
    place = folder.put("li", {HERE: made.tile("Vaduz")})
    folder.put("at", {HERE: made.tile("Wien")})
    os.truncate(place / files.TILES, 50)
    maps = folder.shown()

    with capture_logs() as told:
        assert names(maps) == ["Wien"]
        folder.later()
        assert names(maps) == ["Wien"]

    assert [(each["event"], each["map"]) for each in told] == [("map.lost", "li")]


def test_map_that_is_lost_while_it_is_read_leaves_the_others(folder):
    place = folder.put("li", {HERE: made.tile("Vaduz")})
    folder.put("at", {HERE: made.tile("Wien")})
    maps = folder.shown()
    assert sorted(names(maps)) == ["Vaduz", "Wien"]
    version = maps.shown().version

    os.truncate(place / files.TILES, (place / files.TILES).stat().st_size - 3)
    assert names(maps) == ["Wien"]
    assert maps.shown().version != version
    folder.put("li", {HERE: made.tile("Vaduz")})
    folder.later()

    assert sorted(names(maps)) == ["Vaduz", "Wien"]


def test_damaged_tile_is_left_out_of_what_is_merged(folder):
    place = folder.put("li", {HERE: made.tile("Vaduz")})
    folder.put("at", {HERE: made.tile("Wien")})
    body = (place / files.TILES).read_bytes()
    (place / files.TILES).write_bytes(body[:-12] + bytes(12))

    assert names(folder.shown()) == ["Wien"]


def test_damaged_tile_cannot_be_unpacked(folder):
    place = folder.put("li", {HERE: made.tile("Vaduz")})
    body = (place / files.TILES).read_bytes()
    (place / files.TILES).write_bytes(body[:-12] + bytes(12))

    with pytest.raises(Outage):
        names(folder.shown())


@pytest.mark.parametrize("more", [0, 1])
def test_tile_may_be_as_long_unpacked_as_the_bound(folder, monkeypatch, more):
    folder.put("li", {HERE: made.tile("Vaduz")})
    maps = folder.shown()
    monkeypatch.setattr(base_map, "MOST_UNPACKED", len(made.tile("Vaduz")) - more)

    if more:
        with pytest.raises(Outage):
            names(maps)
    else:
        assert names(maps) == ["Vaduz"]


@pytest.mark.parametrize("packed", [True, False])
def test_file_from_elsewhere_is_shown_in_place_of_the_areas(folder, tmp_path, packed):
    folder.put("li", {HERE: made.tile("Vaduz")})
    file = made.written(tmp_path / "a", {HERE: made.tile("Seoul")}, packed=packed, zooms=(2, 15))
    maps = folder.shown(file=file)

    assert names(maps) == ["Seoul"]
    assert maps.shown().bounds == (-180.0, -85.0, 180.0, 85.0)
    assert (maps.shown().least_zoom, maps.shown().most_zoom) == (2, 15)


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ('<a href="https://x.example" onclick=alert(1)>&copy; Somebody</a>', "© Somebody"),
        ("<<b>script>alert(1)<", "scriptalert(1)"),
        ("x" * 1_000, "x" * 500),
        ("", "© OpenStreetMap contributors"),
    ],
)
def test_credit_of_a_file_from_elsewhere_is_plain_text(folder, tmp_path, told, shown):
    file = made.written(tmp_path / "a", {HERE: made.tile("Seoul")}, metadata={"attribution": told})

    assert folder.shown(file=file).shown().attribution == shown


def test_file_from_elsewhere_that_cannot_be_shown_is_refused_at_once(folder, tmp_path):
    file = made.written(tmp_path / "a", {HERE: b"png"}, tile_type=TileType.PNG)

    for named in (file, tmp_path / "none"):
        with pytest.raises(TileFileError):
            folder.shown(file=named)


def test_file_from_elsewhere_is_shown_until_a_better_one_is_there(folder, tmp_path):
    file = made.written(tmp_path / "a", {HERE: made.tile("before")})
    maps = folder.shown(file=file)
    assert names(maps) == ["before"]

    file.unlink()
    folder.later()
    assert names(maps) == ["before"]
    file.write_bytes(b"half a file")
    folder.later()
    assert names(maps) == ["before"]
    made.written(tmp_path / "b", {HERE: made.tile("after")}).replace(file)
    folder.later()

    assert names(maps) == ["after"]

"""Map files: what is read of them, and what is said of files that are none."""

import contextlib

import numpy as np
import osmium
import pytest
from osmium.osm import mutable
from tests.support import map_files

from tripline.adapters.maps import osm_file
from tripline.language.kept import phrase_of
from tripline.roads.countries import MPH
from tripline.roads.limits import Limit
from tripline.scoring.quality import LimitSource

SQUARE = {1: (47.0, 9.0), 2: (47.0, 9.2), 3: (47.2, 9.2), 4: (47.2, 9.0)}


def read(file, *, otherwise=""):
    return osm_file.read(file, scratch=file.parent, progress=lambda _: None).built(otherwise=otherwise)


def limits_of(file, **changes):
    index, texts = read(file, **changes)
    return [texts.limits[no][0].limit for no in index.limits]


def test_road_keeps_line_class_limit_and_name(tmp_path):
    index, texts = read(map_files.street(tmp_path / "a.osm.pbf", maxspeed="50", ref="L1"))

    assert index.link.tolist() == [7]
    assert (index.lat[0], index.lon.tolist()) == (470_026_980, [95_000_000] * 11)
    assert (index.rank.tolist(), index.one_way.tolist(), index.side.tolist()) == ([104], [0], [0])
    assert [texts.names[no] for no in index.name] == ["L1 High Street"]
    assert limits_of(tmp_path / "a.osm.pbf") == [Limit(50, LimitSource.TAGGED)]


def test_way_without_vehicles_is_left_out(tmp_path):
    nodes = {1: (47.0, 9.0), 2: (47.1, 9.0)}
    ways = [(1, [1, 2], {"highway": "footway"}), (2, [1, 2], {"highway": "service"}), (3, [1, 2], {"railway": "rail"})]

    index, _ = read(map_files.written(tmp_path / "a.osm.pbf", nodes, ways))

    assert index.link.tolist() == [2]


def test_roads_that_share_a_node_are_neighbours(tmp_path):
    nodes = {no: (47.0 + no / 100, 9.0) for no in range(6)}
    ways = [(no, [no, no + 1], {"highway": "residential"}) for no in (1, 2, 4)]

    index, _ = read(map_files.written(tmp_path / "a.osm.pbf", nodes, ways))

    assert (index.near_starts.tolist(), index.near.tolist()) == ([0, 1, 2, 2], [1, 0])


def test_way_that_the_extract_has_in_part_is_two_roads(tmp_path):
    nodes = {no: (47.0 + no / 100, 9.0) for no in (1, 2, 4, 5)}

    index, _ = read(map_files.written(tmp_path / "a.osm.pbf", nodes, [(7, [1, 2, 3, 4, 5], {"highway": "primary"})]))

    assert (index.link.tolist(), index.road.tolist()) == ([7, 7], [0, 0, 1, 1])


def test_country_whose_boundary_is_whole_tells_its_defaults(tmp_path):
    inside, outside = {5: (47.1, 9.1), 6: (47.11, 9.1)}, {7: (47.1, 9.3), 8: (47.11, 9.3)}
    road = {"highway": "secondary"}
    ways = [(1, [1, 2, 3, 4, 1], {}), (2, [5, 6], road), (3, [7, 8], road)]
    of_country = {"type": "boundary", "boundary": "administrative", "admin_level": "2", "ISO3166-1": "AT"}
    file = map_files.written(tmp_path / "a.osm.pbf", {**SQUARE, **inside, **outside}, ways, [(1, [1], of_country)])

    assert limits_of(file) == [Limit(100, LimitSource.ROAD_CLASS), None]
    assert limits_of(file, otherwise="CH") == [Limit(100, LimitSource.ROAD_CLASS), Limit(80, LimitSource.ROAD_CLASS)]


def test_roads_at_a_border_have_the_limits_and_units_of_their_own_countries(tmp_path):
    """Two countries that share a boundary, one of miles; `--country` says a third, which counts for neither."""
    east = {5: (47.0, 9.4), 6: (47.2, 9.4)}
    places = {number: (47.1, 9.1 + number * 0.001) for number in (11, 12)} | {21: (47.1, 9.3), 22: (47.1, 9.31)}
    road, tagged = {"highway": "secondary"}, {"highway": "secondary", "maxspeed": "60"}
    ways = [
        *((1, [1, 2, 3, 4, 1], {}), (2, [2, 5, 6, 3, 2], {})),
        *((3, [11, 12], road), (4, [21, 22], road), (5, [11, 12], tagged), (6, [21, 22], tagged)),
        *((7, [11, 12], {**road, "source:maxspeed": "IE:urban"}), (8, [21, 22], {**road, "maxspeed": "40 mph"})),
    ]
    of_country = {"type": "boundary", "boundary": "administrative", "admin_level": "2"}
    relations = [(1, [1], {**of_country, "ISO3166-1": "GB"}), (2, [2], {**of_country, "ISO3166-1": "IE"})]
    file = map_files.written(tmp_path / "a.osm.pbf", {**SQUARE, **east, **places}, ways, relations)

    assert limits_of(file, otherwise="CH") == [
        *(Limit(70 * MPH, LimitSource.ROAD_CLASS), Limit(100, LimitSource.ROAD_CLASS)),
        *(Limit(60, LimitSource.TAGGED), Limit(60, LimitSource.TAGGED)),
        *(Limit(50, LimitSource.IMPLIED), Limit(40 * MPH, LimitSource.TAGGED)),
    ]


def test_road_in_a_built_up_area_has_its_limit(tmp_path):
    inside, outside = {5: (47.1, 9.1), 6: (47.11, 9.1)}, {7: (47.1, 9.3), 8: (47.11, 9.3)}
    road = {"highway": "secondary"}
    ways = [(1, [1, 2, 3, 4, 1], {"landuse": "residential"}), (2, [5, 6], road), (3, [7, 8], road)]
    file = map_files.written(tmp_path / "a.osm.pbf", {**SQUARE, **inside, **outside}, ways)

    assert limits_of(file, otherwise="CH") == [Limit(50, LimitSource.IMPLIED), Limit(80, LimitSource.ROAD_CLASS)]


def test_large_file_keeps_its_nodes_on_disk(tmp_path, monkeypatch):
    file = map_files.street(tmp_path / "a.osm.pbf")
    in_memory, _ = read(file)
    monkeypatch.setattr(osm_file, "IN_MEMORY_BYTES", 0)

    on_disk, _ = read(file)

    assert np.array_equal(on_disk.lat, in_memory.lat)
    assert [each.name for each in tmp_path.iterdir()] == ["a.osm.pbf"]


@pytest.mark.parametrize("kept", [0.2, 0.6, 0.95])
def test_file_that_is_cut_off_is_refused(tmp_path, kept):
    whole = map_files.street(tmp_path / "a.osm.pbf").read_bytes()
    cut = tmp_path / "cut.osm.pbf"
    cut.write_bytes(whole[: int(len(whole) * kept)])

    with pytest.raises(osm_file.MapFileError, match=r"cut\.osm\.pbf is damaged or cut off: "):
        read(cut)


def test_file_that_is_damaged_is_refused(tmp_path):
    file = map_files.street(tmp_path / "a.osm.pbf")
    body = bytearray(file.read_bytes())
    body[-40:-30] = b"0123456789"
    file.write_bytes(body)

    with pytest.raises(osm_file.MapFileError, match=r"a\.osm\.pbf is damaged or cut off: "):
        read(file)


@pytest.mark.parametrize(
    ("body", "said"), [(b"", "is empty."), (b"<osm></osm>", "is not an OpenStreetMap file in PBF format (.osm.pbf).")]
)
def test_file_that_is_no_map_is_refused(tmp_path, body, said):
    file = tmp_path / "a.osm.pbf"
    file.write_bytes(body)

    with pytest.raises(osm_file.MapFileError) as refused:
        read(file)

    assert str(refused.value) == f"{file} {said}"


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(osm_file.MapFileError, match=r"cannot be read: No such file"):
        read(tmp_path / "a.osm.pbf")


def test_map_without_roads_is_refused(tmp_path):
    file = map_files.written(tmp_path / "a.osm.pbf", SQUARE, [(1, [1, 2], {"highway": "path"})])

    with pytest.raises(osm_file.MapFileError, match=r"has no roads\.$"):
        read(file)


def in_file(file, *parts, sign=1, ways=(50, 60)):
    """A map file of a road in a residential area, written part after part."""
    places = {**SQUARE, 5: (47.1, 9.1), 6: (47.11, 9.1)}
    lines = {50: ([5, 6], {"highway": "primary"}), 60: ([1, 2, 3, 4, 1], {"landuse": "residential"})}
    things = {
        "nodes": [mutable.Node(id=sign * no, location=(lon, lat)) for no, (lat, lon) in places.items()],
        "ways": [mutable.Way(id=sign * no, nodes=[sign * at for at in lines[no][0]], tags=lines[no][1]) for no in ways],
    }
    with osmium.SimpleWriter(str(file)) as writer:
        for part in parts:
            for each in things[part]:
                writer.add(each)
    return file


@pytest.mark.parametrize(("parts", "sign"), [(("ways", "nodes"), 1), (("nodes", "ways"), -1), (("ways", "nodes"), -1)])
def test_file_with_ways_first_or_negative_ids_is_the_same_map(tmp_path, parts, sign):
    usual, _ = read(in_file(tmp_path / "a.osm.pbf", "nodes", "ways"))

    index, texts = read(in_file(tmp_path / "b.osm.pbf", *parts, sign=sign), otherwise="AT")

    assert (index.lat.tolist(), index.lon.tolist()) == (usual.lat.tolist(), usual.lon.tolist())
    assert index.link.tolist() == [sign * 50]
    assert texts.limits[0][0].limit == Limit(50, LimitSource.IMPLIED)
    assert {each.name for each in tmp_path.iterdir()} == {"a.osm.pbf", "b.osm.pbf"}


@pytest.mark.parametrize(("parts", "ways"), [(("ways",), (50, 60)), (("nodes", "ways"), (60, 50))])
def test_roads_without_nodes_or_in_disorder_are_refused_with_the_fix(tmp_path, parts, ways):
    file = in_file(tmp_path / "a.osm.pbf", *parts, ways=ways)

    with pytest.raises(osm_file.MapFileError, match=r"sort it first: osmium sort\.$") as refused:
        read(file)

    assert phrase_of(str(refused.value)).name == "kept.map.unsorted"


def test_boundary_that_closes_without_a_ring_holds_no_road(tmp_path):
    """A boundary along one line there and back, as an extract has it that cuts through a country."""
    road = {"highway": "secondary"}
    of_country = {"type": "boundary", "boundary": "administrative", "admin_level": "2", "ISO3166-1": "AT"}
    ways = [(1, [1, 2], {}), (2, [2, 1], {}), (3, [3, 4], road)]
    file = map_files.written(tmp_path / "a.osm.pbf", SQUARE, ways, [(1, [1, 2], of_country)])

    assert limits_of(file) == [None]


def test_file_that_unpacks_to_far_more_than_its_size_is_refused_before_it_is_read(tmp_path):
    file = map_files.nodes_at_one_place(tmp_path / "a.osm.pbf", 20_000_000)
    assert file.stat().st_size < 60_000

    with pytest.raises(osm_file.MapFileError, match=r"more than 6 times its size") as refused:
        read(file)

    assert osm_file.unpacked(file) > 60_000_000
    assert phrase_of(str(refused.value)).name.startswith("kept.map.")


@pytest.mark.parametrize(("more", "is_taken"), [(0, True), (1, False)])
def test_file_may_unpack_up_to_the_bound(tmp_path, monkeypatch, more, is_taken):
    file = map_files.nodes_at_one_place(tmp_path / "a.osm.pbf", 1_000)
    usual = osm_file.unpacked(file)
    monkeypatch.setattr(osm_file, "LEAST_BYTES", usual - osm_file.MOST_RATIO * file.stat().st_size - more)

    with contextlib.nullcontext() if is_taken else pytest.raises(osm_file.MapFileError, match="unpacks"):
        assert read(file)[0].link.tolist() == [7]


def test_file_that_unpacks_to_more_than_usual_keeps_its_nodes_on_disk(tmp_path, monkeypatch):
    file = map_files.street(tmp_path / "a.osm.pbf")
    assert osm_file.storage(file, tmp_path) == "flex_mem"
    monkeypatch.setattr(osm_file, "LEAST_BYTES", -osm_file.USUAL_RATIO * file.stat().st_size)

    assert osm_file.storage(file, tmp_path).startswith("sparse_file_array,")


def test_nodes_of_a_road_are_read_up_to_the_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(osm_file, "MOST_NODES", 5)

    index, _ = read(map_files.street(tmp_path / "a.osm.pbf"))

    assert index.road.tolist() == [0] * 5


@pytest.mark.parametrize("length", [0, 65_537, 2**32 - 1])
def test_damaged_blocks_end_the_look_at_their_sizes(tmp_path, length):
    file = map_files.street(tmp_path / "a.osm.pbf")
    whole = osm_file.unpacked(file)
    file.write_bytes(file.read_bytes() + length.to_bytes(4, "big") + b"\xff" * 100)

    assert osm_file.unpacked(file) == whole


def test_other_fields_hide_no_size(tmp_path):
    file = map_files.street(tmp_path / "a.osm.pbf")
    whole = osm_file.unpacked(file)
    blob = b"\x7d1234" + b"\x79" + b"12345678" + b"\x10\x64"  # a fixed32, a fixed64, and 100 bytes unpacked
    head = b"\x0a\x07OSMData\x18" + bytes([len(blob)])
    file.write_bytes(file.read_bytes() + len(head).to_bytes(4, "big") + head + blob)

    assert osm_file.unpacked(file) == whole + 100

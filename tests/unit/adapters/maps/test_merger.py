"""One tile of several areas', read back by the library's own decoder."""

import mapbox_vector_tile
from shapely.geometry import LineString, Point
from tests.support import tile_files as made

from tripline.adapters.maps import merger


def test_tiles_become_one_with_what_they_have_alike_only_once():
    both = merger.merged([made.tile("Au", "Buchs"), made.tile("Chur"), made.tile("Au", "Dornbirn")])

    assert made.names(both) == ["Au", "Buchs", "Chur", "Dornbirn"]


def test_layers_go_together_by_their_names():
    one = made.tile("Au", layer="place")
    line = {"geometry": LineString([(0, 0), (9, 9)]), "properties": {"ref": "A13", "ramp": 1}}
    road = mapbox_vector_tile.encode([{"name": "road", "features": [line]}])
    named = mapbox_vector_tile.encode(
        [{"name": "road", "features": [{**line, "properties": {"name": "A13", "ref": "7"}}, line]}]
    )

    found = mapbox_vector_tile.decode(merger.merged([one, road, named]))

    assert list(found) == ["place", "road"]
    assert [each["properties"] for each in found["road"]["features"]] == [
        {"ref": "A13", "ramp": 1},
        {"name": "A13", "ref": "7"},
    ]


def test_same_place_with_another_name_is_another_thing():
    def point(name):
        things = [{"geometry": Point(1, 1), "properties": {"name": name}}]
        return mapbox_vector_tile.encode([{"name": "place", "features": things}])

    assert made.names(merger.merged([point("one"), point("two"), point("one")])) == ["one", "two"]


def test_what_is_no_tile_adds_nothing():
    assert made.names(merger.merged([b"\xff\xff\xff", made.tile("Au"), b""])) == ["Au"]

"""Tiles of the base map, as an import makes them: what is in which, where, and what a file leaves out."""

import gzip

import mapbox_vector_tile
import numpy as np
import pytest
import shapely
from pmtiles.reader import MmapSource, Reader, all_tiles
from shapely.geometry import shape
from tests.support import map_files as made

from tripline.adapters.maps import features as map_features
from tripline.adapters.maps import files
from tripline.adapters.maps import tiles as map_tiles
from tripline.basemap.layers import Feature, Layer
from tripline.domain.maps import Bounds
from tripline.maintenance import maps

SOUTH, NORTH, WEST, EAST = 47.0, 47.2, 9.4, 9.6
CORNERS = {1: (SOUTH, WEST), 2: (SOUTH, EAST), 3: (NORTH, EAST), 4: (NORTH, WEST)}


def drawn(folder, file):
    """The tiles of an import, by zoom, column and row, and the file's header."""
    area = maps.imported(folder / "maps", file, name="area", country="", progress=lambda _: None)
    with (folder / "maps" / area.folder / files.TILES).open("rb") as opened:
        source = MmapSource(opened)
        tiles = {
            at: mapbox_vector_tile.decode(gzip.decompress(body), default_options={"y_coord_down": True})
            for at, body in all_tiles(source)
        }
        reader = Reader(source)
        return tiles, reader.header(), reader.metadata()


def _row(lat):
    """Latitude as the degrees that longitude has as far from the edge of the world."""
    return 180 - np.degrees(np.arcsinh(np.tan(np.radians(lat))))


def features(tiles, layer, zoom):
    """Those of a layer at a zoom, in all tiles."""
    return [
        each for at, tile in tiles.items() if at[0] == zoom for each in tile.get(layer, {"features": []})["features"]
    ]


@pytest.fixture
def lake(tmp_path):
    """A lake, a street across, a building and a boundary."""
    nodes = CORNERS | {9: (47.1, 9.41), 10: (47.1, 9.59)}
    nodes |= {11: (47.1, 9.5), 12: (47.1, 9.5003), 13: (47.1002, 9.5003), 14: (47.1002, 9.5)}
    ways = [
        (1, [1, 2, 3, 4, 1], {"natural": "water", "name": "Lake"}),
        (3, [9, 10], {"highway": "primary", "ref": "7", "maxspeed": "50"}),
        (4, [11, 12, 13, 14, 11], {"building": "yes"}),
        (5, [1, 3], {"boundary": "administrative", "admin_level": "2"}),
    ]
    return made.written(tmp_path / "a.osm.pbf", nodes, ways)


def test_things_appear_in_their_layers_from_their_zoom_on(tmp_path, lake):
    tiles, _, _ = drawn(tmp_path, lake)

    first = {}
    for zoom, _, _ in sorted(tiles):
        for layer in {layer for at, tile in tiles.items() if at[0] == zoom for layer in tile}:
            first.setdefault(layer, zoom)
    assert first == {"boundary": 3, "water": 6, "road": 8, "limit": 12, "building": 14}
    assert {each["properties"]["name"] for each in features(tiles, "water", 10)} == {"Lake"}
    assert {tuple(each["properties"].items()) for each in features(tiles, "limit", 14)} == {
        (("kmh", 50), ("source", "tagged"))
    }


def test_pieces_of_an_area_fill_their_tiles_and_no_more(tmp_path, lake):
    """Together they are the lake: without what lies beyond each tile's edge their areas add up to its own."""
    tiles, _, _ = drawn(tmp_path, lake)

    x0, x1 = ((each + 180) / 360 * 2**12 for each in (WEST, EAST))
    y0, y1 = (_row(each) / 360 * 2**12 for each in (NORTH, SOUTH))
    square = shape({"type": "Polygon", "coordinates": [[(0, 0), (4096, 0), (4096, 4096), (0, 4096)]]})
    pieces = [shape(each["geometry"]) for each in features(tiles, "water", 12)]
    assert sum(each.intersection(square).area for each in pieces) / 4096**2 == pytest.approx(
        (x1 - x0) * (y1 - y0), rel=0.002
    )
    for piece in pieces:
        low, high = -map_tiles.BUFFER - 1, map_tiles.EXTENT + map_tiles.BUFFER + 1
        assert low <= min(piece.bounds) <= max(piece.bounds) <= high


def test_line_goes_on_in_the_next_tile_where_it_ended(tmp_path, lake):
    tiles, _, _ = drawn(tmp_path, lake)

    shown = {(x, y): tile["road"] for (zoom, x, y), tile in tiles.items() if zoom == 14 and "road" in tile}
    row = min(y for _, y in shown)
    columns = sorted(x for x, y in shown if y == row)
    assert len(columns) > 5
    assert columns == list(range(columns[0], columns[-1] + 1))
    for x in columns[1:-1]:
        (road,) = shown[x, row]["features"]
        xs = [x for x, _ in road["geometry"]["coordinates"]]
        assert (min(xs), max(xs)) == (-map_tiles.BUFFER, map_tiles.EXTENT + map_tiles.BUFFER)


def test_file_says_what_it_is_and_whose(tmp_path, lake):
    tiles, header, metadata = drawn(tmp_path, lake)

    assert (header["min_zoom"], header["max_zoom"], header["clustered"]) == (3, 14, True)
    assert header["addressed_tiles_count"] == len(tiles)
    assert metadata["attribution"] == "© OpenStreetMap contributors"


def test_way_whose_nodes_are_missing_is_left_out(tmp_path):
    nodes = {1: (47.0, 9.5), 2: (47.1, 9.5)}
    ways = [
        (1, [1, 2], {"highway": "primary"}),
        (2, [1, 99], {"railway": "rail"}),
        (3, [1, 2, 99, 1], {"building": "yes"}),
    ]

    tiles, _, _ = drawn(tmp_path, made.written(tmp_path / "a.osm.pbf", nodes, ways))

    assert {layer for tile in tiles.values() for layer in tile} == {"road"}


UNIT_DEG = 360 / 2**14 / map_tiles.EXTENT
"""Of longitude, at the largest zoom."""


def lakes_of(folder, *outlines):
    """The tiles with lakes of these corners, longitudes and latitudes."""
    with (folder / "shapes").open("w+b") as opened:
        kept = map_features.Features(opened)
        lakes = np.array([shapely.Polygon(corners) for corners in outlines])
        kept.take_all(lakes, [Feature(Layer.WATER, 6, {"kind": "water"})] * len(outlines))
        map_tiles.write(
            kept.stored(), folder / "tiles", bounds=Bounds(WEST, SOUTH, EAST, NORTH), progress=lambda _: None
        )
    with (folder / "tiles").open("rb") as opened:
        return {at: mapbox_vector_tile.decode(gzip.decompress(body)) for at, body in all_tiles(MmapSource(opened))}


def outlines(tiles, zoom):
    return [shape(each["geometry"]) for each in features(tiles, "water", zoom)]


def test_outline_that_crosses_itself_is_drawn(tmp_path):
    tiles = lakes_of(tmp_path, [(9.4, 47.0), (9.6, 47.2), (9.6, 47.0), (9.4, 47.2)])

    assert len(tiles) > 100
    for zoom in range(6, 15):
        drawn = outlines(tiles, zoom)
        assert drawn
        assert all(each.is_valid for each in drawn)


def test_outlines_that_cross_themselves_many_times_within_a_few_units_are_drawn(tmp_path):
    """Parts of them are smaller than a unit."""
    corners = np.random.default_rng(1).random((200, 30, 2)) * 30

    tiles = lakes_of(tmp_path, *(corners * UNIT_DEG + (-180 + 2048 * UNIT_DEG, -2048 * UNIT_DEG)))

    drawn = outlines(tiles, 14)
    assert len(drawn) == len(corners)
    assert all(each.is_valid for each in drawn)


def test_outline_whose_sides_fall_together_on_whole_units_is_drawn_without_that_part(tmp_path):
    """Two ponds with a ditch between them that is a fifth of a unit wide."""
    x, y = (
        -180 + UNIT_DEG * np.array([0, 400, 400, 600, 600, 1000, 1000, 600, 600, 400, 400, 0]),
        np.array([0, 0, 100, 100, 0, 0, 200, 200, 100.2, 100.2, 200, 200]),
    )
    tiles = lakes_of(tmp_path, np.column_stack((x + 2048 * UNIT_DEG, (y - 2048) * UNIT_DEG)))

    (drawn,) = outlines(tiles, 14)

    assert drawn.is_valid
    assert sorted(round(each.area) for each in drawn.geoms) == [80_000, 80_000]


def test_outline_keeps_its_corners_once_on_whole_units(tmp_path):
    """Two of them fall together."""
    corners = np.array([(300, 300), (80, 199), (100.45, 100.45), (99.55, 99.55), (200, 0)])
    tiles = lakes_of(tmp_path, corners * UNIT_DEG + (-180 + 2048 * UNIT_DEG, -2048 * UNIT_DEG))

    (drawn,) = outlines(tiles, 14)

    assert drawn.is_valid
    places = [tuple(each) for each in drawn.exterior.coords]
    assert len(set(places)) == len(places) - 1


def test_tiles_go_with_the_area(tmp_path, lake):
    folder = tmp_path / "maps"
    area = maps.imported(folder, lake, name="area", country="", progress=lambda _: None)
    assert area.size == sum(each.stat().st_size for each in (folder / area.folder).iterdir())

    maps.removed(folder, "area")

    assert list(folder.glob("area*")) == []


HOLED = shapely.Polygon(
    [(0, 0), (4_096, 0), (4_096, 4_096), (0, 4_096)], [[(100, 100), (100, 200), (200, 200), (200, 100)]]
)
SHAPES = [
    shapely.Point(-5, 4_100),
    shapely.LineString([(0, 0), (10, -7), (10, 3)]),
    shapely.MultiLineString([[(5, 5), (6, 6)], [(100, 90), (0, 0)]]),
    HOLED,
    shapely.MultiPolygon([shapely.box(0, 0, 10, 10), shapely.box(50, 50, 70, 60)]),
]


def read(layers):
    body = map_tiles.encoded(layers, extent=4_096)
    return mapbox_vector_tile.decode(body, default_options={"y_coord_down": True})


def oriented(shapes):
    return np.array([shapely.orient_polygons(each, exterior_cw=False) for each in shapes], object)


@pytest.mark.parametrize("shapes", [SHAPES, SHAPES[::-1], *([each] for each in SHAPES)])
def test_shapes_are_read_back(shapes):
    tile = read([("layer", oriented(shapes), [{"no": no} for no in range(len(shapes))])])

    found = tile["layer"]["features"]
    assert [each["properties"]["no"] for each in found] == list(range(len(shapes)))
    for expected, each in zip(shapes, found, strict=True):
        drawn = shape(each["geometry"])
        assert drawn.geom_type == expected.geom_type
        assert drawn.normalize().equals(expected.normalize())


def test_layers_have_their_own_names_and_values():
    point = np.array([shapely.Point(1, 2)], object)

    tile = read([("a", point, [{"name": "x", "kind": "y"}]), ("b", point, [{"kind": "x", "people": 5}])])

    assert [tile[layer]["features"][0]["properties"] for layer in "ab"] == [
        {"name": "x", "kind": "y"},
        {"kind": "x", "people": 5},
    ]
    assert {layer["extent"] for layer in tile.values()} == {4_096}

"""One vector tile, read back by the library's own decoder."""

import mapbox_vector_tile
import numpy as np
import pytest
import shapely
from shapely.geometry import shape

from tripline.adapters.maps import encoder

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
    body = encoder.encoded(layers, extent=4_096)
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

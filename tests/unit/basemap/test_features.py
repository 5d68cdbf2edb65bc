"""Choice of what the base map shows of a thing's tags, and from which zoom on."""

import pytest

from tripline.basemap import features
from tripline.basemap.layers import Feature, Layer


@pytest.mark.parametrize(
    ("tags", "shown"),
    [
        ({"highway": "motorway", "ref": "A13"}, Feature(Layer.ROAD, 5, {"kind": "motorway", "ref": "A13"})),
        ({"highway": "motorway_link"}, Feature(Layer.ROAD, 11, {"kind": "motorway", "ramp": 1})),
        (
            {"highway": "residential", "name": " Lane ", "bridge": "yes", "tunnel": "no"},
            Feature(Layer.ROAD, 12, {"kind": "minor", "name": "Lane", "bridge": 1}),
        ),
        ({"highway": "pedestrian", "area": "yes"}, None),
        ({"highway": "proposed"}, None),
        ({"railway": "rail", "tunnel": "yes"}, Feature(Layer.RAIL, 9, {"kind": "rail", "tunnel": 1})),
        ({"railway": "abandoned"}, None),
        ({"waterway": "river", "name": "Rhine"}, Feature(Layer.WATER, 8, {"kind": "river", "name": "Rhine"})),
        ({"boundary": "administrative", "admin_level": "2"}, Feature(Layer.BOUNDARY, 3, {"level": 2})),
        ({"boundary": "protected_area", "admin_level": "2"}, None),
        ({"name": "nothing"}, None),
    ],
)
def test_lines(tags, shown):
    assert features.of_line(tags) == shown


@pytest.mark.parametrize(
    ("tags", "shown"),
    [
        ({"building": "yes"}, Feature(Layer.BUILDING, 14, {})),
        ({"building": "no", "landuse": "forest"}, Feature(Layer.LANDUSE, 8, {"kind": "wood"})),
        ({"natural": "water", "name": "Lake"}, Feature(Layer.WATER, 6, {"kind": "water", "name": "Lake"})),
        ({"leisure": "park"}, Feature(Layer.LANDUSE, 11, {"kind": "park"})),
        ({"landuse": "unheard of"}, None),
    ],
)
def test_areas(tags, shown):
    assert features.of_area(tags) == shown


@pytest.mark.parametrize(
    ("population", "people", "zoom"),
    [("", 0, 10), ("5 400", 5_400, 10), ("12000", 12_000, 8), ("2000000", 2_000_000, 4), ("many", 0, 10), ("²", 0, 10)],
)
def test_places_by_population(population, people, zoom):
    tags = {"place": "village", "name": "Vaduz", "population": population}

    told = {"kind": "village", "name": "Vaduz", "population": people}
    assert features.of_point(tags) == Feature(Layer.PLACE, zoom, told)


@pytest.mark.parametrize("tags", [{"place": "village"}, {"place": "sea", "name": "x"}, {"name": "x"}])
def test_points_that_are_no_place_with_a_name(tags):
    assert features.of_point(tags) is None


def test_names_are_cut():
    found = features.of_line({"highway": "primary", "name": "x" * 1_000})

    assert found is not None
    assert len(str(found.properties["name"])) == features.MOST_NAME


class Tags(dict):
    """None, and which were asked for."""

    def __init__(self):
        super().__init__()
        self.asked = set()

    def get(self, key, default=None):
        self.asked.add(key)
        return default


@pytest.mark.parametrize(
    ("shown", "keys"),
    [
        (features.of_point, (*features.POINT_KEYS, "name")),
        (features.of_line, features.LINE_KEYS),
        (features.of_area, features.AREA_KEYS),
    ],
)
def test_keys_that_are_read_of_a_file_are_those_that_the_choice_goes_by(shown, keys):
    tags = Tags()

    assert shown(tags) is None

    assert tags.asked == set(keys)

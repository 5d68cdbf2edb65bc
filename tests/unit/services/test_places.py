"""Words for coordinates."""

import asyncio

from tripline.language.catalogue import Language
from tripline.ports.maps import PlaceName
from tripline.services import places

NAMES = {
    (47.1, 9.5): PlaceName("Hauptstrasse", "Vaduz"),
    (47.2, 9.5): PlaceName("", "Schaan"),
    (47.3, 9.5): PlaceName("L1", ""),
    (48.0, 9.5): PlaceName("", ""),
}


def told(*args, **values):
    return asyncio.run(places.words(*args, **values))


class Names:
    """Names of a few points; counts the calls."""

    def __init__(self):
        self.calls = []

    def named(self, points, *, language):
        self.calls.append((list(points), language))
        return [NAMES[point] for point in points]


def test_one_call_names_each_point_once_in_the_order_asked():
    names, points = Names(), [*NAMES, None, (47.1, 9.5)]

    found = told(names, points, language=Language.ENGLISH)

    assert found == ["Hauptstrasse, Vaduz", "Schaan", "L1", None, None, "Hauptstrasse, Vaduz"]
    assert names.calls == [(list(NAMES), "en")]


def test_known_road_replaces_the_nearest_one():
    found = told(Names(), list(NAMES), language=Language.ENGLISH, roads=["Feldweg", "A13", "", "Feldweg"])

    assert found == ["Feldweg, Vaduz", "A13, Schaan", "L1", "Feldweg"]


def test_korean_names_the_place_first():
    assert told(Names(), [(47.1, 9.5)], language=Language.KOREAN) == ["Vaduz Hauptstrasse"]


def test_without_maps_or_points_nothing_is_named():
    names = Names()

    assert told(None, [(47.1, 9.5)], language=Language.ENGLISH) == [None]
    assert told(names, [None], language=Language.ENGLISH) == [None]
    assert names.calls == []


def test_point_without_a_name_shows_its_road_else_its_coordinates():
    points = [(47.1, 9.5), (48.0, 9.5), (48.0, 9.5), None]
    found = asyncio.run(places.shown(Names(), points, language=Language.ENGLISH, roads=["", "A13", "", ""]))

    assert found == ["Hauptstrasse, Vaduz", "A13", "48.0000, 9.5000", None]
    shown = places.shown(None, [(48.0, 9.5)] * 2, language=Language.ENGLISH, roads=["", "A13"])
    assert asyncio.run(shown) == ["48.0000, 9.5000", "A13"]

"""Things that the base map shows of a map file, before it is cut into tiles."""

import numpy as np
import pytest
from tests.support import map_files as made

from tripline.adapters.maps import features, osm_file

NODES = {no: (47.0 + (no % 2) / 100, 9.0 + no / 100) for no in range(1, 13)}


@pytest.fixture
def things(tmp_path):
    """What was taken so far; an empty file."""
    with (tmp_path / "shapes").open("w+b") as opened:
        yield features.Features(opened)


def told(kept):
    """The label of the layer and what is told, thing by thing."""
    numbers = np.arange(kept.layer.size)
    return list(zip(kept.layer.tolist(), kept.properties(numbers), strict=True))


def longitudes(kept):
    """Of the vertices of each thing, degrees."""
    shapes = kept.shapes(np.arange(kept.layer.size))
    return [[round((x - 0.5) * 360, 6) for x, _ in shape.coords] for shape in shapes]


@pytest.mark.parametrize("at_once", [1, 2, 100])
def test_limits_lie_along_those_roads_that_have_one(tmp_path, monkeypatch, things, at_once):
    monkeypatch.setattr(features, "AT_ONCE", at_once)
    limits = {1: "50", 2: "", 3: "none", 4: "30", 5: "50"}
    ways = [
        (no, [2 * no, 2 * no + 1, 2 * no + 2], {"highway": "secondary", "maxspeed": limit})
        for no, limit in limits.items()
    ]
    file = made.written(tmp_path / "a.osm.pbf", NODES, ways)
    index, texts = osm_file.read(file, scratch=tmp_path, progress=lambda _: None).built(otherwise="")

    features.limits(index, texts, things)

    kept = things.stored()
    assert [(each["kmh"], each["source"]) for _, each in told(kept)] == [(50, "tagged"), (30, "tagged"), (50, "tagged")]
    assert longitudes(kept) == [[9.02, 9.03, 9.04], [9.08, 9.09, 9.1], [9.1, 9.11, 9.12]]


def test_things_of_every_kind_are_taken_and_nothing_else(tmp_path, things):
    ways = [
        (1, [1, 2], {"highway": "primary"}),
        (2, [2, 3], {"railway": "rail"}),
        (3, [3, 4], {"waterway": "river"}),
        (4, [4, 5], {"boundary": "administrative", "admin_level": "2"}),
        (5, [5, 6], {"building": "yes"}),
        (6, [5, 6, 7, 5], {"building": "yes"}),
        (7, [6, 7, 8, 6], {"natural": "water"}),
        (8, [7, 8, 9, 7], {"waterway": "riverbank"}),
        (9, [8, 9, 10, 8], {"landuse": "forest"}),
        (10, [9, 10, 11, 9], {"leisure": "park"}),
        (11, [1, 2, 3, 1], {"name": "nothing"}),
    ]
    places = {12: {"place": "town", "name": "Vaduz"}, 11: {"highway": "crossing", "name": "x"}}
    file = made.written(tmp_path / "a.osm.pbf", NODES, ways, of_nodes=places)

    features.read(file, things, scratch=tmp_path)

    found = sorted((layer, str(each.get("kind", each.get("level", "")))) for layer, each in told(things.stored()))
    assert found == [
        *((0, "park"), (0, "wood"), (1, "river"), (1, "water"), (1, "water"), (2, "2")),
        *((3, ""), (4, "rail"), (5, "primary"), (7, "town")),
    ]

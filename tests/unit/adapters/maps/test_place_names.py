"""Names of coordinates by imported maps."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from tests.support import map_files as made

from tripline.adapters.maps import files
from tripline.adapters.maps.open_maps import OpenMaps
from tripline.adapters.maps.place_names import MapPlaceNames
from tripline.maintenance import maps
from tripline.ports.maps import PlaceName

EXTRACT = Path(__file__).parents[4] / "evaluation" / "maps" / "liechtenstein.osm.pbf"
ON_STREET = (47.01, 9.5)
BESIDE = (47.01, 9.502)
"""150 m from the street."""
VILLAGE = {"place": "village", "name": "Dorf", "name:ko": "도르프"}


def imported(folder, file, name="area"):
    return maps.imported(folder, file, name=name, country="", progress=lambda _: None)


def village(file, *, lat=47.01, **tags):
    """A street of 3 km due north with a village beside it, and a road to the east that widens the map's bounds."""
    nodes = {no: (47.0 + no * 300 / 111_195.08, 9.5) for no in range(1, 12)}
    nodes |= {20: (47.0, 9.51), 21: (47.02, 9.51), 30: (lat, 9.501)}
    ways = [(7, list(range(1, 12)), {"highway": "secondary", "name": "Street"}), (8, [20, 21], {"highway": "service"})]
    return made.written(file, nodes, ways, of_nodes={30: {**VILLAGE, **tags}})


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "maps"


@pytest.fixture
def names(folder):
    return MapPlaceNames(folder)


def test_without_maps_nothing_is_named(names):
    assert names.named([ON_STREET], language="en") == [PlaceName("", "")]
    assert names.named([], language="en") == []


def test_points_are_named_by_road_and_place_in_both_languages(names, folder, tmp_path):
    area = imported(folder, village(tmp_path / "a.osm.pbf"))
    points = [ON_STREET, BESIDE, (48.0, 9.5)]

    assert area.places == 1
    assert names.named(points, language="en") == [PlaceName("Street", "Dorf"), PlaceName("", "Dorf"), PlaceName("", "")]
    assert names.named(points, language="ko")[:2] == [PlaceName("Street", "도르프"), PlaceName("", "도르프")]


def test_map_without_a_table_of_places_names_roads_alone(names, folder, tmp_path):
    area = imported(folder, village(tmp_path / "a.osm.pbf"))
    place = folder / area.folder
    for file in place.glob("places_*"):
        file.unlink()
    files.put(folder, replace(area, places=None))

    assert names.named([ON_STREET, BESIDE], language="en") == [PlaceName("Street", ""), PlaceName("", "")]


def test_of_two_maps_the_nearer_place_counts(names, folder, tmp_path):
    imported(folder, village(tmp_path / "a.osm.pbf", lat=47.02, name="Far"), "a")
    imported(folder, village(tmp_path / "b.osm.pbf", lat=47.011, name="Near"), "b")

    assert names.named([ON_STREET], language="en") == [PlaceName("Street", "Near")]


def test_replaced_and_removed_maps_count_from_the_next_call_on(names, folder, tmp_path):
    told = []
    for name in ("One", "Two"):
        imported(folder, village(tmp_path / "a.osm.pbf", name=name))
        told += names.named([ON_STREET], language="en")
    maps.removed(folder, "area")

    assert [each.place for each in told] == ["One", "Two"]
    assert names.named([ON_STREET], language="en") == [PlaceName("", "")]


def test_map_that_cannot_be_read_names_nothing_and_the_others_stay(names, folder, tmp_path):
    gone = imported(folder, village(tmp_path / "a.osm.pbf", name="Gone", lat=47.0101), "a")
    imported(folder, village(tmp_path / "b.osm.pbf", name="There"), "b")
    shutil.rmtree(folder / gone.folder)

    assert names.named([ON_STREET], language="en") == [PlaceName("Street", "There")]


@pytest.mark.deep
def test_shipped_extract_names_a_hundred_points(folder):
    imported(folder, EXTRACT)
    names = MapPlaceNames(folder, maps=OpenMaps(folder))
    chance = np.random.default_rng(3)
    points = [(47.14 + a, 9.52 + b) for a, b in chance.uniform(-0.01, 0.01, (100, 2)).tolist()]
    vaduz = (47.1392862, 9.5227962)

    found = names.named([vaduz, *points], language="en")

    assert found[0].place == "Vaduz"
    assert sum(bool(each.place) for each in found) > 90
    assert sum(bool(each.road) for each in found) > 30


def test_process_that_names_nothing_loads_no_arrays(folder, tmp_path):
    imported(folder, village(tmp_path / "a.osm.pbf"))
    program = (
        "import sys; from pathlib import Path; from tripline.adapters.maps.place_names import MapPlaceNames;"
        "names = MapPlaceNames(Path(sys.argv[1])); print('numpy' in sys.modules)"
    )

    told = subprocess.run([sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=True)

    assert told.stdout.strip() == "False"

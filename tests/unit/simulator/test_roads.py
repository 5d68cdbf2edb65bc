"""Roads: made up around a place, or the legs of a recorded route; routes from GPX files."""

import itertools
import random
from pathlib import Path

import pytest

from tripline.simulator import fleet, gpx, roads
from tripline.simulator.recordings import FOLDER, TrackError

GPX = """<?xml version="1.0"?><gpx xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>
<trkpt lat="37.0" lon="127.0"><time>2025-01-01T00:00:00Z</time></trkpt>
<trkpt lat="37.001" lon="127.0"><ele>12</ele><time>2025-01-01T00:00:10Z</time></trkpt>
<trkpt lat="37.002" lon="127.0"/></trkseg></trk></gpx>"""


def test_made_up_road_stays_around_its_place_and_its_legs_join() -> None:
    around = (52.5, 13.4)
    legs = list(itertools.islice(roads.made_up(random.Random(3), around), 500))

    assert all(one.line[-1] == other.line[0] for one, other in itertools.pairwise(legs))
    assert max(roads.distance_m(around, leg.line[-1]) for leg in legs) < 20_000
    assert {leg.limit_kmh for leg in legs} == {30.0, 50.0, 60.0, 80.0, 110.0}


def test_recorded_route_becomes_legs_from_its_start_to_its_end() -> None:
    [legs] = fleet.routes([FOLDER / "drive_04.csv"])

    whole = sum(roads.distance_m(one, other) for leg in legs for one, other in itertools.pairwise(leg.line))
    assert all(one.line[-1] == other.line[0] for one, other in itertools.pairwise(legs))
    assert whole > 3_000
    assert all(leg.limit_kmh % 10 == 0 for leg in legs)


def test_gpx_route_has_places_and_speeds_where_times_tell_them(tmp_path: Path) -> None:
    file = tmp_path / "route.gpx"
    file.write_text(GPX)

    route = gpx.read(file)

    assert [fix[:2] for fix in route] == [(37.0, 127.0), (37.001, 127.0), (37.002, 127.0)]
    assert [fix[2] for fix in route] == [None, pytest.approx(40.03, abs=0.01), None]


@pytest.mark.parametrize("text", ["", "<gpx/>", "<gpx", '<gpx><trkpt lat="91" lon="0"/><trkpt lat="1" lon="0"/></gpx>'])
def test_gpx_file_without_a_route_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "route.gpx"
    file.write_text(text)

    with pytest.raises(TrackError) as refused:
        fleet.routes([file])

    assert "\n" not in str(refused.value)


def test_route_that_goes_nowhere_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "still.csv"
    file.write_text("t_ms,lat,lon\n1735689600000,37,127\n1735689601000,37,127\n")

    with pytest.raises(TrackError, match="goes nowhere"):
        fleet.routes([file])

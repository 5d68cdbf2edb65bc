"""A track as GPX, CSV and GeoJSON: escaped texts, no formulas, segments at gaps."""

import csv
import io
import json
from xml.etree import ElementTree

import pytest

from tripline.services.scores.track import Track, TrackForm, written

NAME = "=1+1 <b>&\x07"
HEADER = ("time", "lat", "lon", "speed")
GPX = "{http://www.topografix.com/GPX/1/1}"
TRACK = Track(
    samples=3,
    time_ms=[1_735_691_234_000, 1_735_691_235_500, 1_735_699_999_000],
    lat=[37.5, 37.6, 37.7],
    lon=[127.0, 127.1, 127.2],
    speed_kmh=[36.0, None, 72.0],
    no_fix=[],
)
EMPTY = Track(samples=0, time_ms=[], lat=[], lon=[], speed_kmh=[], no_fix=[])


def file(form, track=TRACK):
    return written(form, track, name=NAME, header=HEADER).decode("utf-8-sig")


def test_gpx_is_valid_xml_with_a_segment_for_each_side_of_a_gap():
    root = ElementTree.fromstring(file(TrackForm.GPX))

    assert root.find(f"{GPX}trk/{GPX}name").text == "=1+1 <b>&"
    segments = root.findall(f"{GPX}trk/{GPX}trkseg")
    assert [len(each) for each in segments] == [2, 1]
    assert segments[0][1].find(f"{GPX}time").text == "2025-01-01T00:27:15.500Z"
    assert [each.attrib for each in segments[1]] == [{"lat": "37.700000", "lon": "127.200000"}]


def test_csv_runs_no_formula():
    rows = list(csv.reader(io.StringIO(file(TrackForm.CSV))))

    assert rows[0][0].startswith("'=")
    assert rows[2:4] == [
        ["2025-01-01T00:27:14.000Z", "37.5", "127.0", "36.0"],
        ["2025-01-01T00:27:15.500Z", "37.6", "127.1", ""],
    ]


def test_geojson_has_lines_and_a_point_where_a_line_would_have_one():
    found = json.loads(file(TrackForm.GEOJSON))["features"]

    assert [each["geometry"] for each in found] == [
        {"type": "LineString", "coordinates": [[127.0, 37.5], [127.1, 37.6]]},
        {"type": "Point", "coordinates": [127.2, 37.7]},
    ]
    assert found[0]["properties"]["speedsKmh"] == [36.0, None]
    assert found[0]["properties"]["name"] == NAME


@pytest.mark.parametrize("form", list(TrackForm))
def test_trip_without_positions_has_an_empty_file(form):
    assert file(form, EMPTY)

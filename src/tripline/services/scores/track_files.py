"""A trip's track as a file for other programs: GPX, CSV and GeoJSON.

Not here: the track (`track.py`), the answer (`portal/trips/trip_files.py`).
"""

import datetime as dt
from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

import msgspec

from tripline.services.scores.track import Track
from tripline.wire import csv_files

_UTC: Final = dt.UTC
_GAP_MS: Final = 120_000
"""A longer time between two samples begins another segment."""
_XML_FORBIDDEN: Final = {code: None for code in range(0x20) if code not in (0x9, 0xA, 0xD)} | {
    0xFFFE: None,
    0xFFFF: None,
}


class TrackForm(StrEnum):
    """Forms of a track's file."""

    GPX = "gpx"
    CSV = "csv"
    GEOJSON = "geojson"


MEDIA_TYPES: Final = {
    TrackForm.GPX: "application/gpx+xml",
    TrackForm.CSV: "text/csv; charset=utf-8",
    TrackForm.GEOJSON: "application/geo+json",
}


def written(form: TrackForm, track: Track, *, name: str, header: Sequence[str]) -> bytes:
    """Return the file. `name`: of the track; `header`: names of the CSV's columns: time, latitude, longitude, speed."""
    match form:
        case TrackForm.GPX:
            return _gpx(track, name)
        case TrackForm.CSV:
            return _csv(track, name, header)
        case TrackForm.GEOJSON:
            return _geojson(track, name)


class _Segment(NamedTuple):
    """Samples without a gap."""

    first: int
    last: int
    """The one behind the last."""


def _gpx(track: Track, name: str) -> bytes:
    """GPX 1.1 (https://www.topografix.com/GPX/1/1/); speeds are in the extension, m/s."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append('<gpx version="1.1" creator="Tripline" xmlns="http://www.topografix.com/GPX/1/1"')
    lines.append(' xmlns:tpx="http://www.garmin.com/xmlschemas/TrackPointExtension/v2">')
    lines.append(f"<trk><name>{escape(name.translate(_XML_FORBIDDEN))}</name>")
    for first, last in _segments(track):
        lines.append("<trkseg>")
        for at in range(first, last):
            speed = track.speed_kmh[at]
            extension = ""
            if speed is not None:
                inner = f"<tpx:speed>{speed / 3.6:.2f}</tpx:speed>"
                extension = f"<extensions><tpx:TrackPointExtension>{inner}</tpx:TrackPointExtension></extensions>"
            place = f'<trkpt lat="{track.lat[at]:.6f}" lon="{track.lon[at]:.6f}">'
            lines.append(f"{place}<time>{_iso(track.time_ms[at])}</time>{extension}</trkpt>")
        lines.append("</trkseg>")
    lines.append("</trk></gpx>")
    return "\n".join(lines).encode()


def _csv(track: Track, name: str, header: Sequence[str]) -> bytes:
    rows = zip((_iso(at) for at in track.time_ms), track.lat, track.lon, track.speed_kmh, strict=True)
    return csv_files.written([[name], list(header), *(list(row) for row in rows)])


def _geojson(track: Track, name: str) -> bytes:
    """RFC 7946: a line for each segment, with times and speeds as properties."""
    features = [
        {
            "type": "Feature",
            "properties": {
                "name": name,
                "times": [_iso(at) for at in track.time_ms[first:last]],
                "speedsKmh": track.speed_kmh[first:last],
            },
            "geometry": _geometry(
                [list(each) for each in zip(track.lon[first:last], track.lat[first:last], strict=True)]
            ),
        }
        for first, last in _segments(track)
    ]
    return msgspec.json.encode({"type": "FeatureCollection", "features": features})


def _geometry(points: list[list[float]]) -> dict[str, object]:
    """A line of a single point is not valid."""
    if len(points) == 1:
        return {"type": "Point", "coordinates": points[0]}
    return {"type": "LineString", "coordinates": points}


def _segments(track: Track) -> list[_Segment]:
    times = track.time_ms
    if not times:
        return []
    cuts = [at for at in range(1, len(times)) if times[at] - times[at - 1] > _GAP_MS]
    return [_Segment(*each) for each in zip([0, *cuts], [*cuts, len(times)], strict=True)]


def _iso(at_ms: int) -> str:
    at = dt.datetime.fromtimestamp(at_ms / 1_000, _UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at_ms % 1_000:03}Z"

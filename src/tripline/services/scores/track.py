"""The track of a trip or a day, and its file (GPX, CSV, GeoJSON): usable samples by time, thinned so that the greatest
and least speeds stay.

A sample is usable if it has its own time and a valid position (spec/device-messages 10), and the receiver had a fix
(`scoring/fixes.py`).
"""

import datetime as dt
import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

import msgspec
import numpy as np
from numpy.typing import NDArray

from tripline.domain import positions, samples
from tripline.scoring import fixes, measures, speeds
from tripline.scoring.drives import Drives, Floats, Ints
from tripline.scoring.geometry import steps_m
from tripline.scoring.rules import Column, Rules
from tripline.services.scores import arrays
from tripline.wire import csv_files

MOST: Final = 4_000
"""Most samples of a track: an hour at one a second is whole."""
_DEFAULT: Final = Rules()
"""For tracks of several trips, which may have several policies."""


class NoFix(NamedTuple):
    """A span without a fix, from the last sample before to the first one after."""

    begin_ms: int
    end_ms: int


class Track(msgspec.Struct, frozen=True, kw_only=True):
    """Samples as columns, by time."""

    samples: int
    """Usable samples of the trip, before thinning."""
    time_ms: list[int]
    lat: list[float]
    """Degrees, six decimals."""
    lon: list[float]
    speed_kmh: list[float | None]
    """None: unknown."""
    no_fix: list[NoFix]
    """Spans without a fix, by time."""


def of_packed(packed: bytes, rules: Rules = _DEFAULT, *, most: int = MOST) -> Track:
    """Return at most `most` samples of a trip, by the rules that judge it. Raises ValueError when packed samples are
    truncated."""
    rows = np.frombuffer(packed, arrays.PACKED)
    usable = (rows["flags"] & samples.FLAG_OWN_TIME != 0) & np.isfinite(rows["lat"]) & np.isfinite(rows["lon"])
    rows = rows[usable]
    # The first sample of an instant, as received.
    _, first = np.unique(rows["time_ms"], return_index=True)
    rows = rows[first]
    lost = _without_fix(rows, rules)
    spans = _spans(rows["time_ms"], lost)
    rows = np.delete(rows, lost)
    speed = speeds.trusted(rows["speed_kmh"], positions.FASTEST_KMH)
    chosen = thinned(speed, most)
    return Track(
        samples=len(rows),
        time_ms=rows["time_ms"][chosen].tolist(),
        lat=np.round(rows["lat"][chosen], 6).tolist(),
        lon=np.round(rows["lon"][chosen], 6).tolist(),
        speed_kmh=[None if math.isnan(each) else each for each in np.round(speed[chosen], 1).tolist()],
        no_fix=spans,
    )


def _without_fix(rows: NDArray[np.void], rules: Rules) -> Ints:
    """The places of samples without a fix."""
    drive = Drives(
        starts=np.array([0, rows.size]),
        time_ms=rows["time_ms"],
        lat=rows["lat"],
        lon=rows["lon"],
        speed_kmh=rows["speed_kmh"],
        em=None,
        limit_kmh=None,
        column=np.array([Column.CAR], np.int8),
        obd=np.zeros(1, np.bool_),
        stated_m=np.array([np.nan]),
    )
    return fixes.lost(drive, steps_m(drive.lat, drive.lon), np.diff(drive.time_ms), rules)


def _spans(time_ms: Ints, lost: Ints) -> list[NoFix]:
    """The spans of runs of these places, each of which is followed by another sample."""
    first = lost[np.diff(lost, prepend=-2) > 1]
    last = lost[np.diff(lost, append=time_ms.size + 1) > 1]
    return list(map(NoFix, time_ms[np.maximum(first - 1, 0)].tolist(), time_ms[last + 1].tolist()))


def thinned(speed: Floats, most: int) -> Ints:
    """Return the places of at most `most` values: the first, the last, and the least and the greatest of equal parts
    between them. NaN counts as standing."""
    count = len(speed)
    if count <= most:
        return np.arange(count)
    inner = np.nan_to_num(speed[1:-1])
    parts = (most - 2) // 2
    edges = np.linspace(0, len(inner), parts + 1).astype(np.int64)
    part = np.repeat(np.arange(parts), np.diff(edges))
    order = np.lexsort((inner, part))
    least, greatest = order[edges[:-1]], order[edges[1:] - 1]
    return np.unique(np.concatenate(([0], least + 1, greatest + 1, [count - 1])))


def outline(track: Track, *, wide: int, high: int) -> str:
    """Return the points of an SVG polyline that shows the track in a box of this size, north up."""
    lat, lon = np.array(track.lat), np.array(track.lon)
    x, y = lon * math.cos(math.radians(float(lat.mean()))), -lat
    extent = max((x.max() - x.min()) / wide, (y.max() - y.min()) / high) or 1.0
    right = (x - (x.min() + x.max()) / 2) / extent + wide / 2
    down = (y - (y.min() + y.max()) / 2) / extent + high / 2
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(right.tolist(), down.tolist(), strict=True))


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


def of_day(packed: bytes, *, begin_ms: int, end_ms: int) -> Track:
    """Return at most `track.MOST` samples from `begin_ms` to before `end_ms`. Raises ValueError when packed samples are
    truncated."""
    rows = np.frombuffer(packed, arrays.PACKED)
    time_ms = rows["time_ms"]
    return of_packed(rows[(time_ms >= begin_ms) & (time_ms < end_ms)].tobytes())


def idle_ms(packed: bytes, *, begin_ms: int, end_ms: int) -> int:
    """Return the part between two instants of all idling: standing for `measures.IDLE_MS` and longer.

    Overlapping trips count once. Raises ValueError when packed samples are truncated.
    """
    rows = np.frombuffer(packed, arrays.PACKED)
    rows = rows[rows["flags"] & samples.FLAG_OWN_TIME != 0]
    time_ms, first = np.unique(rows["time_ms"], return_index=True)
    speed = speeds.trusted(rows["speed_kmh"][first], positions.FASTEST_KMH)
    near = np.diff(time_ms) <= _DEFAULT.guards.gap_ms
    standing = near & (np.fmax(speed[:-1], speed[1:]) <= _DEFAULT.guards.still_kmh)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], standing, [False]))))
    first_ms, last_ms = time_ms[edges[::2]], time_ms[edges[1::2]]
    part_ms = np.minimum(last_ms, end_ms) - np.maximum(first_ms, begin_ms)
    return int(part_ms[(last_ms - first_ms >= measures.IDLE_MS) & (part_ms > 0)].sum())

"""Recorded drives: CSV files read into tracks of points, faulty rows counted with their line, never guessed.

A file has a header row; the columns `t_ms` (epoch ms), `lat`, `lon` (WGS84 degrees) are required, `speed_kmh` is used
if present and not empty, all others are ignored.
"""

import csv
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

REQUIRED: Final = ("t_ms", "lat", "lon")
FOLDER: Final = Path(__file__).parent / "drives"
"""The recorded drives in the package."""
_EARLIEST_MS: Final = 1_262_304_000_000
"""2010-01-01: the platform ignores older times (spec/device-messages T2)."""


class TrackError(Exception):
    """A file contains no drive; the text is shown as one line."""


class Point(msgspec.Struct, frozen=True):
    """One sample: epoch ms, degrees, km/h (None: the device did not measure it)."""

    time_ms: int
    lat: float
    lon: float
    speed_kmh: float | None


class Fault(msgspec.Struct, frozen=True):
    """A skipped row."""

    line: int
    reason: str


class Track(msgspec.Struct, frozen=True):
    """One drive: at least one point, times never decreasing."""

    name: str
    points: Sequence[Point]
    faults: Sequence[Fault] = msgspec.field(default=())

    @property
    def start_ms(self) -> int:
        """Time of the first point."""
        return self.points[0].time_ms

    @property
    def end_ms(self) -> int:
        """Time of the last point."""
        return self.points[-1].time_ms


def read(path: Path) -> Track:
    """The drive in a file. Raises `TrackError`."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return parse(path.name, file)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TrackError(f"{path} cannot be read: {error}") from error


def parse(name: str, lines: Iterable[str]) -> Track:
    """The drive in the lines of a file. Raises `TrackError` if a required column or every row is missing."""
    rows = csv.DictReader(lines)
    missing = [column for column in REQUIRED if column not in (rows.fieldnames or ())]
    if missing:
        raise TrackError(f"{name} has no column {', '.join(missing)}; a drive needs a header row with t_ms, lat, lon")
    points: list[Point] = []
    faults: list[Fault] = []
    for row in rows:
        try:
            points.append(_point(row, not_before_ms=points[-1].time_ms if points else _EARLIEST_MS))
        except ValueError as error:
            faults.append(Fault(rows.line_num, str(error)))
    if not points:
        raise TrackError(f"{name} has no usable row")
    return Track(name, tuple(points), tuple(faults))


def ending_at(tracks: Sequence[Track], end_ms: int, *, pause_ms: int = 60_000) -> list[Track]:
    """Move the drives in time: the last one ends at `end_ms`, each earlier one a pause before the next begins."""
    moved: list[Track] = []
    for track in reversed(tracks):
        shift = end_ms - track.end_ms
        moved.append(replace(track, points=tuple(replace(p, time_ms=p.time_ms + shift) for p in track.points)))
        end_ms = moved[-1].start_ms - pause_ms
    return moved[::-1]


def _point(row: dict[str, str | None], *, not_before_ms: int) -> Point:
    time_ms = int(_number(row, "t_ms", low=_EARLIEST_MS, high=9_999_999_999_999))
    if time_ms < not_before_ms:
        raise ValueError("t_ms goes back")
    lat, lon = _number(row, "lat", low=-90, high=90), _number(row, "lon", low=-180, high=180)
    if lat == 0 and lon == 0:
        raise ValueError("lat and lon are both 0")
    speed = _number(row, "speed_kmh", low=0, high=1_000) if row.get("speed_kmh") else None
    return Point(time_ms, lat, lon, speed)


def _number(row: dict[str, str | None], column: str, *, low: float, high: float) -> float:
    text = row.get(column)
    try:
        value = float(text or "")
    except ValueError:
        raise ValueError(f"{column} is not a number") from None
    if not (math.isfinite(value) and low <= value <= high):
        raise ValueError(f"{column} is out of range")
    return value

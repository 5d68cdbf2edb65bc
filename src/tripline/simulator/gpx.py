"""Routes from GPX files: the places of their tracks and routes, in order, with speeds from their times if present."""

import datetime
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from tripline.simulator import roads
from tripline.simulator.recordings import TrackError
from tripline.simulator.roads import Fix

_POINTS: Final = frozenset({"trkpt", "rtept"})
_FASTEST_KMH: Final = 250.0


def read(path: Path) -> list[Fix]:
    """The route in a file. Raises `TrackError` if it has none."""
    try:
        root = ElementTree.parse(path).getroot()  # noqa: S314  the caller's own file, and expat bounds what entities may grow to
        points = list(_points(root))
    except (OSError, ElementTree.ParseError, ValueError) as error:
        raise TrackError(f"{path} cannot be read: {error}") from error
    if len(points) < 2:
        raise TrackError(f"{path.name} has no track or route of two points")
    return [(lat, lon, _speed(points, at)) for at, (lat, lon, _) in enumerate(points)]


def _points(root: ElementTree.Element) -> Iterator[tuple[float, float, float | None]]:
    for element in root.iter():
        if element.tag.rpartition("}")[2] not in _POINTS:
            continue
        lat, lon = float(element.get("lat", "nan")), float(element.get("lon", "nan"))
        if not (math.fabs(lat) <= 90 and math.fabs(lon) <= 180):
            raise ValueError("a point lies off the globe")
        time = next((child.text for child in element if child.tag.rpartition("}")[2] == "time"), None)
        yield lat, lon, datetime.datetime.fromisoformat(time.strip()).timestamp() if time else None


def _speed(points: list[tuple[float, float, float | None]], at: int) -> float | None:
    before, here = points[max(0, at - 1)], points[at]
    if before[2] is None or here[2] is None or here[2] <= before[2]:
        return None
    return min(_FASTEST_KMH, roads.distance_m(before[:2], here[:2]) / (here[2] - before[2]) * 3.6)

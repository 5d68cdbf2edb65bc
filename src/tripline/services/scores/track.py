"""The track of a trip: its usable samples by time, thinned so that the greatest and least speeds stay.

A sample is usable if it has its own time and a valid position (spec/device-messages 10).
Not here: limits and events along the track (`explanation.py`), the JSON (`wire/rest/tracks.py`).
"""

import math
from typing import Final

import msgspec
import numpy as np

from tripline.domain import positions, samples
from tripline.scoring import speeds
from tripline.scoring.drives import Floats, Ints
from tripline.services.scores import arrays

MOST: Final = 4_000
"""Most samples of a track: an hour at one a second is whole."""


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


def of_packed(packed: bytes, *, most: int = MOST) -> Track:
    """Return at most `most` samples of a trip. Raises ValueError when packed samples are truncated."""
    rows = np.frombuffer(packed, arrays.PACKED)
    usable = (rows["flags"] & samples.FLAG_OWN_TIME != 0) & np.isfinite(rows["lat"]) & np.isfinite(rows["lon"])
    rows = rows[usable]
    # The first sample of an instant, as received.
    _, first = np.unique(rows["time_ms"], return_index=True)
    rows = rows[first]
    speed = speeds.trusted(rows["speed_kmh"], positions.FASTEST_KMH)
    chosen = thinned(speed, most)
    return Track(
        samples=len(rows),
        time_ms=rows["time_ms"][chosen].tolist(),
        lat=np.round(rows["lat"][chosen], 6).tolist(),
        lon=np.round(rows["lon"][chosen], 6).tolist(),
        speed_kmh=[None if math.isnan(each) else each for each in np.round(speed[chosen], 1).tolist()],
    )


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

"""Scored trips that the map of an area touches: by the maps used to find their roads, otherwise by their location.

No trip has a place in its row. For trips judged without the map, the first microtrip gives the start: a trip that began
too far away to reach the area is skipped, and every sample of the rest is checked.

Not here: the list of maps (`adapters/maps/files.py`), other selections of trips (`rescore.py`).
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import Row, bindparam, select

from tripline.domain import samples
from tripline.domain.maps import Bounds
from tripline.domain.positions import DEGREE_M
from tripline.domain.rescorings import Touched
from tripline.store.tables import driving_score, microtrip, trip
from tripline.store.transactions import Hot, ReadTx

COLUMNS: Final = (trip.c.quality, driving_score.c.distance_m)
"""Columns that `among` needs besides a trip's row number; the distance is null without a score."""
AWAY: Final = 2.0
"""How many times its distance a trip may have come away at most: gaps and repairs shorten a distance."""
AWAY_M: Final = 10_000.0
"""And so far beside that."""


class _Place(NamedTuple):
    lat: float
    lon: float


class _Quality(msgspec.Struct):
    """The maps in a trip's quality (`scoring/quality.py`)."""

    maps: tuple[str, ...] = ()


def among(tx: ReadTx, rows: Sequence[Row[Any]], touched: Touched, *, everything: bool) -> list[int]:
    """Select the trips that the map touches, in their order. `everything`: include those already judged with it."""
    now = f"{touched.area}:{touched.map}"
    found: set[int] = set()
    without: dict[int, float] = {}
    for row in rows:
        if row.distance_m is None:
            continue
        own = [each for each in _maps(row.quality) if each.partition(":")[0] == touched.area]
        if own and (everything or own != [now]):
            found.add(row.no)
        elif not own:
            without[row.no] = row.distance_m
    if touched.bounds is not None:
        found.update(no for no in _near(tx, without, touched.bounds) if _is_inside(tx, no, touched.bounds))
    return [row.no for row in rows if row.no in found]


def _maps(quality: bytes) -> tuple[str, ...]:
    """Maps used to find a scored trip's roads."""
    return _READ.decode(quality).maps


def _near(tx: ReadTx, distances: dict[int, float], bounds: Bounds) -> Iterator[int]:
    """The trips that began no farther from the area than they can have come; `distances`: of each, metres."""
    if not distances:
        return
    for row in tx.all(_BEGINNINGS, {"nos": list(distances)}):
        places = list(_places(row.samples or b""))
        around = _widened(bounds, AWAY * distances[row.no] + AWAY_M)
        if not places or any(_within(place, around) for place in places):
            yield row.no


def _is_inside(tx: ReadTx, trip_no: int, bounds: Bounds) -> bool:
    return any(_within(place, bounds) for (packed,) in tx.hot(_SAMPLES, trip_no) for place in _places(packed))


def _places(packed: bytes) -> Iterator[_Place]:
    """Where the samples were taken that have a position; none of samples that are cut."""
    if len(packed) % samples.RECORD.size:
        return
    for _, lat, lon, *_ in samples.RECORD.iter_unpack(packed):
        if not (math.isnan(lat) or math.isnan(lon)):
            yield _Place(lat, lon)


def _within(place: _Place, bounds: Bounds) -> bool:
    return bounds.south <= place.lat <= bounds.north and bounds.west <= place.lon <= bounds.east


def _widened(bounds: Bounds, metres: float) -> Bounds:
    """Bounds with a margin of so many metres at least; beyond a pole or the date line they hold every longitude."""
    south, north = bounds.south - metres / DEGREE_M, bounds.north + metres / DEGREE_M
    farthest = max(abs(south), abs(north))
    margin = metres / DEGREE_M / math.cos(math.radians(farthest)) if farthest < 90.0 else 360.0
    west, east = bounds.west - margin, bounds.east + margin
    if west < -180.0 or east > 180.0:
        west, east = -180.0, 180.0
    return Bounds(west, south, east, north)


_READ: Final = msgspec.json.Decoder(_Quality)
_FIRST: Final = (
    select(microtrip.c.samples)
    .where(microtrip.c.trip_no == trip.c.no)
    .order_by(microtrip.c.no)
    .limit(1)
    .scalar_subquery()
)
_BEGINNINGS: Final = select(trip.c.no, _FIRST.label("samples")).where(trip.c.no.in_(bindparam("nos", expanding=True)))
_SAMPLES: Final = Hot(select(microtrip.c.samples).where(microtrip.c.trip_no == bindparam("of_trip")), "of_trip")

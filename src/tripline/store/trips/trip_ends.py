"""The ends of trips: the first and last position of their samples."""

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from sqlalchemy import bindparam, literal_column, select

from tripline.domain import samples
from tripline.domain.vehicle_days import Ends, Point
from tripline.store.tables import microtrip, trip
from tripline.store.transactions import ReadTx


def ends_of(tx: ReadTx, nos: Sequence[int]) -> dict[int, Ends]:
    """Return the ends of these trips that have samples, by their first and last microtrip."""
    rows = tx.all(_ENDS, {"nos": nos})
    return {row.no: Ends(next(_points(row.first), None), _last(row.last)) for row in rows if row.first is not None}


_OF_TRIP: Final = select(microtrip.c.samples).where(microtrip.c.trip_no == trip.c.no).limit(literal_column("1"))
_ENDS: Final = select(
    trip.c.no,
    _OF_TRIP.order_by(microtrip.c.no).scalar_subquery().label("first"),
    _OF_TRIP.order_by(microtrip.c.no.desc()).scalar_subquery().label("last"),
).where(trip.c.no.in_(bindparam("nos", expanding=True)))


def shares_before(tx: ReadTx, nos: Iterable[int], at_ms: int) -> dict[int, float]:
    """Return the share of each trip's path, 0 to 1, that was driven before an instant; none of a trip that stood."""
    path = select(microtrip.c.samples).order_by(microtrip.c.no)
    found: dict[int, float] = {}
    for no in nos:
        before, whole, last = 0.0, 0.0, None
        for (packed,) in tx.all(path.where(microtrip.c.trip_no == no)):
            for time_ms, lat, lon, *_ in _records(packed):
                if math.isnan(lat) or math.isnan(lon):
                    continue
                if last is not None:
                    metres = math.hypot(lat - last.lat, (lon - last.lon) * math.cos(math.radians(lat)))
                    whole += metres
                    before += metres if time_ms <= at_ms else 0.0
                last = Point(lat, lon)
        if whole:
            found[no] = before / whole
    return found


def _records(packed: bytes) -> Iterator[tuple[Any, ...]]:
    whole = len(packed) - len(packed) % samples.RECORD.size
    return samples.RECORD.iter_unpack(memoryview(packed)[:whole])


def _points(packed: bytes) -> Iterator[Point]:
    for _, lat, lon, *_ in _records(packed):
        if not (math.isnan(lat) or math.isnan(lon)):
            yield Point(lat, lon)


def _last(packed: bytes) -> Point | None:
    return next(iter(deque(_points(packed), maxlen=1)), None)

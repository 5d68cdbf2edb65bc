"""The ends of trips: the first and last position of their samples.

Not here: every sample of a trip (`microtrips.py`), words for a position.
"""

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from sqlalchemy import BigInteger, ColumnElement, bindparam, literal_column, select

from tripline.domain import samples
from tripline.domain.vehicle_days import Ends, Point
from tripline.store.tables import microtrip, trip
from tripline.store.transactions import Hot, ReadTx

AT_ONCE: Final = 64
"""Trips in one statement."""


def ends_of(tx: ReadTx, nos: Sequence[int]) -> dict[int, Ends]:
    """Return the ends of these trips that have samples, by their first and last microtrip."""
    found: dict[int, Ends] = {}
    for at in range(0, len(nos), AT_ONCE):
        some = [*nos[at : at + AT_ONCE]]
        filled = some + [-1] * (AT_ONCE - len(some))
        for no, first, last in tx.hot(_ENDS, *filled):
            if first is not None:
                found[no] = Ends(next(_points(first), None), _last(last))
    return found


def shares_before(tx: ReadTx, nos: Iterable[int], at_ms: int) -> dict[int, float]:
    """Return the share of each trip's path, 0 to 1, that was driven before an instant; none of a trip that stood."""
    found: dict[int, float] = {}
    for no in nos:
        before, whole, last = 0.0, 0.0, None
        for (packed,) in tx.hot(_PATH, no):
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


_ONE: Final[ColumnElement[Any]] = literal_column("1")
_OF_TRIP: Final = select(microtrip.c.samples).where(microtrip.c.trip_no == trip.c.no).limit(_ONE)
_NOS: Final = [f"no_{number}" for number in range(AT_ONCE)]
_ENDS: Final = Hot(
    select(
        trip.c.no,
        _OF_TRIP.order_by(microtrip.c.no).scalar_subquery().label("first"),
        _OF_TRIP.order_by(microtrip.c.no.desc()).scalar_subquery().label("last"),
    ).where(trip.c.no.in_([bindparam(name, type_=BigInteger) for name in _NOS])),
    *_NOS,
)
_PATH: Final = Hot(
    select(microtrip.c.samples).where(microtrip.c.trip_no == bindparam("trip_no")).order_by(microtrip.c.no), "trip_no"
)

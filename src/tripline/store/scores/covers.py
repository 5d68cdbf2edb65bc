"""Rows of the time that trips cover, and the trips of a vehicle that share time with one or arrived beside it.

The scorer works for everyone, so nothing here takes a scope.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import bindparam, delete, func, or_, select

from tripline.domain import ids
from tripline.scoring import covers
from tripline.scoring.covers import Cover, Interval
from tripline.store.bulk import Bulk
from tripline.store.tables import driving_score, microtrip, trip, trip_cover
from tripline.store.transactions import Hot, ReadTx, WriteTx


class Origin(NamedTuple):
    """The device of a trip."""

    sensor_id: str | None
    """None: deleted since."""
    device_type: str


class Covering(NamedTuple):
    """A trip with the time that it covers."""

    trip_no: int
    trip_id: str
    origin: Origin
    cover: Cover
    counts: bool
    """True if it has a score; otherwise it is a duplicate."""


def of_trip(tx: ReadTx, trip_no: int) -> Cover:
    """The stored cover of a trip; empty for a trip that would have no score anyway."""
    return next((covers.read(row[0]) for row in tx.hot(_ONE, trip_no)), ())


def origin(tx: ReadTx, trip_no: int) -> Origin:
    """The device of an existing trip."""
    return Origin(*tx.hot(_ORIGIN, trip_no)[0])


def sharing(tx: ReadTx, vehicle_id: str, cover: Cover) -> list[Covering]:
    """The vehicle's trips that may share time with a cover that is not empty, its own trip among them."""
    return [_covering(row) for row in tx.hot(_SHARING, vehicle_id, cover[0].begin_ms, cover[-1].end_ms)]


def beside(tx: ReadTx, trip_no: int, *, within_ms: int, most: int) -> list[Covering]:
    """The trips of the vehicle, from other sensors or deleted ones, created within this time of an existing trip.

    At most so many: those created nearest to it.
    """
    return [_covering(row) for row in tx.hot(_BESIDE, trip_no, within_ms, most)]


def receipt(tx: ReadTx, trip_no: int) -> Interval:
    """The time from the first to the last receipt of a trip with a cover."""
    first, last = tx.hot(_RECEIPT, trip_no)[0]
    return Interval(ids.ms_of_no(first), ids.ms_of_no(last))


def keep(tx: WriteTx, trip_no: int, vehicle_id: str | None, cover: Cover) -> None:
    """Store a trip's cover; an empty one deletes the row."""
    if cover and vehicle_id is not None:
        _COVERS.insert(tx, [trip_no, vehicle_id, cover[0].begin_ms, cover[-1].end_ms, covers.written(cover)])
    else:
        tx.run(_FORGET, {"of_trip": trip_no})


def _covering(row: Sequence[Any]) -> Covering:
    no, trip_id, sensor_id, device_type, body, scored = row
    return Covering(no, trip_id, Origin(sensor_id, device_type), covers.read(body), scored is not None)


_ONE: Final = Hot(select(trip_cover.c.spans).where(trip_cover.c.trip_no == bindparam("of_trip")), "of_trip")
_ORIGIN: Final = Hot(select(trip.c.sensor_id, trip.c.device_type).where(trip.c.no == bindparam("of_trip")), "of_trip")
_COVERING: Final = select(
    *(trip.c.no, trip.c.id, trip.c.sensor_id, trip.c.device_type, trip_cover.c.spans, driving_score.c.trip_no)
)
_SHARING: Final = Hot(
    _COVERING.select_from(
        trip_cover.join(trip, trip.c.no == trip_cover.c.trip_no).outerjoin(
            driving_score, driving_score.c.trip_no == trip_cover.c.trip_no
        )
    ).where(
        trip_cover.c.vehicle_id == bindparam("of_vehicle"),
        trip_cover.c.end_ms > bindparam("from_ms"),
        trip_cover.c.begin_ms < bindparam("to_ms"),
    ),
    *("of_vehicle", "from_ms", "to_ms"),
)
_OWN: Final = trip.alias("own")
_BESIDE: Final = Hot(
    _COVERING.select_from(
        _OWN.join(trip, trip.c.vehicle_id == _OWN.c.vehicle_id)
        .join(trip_cover, trip_cover.c.trip_no == trip.c.no)
        .outerjoin(driving_score, driving_score.c.trip_no == trip.c.no)
    )
    .where(
        _OWN.c.no == bindparam("of_trip"),
        trip.c.created_ms >= _OWN.c.created_ms - bindparam("within"),
        trip.c.created_ms <= _OWN.c.created_ms + bindparam("within"),
        or_(trip.c.sensor_id.is_distinct_from(_OWN.c.sensor_id), trip.c.sensor_id.is_(None)),
        trip.c.no != _OWN.c.no,
    )
    .order_by(func.abs(trip.c.created_ms - _OWN.c.created_ms), trip.c.no)
    .limit(bindparam("most")),
    *("of_trip", "within", "most"),
)
_RECEIPT: Final = Hot(
    select(func.min(microtrip.c.no), func.max(microtrip.c.no)).where(microtrip.c.trip_no == bindparam("of_trip")),
    "of_trip",
)
_FORGET: Final = delete(trip_cover).where(trip_cover.c.trip_no == bindparam("of_trip"))
_COVERS: Final = Bulk(trip_cover, *("trip_no", "vehicle_id", "begin_ms", "end_ms", "spans"), replaces=True)

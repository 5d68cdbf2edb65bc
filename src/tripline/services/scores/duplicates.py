"""Find duplicates: of two sensors' trips for one drive on one vehicle, the trip that covers more time counts.

Trips are ranked by the time they cover; ties go to the earlier trip. A trip counts unless a higher-ranked trip of the
same drive counts. A trip therefore depends only on higher-ranked trips, and a change to it causes only lower-ranked
ones to be rescored. That recursion ends, since fewer trips remain at each step.

All of this happens in the transaction that stores a result, under the lock of the vehicle. Not here: the cover of a
trip (`scoring/covers.py`).
"""

from typing import Final

from tripline.scoring import covers as spans
from tripline.scoring.covers import Cover
from tripline.store.scores import covers, rescore
from tripline.store.scores.covers import Covering, Origin
from tripline.store.transactions import ReadTx, WriteTx

DUPLICATE: Final = "duplicate"
"""Reason a trip has no score when another trip of the vehicle counts for the same drive."""


def counting(tx: ReadTx, trip_no: int, vehicle_id: str | None, cover: Cover) -> Covering | None:
    """Return the trip that counts in place of one with this cover; None: this trip counts."""
    if vehicle_id is None:
        return None
    above = _one_drive(tx, trip_no, vehicle_id, cover, above=True)
    return next((each for each in above if each.counts), None)


def keep(
    tx: WriteTx, trip_no: int, vehicle_id: str | None, cover: Cover, *, counted: bool, counts: bool, now_ms: int
) -> None:
    """Store the cover of a trip, and request rescoring of the lower-ranked trips that it affects.

    `counted`, `counts`: True if the trip had a score before, and if it has one now.
    """
    before = covers.of_trip(tx, trip_no)
    if cover != before:
        covers.keep(tx, trip_no, vehicle_id, cover)
    stood, stands = before if counted else (), cover if counts else ()
    if stood == stands or vehicle_id is None:
        return
    below = {
        each.trip_no for known in (stood, stands) for each in _one_drive(tx, trip_no, vehicle_id, known, above=False)
    }
    rescore.ask(tx, sorted(below), due_ms=now_ms)


def _one_drive(tx: ReadTx, trip_no: int, vehicle_id: str, cover: Cover, *, above: bool) -> list[Covering]:
    """Trips of other sensors for the same drive as this cover, ranked above or below it."""
    others = [each for each in covers.sharing(tx, vehicle_id, cover) if each.trip_no != trip_no] if cover else []
    if not others:
        return []
    origin = covers.origin(tx, trip_no)
    own = _rank(trip_no, cover)
    return [
        each
        for each in others
        if (_rank(each.trip_no, each.cover) < own) is above
        and _is_other_sensor(origin, each.origin)
        and spans.is_one_drive(cover, each.cover)
    ]


def _rank(trip_no: int, cover: Cover) -> tuple[int, int]:
    return -spans.lasting_ms(cover), trip_no


def _is_other_sensor(one: Origin, other: Origin) -> bool:
    """True if the trips come from different sensors; if both sensors were deleted, compare their device types."""
    if one.sensor_id is None and other.sensor_id is None:
        return one.device_type != other.device_type
    return one.sensor_id != other.sensor_id

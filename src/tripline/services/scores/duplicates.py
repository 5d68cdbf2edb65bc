"""Two sensors on one vehicle saw one drive: the trip that covers the longer time counts, the other is a duplicate.

Trips are ranked by the time that they cover, equal ones by who came first. A trip counts unless it is one drive with
one above it that counts. So it depends on those above it alone, and whatever becomes of a trip concerns those below it:
they are judged anew, which ends, for each has fewer below it.

All of it happens in the transaction that keeps a result, under the lock of the vehicle. Not here: what a trip covers
(`scoring/covers.py`).
"""

from typing import Final

from tripline.scoring import covers as spans
from tripline.scoring.covers import Cover
from tripline.store.scores import covers, rescore
from tripline.store.scores.covers import Covering, Origin
from tripline.store.transactions import ReadTx, WriteTx

DUPLICATE: Final = "duplicate"
"""Why a trip has no score whose drive another trip of the vehicle tells."""


def counting(tx: ReadTx, trip_no: int, vehicle_id: str | None, cover: Cover) -> Covering | None:
    """The trip that counts in place of one with this cover; None: it may count itself."""
    if vehicle_id is None:
        return None
    above = _one_drive(tx, trip_no, vehicle_id, cover, above=True)
    return next((each for each in above if each.counts), None)


def keep(
    tx: WriteTx, trip_no: int, vehicle_id: str | None, cover: Cover, *, counted: bool, counts: bool, now_ms: int
) -> None:
    """Write what the trip covers, and have those judged anew that this may concern.

    `counted`, `counts`: whether the trip had a score before, and has one now.
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
    """The trips of other sensors that are one drive with a trip of this cover, ranked above or below it."""
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
    """Whether two trips are of different sensors; of two sensors that were deleted the type of device tells."""
    if one.sensor_id is None and other.sensor_id is None:
        return one.device_type != other.device_type
    return one.sensor_id != other.sensor_id

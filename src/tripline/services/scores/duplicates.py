"""Find duplicates: of two sensors' trips for one drive on one vehicle, the trip that covers more time counts.

Trips are ranked by the time they cover; ties go to the earlier trip. A trip counts unless a higher-ranked trip of the
same drive counts. A trip therefore depends only on higher-ranked trips, and a change to it causes only lower-ranked
ones to be rescored. That recursion ends, since fewer trips remain at each step.

Two trips are one drive if they share time, or, as the clock of one sensor may be wrong, if they show the same places a
constant time apart. Then the times of receipt decide where both sensors sent live; where one sent later, the clocks
must be whole hours apart, so that a driver whose sensors take turns on one route keeps each drive.

All of this happens in the transaction that stores a result, under the lock of the vehicle.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from tripline.later import Later
from tripline.scoring import covers as spans
from tripline.scoring.covers import Cover, Interval
from tripline.store.scores import covers, rescore, scores
from tripline.store.scores.covers import Covering, Origin
from tripline.store.transactions import ReadTx, WriteTx

if TYPE_CHECKING:
    from tripline.scoring import shifted
    from tripline.services.scores import arrays
else:
    # They import numpy, which readers of explanations need not load.
    arrays = Later("tripline.services.scores.arrays")
    shifted = Later("tripline.scoring.shifted")

DUPLICATE: Final = "duplicate"
"""Reason a trip has no score when another trip of the vehicle counts for the same drive."""
MOST_APART_MS: Final = 14 * 3_600_000
"""Greatest time between two time zones in use and universal time: so far a clock set to local time is off."""
HOUR_MS: Final = 3_600_000
CLOSE_MS: Final = 30_000
"""Two clocks are whole hours apart to within this time."""
MOST_BESIDE: Final = 50
"""Most trips of other sensors to compare by place, nearest arrival first, because a device may send thousands."""
AS_LONG: Final = 0.75
"""The shorter of two trips of one drive covers at least this part of the other's time."""


def counting(tx: ReadTx, trip_no: int, vehicle_id: str | None, cover: Cover) -> Covering | None:
    """Return the trip that counts in place of one with this cover; None: this trip counts."""
    if vehicle_id is None:
        return None
    above = _one_drive(tx, trip_no, vehicle_id, cover, above=True)
    return next((each for each in above if each.counts), None)


def keep(
    tx: WriteTx,
    trip_no: int,
    vehicle_id: str | None,
    cover: Cover,
    *,
    counted: bool,
    counts: bool,
    moved: bool,
    now_ms: int,
) -> None:
    """Store the cover of a trip, and request rescoring of the lower-ranked trips that it affects.

    `counted`, `counts`: True if the trip had a score before, and if it has one now. `moved`: True if it may show other
    places than before.
    """
    before = covers.of_trip(tx, trip_no)
    if cover != before:
        covers.keep(tx, trip_no, vehicle_id, cover)
    stood, stands = before if counted else (), cover if counts else ()
    if (stood == stands and not (moved and counts)) or vehicle_id is None:
        return
    affected = _one_drive(tx, trip_no, vehicle_id, stands, above=False)
    # A trip that counts beside this one goes on to count without it.
    affected += [each for each in _possible(tx, trip_no, vehicle_id, stood, above=False) if not each.counts]
    rescore.ask(tx, sorted({each.trip_no for each in affected}), due_ms=now_ms)


def _one_drive(tx: ReadTx, trip_no: int, vehicle_id: str, cover: Cover, *, above: bool) -> list[Covering]:
    """Trips of other sensors for the same drive as this cover, ranked above or below it."""
    # The trip itself is read once for all others; more traces than it and the last two would only take memory.
    receipt = lru_cache(3)(lambda no: covers.receipt(tx, no))
    trace = lru_cache(3)(lambda no: arrays.trace(scores.samples(tx, no)))
    return [
        each
        for each in _possible(tx, trip_no, vehicle_id, cover, above=above)
        if spans.is_one_drive(cover, each.cover) or _is_shifted(trip_no, cover, each, receipt, trace)
    ]


def _possible(tx: ReadTx, trip_no: int, vehicle_id: str, cover: Cover, *, above: bool) -> list[Covering]:
    """Trips of other sensors, ranked above or below this cover, that share time with it or arrived within hours."""
    if not cover:
        return []
    near = {each.trip_no: each for each in covers.sharing(tx, vehicle_id, cover) if each.trip_no != trip_no}
    near |= {each.trip_no: each for each in covers.beside(tx, trip_no, within_ms=MOST_APART_MS, most=MOST_BESIDE)}
    if not near:
        return []
    origin = covers.origin(tx, trip_no)
    own = _rank(trip_no, cover)
    return [
        each
        for each in near.values()
        if (_rank(each.trip_no, each.cover) < own) is above and _is_other_sensor(origin, each.origin)
    ]


def _is_shifted(
    trip_no: int,
    cover: Cover,
    other: Covering,
    receipt: Callable[[int], Interval],
    trace: "Callable[[int], shifted.Trace]",
) -> bool:
    """True if the trips show the same places at times that a wrong clock explains.

    `receipt`, `trace`: the times of receipt and the positions of a trip.
    """
    (short_ms, shorter), (long_ms, longer) = sorted(
        (spans.lasting_ms(spanned), no) for spanned, no in ((cover, trip_no), (other.cover, other.trip_no))
    )
    if short_ms < AS_LONG * long_ms:
        return False
    one, two = receipt(trip_no), receipt(other.trip_no)
    live = _is_live(one, cover) and _is_live(two, other.cover)
    if not spans.is_one_drive((one,), (two,)) if live else _is_beyond_clocks(cover, other.cover):
        return False
    offset_ms = shifted.offset_ms(trace(longer), trace(shorter))
    if offset_ms is None or live:
        return offset_ms is not None
    of_hours_ms = round(offset_ms / HOUR_MS) * HOUR_MS
    return abs(offset_ms - of_hours_ms) <= CLOSE_MS and abs(of_hours_ms) <= MOST_APART_MS


def _is_beyond_clocks(one: Cover, two: Cover) -> bool:
    """True if not even clocks in the outermost time zones bring these covers together."""
    return max(one[0].begin_ms, two[0].begin_ms) - min(one[-1].end_ms, two[-1].end_ms) > MOST_APART_MS


def _is_live(receipt: Interval, cover: Cover) -> bool:
    """True if the trip arrived while it was driven."""
    return 2 * (receipt.end_ms - receipt.begin_ms) > spans.lasting_ms(cover)


def _rank(trip_no: int, cover: Cover) -> tuple[int, int]:
    return -spans.lasting_ms(cover), trip_no


def _is_other_sensor(one: Origin, other: Origin) -> bool:
    """True if the trips come from different sensors; if both sensors were deleted, compare their device types."""
    if one.sensor_id is None and other.sensor_id is None:
        return one.device_type != other.device_type
    return one.sensor_id != other.sensor_id

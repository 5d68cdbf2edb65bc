"""The trip of a sample, a trip message or an event: found by number and time, not by order of arrival
(spec/device-messages 4.4 I1-I6).

Each function chooses among the sensor's known trips, in the order of their row numbers; None: none of them. A missing
number is a number of its own for samples, and fits any for trip messages and events.

Not here: the known trips (`services/ingest/tracks.py`), what the choice changes (`services/ingest/placement.py`), trips
of customers' messages, whose `tripId` decides (`services/bus/placement.py`).
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from tripline.domain.trips import LiveTrip

MARGIN_MS: Final = 60_000
"""Samples this long behind the end that a trip message states still belong to its trip (I4)."""
_BLACK_BOX: Final = "BLACKBOX"
_NUMBER: Final = attrgetter("no")
_START: Final = attrgetter("first_ms")


class Told(NamedTuple):
    """Number, kind and time of a microtrip or trip message; both times are equal if it says only one."""

    tid: int | None
    device_type: str
    parking: bool
    first_ms: int
    last_ms: int


def of_sample(known: Sequence[LiveTrip], sample: Told, gap_ms: float) -> LiveTrip | None:
    """The trip around the microtrip's time, else the nearest within the gap; of one before and one behind it, the one
    with the smaller row number (I1)."""
    before = after = None
    for trip in known:
        if trip.until_ms is not None and sample.first_ms > trip.until_ms:
            continue
        if trip.first_ms <= sample.last_ms and sample.first_ms <= trip.last_ms:
            if _is_of(trip, sample) or (trip.is_bare and is_about(trip, sample.tid)):
                return trip
        elif not _is_of(trip, sample):
            continue
        elif trip.last_ms < sample.first_ms:
            if sample.first_ms - trip.last_ms <= gap_ms and (before is None or trip.last_ms > before.last_ms):
                before = trip
        elif trip.first_ms - sample.last_ms <= gap_ms and (after is None or trip.first_ms < after.first_ms):
            after = trip
    if sample.device_type == _BLACK_BOX:
        if before is not None and _is_parted(known, sample, before.last_ms, sample.first_ms):
            before = None
        if after is not None and _is_parted(known, sample, sample.last_ms, after.first_ms):
            after = None
    if before is None or after is None:
        return before or after
    return min(before, after, key=_NUMBER)


def of_message(known: Sequence[LiveTrip], told: Told, gap_ms: float) -> LiveTrip | None:
    """The trip without a message that this one completes: one in its time, else the last that ended within the gap
    before it, or one of its kind that began within the margin behind it. For a black box, preferably one of the same
    kind, because a drive and the parking after it may share their number (I2, I6); then one with the same number."""
    best, best_rank = None, None
    for trip in known:
        if trip.is_settled or not is_about(trip, told.tid):
            continue
        overlaps = trip.first_ms <= told.last_ms and told.first_ms <= trip.last_ms
        after_ms = told.first_ms - trip.last_ms
        is_of_kind = told.device_type != _BLACK_BOX or trip.parking == told.parking
        is_behind = is_of_kind and 0 < trip.first_ms - told.last_ms <= MARGIN_MS
        if not (overlaps or 0 < after_ms <= gap_ms or is_behind):
            continue
        rank = (is_of_kind, overlaps, trip.tid == told.tid, trip.last_ms, trip.no)
        if best_rank is None or rank > best_rank:
            best, best_rank = trip, rank
    return best


def first_piece(known: Sequence[LiveTrip], last: LiveTrip, start_ms: int) -> LiveTrip:
    """The first piece of a drive that breaks of more than the gap cut into trips: the earliest without a message since
    `start_ms`, the start that the message of the `last` piece states (I2)."""
    pieces = (
        trip
        for trip in known
        if not trip.is_settled and _is_of(trip, last) and start_ms <= trip.last_ms and trip.first_ms < last.first_ms
    )
    return min(pieces, key=_START, default=last)


def of_event(known: Sequence[LiveTrip], tid: int | None, event_ms: int, gap_ms: float) -> LiveTrip | None:
    """The trip around the event's time, else the nearest within the gap; preferably one with the same number."""
    best, best_rank = None, None
    for trip in known:
        if not is_about(trip, tid) or (trip.until_ms is not None and event_ms > trip.until_ms):
            continue
        distance_ms = max(trip.first_ms - event_ms, event_ms - trip.last_ms, 0)
        if distance_ms <= gap_ms:
            rank = (distance_ms == 0, trip.tid == tid, -distance_ms, -trip.no)
            if best_rank is None or rank > best_rank:
                best, best_rank = trip, rank
    return best


def is_about(trip: LiveTrip, tid: int | None) -> bool:
    """Return whether a trip message or event with this number may be about the trip (I2)."""
    return tid is None or trip.tid is None or tid == trip.tid


def _is_of(trip: LiveTrip, part: Told | LiveTrip) -> bool:
    """Same number, and for a black box no change between driving and parking (I6). A trip without samples has not
    shown its kind."""
    return trip.tid == part.tid and (trip.parking == part.parking or part.device_type != _BLACK_BOX or trip.is_bare)


def _is_parted(known: Sequence[LiveTrip], sample: Told, from_ms: int, to_ms: int) -> bool:
    """True if the black box drove while this is parking, or was parked while this is driving, in between (I6)."""
    return any(
        trip.tid == sample.tid
        and trip.parking != sample.parking
        and not trip.is_bare
        and from_ms <= trip.last_ms
        and trip.first_ms <= to_ms
        for trip in known
    )

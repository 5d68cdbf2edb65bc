"""The drives and stops of a vehicle on one day, and their samples, for an actor who may read its driving data."""

from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

import msgspec

from tripline.domain import instants, samples, trends, vehicle_days
from tripline.domain.access import Actor
from tripline.domain.ids import VehicleId
from tripline.domain.instants import DAY_MS
from tripline.domain.listed_trips import Filters, ListedTrip
from tripline.domain.vehicle_days import VehicleDay
from tripline.later import Later
from tripline.services.fleet import trip_lists
from tripline.services.scores import reads
from tripline.services.scores.reads import TooLong
from tripline.store import positions
from tripline.store.listing.pages import PageRequest
from tripline.store.scores import reads as score_reads
from tripline.store.scores import scores
from tripline.store.transactions import ReadTx
from tripline.store.trips import trip_ends
from tripline.store.trips.trip_list import START

if TYPE_CHECKING:
    from tripline.services.scores import track
else:
    # It imports numpy, which is loaded on first use.
    track = Later("tripline.services.scores.track")

LONGEST_MS: Final = 7 * DAY_MS
"""A trip is looked for so long before the day that it may reach into."""
MOST: Final = 500
"""Trips of a day, and of these days before it."""
_SIZE: Final = samples.RECORD.size


def read(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId, day: int, zone: ZoneInfo, now_ms: int) -> VehicleDay:
    """The vehicle's day (days since 1970-01-01), in the service's time zone. Raises `NotFound`, `Forbidden`."""
    found = _without_samples(tx, actor, vehicle_id, day, zone, now_ms)
    packed = _packed(tx, found)
    if packed is None:
        return found
    idle_ms = track.idle_ms(packed, begin_ms=found.begin_ms, end_ms=found.end_ms)
    return msgspec.structs.replace(found, idle_ms=idle_ms)


class DaySamples(msgspec.Struct, frozen=True):
    """The samples of the trips of a day; trips over midnight have some of other days."""

    begin_ms: int
    end_ms: int
    packed: bytes
    """As received (`domain/samples.py`), trip by trip."""


def read_samples(
    tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId, day: int, zone: ZoneInfo, now_ms: int
) -> DaySamples:
    """The samples of the vehicle's day. Raises `NotFound`, `Forbidden`, `TooLong`."""
    found = _without_samples(tx, actor, vehicle_id, day, zone, now_ms)
    packed = _packed(tx, found)
    if packed is None:
        raise TooLong("day", field="date", most=reads.EXPLAINED)
    return DaySamples(found.begin_ms, found.end_ms, packed)


def _packed(tx: ReadTx, day: VehicleDay) -> bytes | None:
    """None: more than `reads.EXPLAINED` samples."""
    nos = [each.trip.no for each in day.drives]
    if sum(score_reads.samples_bytes(tx, no) for no in nos) > reads.EXPLAINED * _SIZE:
        return None
    parts = (scores.samples(tx, no) for no in nos)
    return b"".join(each[: len(each) - len(each) % _SIZE] for each in parts)


def _without_samples(
    tx: ReadTx, actor: Actor, vehicle_id: VehicleId, day: int, zone: ZoneInfo, now_ms: int
) -> VehicleDay:
    begin_ms, end_ms = trends.midnight_ms(day, zone), trends.midnight_ms(day + 1, zone)

    def found(first_ms: int, last_ms: int, *, limit: int, descending: bool = True) -> list[ListedTrip]:
        query = trip_lists.query_of(
            tx, actor=actor, first_ms=first_ms, last_ms=last_ms, vehicle_id=vehicle_id, filters=Filters()
        )
        request = PageRequest(limit=limit, by=START, descending=descending)
        listed = trip_lists.page(tx, actor=actor, query=query, page_request=request).rows
        return [each for each in listed if not each.parking]

    near = found(begin_ms - LONGEST_MS, end_ms - 1, limit=MOST)
    if not any(each.start_ms < begin_ms for each in near):
        near += found(0, begin_ms - 1, limit=10)[:1]
    following = found(end_ms, instants.LAST_MS, limit=10, descending=False)
    next_ms = following[0].start_ms if following else None
    seen_ms = positions.time_ms(tx, vehicle_id) or 0
    near.reverse()
    # Trips that are over before the day begins count once: the last of them says where the vehicle stood.
    over = [each for each in near if each.end_ms is not None and each.end_ms < begin_ms]
    last = max(over, key=lambda each: each.end_ms or 0, default=None)
    trips = [each for each in near if each is last or each not in over]
    ends = trip_ends.ends_of(tx, [each.no for each in trips])
    return VehicleDay(
        vehicle_id=vehicle_id,
        date=trends.text(day),
        begin_ms=begin_ms,
        end_ms=end_ms,
        items=vehicle_days.timeline(
            trips,
            begin_ms=begin_ms,
            end_ms=end_ms,
            now_ms=now_ms,
            seen_ms=seen_ms,
            next_ms=next_ms,
            shares=_shares(tx, trips, begin_ms=begin_ms, end_ms=end_ms, seen_ms=seen_ms),
            ends=ends,
        ),
        ends=ends,
        previous_ms=max((each.start_ms for each in near if each.start_ms < begin_ms), default=None),
        next_ms=next_ms,
    )


def _shares(tx: ReadTx, trips: list[ListedTrip], *, begin_ms: int, end_ms: int, seen_ms: int) -> dict[int, float]:
    """Return the share of its path on the day, of each trip over a midnight."""
    shares: dict[int, float] = {}
    for each in trips:
        last_ms = seen_ms if each.end_ms is None else each.end_ms
        if each.start_ms < begin_ms <= last_ms:
            shares[each.no] = 1.0 - trip_ends.shares_before(tx, [each.no], begin_ms).get(each.no, 0.0)
        if each.start_ms < end_ms < last_ms:
            behind = 1.0 - trip_ends.shares_before(tx, [each.no], end_ms).get(each.no, 1.0)
            shares[each.no] = shares.get(each.no, 1.0) - behind
    return shares

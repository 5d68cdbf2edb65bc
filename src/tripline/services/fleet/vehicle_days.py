"""The drives and stops of a vehicle on one day, for an actor who may read its driving data.

Not here: joining them to a day (`domain/vehicle_days.py`), lists of trips (`trip_lists.py`).
"""

from typing import Final
from zoneinfo import ZoneInfo

from tripline.domain import trends, vehicle_days
from tripline.domain.access import Actor
from tripline.domain.ids import VehicleId
from tripline.domain.instants import DAY_MS
from tripline.domain.listed_trips import Filters, ListedTrip
from tripline.domain.vehicle_days import VehicleDay
from tripline.services.fleet import trip_lists
from tripline.store import positions
from tripline.store.listing.pages import PageRequest
from tripline.store.transactions import ReadTx
from tripline.store.trips import trip_ends
from tripline.store.trips.trip_list import START

LONGEST_MS: Final = 7 * DAY_MS
"""A trip is looked for so long before the day that it may reach into."""
MOST: Final = 500
"""Trips of a day, and of these days before it."""
_EVER_MS: Final = 253_402_300_800_000


def read(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId, day: int, zone: ZoneInfo, now_ms: int) -> VehicleDay:
    """The vehicle's day (days since 1970-01-01), in the service's time zone. Raises `NotFound`, `Forbidden`."""
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
    following = found(end_ms, _EVER_MS, limit=10, descending=False)
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
            next_ms=following[0].start_ms if following else None,
            shares=_shares(tx, trips, begin_ms=begin_ms, end_ms=end_ms, seen_ms=seen_ms),
            ends=ends,
        ),
        ends=ends,
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

"""A vehicle's day: its drives and the stops between them, with sums.

A trip over midnight is on both days, its part on each. A trip that watched the parked vehicle is no drive.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from tripline.domain import listed_trips
from tripline.domain.ids import VehicleId
from tripline.domain.listed_trips import DUPLICATE, CombinedScore, ListedTrip


class Point(NamedTuple):
    """A position, degrees WGS84."""

    lat: float
    lon: float


class Ends(NamedTuple):
    """Where a trip began and ended; None: its samples have no position there."""

    begin: Point | None
    end: Point | None


class Drive(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a trip on the day."""

    trip: ListedTrip
    begin_ms: int
    end_ms: int
    """Its newest time, for a trip that is open."""
    distance_m: float | None
    """Of the part; None: unknown."""


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """The time between two drives."""

    begin_ms: int
    """On the day; likewise `end_ms`."""
    end_ms: int
    arrived_ms: int
    """Maybe on an earlier day."""
    left_ms: int | None
    """Maybe on a later day; None: not yet."""
    place: Point | None


class VehicleDay(msgspec.Struct, frozen=True, kw_only=True):
    """The day, by time."""

    vehicle_id: VehicleId
    date: str
    begin_ms: int
    end_ms: int
    items: Sequence[Drive | Stop]
    ends: Mapping[int, Ends]
    """By row number of the trip."""
    idle_ms: int | None = None
    """Time of idling in trips; None: too many samples to read."""
    previous_ms: int | None = None
    """Start of the last trip before the day; None: there is none."""
    next_ms: int | None = None
    """Start of the first trip behind the day; None: there is none."""

    @property
    def points(self) -> list[Point]:
        """Where its trips began and ended and its stops were."""
        ends = [self.ends[each.trip.no] for each in self.drives if each.trip.no in self.ends]
        stops = [each.place for each in self.items if isinstance(each, Stop)]
        return [point for point in (*(point for pair in ends for point in pair), *stops) if point is not None]

    @property
    def drives(self) -> list[Drive]:
        return [each for each in self.items if isinstance(each, Drive)]

    @property
    def counted(self) -> list[Drive]:
        """The drives without duplicates."""
        return [each for each in self.drives if each.trip.not_scored != DUPLICATE]

    @property
    def distance_m(self) -> float:
        """Metres driven on the day, where known."""
        return math.fsum(each.distance_m or 0.0 for each in self.counted)

    @property
    def driving_ms(self) -> int:
        """Time in trips on the day; overlapping trips of two sensors count once."""
        total, until = 0, self.begin_ms
        for each in self.drives:
            total += max(each.end_ms - max(each.begin_ms, until), 0)
            until = max(until, each.end_ms)
        return total

    @property
    def begun(self) -> list[ListedTrip]:
        """Trips that began on the day."""
        return [each.trip for each in self.counted if each.trip.start_ms >= self.begin_ms]

    @property
    def score(self) -> CombinedScore | None:
        """The score of the trips that began on the day; None: no trip has one."""
        return listed_trips.combined(self.begun)


def timeline(
    trips: Sequence[ListedTrip],
    *,
    begin_ms: int,
    end_ms: int,
    now_ms: int,
    seen_ms: int,
    next_ms: int | None,
    shares: Mapping[int, float],
    ends: Mapping[int, Ends],
) -> list[Drive | Stop]:
    """Return drives and stops of the day from `begin_ms` to `end_ms`, none in the future.

    `trips`: by start, all before `end_ms`, with the last one before the day.
    `seen_ms`: time of the vehicle's newest position. `next_ms`:
    start of the next trip after the day. `shares`: the share of the path on this day, of trips over midnight.
    """
    items: list[Drive | Stop] = []
    arrived_ms, place = None, None

    def stood(until_ms: int, left_ms: int | None) -> None:
        """Add a stop, if an earlier trip is known."""
        if arrived_ms is not None and until_ms > max(arrived_ms, begin_ms):
            stop_ms = max(arrived_ms, begin_ms)
            stop = Stop(begin_ms=stop_ms, end_ms=until_ms, arrived_ms=arrived_ms, left_ms=left_ms, place=place)
            items.append(stop)

    for trip in trips:
        trip_end_ms = max(seen_ms if trip.end_ms is None else trip.end_ms, trip.start_ms)
        if trip_end_ms >= begin_ms:
            begins_ms = max(trip.start_ms, begin_ms)
            stood(begins_ms, trip.start_ms)
            metres = None if trip.distance_m is None else trip.distance_m * shares.get(trip.no, 1.0)
            ends_ms = max(min(trip_end_ms, end_ms), begins_ms)
            items.append(Drive(trip=trip, begin_ms=begins_ms, end_ms=ends_ms, distance_m=metres))
        if arrived_ms is None or trip_end_ms >= arrived_ms:
            arrived_ms, place = trip_end_ms, ends[trip.no].end if trip.no in ends else None
    if not trips or trips[-1].end_ms is not None:
        stood(min(end_ms, now_ms), next_ms)
    return items

"""Today's trail of a vehicle: where its samples of today were, thinned for a map.

Not here: the vehicle's present position (`positions.py`), a trip's whole track (`services/fleet/trip_lists.py`).
"""

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeVar
from zoneinfo import ZoneInfo

from tripline.domain import positions, samples, trends
from tripline.domain.access import Action, Actor, Thing
from tripline.domain.ids import VehicleId
from tripline.domain.instants import DAY_MS
from tripline.services import admission
from tripline.store.transactions import ReadTx
from tripline.store.trips import microtrips as rows

T = TypeVar("T")

POINTS: Final = 2_000
"""Most points of a trail; of more samples, evenly chosen ones."""
MESSAGES: Final = 100_000
"""Most messages that are read, the newest: a day has 86,400 seconds."""
OPEN_MS: Final = DAY_MS
"""A trip that opened so long before midnight may have samples of today."""


class Point(NamedTuple):
    """A place on the way."""

    time_ms: int
    lat: float
    lon: float
    speed_kmh: float | None


def read(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId, zone: ZoneInfo, now_ms: int) -> list[Point]:
    """Return the way since midnight in the time zone, by time. Raises `NotFound`, `Forbidden`."""
    admission.admit(tx, actor, Action.DRIVING_READ, Thing.VEHICLE, vehicle_id)
    begin_ms = trends.midnight_ms(trends.day_of(now_ms, zone), zone)
    packed = rows.samples(tx, vehicle_id, since_ms=begin_ms - OPEN_MS, limit=MESSAGES)
    return way(packed, begin_ms=begin_ms, end_ms=now_ms)


def way(messages: Iterable[bytes], *, begin_ms: int, end_ms: int) -> list[Point]:
    """Return the valid samples of these packed messages between two instants, by time: at most `POINTS`, with the first
    and the last."""
    found = {
        time_ms: Point(time_ms, lat, lon, positions.usable_kmh(speed_kmh))
        for message in messages
        for time_ms, lat, lon, speed_kmh, *_ in samples.RECORD.iter_unpack(message)
        if begin_ms <= time_ms <= end_ms and not math.isnan(lat)
    }
    return thinned([found[time_ms] for time_ms in sorted(found)])


def thinned(points: Sequence[T]) -> list[T]:
    """Return at most `POINTS` of these, evenly chosen, with the first and the last."""
    if len(points) <= POINTS:
        return list(points)
    step = (len(points) - 1) / (POINTS - 1)
    return [points[round(number * step)] for number in range(POINTS)]

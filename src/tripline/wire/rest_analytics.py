"""Answers of the analytics operations (interface specification: Driving score, Accumulated driving score, GPS event).

Keys stand in the published order. Whole metres and metres per hour are sent without a decimal point, as published.
"""

from typing import TypeAlias

import msgspec

from tripline.wire.rest import Id

Number: TypeAlias = int | float


class DrivingScore(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Score of one trip; its id is the trip's id, `created_time` when the trip was judged."""

    id: Id
    created_time: int
    vehicle_id: Id
    user_id: Id
    score: float
    accel: int
    de_accel: int
    dist: Number
    """Metres."""
    over_speed: int


class AccumulatedScore(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Score of a vehicle over all its scored trips; its id is the vehicle's id."""

    id: Id
    created_time: int
    user_id: Id
    count: int
    score: float
    distance: Number
    """Metres."""


class GpsEvent(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One risky moment."""

    id: Id
    created_time: int
    vehicle_id: Id
    trip_id: Id
    event_ts: int
    event_ty: int
    """1 sudden start, 2 acceleration, 3 deceleration, 4 stop, 5 overspeed."""
    info: str
    """JSON text: `id`, `maxSpd` (metres per hour), `rank` of the road."""
    device_type: str
    service_type: None
    """Always null, as published (client-surface 10)."""
    speed_mh: Number
    user_id: Id
    pos_lat: float
    pos_lon: float


def number(value: float) -> Number:
    """The value without a decimal point when it is whole."""
    return int(value) if value.is_integer() else value

"""Answers of the analytics operations (spec/interface: Driving score, Accumulated driving score, GPS event).

Keys are in the published order. Whole metres and metres per hour are sent without a decimal point, as published.
"""

from typing import Annotated, TypeAlias

import msgspec

from tripline.wire.described import about
from tripline.wire.rest import examples
from tripline.wire.rest.base import Id

Number: TypeAlias = int | float


class DrivingScore(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Score of one trip; its id is the trip's id, `created_time` when the trip was judged."""

    id: Annotated[Id, about("id of the trip", examples.TRIP)]
    created_time: Annotated[int, about("when the trip was judged, epoch ms", 1735693900000)]
    vehicle_id: Annotated[Id, about("the vehicle", examples.VEHICLE)]
    user_id: Annotated[Id, about("who drove; the placeholder when nobody is known", examples.PERSON)]
    score: Annotated[float, about("0 (worst) to 100 (best), not rounded", 70.96813194953879)]
    accel: Annotated[int, about("sudden starts and accelerations, a count", 2)]
    de_accel: Annotated[int, about("sudden decelerations and stops, a count", 1)]
    dist: Annotated[Number, about("distance driven, metres", 49162)]
    over_speed: Annotated[int, about("samples above the speed limit, a count", 12)]


class AccumulatedScore(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Score of a vehicle over all its scored trips; its id is the vehicle's id."""

    id: Annotated[Id, about("id of the vehicle", examples.VEHICLE)]
    created_time: Annotated[int, about("when the last trip was added, epoch ms", 1735693900100)]
    user_id: Annotated[Id, about("who drove last; the placeholder when nobody is known", examples.PERSON)]
    count: Annotated[int, about("trips in the score", 5)]
    score: Annotated[float, about("0 (worst) to 100 (best), not rounded", 81.5)]
    distance: Annotated[Number, about("distance of all those trips, metres", 182400)]


class GpsEvent(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One risky moment."""

    id: Annotated[Id, about("id of the event", examples.EVENT)]
    created_time: Annotated[int, about("when the trip was judged, epoch ms", 1735693900000)]
    vehicle_id: Annotated[Id, about("the vehicle", examples.VEHICLE)]
    trip_id: Annotated[Id, about("the trip", examples.TRIP)]
    event_ts: Annotated[int, about("when it happened, epoch ms", 1735691234000)]
    event_ty: Annotated[
        int, about("1 sudden start, 2 sudden acceleration, 3 sudden deceleration, 4 sudden stop, 5 overspeed", 5)
    ]
    info: Annotated[
        str,
        about(
            "text of a JSON object about the road: `id`, `maxSpd` (limit, metres per hour), `rank`",
            '{"id":"","maxSpd":50000,"rank":0}',
        ),
    ]
    device_type: Annotated[str, about("sort of the device, in capitals", "GPS")]
    service_type: Annotated[None, about("always null", None)]
    speed_mh: Annotated[Number, about("speed, metres per hour", 67680)]
    user_id: Annotated[Id, about("who drove; the placeholder when nobody is known", examples.PERSON)]
    pos_lat: Annotated[float, about("latitude, degrees (WGS84)", 37.5665)]
    pos_lon: Annotated[float, about("longitude, degrees (WGS84)", 126.978)]


def number(value: float) -> Number:
    """The value without a decimal point when it is whole."""
    return int(value) if value.is_integer() else value

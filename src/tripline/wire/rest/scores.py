"""Answers of the analytics operations (spec/interface: Driving score, Accumulated driving score, GPS event).

Keys are in the published order. Whole metres and metres per hour are sent without a decimal point, as published.
"""

from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from tripline.wire.rest.base import Id

Number: TypeAlias = int | float


class DrivingScore(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Score of one trip; its id is the trip's id, `created_time` when the trip was judged."""

    id: Annotated[Id, Meta(description="id of the trip", examples=[{"id": "0c5f7a60-c802-11ef-9d5c-6b1f6f2a4c11"}])]
    created_time: Annotated[int, Meta(description="when the trip was judged, epoch ms", examples=[1735693900000])]
    vehicle_id: Annotated[
        Id, Meta(description="the vehicle", examples=[{"id": "d6022b90-c801-11ef-9d5c-6b1f6f2a4c11"}])
    ]
    user_id: Annotated[
        Id,
        Meta(
            description="who drove; the placeholder when nobody is known",
            examples=[{"id": "f0a1b2c0-c801-11ef-9d5c-6b1f6f2a4c11"}],
        ),
    ]
    score: Annotated[float, Meta(description="0 (worst) to 100 (best), not rounded", examples=[70.96813194953879])]
    accel: Annotated[int, Meta(description="sudden starts and accelerations, a count", examples=[2])]
    de_accel: Annotated[int, Meta(description="sudden decelerations and stops, a count", examples=[1])]
    dist: Annotated[Number, Meta(description="distance driven, metres", examples=[49162])]
    over_speed: Annotated[int, Meta(description="samples above the speed limit, a count", examples=[12])]


class AccumulatedScore(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Score of a vehicle over all its scored trips; its id is the vehicle's id."""

    id: Annotated[Id, Meta(description="id of the vehicle", examples=[{"id": "d6022b90-c801-11ef-9d5c-6b1f6f2a4c11"}])]
    created_time: Annotated[int, Meta(description="when the last trip was added, epoch ms", examples=[1735693900100])]
    user_id: Annotated[
        Id,
        Meta(
            description="who drove last; the placeholder when nobody is known",
            examples=[{"id": "f0a1b2c0-c801-11ef-9d5c-6b1f6f2a4c11"}],
        ),
    ]
    count: Annotated[int, Meta(description="trips in the score", examples=[5])]
    score: Annotated[float, Meta(description="0 (worst) to 100 (best), not rounded", examples=[81.5])]
    distance: Annotated[Number, Meta(description="distance of all those trips, metres", examples=[182400])]


class GpsEvent(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One risky moment."""

    id: Annotated[Id, Meta(description="id of the event", examples=[{"id": "6c9ba3d0-c801-11ef-9d5c-6b1f6f2a4c11"}])]
    created_time: Annotated[int, Meta(description="when the trip was judged, epoch ms", examples=[1735693900000])]
    vehicle_id: Annotated[
        Id, Meta(description="the vehicle", examples=[{"id": "d6022b90-c801-11ef-9d5c-6b1f6f2a4c11"}])
    ]
    trip_id: Annotated[Id, Meta(description="the trip", examples=[{"id": "0c5f7a60-c802-11ef-9d5c-6b1f6f2a4c11"}])]
    event_ts: Annotated[int, Meta(description="when it happened, epoch ms", examples=[1735691234000])]
    event_ty: Annotated[
        int,
        Meta(
            description="1 sudden start, 2 sudden acceleration, 3 sudden deceleration, 4 sudden stop, 5 overspeed",
            examples=[5],
        ),
    ]
    info: Annotated[
        str,
        Meta(
            description="text of a JSON object about the road: `id`, `maxSpd` (limit, metres per hour), `rank`",
            examples=['{"id":"","maxSpd":50000,"rank":0}'],
        ),
    ]
    device_type: Annotated[str, Meta(description="sort of the device, in capitals", examples=["GPS"])]
    service_type: Annotated[None, Meta(description="always null", examples=[None])]
    speed_mh: Annotated[Number, Meta(description="speed, metres per hour", examples=[67680])]
    user_id: Annotated[
        Id,
        Meta(
            description="who drove; the placeholder when nobody is known",
            examples=[{"id": "f0a1b2c0-c801-11ef-9d5c-6b1f6f2a4c11"}],
        ),
    ]
    pos_lat: Annotated[float, Meta(description="latitude, degrees (WGS84)", examples=[37.5665])]
    pos_lon: Annotated[float, Meta(description="longitude, degrees (WGS84)", examples=[126.978])]


def number(value: float) -> Number:
    """The value without a decimal point when it is whole."""
    return int(value) if value.is_integer() else value

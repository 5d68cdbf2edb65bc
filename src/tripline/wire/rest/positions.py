"""JSON of live positions (spec/positions L8)."""

from typing import Annotated, Any, TypeAlias

import msgspec

from tripline.domain.positions import Position
from tripline.wire.described import about, example_of
from tripline.wire.rest import examples
from tripline.wire.rest.base import Id

PlaceName: TypeAlias = Annotated[
    str | None,
    about("road and place by the map, in the language of the request; null: no map names it", "Sejong-daero, Jung-gu"),
]


class PositionRecord(msgspec.Struct, rename="camel", kw_only=True):
    """The latest position of a vehicle."""

    vehicle_id: Annotated[Id, about("id of the vehicle", examples.VEHICLE)]
    ts: Annotated[int, about("time of the position by the device's clock, epoch ms", 1735689600000)]
    lat: Annotated[float, about("latitude, degrees WGS84", 35.1577)]
    lon: Annotated[float, about("longitude, degrees WGS84", 129.0591)]
    speed: Annotated[float | None, about("speed, km/h; null: unknown", 38.0)]
    heading: Annotated[
        float | None,
        about("direction of travel, degrees from true north, clockwise; null: unknown, or below 5 km/h", 270.5),
    ]
    state: Annotated[
        str,
        about(
            "at the time of the answer: DRIVING, STOPPED, PARKED or OFFLINE; it follows from age and speed"
            " alone, so it changes without a new position",
            "DRIVING",
        ),
    ]


class WhereaboutsRecord(PositionRecord, rename="camel", kw_only=True):
    """Where a vehicle is, by the map too."""

    speed_limit: Annotated[
        float | None,
        about(
            "limit of the road by the imported map, for this kind of vehicle, its heading and the time,"
            " km/h; null: the map does not know it, or it is unclear which road it is",
            50.0,
        ),
    ]
    place: PlaceName
    latest_trip_id: Annotated[Id | None, about("id of the newest trip; null: none", examples.TRIP)]
    shareable: Annotated[bool, about("true if the caller may make share links to the vehicle", True)]


class TrailPoint(msgspec.Struct, rename="camel", kw_only=True):
    """A place on a vehicle's way."""

    ts: Annotated[int, about("time of the sample, epoch ms", 1735689600000)]
    lat: Annotated[float, about("latitude, degrees WGS84", 35.1577)]
    lon: Annotated[float, about("longitude, degrees WGS84", 129.0591)]
    speed: Annotated[float | None, about("speed, km/h; null: unknown", 38.0)]


class Trail(msgspec.Struct, rename="camel", kw_only=True):
    """The way of a vehicle today."""

    data: Annotated[
        list[TrailPoint],
        about(
            "by time; at most 2,000 points, of more samples evenly chosen ones",
            [example_of(TrailPoint)],
        ),
    ]


class Positions(msgspec.Struct, rename="camel", kw_only=True):
    """Positions of vehicles, and the query for the next ones."""

    data: Annotated[
        list[PositionRecord],
        about(
            "positions that are new, in the order of the vehicles' ids",
            [example_of(PositionRecord)],
        ),
    ]
    left: Annotated[
        list[Id],
        about(
            "vehicles that the caller cannot see any more, or that have no position any more; only with `since`",
            [examples.VEHICLE],
        ),
    ]
    since: Annotated[
        str,
        about(
            "cursor to ask for what changes after this answer; good for a week, for this caller and this company",
            "WyI0YzFkMmE5ZTBiN2YiLDQyLDE3MzU2ODk2MDAwMDAsNDIsMTczNTY4OTYwMDAwMCwiIl0",
        ),
    ]
    has_next: Annotated[bool, about("true: there is more already; ask again at once with `since`", False)]


def position_record(position: Position, *, now_ms: int) -> PositionRecord:
    """The record, with the present state."""
    return PositionRecord(**_fields(position, now_ms))


def whereabouts_record(
    position: Position,
    *,
    now_ms: int,
    limit_kmh: float | None,
    place: str | None,
    latest_trip_id: str | None,
    shareable: bool,
) -> WhereaboutsRecord:
    """As `position_record`, with the look-ups in the map."""
    return WhereaboutsRecord(
        **_fields(position, now_ms),
        speed_limit=limit_kmh,
        place=place,
        latest_trip_id=None if latest_trip_id is None else Id(latest_trip_id),
        shareable=shareable,
    )


def _fields(position: Position, now_ms: int) -> dict[str, Any]:
    return {
        "vehicle_id": Id(position.vehicle_id),
        "ts": position.time_ms,
        "lat": position.lat,
        "lon": position.lon,
        "speed": position.speed_kmh,
        "heading": position.heading_deg,
        "state": position.state(now_ms).value,
    }

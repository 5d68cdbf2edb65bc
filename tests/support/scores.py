"""Rows as the scorer leaves them: trips, scores, GPS events, accumulated scores."""

from typing import Any

from sqlalchemy import insert

from tripline.domain import ids
from tripline.domain.ids import TimeIds
from tripline.store.tables import driving_score, gps_event, trip, vehicle_score
from tripline.store.transactions import WriteTx

MAKER = TimeIds(node=0x51)
TRIP_MS = 1_759_990_000_000
"""When the first trip began."""


def trip_id(number: int) -> str:
    """The id of the trip with this number; a minute lies between two."""
    return MAKER.text(ids.first_no(TRIP_MS + number * 60_000))


def add_trip(tx: WriteTx, number: int, vehicle_id: str | None, **columns: Any) -> str:
    """A trip that ended; its id."""
    row = {
        "no": ids.no_of(trip_id(number)),
        "id": trip_id(number),
        "created_ms": TRIP_MS + number * 60_000,
        "company_id": ids.PLACEHOLDER,
        "sensor_id": ids.PLACEHOLDER,
        "vehicle_id": vehicle_id,
        "service_type": "taxi",
        "device_type": "GPS",
        "parking": False,
        "state": "COMPLETE",
        **columns,
    }
    tx.run(insert(trip), row)
    return trip_id(number)


def add_score(tx: WriteTx, number: int, vehicle_id: str, *, created_ms: int, **columns: Any) -> str:
    """The score of the trip with this number; its id."""
    tx.run(
        insert(driving_score),
        {
            "trip_no": ids.no_of(trip_id(number)),
            "trip_id": trip_id(number),
            "created_ms": created_ms,
            "vehicle_id": vehicle_id,
            "score": 90.5,
            "accel": 1,
            "de_accel": 2,
            "over_speed": 3,
            "over_speed_s": 3.0,
            "distance_m": 4000.0,
            "company_id": ids.PLACEHOLDER,
            "day": 0,
            "driving_ms": 0,
            "known_m": 0,
            "policy": 1,
            **columns,
        },
    )
    return trip_id(number)


def add_event(tx: WriteTx, number: int, vehicle_id: str, *, created_ms: int, event_ms: int, **columns: Any) -> str:
    """A GPS event of the first trip; its id."""
    no = ids.RowNo(ids.first_no(created_ms) + number)
    tx.run(
        insert(gps_event),
        {
            "no": no,
            "id": MAKER.text(no),
            "trip_no": ids.no_of(trip_id(0)),
            "trip_id": trip_id(0),
            "created_ms": created_ms,
            "vehicle_id": vehicle_id,
            "device_type": "GPS",
            "event_ms": event_ms,
            "event_type": 5,
            "speed_mh": 67_680.0,
            "lat": 37.5,
            "lon": 127.25,
            "info": '{"id":"ID_0169595","maxSpd":40000,"rank":107}',
            **columns,
        },
    )
    return MAKER.text(no)


def add_total(tx: WriteTx, vehicle_id: str, **columns: Any) -> None:
    """The accumulated score of the vehicle."""
    tx.run(insert(vehicle_score), {"vehicle_id": vehicle_id, "user_id": None, "sums": b"", **columns})

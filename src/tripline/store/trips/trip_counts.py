"""Counts of trips that name a vehicle, sensor or person, up to a bound, by the index that begins with it.

Callers check access first. Not here: the trips themselves (`trips.py`).
"""

from typing import Final

from sqlalchemy import Column, bindparam, func, select

from tripline.domain.ids import SensorId, UserId, VehicleId
from tripline.domain.trips import State
from tripline.store.erasure import erasures
from tripline.store.tables import trip
from tripline.store.transactions import Hot, ReadTx

MAX: Final = 10_000
"""Counting these takes 1 ms."""


def of_vehicle(tx: ReadTx, vehicle_id: VehicleId) -> int:
    """How many the vehicle drove, `MAX` for more."""
    return _count(tx, _OF_VEHICLE, vehicle_id)


def of_sensor(tx: ReadTx, sensor_id: SensorId) -> int:
    """How many the sensor sent, `MAX` for more."""
    return _count(tx, _OF_SENSOR, sensor_id)


def open_of_sensor(tx: ReadTx, sensor_id: SensorId) -> int:
    """Count the open trips that the sensor sent on a vehicle."""
    counted: int = tx.hot(_OPEN_OF_SENSOR, sensor_id)[0][0]
    return counted


def of_person(tx: ReadTx, user_id: UserId) -> int:
    """How many the person drove, `MAX` for more."""
    return _count(tx, _OF_PERSON, user_id)


def _counting(owner: Column[str]) -> Hot:
    some = select(trip.c.no).where(owner == bindparam("owner")).limit(bindparam("most")).subquery()
    return Hot(select(func.count()).select_from(some), "owner", "most")


_OF_VEHICLE: Final = _counting(trip.c.vehicle_id)
_OF_SENSOR: Final = _counting(trip.c.sensor_id)
_OF_PERSON: Final = _counting(trip.c.user_id)
_OPEN_OF_SENSOR: Final = Hot(
    # By `ix_trip_ended`: an open trip is one that was never closed.
    select(func.count())
    .select_from(trip)
    .where(
        trip.c.sensor_id == bindparam("owner"),
        trip.c.closed_ms.is_(None),
        trip.c.state == State.OPEN.value,
        trip.c.vehicle_id.is_not(None),
        erasures.kept(trip.c.vehicle_id),
    ),
    "owner",
)


def _count(tx: ReadTx, statement: Hot, owner: str) -> int:
    counted: int = tx.hot(statement, owner, MAX)[0][0]
    return counted

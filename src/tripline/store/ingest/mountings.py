"""Changes of sensors' vehicles and of their drivers, from history: for messages older than the last of them."""

from typing import Any, Final

from sqlalchemy import BigInteger, ColumnElement, Select, bindparam, func, literal_column, select

from tripline.domain.access import Scope
from tripline.domain.history import Event
from tripline.domain.ids import SensorId, VehicleId
from tripline.domain.mountings import Change, Drivers, Past
from tripline.store.tables import account, history, sensor, vehicle
from tripline.store.transactions import Hot, ReadTx

MOST: Final = 1_000
"""Most changes read of one sensor or vehicle: a year of a vehicle's drivers."""


def _is(*events: Event) -> ColumnElement[bool]:
    return history.c.event.in_([literal_column(f"'{event.value}'") for event in events])


_MOUNTINGS: Final = _is(Event.MOUNTED, Event.UNMOUNTED)
_DRIVINGS: Final = _is(Event.DRIVER_SET, Event.DRIVER_UNSET)


def _last(*conditions: ColumnElement[bool]) -> ColumnElement[int]:
    found = select(history.c.at_ms).where(*conditions).order_by(history.c.no.desc()).limit(1).scalar_subquery()
    return func.coalesce(found, literal_column("0", BigInteger))


CHANGED_MS: Final = (
    _last(history.c.sensor_id == sensor.c.id, _MOUNTINGS),
    _last(history.c.vehicle_id == sensor.c.vehicle_id, _DRIVINGS),
)
"""When the sensor's vehicle changed last, and the driver of its vehicle; 0: unknown."""


def _latest(statement: Select[Any], *conditions: ColumnElement[bool]) -> Hot:
    return Hot(statement.where(*conditions).order_by(history.c.no.desc()).limit(MOST), "of")


_OF_SENSOR: Final = _latest(
    select(history.c.at_ms, history.c.vehicle_id, history.c.event), history.c.sensor_id == bindparam("of"), _MOUNTINGS
)
_OF_VEHICLE: Final = _latest(
    select(history.c.at_ms, account.c.id, history.c.event).outerjoin(account, account.c.id == history.c.user_id),
    history.c.vehicle_id == bindparam("of"),
    _DRIVINGS,
)
_DRIVER: Final = Hot(select(vehicle.c.current_driver_id).where(vehicle.c.id == bindparam("of")), "of")


def past(tx: ReadTx, scope: Scope, sensor_id: SensorId, vehicle_id: VehicleId | None) -> Past:
    """Return the changes of the sensor, which is on this vehicle now."""
    scope.require_everything()
    changes = _changes(tx, _OF_SENSOR, sensor_id)
    drivers = {}
    for each in {vehicle_id, *(change.id for change in changes)} - {None}:
        for (driver_id,) in tx.hot(_DRIVER, each):
            drivers[each] = Drivers(driver_id, _changes(tx, _OF_VEHICLE, each))
    return Past(vehicle_id, changes, drivers)


def _changes(tx: ReadTx, statement: Hot, of: str | None) -> list[Change]:
    begins = (Event.MOUNTED, Event.DRIVER_SET)
    return [Change(at_ms, owner, event in begins) for at_ms, owner, event in reversed(tx.hot(statement, of))]

"""Rows of sensors, and their mounting on vehicles."""

from collections.abc import Sequence
from dataclasses import asdict, fields
from functools import cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, bindparam, insert, select, update

from tripline.domain import sensors
from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId, SensorId, VehicleId
from tripline.domain.sensors import Sensor
from tripline.store import listing, scopes, uniqueness
from tripline.store.tables import sensor, vehicle
from tripline.store.transactions import Hot, ReadTx, WriteTx

_ADMITTED: Final = Hot(select(sensor.c.id).where(sensor.c.credentials_id == bindparam("credential")), "credential")
_MOUNTED: Final = select(sensor.c.id).where(sensor.c.vehicle_id == bindparam("on")).order_by(sensor.c.id)
_UNMOUNT_ALL: Final = (
    update(sensor)
    .where(sensor.c.vehicle_id == bindparam("on"))
    .values(vehicle_id=None, status=sensors.NEXT[sensors.Status.ACTIVATED, sensors.Event.UNMOUNT].value)
)
_STORED: Final = [field.name for field in fields(Sensor) if field.name != "vehicle_no"]
_FIELDS: Final = (*_STORED, "vehicle_no")
"""What `_select` selects first, in this order."""


def holder_of(tx: ReadTx, credential: str) -> SensorId | None:
    """The sensor whose credential this is. Takes no scope: it is asked at CONNECT, before anybody is known."""
    rows = tx.hot(_ADMITTED, credential)
    return rows[0][0] if rows else None


def find(tx: ReadTx, scope: Scope, sensor_id: SensorId) -> tuple[Sensor, bool] | None:
    """The sensor and whether it is inside the scope, or None when there is none with this id."""
    return _only(tx.hot(_find(scope.reaches), sensor_id, scope.user_id, scope.company_id))


def find_by_serial(tx: ReadTx, scope: Scope, *, service_type: str, serial_no: str) -> tuple[Sensor, bool] | None:
    """The sensor of the service type with this serial number, as `find`."""
    statement = _find_by_serial(scope.reaches)
    return _only(tx.hot(statement, service_type, serial_no, scope.user_id, scope.company_id))


def of_company(tx: ReadTx, scope: Scope, company_id: CompanyId, window: listing.Window) -> Sequence[Sensor]:
    """The company's sensors inside the scope, by serial number. Raises `listing.UnknownOffset`."""
    inside = (company_id, scope.user_id, scope.company_id)
    values = window.values(tx, _serial_of(scope.reaches), *inside)
    return [_sensor(row) for row in tx.hot(_of_company(scope.reaches, window.shape), *inside, *values)]


def insert_new(tx: WriteTx, new: Sensor) -> None:
    """Keep a new sensor. Raises `sensors.SerialTaken` or `sensors.CredentialsTaken`."""
    row = asdict(new)
    with uniqueness.refusing(
        ((sensor.c.service_type, sensor.c.serial_no), sensors.serial_taken(new.serial_no)),
        ((sensor.c.credentials_id,), sensors.credentials_taken()),
    ):
        tx.run(insert(sensor), {name: row[name] for name in _STORED})


def mount(tx: WriteTx, scope: Scope, sensor_id: SensorId, vehicle_id: VehicleId, status: sensors.Status) -> None:
    """Write the vehicle and the new state into a sensor inside the scope."""
    statement = update(sensor).where(sensor.c.id == bindparam("key"), scopes.sensors(scope.reaches))
    tx.run(
        statement.values(vehicle_id=bindparam("on"), status=bindparam("after")),
        {"key": sensor_id, "on": vehicle_id, "after": status.value, **scopes.values(scope)},
    )


def unmount_all(tx: WriteTx, vehicle_id: VehicleId) -> list[SensorId]:
    """Take every sensor off a vehicle that is to be deleted, whose caller was let pass; the sensors.

    The caller tells the pipeline of each after the commit (`SIGNAL_SENSOR_CHANGED`).
    """
    mounted = [SensorId(row.id) for row in tx.all(_MOUNTED, {"on": vehicle_id})]
    tx.run(_UNMOUNT_ALL, {"on": vehicle_id})
    return mounted


@cache
def _find(reaches: scopes.Reaches) -> Hot:
    statement = _select(scopes.sensors(reaches)).where(sensor.c.id == bindparam("key"))
    return Hot(statement, "key", scopes.USER, scopes.COMPANY)


@cache
def _find_by_serial(reaches: scopes.Reaches) -> Hot:
    statement = _select(scopes.sensors(reaches)).where(
        sensor.c.service_type == bindparam("type"), sensor.c.serial_no == bindparam("key")
    )
    return Hot(statement, "type", "key", scopes.USER, scopes.COMPANY)


@cache
def _of_company(reaches: scopes.Reaches, shape: listing.Shape) -> Hot:
    statement = listing.windowed(_owned(_select(), reaches), sensor.c.serial_no, sensor.c.id, shape)
    return Hot(statement, "company", scopes.USER, scopes.COMPANY, *listing.VALUES)


@cache
def _serial_of(reaches: scopes.Reaches) -> Hot:
    statement = _owned(select(sensor.c.serial_no), reaches).where(sensor.c.id == bindparam("key"))
    return Hot(statement, "key", "company", scopes.USER, scopes.COMPANY)


def _owned(statement: Select[Any], reaches: scopes.Reaches) -> Select[Any]:
    return statement.where(sensor.c.company_id == bindparam("company"), scopes.sensors(reaches))


def _only(rows: list[tuple[Any, ...]]) -> tuple[Sensor, bool] | None:
    return (_sensor(rows[0]), bool(rows[0][-1])) if rows else None


def _select(*more: ColumnElement[Any]) -> Select[Any]:
    columns = [sensor.c[name] for name in _STORED]
    return select(*columns, vehicle.c.vehicle_no, *more).select_from(
        sensor.outerjoin(vehicle, vehicle.c.id == sensor.c.vehicle_id)
    )


def _sensor(row: tuple[Any, ...]) -> Sensor:
    """The sensor of a row of `_select`."""
    values = dict(zip(_FIELDS, row, strict=False))
    values["status"] = sensors.Status(values["status"])
    values["activation_required"] = bool(values["activation_required"])
    return Sensor(**values)

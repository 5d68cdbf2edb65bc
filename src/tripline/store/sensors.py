"""Rows of sensors, and their mounting on vehicles."""

from collections.abc import Sequence
from dataclasses import asdict, fields
from functools import cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Row, Select, bindparam, insert, select, update

from tripline.domain import sensors
from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId, SensorId, VehicleId
from tripline.domain.sensors import Sensor
from tripline.store import listing, scopes, uniqueness
from tripline.store.tables import sensor, vehicle
from tripline.store.transactions import Hot, ReadTx, WriteTx

_ADMITTED: Final = Hot(select(sensor.c.id).where(sensor.c.credentials_id == bindparam("credential")), "credential")
_STORED: Final = [field.name for field in fields(Sensor) if field.name != "vehicle_no"]


def holder_of(tx: ReadTx, credential: str) -> SensorId | None:
    """The sensor whose credential this is. Takes no scope: it is asked at CONNECT, before anybody is known."""
    rows = tx.hot(_ADMITTED, credential)
    return rows[0][0] if rows else None


def find(tx: ReadTx, scope: Scope, sensor_id: SensorId) -> tuple[Sensor, bool] | None:
    """The sensor and whether it is inside the scope, or None when there is none with this id."""
    return _only(tx, _find(scope.reaches), {"key": sensor_id, **scopes.values(scope)})


def find_by_serial(tx: ReadTx, scope: Scope, *, service_type: str, serial_no: str) -> tuple[Sensor, bool] | None:
    """The sensor of the service type with this serial number, as `find`."""
    values = {"type": service_type, "key": serial_no, **scopes.values(scope)}
    return _only(tx, _find_by_serial(scope.reaches), values)


def of_company(tx: ReadTx, scope: Scope, company_id: CompanyId, window: listing.Window) -> Sequence[Sensor]:
    """The company's sensors inside the scope, by serial number."""
    statement = _of_company(scope.reaches, window.shape)
    values = {"company": company_id, **window.values, **scopes.values(scope)}
    return [_sensor(row) for row in tx.all(statement, values)]


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


@cache
def _find(reaches: scopes.Reaches) -> Select[Any]:
    return _select(scopes.sensors(reaches).label("inside")).where(sensor.c.id == bindparam("key"))


@cache
def _find_by_serial(reaches: scopes.Reaches) -> Select[Any]:
    return _select(scopes.sensors(reaches).label("inside")).where(
        sensor.c.service_type == bindparam("type"), sensor.c.serial_no == bindparam("key")
    )


@cache
def _of_company(reaches: scopes.Reaches, shape: listing.Shape) -> Select[Any]:
    statement = _select().where(sensor.c.company_id == bindparam("company"), scopes.sensors(reaches))
    return listing.windowed(statement, sensor.c.serial_no, sensor.c.id, shape)


def _only(tx: ReadTx, statement: Select[Any], values: dict[str, str | None]) -> tuple[Sensor, bool] | None:
    row = tx.one(statement, values)
    return None if row is None else (_sensor(row), bool(row.inside))


def _select(*more: ColumnElement[Any]) -> Select[Any]:
    columns = [sensor.c[name] for name in _STORED]
    return select(*columns, vehicle.c.vehicle_no, *more).select_from(
        sensor.outerjoin(vehicle, vehicle.c.id == sensor.c.vehicle_id)
    )


def _sensor(row: Row[Any]) -> Sensor:
    values = row._asdict()
    values.pop("inside", None)
    values["status"] = sensors.Status(row.status)
    return Sensor(**values)

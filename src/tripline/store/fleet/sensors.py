"""Rows of sensors, and their mounting on vehicles.

A record contains the device's access token only inside a second scope, `tokens`: elsewhere it is None, so that it never
leaves the store.

Not here: counting them (`store/listing/sensors.py`), the remains of deleted ones
(`store/erasure/remains.py`), carrier lines (`store/lines/lines.py`).
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import msgspec
from sqlalchemy import (
    ColumnElement,
    FromClause,
    Select,
    Subquery,
    Update,
    bindparam,
    case,
    delete,
    select,
    update,
)

from tripline.domain import keys, sensors
from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId, SensorId, VehicleId
from tripline.domain.lines import Line, NwStatus
from tripline.domain.sensors import Sensor
from tripline.store import lists, reach, scopes
from tripline.store.bulk import Bulk
from tripline.store.database import uniqueness
from tripline.store.devices import latest_values
from tripline.store.fleet import number_keys, vehicles
from tripline.store.listing import sensors as listing
from tripline.store.tables import carrier_line, sensor, vehicle
from tripline.store.transactions import Hot, ReadTx, WriteTx

_ADMITTED: Final = Hot(select(sensor.c.id).where(sensor.c.credentials_id == bindparam("credential")), "credential")
_UNMOUNTED: Final = sensors.NEXT[sensors.Status.ACTIVATED, sensors.SensorEvent.UNMOUNT]
_STORED: Final = [name for name in Sensor.__struct_fields__ if name not in ("vehicle_no", "line")]
_REGISTERED: Final = list(sensors.Registration.__struct_fields__)
_LINE: Final = list(Line.__struct_fields__)
_FIELDS: Final = (*_STORED, "vehicle_no")
"""The first of `_columns`, in this order."""


inside: Final = scopes.Inside(sensor.c.id, lambda reaches: reach.predicate(reaches, sensor.c.id))


def holder_of(tx: ReadTx, credential: str) -> SensorId | None:
    """The sensor with this credential. Takes no scope: CONNECT is not authenticated yet."""
    rows = tx.hot(_ADMITTED, credential)
    return rows[0][0] if rows else None


def find(tx: ReadTx, scope: Scope, sensor_id: SensorId, *, tokens: Scope) -> tuple[Sensor, bool] | None:
    """The sensor and whether it is inside the scope, or None when there is none with this id."""
    statement = _find(scope.reaches, tokens.reaches)
    return scopes.found(tx.hot(statement, sensor_id, scope.user_id, scope.company_id), _sensor)


def find_by_serial(
    tx: ReadTx, scope: Scope, *, service_type: str, serial_no: str, tokens: Scope
) -> tuple[Sensor, bool] | None:
    """The sensor of the service type with this serial number, in any form, as `find`."""
    statement = _find_by_serial(scope.reaches, tokens.reaches)
    key = number_keys.values(service_type, serial_no)
    return scopes.found(tx.hot(statement, *key, scope.user_id, scope.company_id), _sensor)


def find_by_mdn(tx: ReadTx, scope: Scope, mdn: str, *, tokens: Scope) -> tuple[Sensor, bool] | None:
    """The sensor whose line has this telephone number, as `find`."""
    statement = _with_inside(scope.reaches, tokens.reaches).where(carrier_line.c.mdn == mdn)
    return scopes.found(tx.all(statement, scopes.values(scope)), _sensor)


def of_company(
    tx: ReadTx,
    scope: Scope,
    company_id: CompanyId,
    window: lists.Window,
    *,
    mounted: bool | None = None,
    connected: bool | None = None,
    tokens: Scope,
) -> Sequence[Sensor]:
    """The company's sensors inside the scope, by serial number; only those on a vehicle, or on none, and only those
    whose device is connected, or is not, when asked.

    Raises `UnknownOffset`.
    """
    filters = {
        "company_id": company_id,
        "" if mounted is None else f"mounted.{mounted}": True,
        _CONNECTED.get(connected, ""): True,
    }
    return [_sensor(row) for row in lists.page(tx, _LIST, scope, filters, window, tokens.reaches)]


def on_vehicle(tx: ReadTx, scope: Scope, vehicle_id: VehicleId, *, limit: int) -> Sequence[Sensor]:
    """The sensors on the vehicle that are inside the scope, by serial number, without access tokens."""
    rows = tx.hot(_on_vehicle(scope.reaches), vehicle_id, limit, scope.user_id, scope.company_id)
    return [_sensor(row) for row in rows]


def insert_new(tx: WriteTx, new: Sensor) -> None:
    """Keep a new sensor. Raises `sensors.SerialTaken` or `sensors.CredentialsTaken`."""
    row = msgspec.structs.asdict(new)
    with _unique(new):
        _ADD.insert(tx, [*(row[name] for name in _STORED), keys.key(new.serial_no)])
    reach.refresh(tx, sensor_ids=[new.id])


def modify(tx: WriteTx, scope: Scope, changed: Sensor) -> None:
    """Store the changed registration of a sensor inside the scope. Raises as `insert_new`."""
    values = {name: getattr(changed, name) for name in _REGISTERED} | {"serial_key": keys.key(changed.serial_no)}
    with _unique(changed):
        _change(tx, scope, changed.id, **values)


def mount(tx: WriteTx, scope: Scope, sensor_id: SensorId, vehicle_id: VehicleId | None, status: sensors.Status) -> None:
    """Write the vehicle (None: no vehicle) and the new state into a sensor inside the scope."""
    _change(tx, scope, sensor_id, vehicle_id=vehicle_id, status=status.value)


def unmount_all(tx: WriteTx, vehicle_id: VehicleId) -> list[SensorId]:
    """Take every sensor off a vehicle that is about to be deleted; return the sensors. The caller checked permission.

    Their values about the vehicle are deleted. The caller notifies the pipeline of each after the commit
    (`SIGNAL_SENSOR_CHANGED`).
    """
    mounted = vehicles.sensors_of(tx, vehicle_id)
    for sensor_id in mounted:
        latest_values.forget_of_vehicle(tx, sensor_id)
    tx.run(update(sensor).where(sensor.c.vehicle_id == vehicle_id).values(vehicle_id=None, status=_UNMOUNTED.value))
    reach.refresh(tx, sensor_ids=mounted)
    return mounted


def remove(tx: WriteTx, sensor_id: SensorId) -> None:
    """Delete the row of a sensor whose line is forgotten; the caller checked permission."""
    tx.run(delete(sensor).where(sensor.c.id == sensor_id))
    reach.refresh(tx, sensor_ids=[sensor_id])


def _change(tx: WriteTx, scope: Scope, sensor_id: SensorId, **columns: Any) -> None:
    """Write these columns of a sensor inside the scope."""
    tx.run(_changing(scope.reaches), {"key": sensor_id, **columns, **scopes.values(scope)})
    reach.refresh(tx, sensor_ids=[sensor_id])


def _unique(registered: Sensor) -> Any:
    """Turns a number or token that another sensor has into its refusal."""
    return uniqueness.refusing(
        ((sensor.c.service_type, sensor.c.serial_key), sensors.serial_taken(registered.serial_no)),
        ((sensor.c.credentials_id,), sensors.credentials_taken()),
    )


@cache
def _find(reaches: scopes.Reaches, tokens: scopes.Reaches) -> Hot:
    statement = _with_inside(reaches, tokens).where(sensor.c.id == bindparam("id"))
    return Hot(statement, "id", scopes.USER, scopes.COMPANY)


@cache
def _on_vehicle(reaches: scopes.Reaches) -> Hot:
    inside = reach.predicate(reaches, sensor.c.id)
    found = _select(frozenset()).where(sensor.c.vehicle_id == bindparam("vehicle"), inside)
    by_serial = found.order_by(sensor.c.serial_no, sensor.c.id).limit(bindparam("most"))
    return Hot(by_serial, "vehicle", "most", scopes.USER, scopes.COMPANY)


@cache
def _changing(reaches: scopes.Reaches) -> Update:
    return update(sensor).where(sensor.c.id == bindparam("key"), scopes.sensors(reaches))


def _with_inside(reaches: scopes.Reaches, tokens: scopes.Reaches) -> Select[Any]:
    return _select(tokens, reach.predicate(reaches, sensor.c.id))


@cache
def _find_by_serial(reaches: scopes.Reaches, tokens: scopes.Reaches) -> Hot:
    statement = _with_inside(reaches, tokens).where(number_keys.same(sensor.c.serial_no))
    return Hot(statement, *number_keys.NAMES, scopes.USER, scopes.COMPANY)


def _select(tokens: scopes.Reaches, *more: ColumnElement[Any]) -> Select[Any]:
    return select(*_columns(tokens), *more).select_from(_joined(sensor))


def _columns(tokens: scopes.Reaches) -> list[ColumnElement[Any]]:
    """The columns of `_FIELDS`, then the line's."""
    stored: dict[str, ColumnElement[Any]] = {name: sensor.c[name] for name in _STORED}
    stored["credentials_id"] = case((scopes.sensors(tokens), sensor.c.credentials_id))
    line = [carrier_line.c[name].label(f"line_{name}") for name in _LINE]
    return [*stored.values(), vehicle.c.vehicle_no, *line]


def _joined(rows: FromClause) -> FromClause:
    with_vehicle = rows.outerjoin(vehicle, vehicle.c.id == sensor.c.vehicle_id)
    return with_vehicle.outerjoin(carrier_line, carrier_line.c.sensor_id == sensor.c.id)


def _shown(page: Subquery, tokens: scopes.Reaches) -> Select[Any]:
    joined = _joined(page.join(sensor, sensor.c.id == page.c.key))
    return select(page.c.place, page.c.key, *_columns(tokens)).select_from(joined)


_CONNECTED: Final[dict[bool | None, str]] = {True: f"heard.{listing.Heard.CONNECTED.value}", False: "not_connected"}
_ADD: Final = Bulk(sensor, *_STORED, "serial_key")
_LIST: Final = msgspec.structs.replace(listing.SPEC, searches=(), shown=_shown)


def _sensor(row: Sequence[Any]) -> Sensor:
    """The sensor of a row that begins with `_columns`."""
    values = dict(zip(_FIELDS, row, strict=False))
    values["status"] = sensors.Status(values["status"])
    values["activation_required"] = bool(values["activation_required"])
    return Sensor(**values, line=_line(row[len(_FIELDS) : len(_FIELDS) + len(_LINE)]))


def _line(row: Sequence[Any]) -> Line | None:
    values = dict(zip(_LINE, row, strict=True))
    if values["sensor_id"] is None:
        return None
    return Line(**{**values, "nw_status": NwStatus(values["nw_status"])})

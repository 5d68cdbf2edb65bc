"""Rows of vehicles."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Select, Update, bindparam, delete, func, select, update

from tripline.domain import keys, vehicles
from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId, SensorId, UserId, VehicleId
from tripline.domain.vehicles import Vehicle
from tripline.store import lists, reach, records, scopes
from tripline.store.bulk import Bulk
from tripline.store.database import uniqueness
from tripline.store.fleet import number_keys
from tripline.store.listing import vehicles as listing
from tripline.store.tables import sensor, vehicle, vehicle_score, vehicle_user
from tripline.store.transactions import Hot, ReadTx, WriteTx, counting

_COUNTED: Final[dict[str, ColumnElement[int]]] = {
    "sensor_count": select(func.count()).where(sensor.c.vehicle_id == vehicle.c.id).scalar_subquery(),
    "delegate_user_count": select(func.count()).where(vehicle_user.c.vehicle_id == vehicle.c.id).scalar_subquery(),
}
"""Counted when read, so that they are never wrong."""
_STORED: Final = [name for name in Vehicle.__struct_fields__ if name not in _COUNTED]
_COLUMNS: Final[list[ColumnElement[Any]]] = [
    _COUNTED[name].label(name) if name in _COUNTED else vehicle.c[name] for name in Vehicle.__struct_fields__
]


_vehicle: Final = records.maker(Vehicle)


class OwnedVehicle(NamedTuple):
    """A vehicle and its owner."""

    id: VehicleId
    company_id: CompanyId


inside: Final = scopes.Inside(vehicle.c.id, lambda reaches: reach.predicate(reaches, vehicle.c.id))


def find(tx: ReadTx, scope: Scope, vehicle_id: VehicleId) -> tuple[Vehicle, bool] | None:
    """The vehicle and whether it is inside the scope, or None when there is none with this id."""
    return scopes.found(tx.hot(_find(scope.reaches), vehicle_id, scope.user_id, scope.company_id), _vehicle)


def number_inside(tx: ReadTx, scope: Scope, vehicle_id: VehicleId | None) -> str | None:
    """The vehicle's number; None without a vehicle, or if it is not inside the scope."""
    found = None if vehicle_id is None else find(tx, scope, vehicle_id)
    return found[0].vehicle_no if found is not None and found[1] else None


def find_by_number(tx: ReadTx, scope: Scope, *, service_type: str, vehicle_no: str) -> tuple[Vehicle, bool] | None:
    """The vehicle of the service type with this number, in any form, as `find`."""
    key = number_keys.values(service_type, vehicle_no)
    return scopes.found(tx.hot(_find_by_number(scope.reaches), *key, scope.user_id, scope.company_id), _vehicle)


def of_company(tx: ReadTx, scope: Scope, company_id: CompanyId, window: lists.Window) -> Sequence[Vehicle]:
    """The company's own vehicles inside the scope, by number. Raises `UnknownOffset`."""
    return [_vehicle(row) for row in lists.page(tx, _LIST, scope, {"company_id": company_id}, window)]


def delegated(
    tx: ReadTx, scope: Scope, company_id: CompanyId, window: lists.Window, *, received: bool
) -> Sequence[Vehicle]:
    """The vehicles inside the scope that the company received, or delegated to others, by number, each once.

    Raises `UnknownOffset`.
    """
    side = {"received" if received else "given": company_id}
    return [_vehicle(row) for row in lists.page(tx, _LIST, scope, side, window)]


def managed_by(tx: ReadTx, scope: Scope, director_id: UserId, window: lists.Window) -> Sequence[Vehicle]:
    """The vehicles inside the scope that the director manages, by number. Raises `UnknownOffset`."""
    return [_vehicle(row) for row in lists.page(tx, _LIST, scope, {"director_id": director_id}, window)]


def insert_new(tx: WriteTx, new: Vehicle) -> None:
    """Keep a new vehicle. Raises `vehicles.NumberTaken` when the service type has one with this number."""
    row = msgspec.structs.asdict(new)
    with _unique(new.vehicle_no):
        _ADD.insert(tx, [*(row[name] for name in _STORED), keys.key(new.vehicle_no)])
    reach.refresh(tx, [new.id])


def change(tx: WriteTx, scope: Scope, vehicle_id: VehicleId, **columns: Any) -> None:
    """Write these columns of a vehicle inside the scope. Raises `vehicles.NumberTaken`."""
    number = columns.get("vehicle_no", "")
    if number:
        columns["number_key"] = keys.key(number)
    with _unique(number):
        changed = tx.run(_change(scope.reaches), {"key": vehicle_id, **columns, **scopes.values(scope)})
    if changed and (number or "director_id" in columns):
        reach.refresh(tx, [vehicle_id])


def remove(tx: WriteTx, scope: Scope, vehicle_id: VehicleId) -> None:
    """Delete a vehicle inside the scope that nothing hangs on any more, and its accumulated score."""
    tx.run(delete(vehicle_score).where(vehicle_score.c.vehicle_id == vehicle_id))
    statement = delete(vehicle).where(vehicle.c.id == vehicle_id, scopes.vehicles(scope.reaches))
    tx.run(statement, scopes.values(scope))
    reach.refresh(tx, [vehicle_id])


def sensors_of(tx: ReadTx, vehicle_id: VehicleId) -> list[SensorId]:
    """The sensors mounted on a vehicle. Takes no scope: it serves notifications to the pipeline."""
    mounted = select(sensor.c.id).where(sensor.c.vehicle_id == vehicle_id)
    return [SensorId(row.id) for row in tx.all(mounted.order_by(sensor.c.id))]


def count_managed(tx: ReadTx, director_id: UserId) -> int:
    """How many vehicles have this managing director; whose reader was let pass."""
    return tx.number(_COUNT_MANAGED, director_id)


def driven_by(tx: ReadTx, user_id: UserId) -> list[OwnedVehicle]:
    """The vehicles that this person drives now. Takes no scope: it serves changes that end the person's driving."""
    driven = select(vehicle.c.id, vehicle.c.company_id).where(vehicle.c.current_driver_id == user_id)
    return [OwnedVehicle(*row) for row in tx.all(driven)]


def release_driver(tx: WriteTx, user_id: UserId) -> list[SensorId]:
    """End the person's driving on every vehicle; return the sensors on them, for the pipeline."""
    driven = vehicle.c.current_driver_id == user_id
    mounted = select(sensor.c.id).join(vehicle, vehicle.c.id == sensor.c.vehicle_id).where(driven)
    changed = [SensorId(row.id) for row in tx.all(mounted.order_by(sensor.c.id))]
    tx.run(update(vehicle).where(driven).values(current_driver_id=None))
    return changed


def release_director(tx: WriteTx, user_id: UserId) -> None:
    """The vehicles that this person managed have no managing director any more."""
    tx.run(update(vehicle).where(vehicle.c.director_id == user_id).values(director_id=None))


def _unique(number: str) -> Any:
    """Turn a number that another vehicle of the service type has into its refusal."""
    return uniqueness.refusing(((vehicle.c.service_type, vehicle.c.number_key), vehicles.number_taken(number)))


@cache
def _find(reaches: scopes.Reaches) -> Hot:
    return Hot(_with_inside(reaches).where(vehicle.c.id == bindparam("id")), "id", scopes.USER, scopes.COMPANY)


@cache
def _find_by_number(reaches: scopes.Reaches) -> Hot:
    statement = _with_inside(reaches).where(number_keys.same(vehicle.c.vehicle_no))
    return Hot(statement, *number_keys.NAMES, scopes.USER, scopes.COMPANY)


@cache
def _change(reaches: scopes.Reaches) -> Update:
    return update(vehicle).where(vehicle.c.id == bindparam("key"), scopes.vehicles(reaches))


def _with_inside(reaches: scopes.Reaches) -> Select[Any]:
    return select(*_COLUMNS, reach.predicate(reaches, vehicle.c.id))


_ADD: Final = Bulk(vehicle, *_STORED, "number_key")
_COUNT_MANAGED: Final = counting(vehicle.c.director_id)
_LIST: Final = lists.by_name(listing.SPEC, vehicle, _COLUMNS)

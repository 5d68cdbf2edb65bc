"""Rows of directors' and drivers' rights on single vehicles; ending a right may remove the current driver."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Select, Subquery, bindparam, delete, exists, func, insert, select, update

from tripline.domain.access import Authority, Scope
from tripline.domain.delegations import Right, UserRole
from tripline.domain.ids import CompanyId, UserId, VehicleId
from tripline.store import lists, positions, reach, records, scopes
from tripline.store.listing.engine import Filter, ListSpec
from tripline.store.tables import account, company, vehicle, vehicle_user
from tripline.store.transactions import Hot, ReadTx, WriteTx, counting

_RIGHT: Final = vehicle_user.alias("granted")
"""The predicates of scopes ask `vehicle_user` too; by another name the two are not mixed up."""


_HELD: Final = vehicle_user.c
_COUNTED: Final = (UserRole.DELEGATED_DIRECTOR, UserRole.DRIVER)
"""The roles of `Held`."""


class Held(NamedTuple):
    """How many rights of each role people of a company have on a vehicle."""

    directors: int
    drivers: int


class Holding(NamedTuple):
    """A right, with details of its holder."""

    right: Right
    email: str
    authority: Authority


def may_drive(tx: ReadTx, vehicle_id: VehicleId, user_id: UserId) -> bool:
    """True if the person has a right on the vehicle; every right permits driving."""
    return bool(tx.hot(_ANY, vehicle_id, user_id))


def held(tx: ReadTx, vehicle_id: VehicleId, user_id: UserId, role: UserRole) -> bool:
    """True if the person has exactly this right on the vehicle."""
    return any(role.value == each for (each,) in tx.hot(_ANY, vehicle_id, user_id))


def find(tx: ReadTx, scope: Scope, user_id: UserId, vehicle_id: VehicleId, role: UserRole) -> Right | None:
    """The right on the vehicle of a person who is inside the scope."""
    right = _RIGHT.c.vehicle_id == vehicle_id, _RIGHT.c.user_id == user_id, _RIGHT.c.user_role == role.value
    row = tx.one(_rights(scope.reaches).where(*right), scopes.values(scope))
    return None if row is None else _right(row)


def of_user(tx: ReadTx, scope: Scope, user_id: UserId, role: UserRole, window: lists.Window) -> Sequence[Right]:
    """The rights of this role of a person who is inside the scope, by vehicle number.

    Raises `UnknownOffset`.
    """
    filters = {"user": user_id, "role": role.value}
    return [_right(row) for row in lists.page(tx, _LIST, scope, filters, window)]


def count_of_user(tx: ReadTx, user_id: UserId) -> int:
    """How many rights a person has, whose reader was let pass."""
    return tx.number(_COUNT_OF_USER, user_id)


def count_of_vehicle(tx: ReadTx, vehicle_id: VehicleId) -> int:
    """How many rights people have on a vehicle, whose reader was let pass."""
    return tx.number(_COUNT_OF_VEHICLE, vehicle_id)


def on_vehicle(tx: ReadTx, scope: Scope, vehicle_id: VehicleId, *, limit: int) -> Sequence[Holding]:
    """Rights on the vehicle whose holders are inside the scope, by their names, up to `limit`."""
    rights = _rights(scope.reaches).add_columns(account.c.email, account.c.authority)
    by_name = rights.where(_RIGHT.c.vehicle_id == vehicle_id).order_by(account.c.name, _RIGHT.c.id).limit(limit)
    rows = tx.all(by_name, scopes.values(scope))
    return [Holding(_right(row[:-2]), row.email, Authority(row.authority)) for row in rows]


def counted(tx: ReadTx, vehicle_id: VehicleId) -> dict[CompanyId, Held]:
    """How many rights the people of each company have on the vehicle. Takes no scope: it names nobody."""
    of_role = (func.count().filter(_HELD.user_role == role.value) for role in _COUNTED)
    rows = tx.all(select(_HELD.company_id, *of_role).where(_HELD.vehicle_id == vehicle_id).group_by(_HELD.company_id))
    return {row[0]: Held(row[1], row[2]) for row in rows}


def is_driven_by(tx: ReadTx, vehicle_id: VehicleId, company_id: CompanyId) -> bool:
    """True if a person of the company drives the vehicle now."""
    driver = select(account.c.id).join(vehicle, vehicle.c.current_driver_id == account.c.id)
    return tx.one(driver.where(vehicle.c.id == vehicle_id, account.c.company_id == company_id)) is not None


def insert_new(tx: WriteTx, new: Right) -> None:
    """Keep a right that the person does not have yet."""
    row = {column.name: getattr(new, column.name) for column in vehicle_user.c}
    tx.run(insert(vehicle_user), {**row, "user_role": new.user_role.value})
    reach.refresh(tx, [new.vehicle_id])
    positions.reach_changed(tx, new.vehicle_id, [new.user_id])


def end(tx: WriteTx, vehicle_id: VehicleId, user_id: UserId, role: UserRole) -> bool:
    """End this right of the person; True if the vehicle lost its current driver.

    A driver with another right on the vehicle, or its managing director, goes on driving.
    """
    tx.run(delete(vehicle_user).where(*_of(vehicle_id, user_id), _HELD.user_role == role.value))
    reach.refresh(tx, [vehicle_id])
    positions.reach_changed(tx, vehicle_id, [user_id])
    is_director = func.coalesce(vehicle.c.director_id, "") == user_id
    is_driver = vehicle.c.current_driver_id == user_id
    return _stop(tx, vehicle_id, is_driver, ~is_director, ~exists().where(*_of(vehicle_id, user_id)))


def end_of_company(tx: WriteTx, vehicle_id: VehicleId, company_id: CompanyId) -> tuple[int, bool]:
    """End all rights of the company's people on the vehicle; return how many, and True if it lost its driver."""
    positions.reach_of_people_changed(tx, vehicle_id, company_id)
    ended = tx.run(delete(vehicle_user).where(_HELD.vehicle_id == vehicle_id, _HELD.company_id == company_id))
    reach.refresh(tx, [vehicle_id])
    people = select(account.c.id).where(account.c.company_id == company_id)
    return ended, _stop(tx, vehicle_id, vehicle.c.current_driver_id.in_(people))


def forget_vehicle(tx: WriteTx, vehicle_id: VehicleId) -> int:
    """End every right on a vehicle that is about to be deleted; how many. The caller checked permission."""
    return tx.run(delete(vehicle_user).where(_HELD.vehicle_id == vehicle_id))


def forget_user(tx: WriteTx, user_id: UserId) -> int:
    """End every right of a person who is about to be deleted; how many. The caller checked permission."""
    return tx.run(delete(vehicle_user).where(_HELD.user_id == user_id))


def _of(vehicle_id: str | ColumnElement[str], user_id: str | ColumnElement[str]) -> tuple[ColumnElement[bool], ...]:
    return _HELD.vehicle_id == vehicle_id, _HELD.user_id == user_id


def _stop(tx: WriteTx, vehicle_id: VehicleId, *driver: ColumnElement[bool]) -> bool:
    """Take the current driver off the vehicle if these conditions hold; True if it had one."""
    return tx.run(update(vehicle).where(vehicle.c.id == vehicle_id, *driver).values(current_driver_id=None)) == 1


_COLUMNS: Final = (
    _RIGHT.c.id,
    _RIGHT.c.created_ms,
    _RIGHT.c.company_id,
    company.c.name,
    _RIGHT.c.user_id,
    account.c.name,
    _RIGHT.c.vehicle_id,
    vehicle.c.vehicle_no,
    _RIGHT.c.user_role,
)
"""In the order of `Right`."""


_right: Final = records.maker(Right)
_OF_USER: Final = _RIGHT.c.user_id == bindparam("user")


def _joined(statement: Select[Any]) -> Select[Any]:
    return (
        statement.join(account, account.c.id == _RIGHT.c.user_id)
        .join(company, company.c.id == _RIGHT.c.company_id)
        .join(vehicle, vehicle.c.id == _RIGHT.c.vehicle_id)
    )


def _rights(reaches: scopes.Reaches) -> Select[Any]:
    """The rights of people within the reaches."""
    return _joined(select(*_COLUMNS).select_from(_RIGHT)).where(scopes.accounts(reaches))


def _shown(page: Subquery) -> Select[Any]:
    found = select(page.c.place, page.c.key, *_COLUMNS).join_from(page, _RIGHT, _RIGHT.c.id == page.c.key)
    return _joined(found)


_ANY: Final = Hot(select(_HELD.user_role).where(*_of(bindparam("vehicle"), bindparam("user"))), "vehicle", "user")
_COUNT_OF_USER: Final = counting(_HELD.user_id)
_COUNT_OF_VEHICLE: Final = counting(_HELD.vehicle_id)
_LIST: Final = ListSpec(
    rows=_RIGHT,
    key=_RIGHT.c.id,
    orders={"number": vehicle.c.vehicle_no},
    name="number",
    inside=scopes.accounts,
    filters={
        "user": Filter(where=_OF_USER, few=select(_RIGHT.c.id).where(_OF_USER)),
        "role": Filter(where=_RIGHT.c.user_role == bindparam("role")),
    },
    always=(Filter(where=account.c.id == _RIGHT.c.user_id), Filter(where=vehicle.c.id == _RIGHT.c.vehicle_id)),
    shown=_shown,
)

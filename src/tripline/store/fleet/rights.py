"""Rows of directors' and drivers' rights on single vehicles; ending a right may remove the current driver."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import Select, Subquery, bindparam, case, delete, exists, func, insert, select, update

from tripline.domain.access import Authority, Scope
from tripline.domain.delegations import Right, UserRole
from tripline.domain.ids import CompanyId, UserId, VehicleId
from tripline.store import lists, positions, reach, scopes
from tripline.store.listing.engine import Filter, ListSpec
from tripline.store.tables import account, company, vehicle, vehicle_user
from tripline.store.transactions import Hot, ReadTx, WriteTx

_RIGHT: Final = vehicle_user.alias("granted")
"""The predicates of scopes ask `vehicle_user` too; by another name the two are not mixed up."""
_FIELDS: Final = list(Right.__struct_fields__)
_ON: Final = vehicle_user.c.vehicle_id == bindparam("of_vehicle")
_OF: Final = vehicle_user.c.user_id == bindparam("of_user")
_AS: Final = vehicle_user.c.user_role == bindparam("as_role")
_ANY: Final = Hot(select(vehicle_user.c.id).where(_ON, _OF), "of_vehicle", "of_user")
_SAME: Final = Hot(select(vehicle_user.c.id).where(_ON, _OF, _AS), "of_vehicle", "of_user", "as_role")
_END: Final = delete(vehicle_user).where(_ON, _OF, _AS)
_END_OF_COMPANY: Final = delete(vehicle_user).where(_ON, vehicle_user.c.company_id == bindparam("of_company"))
_FORGET_VEHICLE: Final = delete(vehicle_user).where(_ON)
_FORGET_USER: Final = delete(vehicle_user).where(_OF)

_COUNT_OF_USER: Final = Hot(select(func.count()).select_from(vehicle_user).where(_OF), "of_user")
_COUNT_OF_VEHICLE: Final = Hot(select(func.count()).select_from(vehicle_user).where(_ON), "of_vehicle")
_STOP: Final = update(vehicle).where(vehicle.c.id == bindparam("of_vehicle")).values(current_driver_id=None)
_STOP_WITHOUT_RIGHT: Final = _STOP.where(
    vehicle.c.current_driver_id == bindparam("of_user"),
    func.coalesce(vehicle.c.director_id, "") != bindparam("of_user"),
    ~exists().where(_ON, _OF),
)
_STOP_OF_COMPANY: Final = _STOP.where(
    vehicle.c.current_driver_id.in_(select(account.c.id).where(account.c.company_id == bindparam("of_company")))
)


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
    return bool(tx.hot(_SAME, vehicle_id, user_id, role.value))


def find(tx: ReadTx, scope: Scope, user_id: UserId, vehicle_id: VehicleId, role: UserRole) -> Right | None:
    """The right on the vehicle of a person who is inside the scope."""
    rows = tx.hot(_find(scope.reaches), vehicle_id, user_id, role.value, scope.user_id, scope.company_id)
    return _right(rows[0]) if rows else None


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
    rows = tx.hot(_on_vehicle(scope.reaches), vehicle_id, scope.user_id, scope.company_id, limit)
    return [Holding(_right(row[:-2]), row[-2], Authority(row[-1])) for row in rows]


def counted(tx: ReadTx, vehicle_id: VehicleId) -> dict[CompanyId, Held]:
    """How many rights the people of each company have on the vehicle. Takes no scope: it names nobody."""
    return {row[0]: Held(row[1], row[2]) for row in tx.hot(_COUNTED, vehicle_id)}


def is_driven_by(tx: ReadTx, vehicle_id: VehicleId, company_id: CompanyId) -> bool:
    """True if a person of the company drives the vehicle now."""
    return bool(tx.hot(_DRIVEN_BY, vehicle_id, company_id))


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
    whose = {"of_vehicle": vehicle_id, "of_user": user_id}
    tx.run(_END, {**whose, "as_role": role.value})
    reach.refresh(tx, [vehicle_id])
    positions.reach_changed(tx, vehicle_id, [user_id])
    return tx.run(_STOP_WITHOUT_RIGHT, whose) == 1


def end_of_company(tx: WriteTx, vehicle_id: VehicleId, company_id: CompanyId) -> tuple[int, bool]:
    """End all rights of the company's people on the vehicle; return how many, and True if it lost its driver."""
    whose = {"of_vehicle": vehicle_id, "of_company": company_id}
    positions.reach_of_people_changed(tx, vehicle_id, company_id)
    ended = tx.run(_END_OF_COMPANY, whose)
    reach.refresh(tx, [vehicle_id])
    return ended, tx.run(_STOP_OF_COMPANY, whose) == 1


def forget_vehicle(tx: WriteTx, vehicle_id: VehicleId) -> int:
    """End every right on a vehicle that is about to be deleted; how many. The caller checked permission."""
    return tx.run(_FORGET_VEHICLE, {"of_vehicle": vehicle_id})


def forget_user(tx: WriteTx, user_id: UserId) -> int:
    """End every right of a person who is about to be deleted; how many. The caller checked permission."""
    return tx.run(_FORGET_USER, {"of_user": user_id})


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
"""In the order of `_FIELDS`."""
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


@cache
def _find(reaches: scopes.Reaches) -> Hot:
    statement = _rights(reaches).where(
        _RIGHT.c.vehicle_id == bindparam("of_vehicle"), _OF_USER, _RIGHT.c.user_role == bindparam("role")
    )
    return Hot(statement, "of_vehicle", "user", "role", scopes.USER, scopes.COMPANY)


@cache
def _on_vehicle(reaches: scopes.Reaches) -> Hot:
    statement = _rights(reaches).add_columns(account.c.email, account.c.authority)
    statement = statement.where(_RIGHT.c.vehicle_id == bindparam("of_vehicle"))
    statement = statement.order_by(account.c.name, _RIGHT.c.id).limit(bindparam("most"))
    return Hot(statement, "of_vehicle", scopes.USER, scopes.COMPANY, "most")


def _of_role(role: UserRole) -> Any:
    return func.sum(case((_RIGHT.c.user_role == role.value, 1), else_=0))


_COUNTED: Final = Hot(
    select(_RIGHT.c.company_id, _of_role(UserRole.DELEGATED_DIRECTOR), _of_role(UserRole.DRIVER))
    .where(_RIGHT.c.vehicle_id == bindparam("of_vehicle"))
    .group_by(_RIGHT.c.company_id),
    "of_vehicle",
)
_DRIVEN_BY: Final = Hot(
    select(vehicle.c.id)
    .join(account, account.c.id == vehicle.c.current_driver_id)
    .where(vehicle.c.id == bindparam("of_vehicle"), account.c.company_id == bindparam("of_company")),
    "of_vehicle",
    "of_company",
)


def _right(row: tuple[Any, ...]) -> Right:
    values = dict(zip(_FIELDS, row, strict=True))
    return Right(**{**values, "user_role": UserRole(values["user_role"])})

"""Rows of rights: what directors and drivers may do with single vehicles; and who drives one no longer without."""

from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from typing import Any, Final

from sqlalchemy import Select, bindparam, delete, exists, func, insert, select, update

from tripline.domain.access import Scope
from tripline.domain.delegations import Right, UserRole
from tripline.domain.ids import CompanyId, RecordId, UserId, VehicleId
from tripline.store import listing, scopes
from tripline.store.tables import account, company, vehicle, vehicle_user
from tripline.store.transactions import Hot, ReadTx, WriteTx

_RIGHT: Final = vehicle_user.alias("granted")
"""The predicates of scopes ask `vehicle_user` too; by another name the two are not mixed up."""
_FIELDS: Final = [field.name for field in fields(Right)]
_ON: Final = vehicle_user.c.vehicle_id == bindparam("of_vehicle")
_OF: Final = vehicle_user.c.user_id == bindparam("of_user")
_AS: Final = vehicle_user.c.user_role == bindparam("as_role")
_ANY: Final = Hot(select(vehicle_user.c.id).where(_ON, _OF), "of_vehicle", "of_user")
_SAME: Final = Hot(select(vehicle_user.c.id).where(_ON, _OF, _AS), "of_vehicle", "of_user", "as_role")
_END: Final = delete(vehicle_user).where(_ON, _OF, _AS)
_END_OF_COMPANY: Final = delete(vehicle_user).where(_ON, vehicle_user.c.company_id == bindparam("of_company"))
_FORGET_VEHICLE: Final = delete(vehicle_user).where(_ON)
_FORGET_USER: Final = delete(vehicle_user).where(_OF)

_STOP: Final = update(vehicle).where(vehicle.c.id == bindparam("of_vehicle")).values(current_driver_id=None)
_STOP_WITHOUT_RIGHT: Final = _STOP.where(
    vehicle.c.current_driver_id == bindparam("of_user"),
    func.coalesce(vehicle.c.director_id, "") != bindparam("of_user"),
    ~exists().where(_ON, _OF),
)
_STOP_OF_COMPANY: Final = _STOP.where(
    vehicle.c.current_driver_id.in_(select(account.c.id).where(account.c.company_id == bindparam("of_company")))
)


def may_drive(tx: ReadTx, vehicle_id: VehicleId, user_id: UserId) -> bool:
    """Whether the person has a right on the vehicle; every right lets drive it."""
    return bool(tx.hot(_ANY, vehicle_id, user_id))


def held(tx: ReadTx, vehicle_id: VehicleId, user_id: UserId, role: UserRole) -> bool:
    """Whether the person has this very right on the vehicle."""
    return bool(tx.hot(_SAME, vehicle_id, user_id, role.value))


def find(tx: ReadTx, scope: Scope, user_id: UserId, vehicle_id: VehicleId, role: UserRole) -> Right | None:
    """The right on the vehicle of a person who is inside the scope."""
    rows = tx.hot(_find(scope.reaches), vehicle_id, user_id, role.value, scope.user_id, scope.company_id)
    return _right(rows[0]) if rows else None


def of_user(tx: ReadTx, scope: Scope, user_id: UserId, role: UserRole, window: listing.Window) -> Sequence[Right]:
    """The rights of this role of a person who is inside the scope, by vehicle number.

    Raises `listing.UnknownOffset`.
    """
    values = (user_id, role.value, scope.user_id, scope.company_id)
    return [_right(row) for row in _OF_USER.page(tx, window, values, scope.reaches)]


def insert_new(
    tx: WriteTx,
    *,
    right_id: RecordId,
    vehicle_id: VehicleId,
    user_id: UserId,
    company_id: CompanyId,
    role: UserRole,
    now_ms: int,
) -> None:
    """Keep a right that the person does not have yet; `company_id` is the person's."""
    tx.run(
        insert(vehicle_user),
        {
            "id": right_id,
            "created_ms": now_ms,
            "vehicle_id": vehicle_id,
            "company_id": company_id,
            "user_id": user_id,
            "user_role": role.value,
        },
    )


def end(tx: WriteTx, vehicle_id: VehicleId, user_id: UserId, role: UserRole) -> bool:
    """The person has this right no more; whether that made the vehicle lose its current driver.

    Who has another right on the vehicle, or manages it, goes on driving.
    """
    whose = {"of_vehicle": vehicle_id, "of_user": user_id}
    tx.run(_END, {**whose, "as_role": role.value})
    return tx.run(_STOP_WITHOUT_RIGHT, whose) == 1


def end_of_company(tx: WriteTx, vehicle_id: VehicleId, company_id: CompanyId) -> bool:
    """Nobody of the company has a right on the vehicle any more; whether it lost its current driver thereby."""
    whose = {"of_vehicle": vehicle_id, "of_company": company_id}
    tx.run(_END_OF_COMPANY, whose)
    return tx.run(_STOP_OF_COMPANY, whose) == 1


def forget_vehicle(tx: WriteTx, vehicle_id: VehicleId) -> None:
    """End every right on a vehicle that is to be deleted, whose caller was let pass."""
    tx.run(_FORGET_VEHICLE, {"of_vehicle": vehicle_id})


def forget_user(tx: WriteTx, user_id: UserId) -> None:
    """End every right of a person who is to be deleted, whose caller was let pass."""
    tx.run(_FORGET_USER, {"of_user": user_id})


def _granted(reaches: scopes.Reaches) -> Select[Any]:
    """The rights of one role of a person within the reaches; columns in the order of `_FIELDS`."""
    return (
        select(
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
        .join_from(_RIGHT, account, account.c.id == _RIGHT.c.user_id)
        .join(company, company.c.id == _RIGHT.c.company_id)
        .join(vehicle, vehicle.c.id == _RIGHT.c.vehicle_id)
        .where(_RIGHT.c.user_id == bindparam("of_user"), _RIGHT.c.user_role == bindparam("as_role"))
        .where(scopes.accounts(reaches))
    )


_OF_USER: Final = listing.Listing(
    vehicle.c.vehicle_no, _RIGHT.c.id, _granted, ("of_user", "as_role", scopes.USER, scopes.COMPANY), listing.sorting
)


@cache
def _find(reaches: scopes.Reaches) -> Hot:
    statement = _granted(reaches).where(_RIGHT.c.vehicle_id == bindparam("of_vehicle"))
    return Hot(statement, "of_vehicle", "of_user", "as_role", scopes.USER, scopes.COMPANY)


def _right(row: tuple[Any, ...]) -> Right:
    values = dict(zip(_FIELDS, row, strict=True))
    return Right(**{**values, "user_role": UserRole(values["user_role"])})

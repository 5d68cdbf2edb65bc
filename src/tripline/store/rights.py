"""Rows of rights: what directors and drivers may do with single vehicles."""

from typing import Final

from sqlalchemy import bindparam, delete, select

from tripline.domain.ids import UserId, VehicleId
from tripline.store.tables import vehicle_user
from tripline.store.transactions import Hot, ReadTx, WriteTx

_ANY: Final = Hot(
    select(vehicle_user.c.id).where(
        vehicle_user.c.vehicle_id == bindparam("vehicle"), vehicle_user.c.user_id == bindparam("user")
    ),
    "vehicle",
    "user",
)
_FORGET_VEHICLE: Final = delete(vehicle_user).where(vehicle_user.c.vehicle_id == bindparam("vehicle"))
_FORGET_USER: Final = delete(vehicle_user).where(vehicle_user.c.user_id == bindparam("user"))


def may_drive(tx: ReadTx, vehicle_id: VehicleId, user_id: UserId) -> bool:
    """Whether the person has a right on the vehicle; every right lets drive it."""
    return bool(tx.hot(_ANY, vehicle_id, user_id))


def forget_vehicle(tx: WriteTx, vehicle_id: VehicleId) -> None:
    """End every right on a vehicle that is to be deleted, whose caller was let pass."""
    tx.run(_FORGET_VEHICLE, {"vehicle": vehicle_id})


def forget_user(tx: WriteTx, user_id: UserId) -> None:
    """End every right of a person who is to be deleted, whose caller was let pass."""
    tx.run(_FORGET_USER, {"user": user_id})

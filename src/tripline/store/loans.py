"""Rows of loans: vehicles that are delegated to companies.

Not here: rights of people on vehicles, which hang on loans (`rights.py`); pages of the vehicles themselves
(`vehicles.py`).
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    bindparam,
    delete,
    exists,
    insert,
    or_,
    select,
)

from tripline.domain.access import Scope
from tripline.domain.delegations import Loan
from tripline.domain.ids import CompanyId, RecordId, VehicleId
from tripline.store import listing, scopes
from tripline.store.tables import company, vehicle, vehicle_company
from tripline.store.transactions import Hot, ReadTx, WriteTx

_RECEIVER: Final = company.alias("receiver")
_LOAN: Final = vehicle_company.alias("loan")
"""The predicates of scopes ask `vehicle_company` too; by another name the two are not mixed up."""
_FIELDS: Final = [field.name for field in fields(Loan)]
MANY: Final = 1_000
"""Up to so many, sorting the vehicles of all loans takes 2 ms; above, looking for the next one does not take more."""
_PAIR: Final = (
    vehicle_company.c.vehicle_id == bindparam("vehicle"),
    vehicle_company.c.to_company_id == bindparam("to_company"),
)
_HOLDS: Final = Hot(select(vehicle_company.c.id).where(*_PAIR), "vehicle", "to_company")
_IS_AUTOMATIC: Final = Hot(select(vehicle_company.c.automatic).where(*_PAIR), "vehicle", "to_company")
_END: Final = delete(vehicle_company).where(*_PAIR)
_FORGET_VEHICLE: Final = delete(vehicle_company).where(vehicle_company.c.vehicle_id == bindparam("vehicle"))
_FORGET_COMPANY: Final = delete(vehicle_company).where(
    or_(
        vehicle_company.c.from_company_id == bindparam("company"),
        vehicle_company.c.to_company_id == bindparam("company"),
    )
)


class Side(NamedTuple):
    """Which loans of a company are meant, and how its vehicles are best found in the order of their numbers."""

    received: bool
    """Those it received; else those to others."""
    many: bool
    """Walk along the numbers and see which are lent; else sort what is lent."""


def holds(tx: ReadTx, vehicle_id: VehicleId, company_id: CompanyId) -> bool:
    """Whether the vehicle is lent to the company."""
    return bool(tx.hot(_HOLDS, vehicle_id, company_id))


def is_automatic(tx: ReadTx, vehicle_id: VehicleId, company_id: CompanyId) -> bool | None:
    """Whether the company has the vehicle automatically; None when it does not have it."""
    rows = tx.hot(_IS_AUTOMATIC, vehicle_id, company_id)
    return bool(rows[0][0]) if rows else None


def are_many(tx: ReadTx, company_id: CompanyId, *, received: bool) -> bool:
    """Whether the company has more than `MANY` loans on this side."""
    return bool(tx.hot(_MANY_RECEIVED if received else _MANY_LENT, company_id))


def vehicles(side: Side) -> ColumnElement[bool]:
    """Whether a row of `vehicle` is lent to, or by, the company that the value `company` names."""
    mine = _end_of(side.received) == bindparam("company")
    if not side.many:
        return vehicle.c.id.in_(select(_LOAN.c.vehicle_id).where(mine))
    if not side.received:
        return and_(vehicle.c.company_id == bindparam("company"), exists().where(_LOAN.c.vehicle_id == vehicle.c.id))
    # Loans stay in the service type, and there the numbers are in order.
    service_type = select(company.c.service_type).where(company.c.id == bindparam("company")).scalar_subquery()
    return and_(vehicle.c.service_type == service_type, exists().where(_LOAN.c.vehicle_id == vehicle.c.id, mine))


def of_vehicle(tx: ReadTx, scope: Scope, vehicle_id: VehicleId, window: listing.Window) -> Sequence[Loan]:
    """The loans of a vehicle that is inside the scope, by the receiving company's name.

    Raises `listing.UnknownOffset`.
    """
    rows = _OF_VEHICLE.page(tx, window, (vehicle_id, scope.user_id, scope.company_id), scope.reaches)
    return [Loan(**dict(zip(_FIELDS, row, strict=True))) for row in rows]


def insert_new(
    tx: WriteTx,
    *,
    loan_id: RecordId,
    vehicle_id: VehicleId,
    from_company_id: CompanyId,
    to_company_id: CompanyId,
    automatic: bool,
    now_ms: int,
) -> None:
    """Keep that a vehicle is lent to a company that does not have it yet."""
    tx.run(
        insert(vehicle_company),
        {
            "id": loan_id,
            "created_ms": now_ms,
            "vehicle_id": vehicle_id,
            "from_company_id": from_company_id,
            "to_company_id": to_company_id,
            "automatic": automatic,
        },
    )


def end(tx: WriteTx, vehicle_id: VehicleId, company_id: CompanyId) -> None:
    """The company has the vehicle no more; what its people may do with it: `rights.end_of_company`."""
    tx.run(_END, {"vehicle": vehicle_id, "to_company": company_id})


def forget_vehicle(tx: WriteTx, vehicle_id: VehicleId) -> None:
    """End every loan of a vehicle that is to be deleted, whose caller was let pass; its rights: `rights`."""
    tx.run(_FORGET_VEHICLE, {"vehicle": vehicle_id})


def forget_company(tx: WriteTx, company_id: CompanyId) -> None:
    """End every loan to and from a company that is to be deleted, whose caller was let pass.

    The rights of its people are forgotten with each of them (`rights.forget_user`).
    """
    tx.run(_FORGET_COMPANY, {"company": company_id})


def _end_of(received: bool) -> ColumnElement[str]:
    return _LOAN.c.to_company_id if received else _LOAN.c.from_company_id


def _more_than_many(received: bool) -> Hot:
    past = select(_LOAN.c.id).where(_end_of(received) == bindparam("company")).limit(1).offset(MANY)
    return Hot(past, "company")


_MANY_RECEIVED: Final = _more_than_many(received=True)
_MANY_LENT: Final = _more_than_many(received=False)


def _of_vehicle(reaches: scopes.Reaches) -> Select[Any]:
    """The loans of a vehicle within the reaches; columns in the order of `_FIELDS`."""
    return (
        select(
            _LOAN.c.id,
            _LOAN.c.created_ms,
            company.c.id,
            company.c.name,
            _RECEIVER.c.id,
            _RECEIVER.c.name,
            vehicle.c.id,
            vehicle.c.vehicle_no,
        )
        .join_from(_LOAN, vehicle, vehicle.c.id == _LOAN.c.vehicle_id)
        .join(company, company.c.id == _LOAN.c.from_company_id)
        .join(_RECEIVER, _RECEIVER.c.id == _LOAN.c.to_company_id)
        .where(_LOAN.c.vehicle_id == bindparam("vehicle"), scopes.vehicles(reaches))
    )


_OF_VEHICLE: Final = listing.Listing(
    _RECEIVER.c.name, _LOAN.c.id, _of_vehicle, ("vehicle", scopes.USER, scopes.COMPANY), listing.sorting
)

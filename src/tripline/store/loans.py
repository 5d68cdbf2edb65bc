"""Rows of loans: vehicles that are delegated to companies.

Not here: rights of people on vehicles, which hang on loans (`rights.py`).
"""

from typing import Final

from sqlalchemy import bindparam, delete, insert, or_, select

from tripline.domain.ids import CompanyId, RecordId, VehicleId
from tripline.store.tables import vehicle_company
from tripline.store.transactions import Hot, ReadTx, WriteTx

_HOLDS: Final = Hot(
    select(vehicle_company.c.id).where(
        vehicle_company.c.vehicle_id == bindparam("vehicle"), vehicle_company.c.to_company_id == bindparam("company")
    ),
    "vehicle",
    "company",
)
_FORGET_VEHICLE: Final = delete(vehicle_company).where(vehicle_company.c.vehicle_id == bindparam("vehicle"))
_FORGET_COMPANY: Final = delete(vehicle_company).where(
    or_(
        vehicle_company.c.from_company_id == bindparam("company"),
        vehicle_company.c.to_company_id == bindparam("company"),
    )
)


def holds(tx: ReadTx, vehicle_id: VehicleId, company_id: CompanyId) -> bool:
    """Whether the vehicle is lent to the company."""
    return bool(tx.hot(_HOLDS, vehicle_id, company_id))


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


def forget_vehicle(tx: WriteTx, vehicle_id: VehicleId) -> None:
    """End every loan of a vehicle that is to be deleted, whose caller was let pass; its rights: `rights`."""
    tx.run(_FORGET_VEHICLE, {"vehicle": vehicle_id})


def forget_company(tx: WriteTx, company_id: CompanyId) -> None:
    """End every loan to and from a company that is to be deleted, whose caller was let pass.

    The rights of its people are forgotten with each of them (`rights.forget_user`).
    """
    tx.run(_FORGET_COMPANY, {"company": company_id})

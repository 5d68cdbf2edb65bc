"""Rows of delegations: vehicles that are delegated to companies."""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Select, Subquery, bindparam, delete, insert, or_, select

from tripline.domain.access import Scope
from tripline.domain.delegations import Delegation
from tripline.domain.ids import CompanyId, RecordId, VehicleId
from tripline.domain.vehicles import Vehicle
from tripline.store import lists, positions, reach, records
from tripline.store.fleet.vehicles import OwnedVehicle
from tripline.store.listing.engine import Filter, ListSpec
from tripline.store.tables import company, vehicle, vehicle_company
from tripline.store.transactions import Hot, ReadTx, WriteTx, counting

_RECEIVER: Final = company.alias("receiver")


_made: Final = records.maker(Delegation)
_ROW: Final = vehicle_company.alias("delegation")


def count_of_vehicle(tx: ReadTx, vehicle_id: VehicleId) -> int:
    """To how many companies the vehicle is delegated; whose reader was let pass."""
    return tx.number(_COUNT_OF_VEHICLE, vehicle_id)


def count_received(tx: ReadTx, company_id: CompanyId) -> int:
    """How many vehicles are delegated to the company; whose reader was let pass."""
    return tx.number(_COUNT_RECEIVED, company_id)


def holds(tx: ReadTx, vehicle_id: VehicleId, company_id: CompanyId) -> bool:
    """True if the vehicle is delegated to the company."""
    return is_automatic(tx, vehicle_id, company_id) is not None


def is_automatic(tx: ReadTx, vehicle_id: VehicleId, company_id: CompanyId) -> bool | None:
    """True if the vehicle is delegated to the company automatically; None if not at all."""
    rows = tx.hot(_IS_AUTOMATIC, vehicle_id, company_id)
    return bool(rows[0][0]) if rows else None


def of_vehicle(tx: ReadTx, scope: Scope, vehicle_id: VehicleId, window: lists.Window) -> Sequence[Delegation]:
    """The delegations of a vehicle that is inside the scope, by the receiving company's name.

    Raises `UnknownOffset`.
    """
    rows = lists.page(tx, _LIST, scope, {"vehicle": vehicle_id}, window)
    return [_made(row) for row in rows]


def insert_new(
    tx: WriteTx,
    delegation_id: RecordId,
    of: Vehicle | OwnedVehicle,
    to_company_id: CompanyId,
    *,
    automatic: bool,
    now_ms: int,
) -> None:
    """Keep that its owner delegated a vehicle to a company that does not have it yet."""
    tx.run(
        insert(vehicle_company),
        {
            "id": delegation_id,
            "created_ms": now_ms,
            "vehicle_id": of.id,
            "from_company_id": of.company_id,
            "to_company_id": to_company_id,
            "automatic": automatic,
        },
    )
    reach.refresh(tx, [of.id])
    if not automatic:  # a vehicle that is just being registered has no position
        positions.reach_changed(tx, of.id, [to_company_id])


def end(tx: WriteTx, vehicle_id: VehicleId, company_id: CompanyId) -> None:
    """Take the vehicle back from the company; `rights.end_of_company` ends the rights of its people."""
    tx.run(_END, {"vehicle": vehicle_id, "to_company": company_id})
    reach.refresh(tx, [vehicle_id])
    positions.reach_changed(tx, vehicle_id, [company_id])


def forget_vehicle(tx: WriteTx, vehicle_id: VehicleId) -> int:
    """End every delegation of a vehicle that is about to be deleted; how many. The caller checked permission.

    Its rights: `rights.forget_vehicle`.
    """
    return tx.run(delete(vehicle_company).where(vehicle_company.c.vehicle_id == vehicle_id))


def forget_company(tx: WriteTx, company_id: CompanyId) -> int:
    """End every delegation to and from a company that is about to be deleted; how many. The caller checked permission.

    The rights of its people are forgotten with each of them (`rights.forget_user`).
    """
    of_company = or_(vehicle_company.c.from_company_id == company_id, vehicle_company.c.to_company_id == company_id)
    return tx.run(delete(vehicle_company).where(of_company))


_PAIR: Final = (
    vehicle_company.c.vehicle_id == bindparam("vehicle"),
    vehicle_company.c.to_company_id == bindparam("to_company"),
)
_IS_AUTOMATIC: Final = Hot(select(vehicle_company.c.automatic).where(*_PAIR), "vehicle", "to_company")
_END: Final = delete(vehicle_company).where(*_PAIR)
_COUNT_OF_VEHICLE: Final = counting(vehicle_company.c.vehicle_id)
_COUNT_RECEIVED: Final = counting(vehicle_company.c.to_company_id)


def _shown(page: Subquery) -> Select[Any]:
    ends = (company.c.id, company.c.name, _RECEIVER.c.id, _RECEIVER.c.name)
    return (
        select(page.c.place, page.c.key, _ROW.c.id, _ROW.c.created_ms, *ends, vehicle.c.id, vehicle.c.vehicle_no)
        .join_from(page, _ROW, _ROW.c.id == page.c.key)
        .join(vehicle, vehicle.c.id == _ROW.c.vehicle_id)
        .join(company, company.c.id == _ROW.c.from_company_id)
        .join(_RECEIVER, _RECEIVER.c.id == _ROW.c.to_company_id)
    )


_OF_VEHICLE: Final = _ROW.c.vehicle_id == bindparam("vehicle")
_LIST: Final = ListSpec(
    rows=_ROW,
    key=_ROW.c.id,
    orders={"name": _RECEIVER.c.name},
    name="name",
    inside=lambda reaches: reach.predicate(reaches, _ROW.c.vehicle_id),
    filters={"vehicle": Filter(where=_OF_VEHICLE, few=select(_ROW.c.id).where(_OF_VEHICLE))},
    always=(Filter(where=_RECEIVER.c.id == _ROW.c.to_company_id),),
    shown=_shown,
)

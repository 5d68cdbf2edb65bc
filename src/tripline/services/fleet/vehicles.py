"""Registering and reading vehicles."""

from collections.abc import Sequence
from dataclasses import fields

from tripline.domain import access, vehicles
from tripline.domain.access import Action, Actor, Authority
from tripline.domain.companies import Company
from tripline.domain.ids import CompanyId, RecordId, TimeIds, VehicleId
from tripline.domain.vehicles import Registration, Vehicle
from tripline.services.fleet import companies
from tripline.store import listing, loans
from tripline.store import vehicles as rows
from tripline.store.transactions import ReadTx, WriteTx


def register(tx: WriteTx, *, actor: Actor, registration: Registration, ids: TimeIds, now_ms: int) -> Vehicle:
    """The new vehicle of the actor's company, DEACTIVATED.

    A director becomes its managing director (rule 2); a partner's vehicle is lent to the operator at once (rule 3, H3).
    Raises `vehicles.NumberTaken`.
    """
    access.scope_of(actor, Action.VEHICLE_CREATE)
    company = companies.own(tx, actor=actor)
    vehicle_id = VehicleId(ids.next(now_ms=now_ms))
    new = of_registration(registration, actor=actor, company=company, vehicle_id=vehicle_id, now_ms=now_ms)
    rows.insert_new(tx, new)
    if not company.master:
        loans.insert_new(
            tx,
            loan_id=RecordId(ids.next(now_ms=now_ms)),
            vehicle_id=new.id,
            from_company_id=company.id,
            to_company_id=company.master_id,
            automatic=True,
            now_ms=now_ms,
        )
    return new


def of_registration(
    registration: Registration, *, actor: Actor, company: Company, vehicle_id: VehicleId, now_ms: int
) -> Vehicle:
    """What a registration makes: the company's vehicle, managed by the actor when that is a director (rule 2)."""
    return Vehicle(
        **{field.name: getattr(registration, field.name) for field in fields(Registration)},
        id=vehicle_id,
        created_ms=now_ms,
        company_id=company.id,
        service_type=company.service_type,
        status=vehicles.Status.DEACTIVATED,
        director_id=actor.user_id if actor.authority is Authority.DIRECTOR else None,
    )


def read(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId) -> Vehicle:
    """The vehicle. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, Action.VEHICLE_READ)
    return access.admitted(rows.find(tx, scope, vehicle_id), "vehicle")


def owned_by(tx: ReadTx, *, actor: Actor, company_id: CompanyId, window: listing.Window) -> Sequence[Vehicle]:
    """The company's own vehicles that the actor may see, by number; `companies.require` was asked before.

    Raises `listing.UnknownOffset`.
    """
    scope = access.scope_of(actor, Action.VEHICLE_READ)
    return rows.of_company(tx, scope, company_id, window)

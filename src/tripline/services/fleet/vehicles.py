"""Registering, reading, changing, activating and deleting vehicles.

Not here: who manages and who drives one (`assignments.py`), what a deleted one drove (`services/erasing.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

from tripline.domain import access, vehicles
from tripline.domain.access import Action, Actor, Authority
from tripline.domain.companies import Company
from tripline.domain.ids import CompanyId, RecordId, TimeIds, UserId, VehicleId
from tripline.domain.refusals import NotFound
from tripline.domain.vehicles import Registration, Vehicle
from tripline.services import hints
from tripline.services.fleet import companies
from tripline.services.hints import Hint
from tripline.services.rpc import cancelling
from tripline.store import erasures, listing, loans, rights, sensors, vehicle_counts
from tripline.store import vehicles as rows
from tripline.store.transactions import ReadTx, WriteTx
from tripline.store.vehicle_counts import Which


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


def read_by_number(tx: ReadTx, *, actor: Actor, vehicle_no: str) -> Vehicle:
    """The vehicle with this number in the actor's service type. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, Action.VEHICLE_READ)
    service_type = companies.own(tx, actor=actor).service_type
    found = rows.find_by_number(tx, scope, service_type=service_type, vehicle_no=vehicle_no)
    if found is None:
        raise NotFound("There is no vehicle with this number.")
    return access.admitted(found, "vehicle")


def admit_to_modify(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId) -> None:
    """Let pass who may modify the vehicle. Raises `NotFound` or `Forbidden`."""
    access.admit(rows.inside(tx, access.scope_of(actor, Action.VEHICLE_MODIFY), vehicle_id), "vehicle")


def modify(tx: WriteTx, *, actor: Actor, vehicle_id: VehicleId, named: Mapping[str, Any]) -> Vehicle:
    """The vehicle after a partial update: `named` holds the fields that change, None clears one.

    Raises `NotFound`, `Forbidden`, `BadParameter` as at registration, `vehicles.NumberTaken`.
    """
    scope = access.scope_of(actor, Action.VEHICLE_MODIFY)
    vehicle = access.admitted(rows.find(tx, scope, vehicle_id), "vehicle")
    changed = asdict(vehicles.changed(vehicle, named))
    if named:
        rows.change(tx, scope, vehicle_id, **changed)
    return replace(vehicle, **changed)


def move(tx: WriteTx, *, actor: Actor, vehicle_id: VehicleId, event: vehicles.Event) -> Vehicle:
    """The vehicle in the state that the event leads to. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, Action.VEHICLE_ACTIVATE)
    vehicle = access.admitted(rows.find(tx, scope, vehicle_id), "vehicle")
    after = vehicles.NEXT[vehicle.status, event]
    if after is not vehicle.status:
        rows.change(tx, scope, vehicle_id, status=after.value)
    return replace(vehicle, status=after)


def delete(tx: WriteTx, *, actor: Actor, vehicle_id: VehicleId, ids: TimeIds, now_ms: int) -> tuple[Hint, ...]:
    """Delete the vehicle; what is to be told after the commit. Raises `NotFound` or `Forbidden`.

    The sensors that were on it stay, DEACTIVATED and on no vehicle; activations for it are cancelled; loans and rights
    end. What it drove is not there any more either; erasing it takes the eraser a while.
    """
    scope = access.scope_of(actor, Action.VEHICLE_DELETE)
    access.admit(rows.inside(tx, scope, vehicle_id), "vehicle")
    cancelled = cancelling.activations_for(tx, vehicle_id, ids=ids, now_ms=now_ms)
    unmounted = sensors.unmount_all(tx, vehicle_id)
    loans.forget_vehicle(tx, vehicle_id)
    rights.forget_vehicle(tx, vehicle_id)
    rows.remove(tx, scope, vehicle_id)
    erasures.begin(tx, vehicle_id, now_ms=now_ms)
    return (*cancelled, *hints.deleted(unmounted))


def managed_by(tx: ReadTx, *, actor: Actor, director_id: UserId, window: listing.Window) -> Sequence[Vehicle]:
    """The vehicles that the director manages and the actor may see, by number; the actor may see the director.

    Raises `listing.UnknownOffset`.
    """
    return rows.managed_by(tx, access.scope_of(actor, Action.VEHICLE_READ), director_id, window)


def owned_by(tx: ReadTx, *, actor: Actor, company_id: CompanyId, window: listing.Window) -> Sequence[Vehicle]:
    """The company's own vehicles that the actor may see, by number; `companies.require` was asked before.

    Raises `listing.UnknownOffset`.
    """
    scope = access.scope_of(actor, Action.VEHICLE_READ)
    return rows.of_company(tx, scope, company_id, window)


def count_owned(tx: ReadTx, *, actor: Actor, company_id: CompanyId, which: Which) -> int:
    """How many of the company's own vehicles the actor may see; `companies.require` was asked before."""
    return vehicle_counts.of_company(tx, access.scope_of(actor, Action.VEHICLE_READ), company_id, which)


def count_in_service_type(tx: ReadTx, *, actor: Actor, service_type: str, which: Which) -> int:
    """How many vehicles of the actor's service type the actor may see. Raises `Forbidden` for another one."""
    scope = access.scope_of(actor, Action.VEHICLE_READ)
    companies.require_service_type(tx, actor=actor, service_type=service_type)
    return vehicle_counts.within(tx, scope, which)

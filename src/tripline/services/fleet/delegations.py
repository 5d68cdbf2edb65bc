"""Delegating vehicles to companies and taking them back, including dependent rights."""

from collections.abc import Sequence
from typing import NamedTuple

from tripline.domain import access, delegations
from tripline.domain.access import Action, Actor
from tripline.domain.companies import Company
from tripline.domain.delegations import Delegation, Step
from tripline.domain.history import Event, ended
from tripline.domain.ids import CompanyId, RecordId, SensorId, TimeIds, VehicleId
from tripline.domain.refusals import NotFound
from tripline.domain.vehicles import Vehicle
from tripline.services.fleet import candidates, history
from tripline.store import lists, reach, share_links
from tripline.store.fleet import candidates as candidate_rows
from tripline.store.fleet import delegations as rows
from tripline.store.fleet import rights, vehicles
from tripline.store.transactions import ReadTx, WriteTx


class TakenBack(NamedTuple):
    """The consequences of taking a vehicle back."""

    sensors: list[SensorId]
    """The vehicle's sensors, whose devices the company's people no longer see."""
    ended: int
    """Number of ended rights of the company's people and current drivers, which a new delegation does not restore."""


def delegate(
    tx: WriteTx, *, actor: Actor, vehicle_id: VehicleId, to_company_id: CompanyId, ids: TimeIds, now_ms: int
) -> Delegation:
    """The vehicle, delegated to a company that its owner registered as a candidate (rule 1).

    Raises `NotFound`, `Forbidden`, `delegations.AlreadyDelegated` or `delegations.NotCandidate`.
    """
    vehicle, receiver = delegable(tx, actor=actor, vehicle_id=vehicle_id, to_company_id=to_company_id)
    delegation_id = RecordId(ids.next(now_ms=now_ms))
    rows.insert_new(tx, delegation_id, vehicle, receiver.id, automatic=False, now_ms=now_ms)
    owner = candidates.counterpart(tx, vehicle.company_id)
    history.note(tx, actor, Event.DELEGATED, vehicle, to_company_id=receiver.id, ids=ids, now_ms=now_ms)
    return Delegation(
        id=delegation_id,
        created_ms=now_ms,
        from_company_id=owner.id,
        from_company_name=owner.name,
        to_company_id=receiver.id,
        to_company_name=receiver.name,
        vehicle_id=vehicle.id,
        vehicle_no=vehicle.vehicle_no,
    )


def take_back(
    tx: WriteTx, *, actor: Actor, vehicle_id: VehicleId, to_company_id: CompanyId, ids: TimeIds, now_ms: int
) -> TakenBack:
    """End the delegation with all rights of the company's people on the vehicle.

    The caller notifies the pipeline of each of the vehicle's sensors after the commit (`SIGNAL_SENSOR_CHANGED`). Raises
    `NotFound`, also if the company does not have the vehicle, `Forbidden` or `delegations.Irrevocable`.
    """
    vehicle, _ = revocable(tx, actor=actor, vehicle_id=vehicle_id, to_company_id=to_company_id)
    with reach.together(tx):
        rows.end(tx, vehicle_id, to_company_id)
        taken, left = rights.end_of_company(tx, vehicle_id, to_company_id)
    share_links.forget_vehicle(tx, vehicle_id, company_id=to_company_id)
    gone = ended(rights=taken)
    history.note(
        tx, actor, Event.TAKEN_BACK, vehicle, to_company_id=to_company_id, changes=gone, ids=ids, now_ms=now_ms
    )
    if left:
        driver_id = vehicle.current_driver_id
        history.note(tx, actor, Event.DRIVER_UNSET, vehicle, user_id=driver_id, ids=ids, now_ms=now_ms)
    return TakenBack(vehicles.sensors_of(tx, vehicle_id), taken + left)


def to_delegate(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId) -> Vehicle:
    """The vehicle, if the actor may delegate it and take it back. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, Action.VEHICLE_DELEGATE)
    return access.admitted(vehicles.find(tx, scope, vehicle_id), access.Thing.VEHICLE)


def delegable(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId, to_company_id: CompanyId) -> tuple[Vehicle, Company]:
    """Vehicle and receiver of a delegation that can be made. Raises as `delegate`."""
    receiver = candidates.counterpart(tx, to_company_id)
    vehicle = to_delegate(tx, actor=actor, vehicle_id=vehicle_id)
    if rows.holds(tx, vehicle.id, receiver.id):
        raise delegations.AlreadyDelegated(field="vehicleId")
    delegations.standing_after(candidate_rows.standing(tx, vehicle.company_id, receiver.id), Step.DELEGATE)
    return vehicle, receiver


def revocable(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId, to_company_id: CompanyId) -> tuple[Vehicle, Company]:
    """Vehicle and receiver of a delegation that can be ended. Raises as `take_back`."""
    receiver = candidates.counterpart(tx, to_company_id)
    vehicle = to_delegate(tx, actor=actor, vehicle_id=vehicle_id)
    automatic = rows.is_automatic(tx, vehicle_id, to_company_id)
    if automatic is None:
        raise NotFound("delegation")
    if automatic:
        raise delegations.Irrevocable()
    return vehicle, receiver


def of_vehicle(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId, window: lists.Window) -> Sequence[Delegation]:
    """The delegations of the vehicle, by company name; the caller admitted the actor. Raises `UnknownOffset`."""
    scope = access.scope_of(actor, Action.VEHICLE_DELEGATIONS_READ)
    return rows.of_vehicle(tx, scope, vehicle_id, window)


def delegated(
    tx: ReadTx, *, actor: Actor, company_id: CompanyId, received: bool, window: lists.Window
) -> Sequence[Vehicle]:
    """The vehicles that the company received, or delegated to others, and that the actor may see, by number.

    The caller admitted the actor to the company. Raises `UnknownOffset`.
    """
    scope = access.scope_of(actor, Action.VEHICLE_READ)
    return vehicles.delegated(tx, scope, company_id, window, received=received)

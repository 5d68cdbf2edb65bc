"""Lending vehicles to companies and taking them back, with everything that hangs on a loan.

Not here: to whom one may lend (`candidates.py`), the loan that a partner's new vehicle comes with (`vehicles.py`).
"""

from collections.abc import Sequence

from tripline.domain import access, delegations
from tripline.domain.access import Action, Actor
from tripline.domain.delegations import Loan, Step
from tripline.domain.ids import CompanyId, RecordId, SensorId, TimeIds, VehicleId
from tripline.domain.refusals import NotFound
from tripline.domain.vehicles import Vehicle
from tripline.services.fleet import candidates
from tripline.store import candidates as candidate_rows
from tripline.store import listing, rights, vehicles
from tripline.store import loans as rows
from tripline.store.transactions import ReadTx, WriteTx


def lend(
    tx: WriteTx, *, actor: Actor, vehicle_id: VehicleId, to_company_id: CompanyId, ids: TimeIds, now_ms: int
) -> Loan:
    """The vehicle, lent to a company that its owner registered as a candidate (rule 1).

    Raises `NotFound`, `Forbidden`, `delegations.AlreadyLent` or `delegations.NotCandidate`.
    """
    receiver = candidates.counterpart(tx, to_company_id)
    scope = access.scope_of(actor, Action.VEHICLE_LEND)
    vehicle = access.admitted(vehicles.find(tx, scope, vehicle_id), "vehicle")
    if rows.holds(tx, vehicle.id, receiver.id):
        raise delegations.AlreadyLent("Parameter 'vehicleId': the vehicle is delegated to this company already.")
    delegations.standing_after(candidate_rows.standing(tx, vehicle.company_id, receiver.id), Step.LEND)
    loan_id = RecordId(ids.next(now_ms=now_ms))
    rows.insert_new(
        tx,
        loan_id=loan_id,
        vehicle_id=vehicle.id,
        from_company_id=vehicle.company_id,
        to_company_id=receiver.id,
        automatic=False,
        now_ms=now_ms,
    )
    lender = candidates.counterpart(tx, vehicle.company_id)
    return Loan(
        id=loan_id,
        created_ms=now_ms,
        from_company_id=lender.id,
        from_company_name=lender.name,
        to_company_id=receiver.id,
        to_company_name=receiver.name,
        vehicle_id=vehicle.id,
        vehicle_no=vehicle.vehicle_no,
    )


def take_back(tx: WriteTx, *, actor: Actor, vehicle_id: VehicleId, to_company_id: CompanyId) -> list[SensorId]:
    """End the loan, every right of the company's people on the vehicle, and their driving it; the vehicle's sensors.

    The caller tells the pipeline of each sensor after the commit (`SIGNAL_SENSOR_CHANGED`). Raises `NotFound`, also
    when the company does not have the vehicle, `Forbidden` or `delegations.Irrevocable`.
    """
    candidates.counterpart(tx, to_company_id)
    scope = access.scope_of(actor, Action.VEHICLE_LEND)
    access.admit(vehicles.inside(tx, scope, vehicle_id), "vehicle")
    automatic = rows.is_automatic(tx, vehicle_id, to_company_id)
    if automatic is None:
        raise NotFound("The vehicle is not delegated to this company.")
    delegations.check_revocable(automatic=automatic)
    rows.end(tx, vehicle_id, to_company_id)
    rights.end_of_company(tx, vehicle_id, to_company_id)
    return vehicles.sensors_of(tx, vehicle_id)


def require_vehicle(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId) -> None:
    """Let pass who may see to whom the vehicle is lent. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, Action.VEHICLE_LOANS_READ)
    access.admit(vehicles.inside(tx, scope, vehicle_id), "vehicle")


def of_vehicle(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId, window: listing.Window) -> Sequence[Loan]:
    """The loans of the vehicle, by company name; `require_vehicle` was asked before. Raises `listing.UnknownOffset`."""
    scope = access.scope_of(actor, Action.VEHICLE_LOANS_READ)
    return rows.of_vehicle(tx, scope, vehicle_id, window)


def lent(
    tx: ReadTx, *, actor: Actor, company_id: CompanyId, received: bool, window: listing.Window
) -> Sequence[Vehicle]:
    """The vehicles that the company received, or lent to others, and that the actor may see, by number.

    `companies.require` was asked before. Raises `listing.UnknownOffset`.
    """
    scope = access.scope_of(actor, Action.VEHICLE_READ)
    return vehicles.lent(tx, scope, company_id, window, received=received)

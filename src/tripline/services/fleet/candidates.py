"""Delegation candidates: registering, removing and listing them (rule 1 of delegation)."""

from collections.abc import Sequence

from tripline.domain import access, delegations
from tripline.domain.access import Action, Actor, Scope, Thing
from tripline.domain.companies import Company
from tripline.domain.delegations import Relation, Step
from tripline.domain.history import Event
from tripline.domain.ids import CompanyId, RecordId, TimeIds
from tripline.services import admission
from tripline.services.fleet import history
from tripline.store import lists
from tripline.store.fleet import candidates as rows
from tripline.store.fleet import companies as company_rows
from tripline.store.transactions import ReadTx, WriteTx

_ANY_COMPANY = Scope.everything("deal with companies out of reach")


def register(
    tx: WriteTx, *, actor: Actor, company_id: CompanyId, to_company_id: CompanyId, ids: TimeIds, now_ms: int
) -> Relation:
    """The other company as a candidate of the company.

    Raises `NotFound`, `Forbidden`, `delegations.OwnCompany`, `delegations.OtherServiceType` or
    `delegations.AlreadyRegistered`.
    """
    scope = access.scope_of(actor, Action.CANDIDATE_MANAGE)
    owner = access.admitted(company_rows.find(tx, scope, company_id), access.Thing.COMPANY)
    receiver = counterpart(tx, to_company_id)
    delegations.check_pair(
        from_company=owner.id,
        from_service_type=owner.service_type,
        to_company=receiver.id,
        to_service_type=receiver.service_type,
    )
    delegations.standing_after(rows.standing(tx, owner.id, receiver.id), Step.REGISTER)
    relation = Relation(
        id=RecordId(ids.next(now_ms=now_ms)),
        created_ms=now_ms,
        from_company_id=owner.id,
        from_company_name=owner.name,
        to_company_id=receiver.id,
        to_company_name=receiver.name,
        service_type=owner.service_type,
    )
    rows.insert_new(tx, relation)
    event, to_id = Event.CANDIDATE_REGISTERED, receiver.id
    history.note(tx, actor, event, company_id=owner.id, to_company_id=to_id, ids=ids, now_ms=now_ms)
    return relation


def remove(
    tx: WriteTx, *, actor: Actor, company_id: CompanyId, to_company_id: CompanyId, ids: TimeIds, now_ms: int
) -> None:
    """Remove the other company from the company's candidates.

    Raises `NotFound`, also if it is not a candidate, `Forbidden` or `delegations.HoldsVehicles`.
    """
    counterpart(tx, to_company_id)
    admission.admit(tx, actor, Action.CANDIDATE_MANAGE, Thing.COMPANY, company_id)
    delegations.standing_after(rows.standing(tx, company_id, to_company_id), Step.REMOVE)
    rows.remove(tx, company_id, to_company_id)
    event = Event.CANDIDATE_REMOVED
    history.note(tx, actor, event, company_id=company_id, to_company_id=to_company_id, ids=ids, now_ms=now_ms)


def of_company(
    tx: ReadTx, *, actor: Actor, company_id: CompanyId, delegated: bool, window: lists.Window
) -> Sequence[Relation]:
    """The company's candidates, or its delegated companies, by name; the caller admitted the actor.

    Raises `UnknownOffset`.
    """
    scope = access.scope_of(actor, Action.CANDIDATE_READ)
    return rows.of_company(tx, scope, company_id, delegated=delegated, window=window)


def counterpart(tx: ReadTx, company_id: CompanyId) -> Company:
    """A company that is dealt with, in reach or not. Raises `NotFound`."""
    return access.admitted(company_rows.find(tx, _ANY_COMPANY, company_id), access.Thing.COMPANY)

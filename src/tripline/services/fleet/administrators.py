"""Administrators of a company: registering, changing, deleting and listing them.

Every operation names the company, and the person where there is one.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from tripline.domain import access, people
from tripline.domain.access import Action, Actor, Authority, Thing
from tripline.domain.ids import CompanyId, SensorId, TimeIds, UserId
from tripline.domain.people import Registration, User
from tripline.domain.refusals import NotFound
from tripline.services import admission
from tripline.services.fleet import people as persons
from tripline.services.fleet import removal
from tripline.store import lists
from tripline.store.fleet import people as rows
from tripline.store.transactions import ReadTx, WriteTx


def find(tx: ReadTx, *, actor: Actor, company_id: CompanyId, user_id: UserId) -> User:
    """The administrator of the company, if the actor may manage both. Raises `NotFound` or `Forbidden`."""
    admission.admit(tx, actor, Action.COMPANY_ADMIN_MANAGE, Thing.COMPANY, company_id)
    scope = access.scope_of(actor, Action.COMPANY_ADMIN_MANAGE)
    found = access.admitted(rows.find(tx, scope, (Authority.COMPANY_ADMIN,), user_id), access.Thing.ADMINISTRATOR)
    if found.company_id != company_id:
        raise NotFound("administrator")
    return found


def register(
    tx: WriteTx,
    *,
    actor: Actor,
    company_id: CompanyId,
    registration: Registration,
    password_hash: str,
    ids: TimeIds,
    now_ms: int,
) -> User:
    """The new administrator. Raises `NotFound`, `Forbidden` or `people.EmailTaken`."""
    admission.admit(tx, actor, Action.COMPANY_ADMIN_MANAGE, Thing.COMPANY, company_id)
    return persons.create(
        tx,
        actor,
        company_id=company_id,
        role=Authority.COMPANY_ADMIN,
        registration=registration,
        password_hash=password_hash,
        ids=ids,
        now_ms=now_ms,
    )


def change(
    tx: WriteTx,
    *,
    actor: Actor,
    company_id: CompanyId,
    user_id: UserId,
    named: dict[str, object],
    password_hash: str | None,
    ids: TimeIds,
    now_ms: int,
) -> User:
    """The administrator after a partial update. Raises as `find`, and as `people.change` of the fleet."""
    before = find(tx, actor=actor, company_id=company_id, user_id=user_id)
    return persons.apply(tx, before, actor=actor, named=named, password_hash=password_hash, ids=ids, now_ms=now_ms)


def delete(
    tx: WriteTx, *, actor: Actor, company_id: CompanyId, user_id: UserId, ids: TimeIds, now_ms: int
) -> AbstractSet[SensorId]:
    """Delete the administrator; the sensors that changed. Raises as `find`, and `people.LastAdministrator`."""
    user = find(tx, actor=actor, company_id=company_id, user_id=user_id)
    if not rows.has_other_administrator(tx, company_id, user_id):
        raise people.LastAdministrator()
    return removal.deleted_person(tx, actor, user, ids=ids, now_ms=now_ms)


def listed(tx: ReadTx, *, actor: Actor, company_id: CompanyId, window: lists.Window) -> Sequence[User]:
    """The company's administrators, by name; the caller admitted the actor. Raises `UnknownOffset`."""
    scope = access.scope_of(actor, Action.COMPANY_ADMIN_MANAGE)
    return rows.of_company(tx, scope, company_id, Authority.COMPANY_ADMIN, window)

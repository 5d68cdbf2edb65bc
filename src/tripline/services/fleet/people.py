"""Directors and drivers: registering, reading, changing, deleting and listing them; finding a person by e-mail."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from msgspec.structs import replace

from tripline.domain import access, people
from tripline.domain import history as entries
from tripline.domain.access import Action, Actor, Authority
from tripline.domain.history import Change, Event
from tripline.domain.ids import CompanyId, SensorId, TimeIds, UserId
from tripline.domain.people import Registration, User
from tripline.domain.refusals import NotFound
from tripline.services.accounts import registry
from tripline.services.fleet import companies, history, removal
from tripline.store import lists
from tripline.store.accounts import links, sessions
from tripline.store.fleet import people as rows
from tripline.store.listing import people as listing
from tripline.store.transactions import ReadTx, WriteTx

FOUND_AS: Final = {Authority.DIRECTOR: (Authority.DIRECTOR,), Authority.DRIVER: people.DRIVING_ROLES}
"""Roles found under the path of a role: a director among the drivers too, because a director may drive."""
THINGS: Final = {Authority.DIRECTOR: access.Thing.DIRECTOR, Authority.DRIVER: access.Thing.DRIVER}
"""The noun for the person under the path of a role."""


def register(
    tx: WriteTx,
    *,
    actor: Actor,
    role: Authority,
    registration: Registration,
    password_hash: str,
    ids: TimeIds,
    now_ms: int,
) -> User:
    """The new director or driver of the actor's company. Raises `people.EmailTaken`."""
    access.scope_of(actor, Action.PERSON_CREATE)
    return create(
        tx,
        actor,
        company_id=companies.own(tx, actor=actor).id,
        role=role,
        registration=registration,
        password_hash=password_hash,
        ids=ids,
        now_ms=now_ms,
    )


def create(
    tx: WriteTx,
    actor: Actor,
    *,
    company_id: CompanyId,
    role: Authority,
    registration: Registration,
    password_hash: str,
    ids: TimeIds,
    now_ms: int,
) -> User:
    """A new person of the company, whose registrar was let pass. Raises `people.EmailTaken`."""
    user_id = registry.create(
        tx,
        company_id=company_id,
        authority=role,
        name=registration.name,
        email=registration.email,
        phone=registration.phone,
        password_hash=password_hash,
        ids=ids,
        now_ms=now_ms,
    )
    new = User(
        id=user_id,
        created_ms=now_ms,
        company_id=company_id,
        name=registration.name,
        phone=registration.phone,
        vehicle_id=None,
        latest_trip_id=None,
        email=registration.email,
        authority=role,
        additional_info=None,
        password_updated_ms=now_ms,
        enabled=True,
    )
    said = (*entries.first_values(new, _TOLD), Change("authority", after=role.value))
    history.note(tx, actor, Event.REGISTERED, new, changes=said, ids=ids, now_ms=now_ms)
    return new


def find(tx: ReadTx, *, actor: Actor, action: Action, role: Authority, user_id: UserId) -> User:
    """The person under the path of this role, on whom the actor may do the action. Raises `NotFound`, `Forbidden`."""
    scope = access.scope_of(actor, action)
    return access.admitted(rows.find(tx, scope, FOUND_AS[role], user_id), THINGS[role])


def find_by_email(tx: ReadTx, *, actor: Actor, email: str) -> User:
    """The account that logs in with the address.

    Raises `NotFound` also for one outside the actor's reach, which hides the existence of accounts.
    """
    found = rows.find_by_email(tx, access.scope_of(actor, Action.USER_FIND), email)
    if found is None or not found[1]:
        raise NotFound("user_email")
    return found[0]


def own(tx: ReadTx, *, actor: Actor) -> User:
    """The actor's own record, always permitted. Raises `NotFound` if it was deleted."""
    found = rows.own(tx, actor.user_id)
    if found is None:
        raise NotFound("account_gone")
    return found


def change(
    tx: WriteTx,
    *,
    actor: Actor,
    role: Authority,
    user_id: UserId,
    named: Mapping[str, Any],
    password_hash: str | None,
    ids: TimeIds,
    now_ms: int,
) -> User:
    """The person after a partial update (`people.changed`). `password_hash` is of the password in `named`.

    Raises `NotFound`, `Forbidden`, `BadParameter`, `people.EmailTaken` and `people.OwnCredentials`.
    """
    before = find(tx, actor=actor, action=Action.PERSON_MODIFY, role=role, user_id=user_id)
    return apply(tx, before, actor=actor, named=named, password_hash=password_hash, ids=ids, now_ms=now_ms)


def apply(
    tx: WriteTx,
    before: User,
    *,
    actor: Actor,
    named: Mapping[str, Any],
    password_hash: str | None,
    ids: TimeIds,
    now_ms: int,
) -> User:
    """As `change`, for a person already read.

    A new password ends every session of the account. A new password or e-mail address also ends a link to set a
    password, since the link was sent to the old mailbox.
    """
    new = checked(before, actor=actor, named=named)
    rows.change(tx, before.id, new, password_hash=password_hash, now_ms=now_ms)
    if password_hash is not None:
        sessions.revoke_all(tx, before.id)
    if password_hash is not None or new.email != before.email:
        links.forget_user(tx, before.id)
    updated_ms = before.password_updated_ms if password_hash is None else now_ms
    after = replace(before, name=new.name, email=new.email, phone=new.phone, password_updated_ms=updated_ms)
    password = () if password_hash is None else (Change("password", secret=True),)
    changes = (*entries.differences(before, after, _TOLD), *password)
    history.note(tx, actor, Event.CHANGED, before, changes=changes, ids=ids, now_ms=now_ms)
    return after


def checked(before: User, *, actor: Actor, named: Mapping[str, Any]) -> people.Change:
    """Apply a partial update to a person. Raises `BadParameter` and `people.OwnCredentials`."""
    new = people.changed(before, named)
    if before.id == actor.user_id:
        people.refuse_own_credentials(before, new)
    return new


def delete(
    tx: WriteTx, *, actor: Actor, role: Authority, user_id: UserId, ids: TimeIds, now_ms: int
) -> AbstractSet[SensorId]:
    """Delete the person; the sensors that changed. Raises `NotFound` or `Forbidden`."""
    user = find(tx, actor=actor, action=Action.PERSON_DELETE, role=role, user_id=user_id)
    return removal.deleted_person(tx, actor, user, ids=ids, now_ms=now_ms)


def listed(tx: ReadTx, *, actor: Actor, company_id: CompanyId, role: Authority, window: lists.Window) -> Sequence[User]:
    """The company's directors or drivers, by name; the caller admitted the actor. Raises `UnknownOffset`."""
    return rows.of_company(tx, access.scope_of(actor, Action.PERSON_LIST), company_id, role, window)


def count(tx: ReadTx, *, actor: Actor, company_id: CompanyId, role: Authority) -> int:
    """Count the company's directors or drivers; the caller admitted the actor."""
    filters = listing.Filters(company_id=company_id, role=role)
    return listing.LIST.count(tx, access.scope_of(actor, Action.PERSON_LIST), filters)


_TOLD: Final = ("name", "email", "phone")
"""Fields of a person recorded in the history until the person is deleted."""

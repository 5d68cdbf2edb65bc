"""Directors and drivers: registering, reading, changing, deleting and listing them; looking somebody up by e-mail.

Not here: administrators (`administrators.py`), what goes with somebody who is deleted (`removal.py`), what somebody
drove (`journeys.py`).
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Final

from tripline.domain import access, people
from tripline.domain.access import Action, Actor, Authority
from tripline.domain.ids import CompanyId, SensorId, TimeIds, UserId
from tripline.domain.people import Registration, User
from tripline.domain.refusals import NotFound
from tripline.services.accounts import registry
from tripline.services.fleet import companies, removal
from tripline.store import companies as company_rows
from tripline.store import listing, password_links, refresh_sessions
from tripline.store import people as rows
from tripline.store.transactions import ReadTx, WriteTx

FOUND_AS: Final = {Authority.DIRECTOR: (Authority.DIRECTOR,), Authority.DRIVER: people.DRIVING_ROLES}
"""Who is found under the path of a role: a director among the drivers too, because a director may drive."""


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
        company_id=companies.own(tx, actor=actor).id,
        role=role,
        registration=registration,
        password_hash=password_hash,
        ids=ids,
        now_ms=now_ms,
    )


def create(
    tx: WriteTx,
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
    return User(
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
    )


def find(tx: ReadTx, *, actor: Actor, action: Action, role: Authority, user_id: UserId) -> User:
    """The person under the path of this role, on whom the actor may do the action. Raises `NotFound`, `Forbidden`."""
    scope = access.scope_of(actor, action)
    return access.admitted(rows.find_one_of(tx, scope, FOUND_AS[role], user_id), role.lower())


def find_by_email(tx: ReadTx, *, actor: Actor, email: str) -> User:
    """The account that logs in with the address.

    Raises `NotFound` for one outside the actor's reach too: else anybody could ask who has an account here.
    """
    found = rows.find_by_email(tx, access.scope_of(actor, Action.USER_FIND), email)
    if found is None or not found[1]:
        raise NotFound("There is no user with this e-mail address within your reach.")
    return found[0]


def own(tx: ReadTx, *, actor: Actor) -> User:
    """The actor's own record, which no rule keeps from anybody. Raises `NotFound` when it is gone."""
    found = rows.own(tx, actor.user_id)
    if found is None:
        raise NotFound("This account is gone.")
    return found


def change(
    tx: WriteTx,
    *,
    actor: Actor,
    role: Authority,
    user_id: UserId,
    named: Mapping[str, Any],
    password_hash: str | None,
    now_ms: int,
) -> User:
    """The person after a partial update (`people.changed`). `password_hash` is of the password in `named`.

    Raises `NotFound`, `Forbidden`, `BadParameter`, `people.EmailTaken` and `people.OwnCredentials`.
    """
    before = find(tx, actor=actor, action=Action.PERSON_MODIFY, role=role, user_id=user_id)
    return apply(tx, before, actor=actor, named=named, password_hash=password_hash, now_ms=now_ms)


def apply(
    tx: WriteTx, before: User, *, actor: Actor, named: Mapping[str, Any], password_hash: str | None, now_ms: int
) -> User:
    """As `change`, of somebody found.

    A new password ends every log-in that could be prolonged. It ends a link to set another one too, and so does a new
    e-mail address: the link lies in the mail box of before.
    """
    new = checked(before, actor=actor, named=named)
    rows.change(tx, before.id, new, password_hash=password_hash, now_ms=now_ms)
    if password_hash is not None:
        refresh_sessions.revoke_all(tx, before.id)
    if password_hash is not None or new.email != before.email:
        password_links.forget_user(tx, before.id)
    updated_ms = before.password_updated_ms if password_hash is None else now_ms
    return replace(before, name=new.name, email=new.email, phone=new.phone, password_updated_ms=updated_ms)


def checked(before: User, *, actor: Actor, named: Mapping[str, Any]) -> people.Change:
    """What a partial update makes of somebody. Raises `BadParameter` and `people.OwnCredentials`."""
    new = people.changed(before, named)
    if before.id == actor.user_id:
        people.refuse_own_credentials(before, new)
    return new


def delete(tx: WriteTx, *, actor: Actor, role: Authority, user_id: UserId, now_ms: int) -> AbstractSet[SensorId]:
    """Delete the person; the sensors that changed. Raises `NotFound` or `Forbidden`."""
    find(tx, actor=actor, action=Action.PERSON_DELETE, role=role, user_id=user_id)
    return removal.person(tx, user_id, now_ms=now_ms)


def admit_to_list(tx: ReadTx, *, actor: Actor, company_id: CompanyId) -> None:
    """Let pass who may list the people of the company. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, Action.PERSON_LIST)
    access.admit(company_rows.inside(tx, scope, company_id), "company")


def listed(
    tx: ReadTx, *, actor: Actor, company_id: CompanyId, role: Authority, window: listing.Window
) -> Sequence[User]:
    """The company's directors or drivers, by name; `admit_to_list` was asked before. Raises `listing.UnknownOffset`."""
    return rows.of_company(tx, access.scope_of(actor, Action.PERSON_LIST), company_id, role, window)


def count(tx: ReadTx, *, actor: Actor, company_id: CompanyId, role: Authority) -> int:
    """How many directors or drivers the company has; `admit_to_list` was asked before."""
    return rows.count(tx, access.scope_of(actor, Action.PERSON_LIST), company_id, role)

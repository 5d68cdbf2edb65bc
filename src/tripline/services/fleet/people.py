"""Registering directors and drivers, reading people."""

from tripline.domain import access, people
from tripline.domain.access import Action, Actor, Authority
from tripline.domain.ids import TimeIds, UserId
from tripline.domain.people import Registration, User
from tripline.domain.refusals import NotFound
from tripline.services.accounts import registry
from tripline.store import people as rows
from tripline.store.transactions import ReadTx, WriteTx


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
    company_id = access.company_of(actor)
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
    return people.User(
        id=user_id,
        created_ms=now_ms,
        company_id=company_id,
        name=registration.name,
        phone=registration.phone,
        latest_trip_id=None,
        email=registration.email,
        authority=role,
        additional_info=None,
        password_updated_ms=now_ms,
    )


def read_driver(tx: ReadTx, *, actor: Actor, user_id: UserId) -> User:
    """The driver, or director, who may act as one. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, Action.USER_READ)
    return access.admitted(rows.find_driver(tx, scope, user_id), "driver")


def own(tx: ReadTx, *, actor: Actor) -> User:
    """The actor's own record, which no rule keeps from anybody. Raises `NotFound` when it is gone."""
    found = rows.own(tx, actor.user_id)
    if found is None:
        raise NotFound("This account is gone.")
    return found

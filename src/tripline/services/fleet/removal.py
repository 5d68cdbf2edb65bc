"""Removes the data of a deleted person or company and all references to it.

Driving data stays: trips, scores, GPS events and device events keep their vehicle and lose their driver (the eraser
removes the id from the rows, `services/eraser.py`). The caller checked access (`people.py`, `administrators.py`,
`companies.py`), in the same transaction; after the commit it notifies the pipeline of the returned sensors
(`SIGNAL_SENSOR_CHANGED`), and the eraser (`SIGNAL_ERASURE_DUE`).
"""

from collections.abc import Set as AbstractSet

from tripline.domain import companies as rules
from tripline.domain.access import Actor
from tripline.domain.companies import Company
from tripline.domain.history import Change, Event, ended
from tripline.domain.ids import SensorId, TimeIds, UserId
from tripline.domain.people import User
from tripline.services.fleet import history
from tripline.store.accounts import links, sessions
from tripline.store.erasure import driver_remains, erasures
from tripline.store.fleet import candidates, companies, delegations, people, rights, vehicles
from tripline.store.fleet import history as rows
from tripline.store.transactions import ReadTx, WriteTx


def deleted_person(tx: WriteTx, actor: Actor, user: User, *, ids: TimeIds, now_ms: int) -> AbstractSet[SensorId]:
    """Delete a person as `person` does, and write a history entry."""
    counts = goes_with_person(tx, user.id)
    changed = person(tx, user.id, now_ms=now_ms)
    history.note(
        tx,
        actor,
        Event.DELETED,
        company_id=user.company_id,
        user_id=user.id,
        changes=ended(**counts),
        ids=ids,
        now_ms=now_ms,
    )
    return changed


def person(tx: WriteTx, user_id: UserId, *, now_ms: int) -> AbstractSet[SensorId]:
    """Delete an account with its rights, log-ins and links; the sensors that knew the person as their driver."""
    changed = {*vehicles.release_driver(tx, user_id), *driver_remains.sensors_with_open_trips(tx, user_id)}
    vehicles.release_director(tx, user_id)
    rights.forget_user(tx, user_id)
    sessions.revoke_all(tx, user_id)
    links.forget_user(tx, user_id)
    erasures.begin_person(tx, user_id, now_ms=now_ms)
    people.remove(tx, user_id)
    return changed


def company(tx: WriteTx, actor: Actor, gone: Company, *, ids: TimeIds, now_ms: int) -> AbstractSet[SensorId]:
    """Delete a company with its people, candidates and delegations; return the sensors that its people drove with.

    Raises `companies.InUse` while it owns vehicles or sensors or has partners.
    """
    company_id = gone.id
    if companies.owns_anything(tx, company_id):
        raise rules.in_use(rules.Holding.FLEET)
    if companies.has_partners(tx, company_id):
        raise rules.in_use(rules.Holding.PARTNERS)
    delegated = delegations.forget_company(tx, company_id)
    candidates.forget_company(tx, company_id)
    changed: set[SensorId] = set()
    everybody = people.ids_of_company(tx, company_id)
    for user_id in everybody:
        changed |= person(tx, user_id, now_ms=now_ms)
    rows.forget_company_values(tx, company_id)
    gone_with_it = ended(people=len(everybody), delegations=delegated)
    told = (Change("name", before=gone.name), *gone_with_it)
    history.note(tx, actor, Event.DELETED, company_id=company_id, changes=told, ids=ids, now_ms=now_ms)
    companies.remove(tx, company_id)
    return changed


def goes_with_person(tx: ReadTx, user_id: UserId) -> dict[str, int]:
    """Count the rights, managed vehicles and driven vehicles that deleting an account affects."""
    return {
        "rights": rights.count_of_user(tx, user_id),
        "managed": vehicles.count_managed(tx, user_id),
        "driven": len(vehicles.driven_by(tx, user_id)),
    }

"""What goes with a person or a company that is deleted, so that nothing names what is no more.

What somebody drove stays: trips, scores, GPS events and device events keep their vehicle and name no driver from then
on (the eraser takes it out of the rows, `services/erasing.py`). Whoever calls was let pass before (`people.py`,
`administrators.py`, `companies.py`), in the same transaction; after the commit the pipeline is told of the sensors that
are answered (`SIGNAL_SENSOR_CHANGED`), and the eraser that there is something to do (`SIGNAL_ERASURE_DUE`).
"""

from collections.abc import Set as AbstractSet

from tripline.domain import companies as rules
from tripline.domain.ids import CompanyId, SensorId, UserId
from tripline.store import (
    candidates,
    companies,
    drivers,
    erasures,
    loans,
    password_links,
    people,
    refresh_sessions,
    rights,
    vehicles,
)
from tripline.store.transactions import WriteTx


def person(tx: WriteTx, user_id: UserId, *, now_ms: int) -> AbstractSet[SensorId]:
    """Delete an account with its rights, log-ins and links; the sensors that knew the person as their driver."""
    changed = {*vehicles.release_driver(tx, user_id), *drivers.sensors_with_open_trips(tx, user_id)}
    vehicles.release_director(tx, user_id)
    rights.forget_user(tx, user_id)
    refresh_sessions.revoke_all(tx, user_id)
    password_links.forget_user(tx, user_id)
    erasures.begin_person(tx, user_id, now_ms=now_ms)
    people.remove(tx, user_id)
    return changed


def company(tx: WriteTx, company_id: CompanyId, *, now_ms: int) -> AbstractSet[SensorId]:
    """Delete a company with its people, candidates, and what was lent to it; the sensors that its people drove with.

    Raises `companies.InUse` while it owns vehicles or sensors or has partners.
    """
    if companies.owns_anything(tx, company_id):
        raise rules.in_use("vehicles or sensors")
    if companies.has_partners(tx, company_id):
        raise rules.in_use("partners")
    loans.forget_company(tx, company_id)
    candidates.forget_company(tx, company_id)
    changed: set[SensorId] = set()
    for user_id in people.ids_of_company(tx, company_id):
        changed |= person(tx, user_id, now_ms=now_ms)
    companies.remove(tx, company_id)
    return changed

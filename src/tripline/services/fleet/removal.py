"""Delete a sensor, person or company with its data, and all references to it.

A deleted sensor loses its record with its access token and mounting, its carrier line with its changes, its latest
values, and the position of its vehicle if it was the only sensor there; calls to its device are cancelled, and its open
trip ends and is scored from its samples. Trips and events of vehicles stay, and display the placeholder for their
sensor. The eraser deletes its trips without a vehicle and the calls to its device, and treats data that was still in
the pipeline the same way (`services/eraser.py`). Messages waiting to be pushed and the rejected-message log stay.

Of a person, trips, scores, GPS events and device events keep their vehicle and lose their driver (the eraser removes
the id from the rows). The caller checked access (`people.py`, `administrators.py`,
`companies.py`), in the same transaction; after the commit it notifies the pipeline of the returned sensors
(`SIGNAL_SENSOR_CHANGED`), and the eraser (`SIGNAL_ERASURE_DUE`).
"""

from collections.abc import Set as AbstractSet

from tripline.domain import access, trips
from tripline.domain import companies as rules
from tripline.domain.access import Action, Actor
from tripline.domain.companies import Company
from tripline.domain.history import Change, Event, ended
from tripline.domain.ids import SensorId, TimeIds, UserId
from tripline.domain.people import User
from tripline.domain.trips import Cause
from tripline.services import notifications
from tripline.services.fleet import history
from tripline.services.ingest.tracks import SCOPE
from tripline.services.notifications import Notification
from tripline.services.rpc import activation
from tripline.store import positions, share_links
from tripline.store.accounts import links, sessions
from tripline.store.devices import connections, latest_values, watches
from tripline.store.erasure import erasures, remains
from tripline.store.fleet import candidates, companies, delegations, people, rights, vehicles
from tripline.store.fleet import history as rows
from tripline.store.fleet import sensors as sensor_rows
from tripline.store.ingest import tracks
from tripline.store.lines import lines
from tripline.store.rpc import calls as rpc_calls
from tripline.store.transactions import ReadTx, WriteTx
from tripline.store.trips import batch_rows


def deleted_person(tx: WriteTx, actor: Actor, user: User, *, ids: TimeIds, now_ms: int) -> AbstractSet[SensorId]:
    """Delete a person as `person` does, and write a history entry."""
    counts = goes_with_person(tx, user.id)
    changed = person(tx, user.id, now_ms=now_ms)
    history.note(tx, actor, Event.DELETED, user, changes=ended(**counts), ids=ids, now_ms=now_ms)
    return changed


def person(tx: WriteTx, user_id: UserId, *, now_ms: int) -> AbstractSet[SensorId]:
    """Delete an account with its rights, log-ins and links; the sensors that knew the person as their driver."""
    changed = {*vehicles.release_driver(tx, user_id), *remains.sensors_with_open_trips(tx, user_id)}
    vehicles.release_director(tx, user_id)
    rights.forget_user(tx, user_id)
    sessions.revoke_all(tx, user_id)
    links.forget_user(tx, user_id)
    share_links.forget_user(tx, user_id)
    erasures.begin(tx, user_id, erasures.Kind.PERSON, now_ms=now_ms)
    people.remove(tx, user_id)
    return changed


def company(tx: WriteTx, actor: Actor, gone: Company, *, ids: TimeIds, now_ms: int) -> AbstractSet[SensorId]:
    """Delete a company with its people, candidates and delegations; return the sensors that its people drove with.

    Raises `companies.InUse` while it owns vehicles or sensors or has partners.
    """
    company_id = gone.id
    if companies.owns_anything(tx, company_id):
        raise rules.InUse(holding=rules.Holding.FLEET)
    if companies.has_partners(tx, company_id):
        raise rules.InUse(holding=rules.Holding.PARTNERS)
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


def end_open(tx: WriteTx, sensor_id: SensorId, *, now_ms: int) -> bool:
    """End the sensor's open trips; true if any of them can be scored at once.

    No more data will arrive for them, so the scorer need not wait. Idempotent.
    """
    batch = batch_rows.Rows()
    for trip in tracks.open_trips(tx, SCOPE, sensor_id):
        reason = trips.why_not_scored(trip.device_type, trip.vehicle_id, parking=trip.parking)
        if reason is None:
            batch.jobs[trip.no] = now_ms
        trip.state = trips.move(trip.state, Cause.REMOVED)
        trip.closed_ms = now_ms
        batch.end(trip, not_scored=reason)
    batch_rows.write(tx, SCOPE, batch)
    return bool(batch.jobs)


def remove_sensor(
    tx: WriteTx, *, actor: Actor, sensor_id: SensorId, ids: TimeIds, now_ms: int
) -> tuple[Notification, ...]:
    """Delete the sensor; return the notifications for after the commit. Raises `NotFound` or `Forbidden`.

    The notifications end its session and inform pipeline, scorer, eraser, and callers waiting for its device.
    """
    scope = access.scope_of(actor, Action.SENSOR_DELETE)
    sensor = access.admitted(sensor_rows.find(tx, scope, sensor_id, tokens=scope), access.Thing.SENSOR)
    serial, on = (Change("serialNo", before=sensor.serial_no),), sensor.vehicle_id
    history.note(tx, actor, Event.DELETED, sensor, vehicle_id=on, changes=serial, ids=ids, now_ms=now_ms)
    return forget_sensor(tx, sensor_id, ids=ids, now_ms=now_ms)


def forget_sensor(tx: WriteTx, sensor_id: SensorId, *, ids: TimeIds, now_ms: int) -> tuple[Notification, ...]:
    """As `remove_sensor`, for a caller that was let pass."""
    cancelled = activation.of_sensor(tx, sensor_id, ids=ids, now_ms=now_ms)
    end_open(tx, sensor_id, now_ms=now_ms)
    latest_values.forget(tx, sensor_id)
    watches.forget(tx, sensor_id)
    lines.forget(tx, sensor_id)
    lines.forget_changes(tx, sensor_id)
    connections.forget(tx, sensor_id)
    positions.forget_of_sensor(tx, sensor_id)
    sensor_rows.remove(tx, sensor_id)
    erasures.begin(tx, sensor_id, erasures.Kind.SENSOR, now_ms=now_ms)
    return (*cancelled, *notifications.sensor_deleted(sensor_id))


def erase_some_of_sensor(tx: WriteTx, sensor_id: SensorId, *, limit: int) -> int:
    """Erase up to about `limit` remaining rows of the deleted sensor; return how many. 0: finished."""
    end_open(tx, sensor_id, now_ms=erasures.deleted_ms(tx, sensor_id))
    latest_values.forget(tx, sensor_id)
    watches.forget(tx, sensor_id)
    connections.forget(tx, sensor_id)
    called = rpc_calls.erase_of_sensor(tx, sensor_id, limit=limit)
    return called or remains.erase_some_of_sensor(tx, sensor_id, limit=limit)

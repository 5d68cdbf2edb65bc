"""Registering, reading, changing, activating and deleting vehicles.

Not here: directors and drivers of a vehicle (`assignments.py`), driving data of a deleted one (`services/eraser.py`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from tripline.domain import access, vehicles
from tripline.domain import history as entries
from tripline.domain.access import Action, Actor, Authority
from tripline.domain.companies import Company
from tripline.domain.history import Change, Event
from tripline.domain.ids import CompanyId, RecordId, TimeIds, UserId, VehicleId
from tripline.domain.refusals import NotFound
from tripline.domain.vehicles import Registration, Vehicle
from tripline.services import notifications
from tripline.services.fleet import companies, history
from tripline.services.notifications import Notification
from tripline.services.rpc import activation
from tripline.store import lists, positions, reach, share_links
from tripline.store.erasure import erasures
from tripline.store.fleet import delegations, rights, sensors
from tripline.store.fleet import vehicles as rows
from tripline.store.listing import vehicles as listing
from tripline.store.listing.vehicles import Filters
from tripline.store.transactions import ReadTx, WriteTx

MOVED: Final = {vehicles.VehicleEvent.ACTIVATE: Event.ACTIVATED, vehicles.VehicleEvent.DEACTIVATE: Event.DEACTIVATED}
"""The history event of each state change."""


class Moved(NamedTuple):
    """A vehicle after an event, and whether that changed it."""

    vehicle: Vehicle
    changed: bool


def register(tx: WriteTx, *, actor: Actor, registration: Registration, ids: TimeIds, now_ms: int) -> Vehicle:
    """The new vehicle of the actor's company, DEACTIVATED.

    A director becomes its managing director (rule 2); a partner's vehicle is delegated to the operator at once (rule 3,
    H3). Raises `vehicles.NumberTaken`.
    """
    access.scope_of(actor, Action.VEHICLE_CREATE)
    company = companies.own(tx, actor=actor)
    vehicle_id = VehicleId(ids.next(now_ms=now_ms))
    new = of_registration(registration, actor=actor, company=company, vehicle_id=vehicle_id, now_ms=now_ms)
    with reach.together(tx):
        rows.insert_new(tx, new)
        if not company.master:
            delegation_id = RecordId(ids.next(now_ms=now_ms))
            delegations.insert_new(tx, delegation_id, new, company.master_id, automatic=True, now_ms=now_ms)
    said = entries.first_values(new, Registration.__struct_fields__)
    history.note(tx, actor, Event.REGISTERED, new, changes=said, ids=ids, now_ms=now_ms)
    if not company.master:
        automatic, to_id = (Change("automatic", after=True),), company.master_id
        history.note(tx, None, Event.DELEGATED, new, to_company_id=to_id, changes=automatic, ids=ids, now_ms=now_ms)
    return new


def of_registration(
    registration: Registration, *, actor: Actor, company: Company, vehicle_id: VehicleId, now_ms: int
) -> Vehicle:
    """Make the company's vehicle from a registration, managed by the actor if that is a director (rule 2)."""
    return Vehicle(
        **{name: getattr(registration, name) for name in Registration.__struct_fields__},
        id=vehicle_id,
        created_ms=now_ms,
        company_id=company.id,
        service_type=company.service_type,
        status=vehicles.Status.DEACTIVATED,
        director_id=actor.user_id if actor.authority is Authority.DIRECTOR else None,
    )


def read(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId) -> Vehicle:
    """The vehicle. Raises `NotFound` or `Forbidden`."""
    return find(tx, actor=actor, action=Action.VEHICLE_READ, vehicle_id=vehicle_id)


def read_by_number(tx: ReadTx, *, actor: Actor, vehicle_no: str) -> Vehicle:
    """The vehicle with this number in the actor's service type. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, Action.VEHICLE_READ)
    service_type = companies.own(tx, actor=actor).service_type
    found = rows.find_by_number(tx, scope, service_type=service_type, vehicle_no=vehicle_no)
    if found is None:
        raise NotFound("vehicle_number")
    return access.admitted(found, access.Thing.VEHICLE)


def find(tx: ReadTx, *, actor: Actor, action: Action, vehicle_id: VehicleId) -> Vehicle:
    """The vehicle, if the actor may do the action on it. Raises `NotFound` or `Forbidden`."""
    return access.admitted(rows.find(tx, access.scope_of(actor, action), vehicle_id), access.Thing.VEHICLE)


def modify(
    tx: WriteTx, *, actor: Actor, vehicle_id: VehicleId, named: Mapping[str, Any], ids: TimeIds, now_ms: int
) -> Vehicle:
    """The vehicle after a partial update: `named` holds the fields that change, None clears one.

    Raises `NotFound`, `Forbidden`, `BadParameter` as at registration, `vehicles.NumberTaken`.
    """
    scope = access.scope_of(actor, Action.VEHICLE_MODIFY)
    vehicle = find(tx, actor=actor, action=Action.VEHICLE_MODIFY, vehicle_id=vehicle_id)
    changed = msgspec.structs.asdict(vehicles.changed(vehicle, named))
    after = replace(vehicle, **changed)
    if named:
        rows.change(tx, scope, vehicle_id, **changed)
    changes = entries.differences(vehicle, after, Registration.__struct_fields__)
    history.note(tx, actor, Event.CHANGED, vehicle, changes=changes, ids=ids, now_ms=now_ms)
    return after


def move(
    tx: WriteTx, *, actor: Actor, vehicle_id: VehicleId, event: vehicles.VehicleEvent, ids: TimeIds, now_ms: int
) -> Moved:
    """The vehicle in the state that the event leads to. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, Action.VEHICLE_ACTIVATE)
    vehicle = find(tx, actor=actor, action=Action.VEHICLE_ACTIVATE, vehicle_id=vehicle_id)
    after = vehicles.NEXT[vehicle.status, event]
    changed = after is not vehicle.status
    if changed:
        rows.change(tx, scope, vehicle_id, status=after.value)
        history.note(tx, actor, MOVED[event], vehicle, ids=ids, now_ms=now_ms)
    return Moved(replace(vehicle, status=after), changed)


def delete(tx: WriteTx, *, actor: Actor, vehicle_id: VehicleId, ids: TimeIds, now_ms: int) -> tuple[Notification, ...]:
    """Delete the vehicle; return the notifications for after the commit. Raises `NotFound` or `Forbidden`.

    Its sensors stay, DEACTIVATED and without a vehicle; activations for it are cancelled; delegations and rights end.
    Its driving data is hidden at once and erased later by the eraser.
    """
    scope = access.scope_of(actor, Action.VEHICLE_DELETE)
    vehicle = find(tx, actor=actor, action=Action.VEHICLE_DELETE, vehicle_id=vehicle_id)
    cancelled = activation.activations_for(tx, vehicle_id, ids=ids, now_ms=now_ms)
    positions.forget(tx, vehicle_id)
    share_links.forget_vehicle(tx, vehicle_id)
    with reach.together(tx):
        unmounted = sensors.unmount_all(tx, vehicle_id)
        ended = delegations.forget_vehicle(tx, vehicle_id)
        taken = rights.forget_vehicle(tx, vehicle_id)
        rows.remove(tx, scope, vehicle_id)
    erasures.begin(tx, vehicle_id, now_ms=now_ms)
    for sensor_id in unmounted:
        history.note(tx, actor, Event.UNMOUNTED, vehicle, sensor_id=sensor_id, ids=ids, now_ms=now_ms)
    gone = entries.ended(sensors=len(unmounted), delegations=ended, rights=taken)
    number = Change("vehicleNo", before=vehicle.vehicle_no)
    history.note(tx, actor, Event.DELETED, vehicle, changes=(number, *gone), ids=ids, now_ms=now_ms)
    return (*cancelled, *notifications.deleted(unmounted))


def managed_by(tx: ReadTx, *, actor: Actor, director_id: UserId, window: lists.Window) -> Sequence[Vehicle]:
    """The vehicles that the director manages and the actor may see, by number; the actor may see the director.

    Raises `UnknownOffset`.
    """
    return rows.managed_by(tx, access.scope_of(actor, Action.VEHICLE_READ), director_id, window)


def owned_by(tx: ReadTx, *, actor: Actor, company_id: CompanyId, window: lists.Window) -> Sequence[Vehicle]:
    """The company's own vehicles that the actor may see, by number; the caller admitted the actor to the company.

    Raises `UnknownOffset`.
    """
    scope = access.scope_of(actor, Action.VEHICLE_READ)
    return rows.of_company(tx, scope, company_id, window)


def count_owned(tx: ReadTx, *, actor: Actor, company_id: CompanyId, which: Filters) -> int:
    """Count the company's own vehicles that the actor may see; the caller admitted the actor to the company."""
    return listing.LIST.count(tx, access.scope_of(actor, Action.VEHICLE_READ), replace(which, company_id=company_id))


def count_in_service_type(tx: ReadTx, *, actor: Actor, service_type: str, which: Filters) -> int:
    """How many vehicles of the actor's service type the actor may see. Raises `Forbidden` for another one."""
    scope = access.scope_of(actor, Action.VEHICLE_READ)
    companies.require_service_type(tx, actor=actor, service_type=service_type)
    return listing.LIST.count(tx, scope, which)

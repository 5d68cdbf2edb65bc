"""Rights of directors and drivers on single vehicles: giving, taking back, reading (rules 2 and 3 of delegation)."""

from collections.abc import Sequence
from typing import Final

import msgspec

from tripline.domain import access, delegations
from tripline.domain.access import Action, Actor, Authority
from tripline.domain.delegations import Right, UserRole
from tripline.domain.history import Change, Event
from tripline.domain.ids import RecordId, SensorId, TimeIds, UserId, VehicleId
from tripline.domain.people import DRIVING_ROLES, User
from tripline.domain.refusals import NotFound
from tripline.domain.vehicles import Vehicle
from tripline.services.fleet import candidates, history
from tripline.store import lists
from tripline.store.fleet import delegations as delegation_rows
from tripline.store.fleet import people, vehicles
from tripline.store.fleet import rights as rows
from tripline.store.transactions import ReadTx, WriteTx

_GIVE: Final = {UserRole.DELEGATED_DIRECTOR: Action.RIGHT_GIVE_DIRECTOR, UserRole.DRIVER: Action.RIGHT_GIVE_DRIVER}
_RECEIVE: Final = {
    UserRole.DELEGATED_DIRECTOR: Action.RIGHT_RECEIVE_DIRECTOR,
    UserRole.DRIVER: Action.RIGHT_RECEIVE_DRIVER,
}
_RECEIVERS: Final = {UserRole.DELEGATED_DIRECTOR: (Authority.DIRECTOR,), UserRole.DRIVER: DRIVING_ROLES}
"""Directors may act as drivers."""
_NOUN: Final = {UserRole.DELEGATED_DIRECTOR: access.Thing.DIRECTOR, UserRole.DRIVER: access.Thing.DRIVER}


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """A right that is about to end."""

    user_name: str
    vehicle_no: str
    role: UserRole
    stops_driving: bool
    """True if the person drives the vehicle now, and may not without this right."""


def require_receiver(tx: ReadTx, *, actor: Actor, user_id: UserId, role: UserRole) -> User:
    """The person, when the actor may give it rights of this role. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, _RECEIVE[role])
    return access.admitted(people.find(tx, scope, _RECEIVERS[role], user_id), _NOUN[role])


def give(
    tx: WriteTx, *, actor: Actor, user_id: UserId, vehicle_id: VehicleId, role: UserRole, ids: TimeIds, now_ms: int
) -> Right:
    """The person's new right on the vehicle.

    Raises `NotFound`, `Forbidden`, `delegations.Oneself`, `delegations.NotDelegatedThere` or `delegations.RightHeld`.
    """
    person = require_receiver(tx, actor=actor, user_id=user_id, role=role)
    scope = access.scope_of(actor, _GIVE[role])
    vehicle = access.admitted(vehicles.find(tx, scope, vehicle_id), access.Thing.VEHICLE)
    assert person.company_id is not None  # a director or driver always has one
    available = _is_available(tx, vehicle, person)
    delegations.check_receiver(giver=actor.user_id, receiver=person.id, role=role, available=available)
    if rows.held(tx, vehicle.id, person.id, role):
        raise delegations.RightHeld(field="vehicleId", thing=_NOUN[role])
    company = candidates.counterpart(tx, person.company_id)
    right = Right(
        id=RecordId(ids.next(now_ms=now_ms)),
        created_ms=now_ms,
        company_id=company.id,
        company_name=company.name,
        user_id=person.id,
        user_name=person.name,
        vehicle_id=vehicle.id,
        vehicle_no=vehicle.vehicle_no,
        user_role=role,
    )
    rows.insert_new(tx, right)
    given = (Change("userRole", after=role.value),)
    history.note(tx, actor, Event.RIGHT_GIVEN, vehicle, user_id=person.id, changes=given, ids=ids, now_ms=now_ms)
    return right


def take_back(
    tx: WriteTx, *, actor: Actor, user_id: UserId, vehicle_id: VehicleId, role: UserRole, ids: TimeIds, now_ms: int
) -> list[SensorId]:
    """End the person's right; return the vehicle's sensors if the person drove it and may no longer.

    The caller notifies the pipeline of each sensor after the commit (`SIGNAL_SENSOR_CHANGED`). Raises `NotFound`, also
    if the right does not exist, or `Forbidden`.
    """
    vehicle, _ = _to_end(tx, actor, user_id, vehicle_id, role)
    left = rows.end(tx, vehicle_id, user_id, role)
    taken = (Change("userRole", before=role.value),)
    history.note(tx, actor, Event.RIGHT_TAKEN_BACK, vehicle, user_id=user_id, changes=taken, ids=ids, now_ms=now_ms)
    if not left:
        return []
    history.note(tx, actor, Event.DRIVER_UNSET, vehicle, user_id=user_id, ids=ids, now_ms=now_ms)
    return vehicles.sensors_of(tx, vehicle_id)


def ending(tx: ReadTx, *, actor: Actor, user_id: UserId, vehicle_id: VehicleId, role: UserRole) -> Ending:
    """The person's right, which the actor may take back, and the consequence of ending it. Raises as `take_back`."""
    vehicle, person = _to_end(tx, actor, user_id, vehicle_id, role)
    drives = vehicle.current_driver_id == user_id and vehicle.director_id != user_id
    others = any(rows.held(tx, vehicle_id, user_id, each) for each in UserRole if each is not role)
    return Ending(user_name=person.name, vehicle_no=vehicle.vehicle_no, role=role, stops_driving=drives and not others)


def could_give(tx: ReadTx, *, actor: Actor, user_id: UserId, vehicle_id: VehicleId, role: UserRole) -> bool:
    """True if the actor, who may give rights on the vehicle, could give this new one to the person."""
    person = people.find(tx, access.scope_of(actor, _RECEIVE[role]), _RECEIVERS[role], user_id)
    vehicle = vehicles.find(tx, access.scope_of(actor, _GIVE[role]), vehicle_id)
    if person is None or not person[1] or vehicle is None or not vehicle[1]:
        return False
    is_own = role is UserRole.DELEGATED_DIRECTOR and user_id == actor.user_id
    return not is_own and _is_available(tx, vehicle[0], person[0])


def require_holder(tx: ReadTx, *, actor: Actor, user_id: UserId, role: UserRole) -> None:
    """Let pass who may read the person's rights. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, Action.RIGHT_READ)
    access.admitted(people.find(tx, scope, _RECEIVERS[role], user_id), _NOUN[role])


def read(tx: ReadTx, *, actor: Actor, user_id: UserId, vehicle_id: VehicleId, role: UserRole) -> Right:
    """The person's right on the vehicle. Raises `Forbidden`, or `NotFound` also when there is none."""
    require_holder(tx, actor=actor, user_id=user_id, role=role)
    found = rows.find(tx, access.scope_of(actor, Action.RIGHT_READ), user_id, vehicle_id, role)
    if found is None:
        raise NotFound("right_on_id", thing=_NOUN[role])
    return found


def of_user(tx: ReadTx, *, actor: Actor, user_id: UserId, role: UserRole, window: lists.Window) -> Sequence[Right]:
    """The person's rights of this role, by vehicle number; the caller called `require_holder`.

    Raises `UnknownOffset`.
    """
    scope = access.scope_of(actor, Action.RIGHT_READ)
    return rows.of_user(tx, scope, user_id, role, window)


def _to_end(tx: ReadTx, actor: Actor, user_id: UserId, vehicle_id: VehicleId, role: UserRole) -> tuple[Vehicle, User]:
    """Vehicle and person of an existing right that the actor may take back. Raises `NotFound`, `Forbidden`."""
    receivers = access.scope_of(actor, _RECEIVE[role])
    found_person = people.find(tx, receivers, _RECEIVERS[role], user_id)
    found_vehicle = vehicles.find(tx, access.scope_of(actor, _GIVE[role]), vehicle_id)
    if found_person is None:
        # Refuse unknown things before checking access (spec/rest 3.3).
        raise NotFound("id", thing=_NOUN[role])
    vehicle = access.admitted(found_vehicle, access.Thing.VEHICLE)
    person, could = found_person
    access.admit(delegations.may_end(actor=actor, owner=vehicle.company_id, could_give=could), _NOUN[role])
    if not rows.held(tx, vehicle_id, user_id, role):
        raise NotFound("right", thing=_NOUN[role])
    return vehicle, person


def _is_available(tx: ReadTx, vehicle: Vehicle, person: User) -> bool:
    """True if the person's company owns the vehicle, or has it by delegation."""
    company_id = person.company_id
    return company_id is not None and (
        vehicle.company_id == company_id or delegation_rows.holds(tx, vehicle.id, company_id)
    )

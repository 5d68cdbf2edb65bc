"""Sets and clears a vehicle's managing director and its driver.

A company's administrators and directors set any person of their company as a driver, or anyone with a right on the
vehicle. Drivers set and unset themselves: log in before driving, log out after it, so that the next one can take over
(spec/rest 9). A trip is stored under the driver at its start (H9).
"""

from typing import Final, NamedTuple

import msgspec

from tripline.domain import access, vehicles
from tripline.domain.access import Action, Actor, Authority, Scope
from tripline.domain.history import Event
from tripline.domain.ids import SensorId, TimeIds, UserId, VehicleId
from tripline.domain.people import DRIVING_ROLES, User
from tripline.domain.refusals import Refusal
from tripline.domain.vehicles import PreviousAssignment, Vehicle
from tripline.services.fleet import history, lists
from tripline.services.fleet import vehicles as vehicles_service
from tripline.store import positions
from tripline.store.fleet import people, rights
from tripline.store.fleet import vehicles as rows
from tripline.store.listing import people as listing
from tripline.store.listing.pages import Page, PageRequest
from tripline.store.listing.people import Filters, ListedPerson
from tripline.store.transactions import ReadTx, WriteTx


class _Post(NamedTuple):
    """A person's task on a vehicle."""

    assign: Action
    receive: Action
    roles: tuple[Authority, ...]
    thing: access.Thing


_POSTS: Final = {
    Authority.DIRECTOR: _Post(
        Action.VEHICLE_ASSIGN_DIRECTOR, Action.VEHICLE_RECEIVE_DIRECTOR, (Authority.DIRECTOR,), access.Thing.DIRECTOR
    ),
    Authority.DRIVER: _Post(
        Action.VEHICLE_ASSIGN_DRIVER, Action.VEHICLE_RECEIVE_DRIVER, DRIVING_ROLES, access.Thing.DRIVER
    ),
}


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """An assigned or chosen person, with the details that the actor may see."""

    id: UserId
    name: str | None
    """None: the actor may not read it."""
    email: str | None
    """As the name."""
    drives: VehicleId | None
    """The vehicle that this person drives now."""
    drives_no: str | None
    """Its number; None also when the actor may not see it."""


class Choosing(msgspec.Struct, frozen=True, kw_only=True):
    """A vehicle, and whom the actor may assign to it."""

    vehicle: Vehicle
    now: Chosen | None
    """Who is assigned now."""
    people: Page[ListedPerson]
    chosen: Chosen | None
    """The person requested by id; None if not requested, or not a director or driver."""


class Taking(msgspec.Struct, frozen=True, kw_only=True):
    """A vehicle that the actor wants to drive."""

    vehicle: Vehicle
    own: Chosen | None
    """The actor, with the vehicle that he drives now."""
    driver: Chosen | None
    """Its current driver."""
    refusal: Refusal | None
    """Reason why the actor cannot take it now."""


def to_assign(
    tx: ReadTx,
    *,
    actor: Actor,
    post: Authority,
    vehicle_id: VehicleId,
    role: Authority,
    search: str | None,
    page_request: PageRequest,
    chosen_id: UserId | None = None,
) -> Choosing:
    """The vehicle and the people of this role in the actor's company who match the search and could be its managing
    director or its driver (`post`).

    A driver finds only himself. Who has a right on the vehicle can be set as its driver too. Raises `NotFound`,
    `Forbidden`.
    """
    assign, receive, *_ = _POSTS[post]
    vehicle = vehicles_service.find(tx, actor=actor, action=assign, vehicle_id=vehicle_id)
    filters = Filters(company_id=access.company_of(actor), role=role, search=search)
    found = listing.LIST.page(tx, access.scope_of(actor, receive), filters, page_request)
    now_id = vehicle.director_id if post is Authority.DIRECTOR else vehicle.current_driver_id
    now, picked = (chosen(tx, actor=actor, user_id=each) for each in (now_id, chosen_id))
    return Choosing(vehicle=vehicle, now=now, people=lists.without_hidden_vehicles(tx, actor, found), chosen=picked)


def chosen(tx: ReadTx, *, actor: Actor, user_id: UserId | None) -> Chosen | None:
    """The director or driver with this id, or None."""
    if user_id is None:
        return None
    found = people.find(tx, access.scope_of(actor, Action.USER_READ), DRIVING_ROLES, user_id)
    if found is None:
        return None
    user, may_read = found
    return Chosen(
        id=user.id,
        name=user.name if may_read else None,
        email=user.email if may_read else None,
        drives=user.vehicle_id,
        drives_no=rows.number_inside(tx, access.scope_of(actor, Action.VEHICLE_READ), user.vehicle_id),
    )


def to_take(tx: ReadTx, *, actor: Actor, vehicle_id: VehicleId) -> Taking:
    """The vehicle, and whether the actor can take it with `set_driver`. Raises `NotFound`, `Forbidden`."""
    vehicle = vehicles_service.find(tx, actor=actor, action=Action.VEHICLE_ASSIGN_DRIVER, vehicle_id=vehicle_id)
    refusal = None
    if actor.authority is Authority.DRIVER and vehicle.current_driver_id != actor.user_id:
        try:
            vehicles.refuse_log_in(vehicle, actor.user_id)
        except (vehicles.NotActivated, vehicles.Occupied) as error:
            refusal = error
    own, driver = (chosen(tx, actor=actor, user_id=each) for each in (actor.user_id, vehicle.current_driver_id))
    return Taking(vehicle=vehicle, own=own, driver=driver, refusal=refusal)


def could_drive(tx: ReadTx, *, actor: Actor, vehicle: Vehicle, driver_id: UserId) -> bool:
    """True if the actor, who may set drivers of the vehicle, could set this one on it while it has none."""
    found = people.find(tx, access.scope_of(actor, Action.VEHICLE_RECEIVE_DRIVER), DRIVING_ROLES, driver_id)
    if found is None:
        return False
    if actor.authority is Authority.DRIVER:
        return found[1] and vehicle.status is vehicles.Status.ACTIVATED
    return found[1] or rights.may_drive(tx, vehicle.id, driver_id)


def set_director(
    tx: WriteTx,
    *,
    actor: Actor,
    vehicle_id: VehicleId,
    director_id: UserId,
    ids: TimeIds,
    now_ms: int,
    seen: PreviousAssignment | None = None,
) -> Vehicle:
    """Set this director of its company as the vehicle's manager. Raises `NotFound` or `Forbidden`.

    `seen`: the assignment the actor saw; raises `vehicles.AssignedMeanwhile` if it has changed. None: replace any
    present one.
    """
    scope, vehicle = _to_direct(tx, actor, vehicle_id, director_id)
    vehicles.refuse_unseen_director(vehicle, director_id, seen)
    rows.change(tx, scope, vehicle_id, director_id=director_id)
    positions.reach_changed(tx, vehicle_id, [vehicle.director_id, director_id])
    if vehicle.director_id not in (None, director_id):
        history.note(tx, actor, Event.DIRECTOR_UNSET, vehicle, user_id=vehicle.director_id, ids=ids, now_ms=now_ms)
    if vehicle.director_id != director_id:
        history.note(tx, actor, Event.DIRECTOR_SET, vehicle, user_id=director_id, ids=ids, now_ms=now_ms)
    return _again(tx, scope, vehicle_id)


def unset_director(
    tx: WriteTx, *, actor: Actor, vehicle_id: VehicleId, director_id: UserId, ids: TimeIds, now_ms: int
) -> Vehicle:
    """The vehicle without a managing director. Raises `NotFound`, `Forbidden`, `vehicles.OtherDirector`."""
    scope, vehicle = _to_direct(tx, actor, vehicle_id, director_id)
    vehicles.refuse_unset_director(vehicle, director_id)
    rows.change(tx, scope, vehicle_id, director_id=None)
    positions.reach_changed(tx, vehicle_id, [director_id])
    history.note(tx, actor, Event.DIRECTOR_UNSET, vehicle, user_id=director_id, ids=ids, now_ms=now_ms)
    return _again(tx, scope, vehicle_id)


def set_driver(
    tx: WriteTx,
    *,
    actor: Actor,
    vehicle_id: VehicleId,
    driver_id: UserId,
    ids: TimeIds,
    now_ms: int,
    seen: PreviousAssignment | None = None,
) -> tuple[Vehicle, list[SensorId]]:
    """Set the vehicle's driver and end that person's driving elsewhere; return the vehicle and the sensors of all
    changed vehicles.

    The caller notifies the pipeline of each sensor after the commit (`SIGNAL_SENSOR_CHANGED`). Setting the current
    driver changes nothing. `seen` as in `set_director`. Raises `NotFound`, `Forbidden`; for drivers also
    `vehicles.NotActivated` and `vehicles.Occupied`.
    """
    scope, vehicle, person = _to_assign(tx, actor, _POSTS[Authority.DRIVER], vehicle_id, driver_id)
    if actor.authority is Authority.DRIVER or not rights.may_drive(tx, vehicle_id, driver_id):
        access.admitted(person, access.Thing.DRIVER)
    if actor.authority is Authority.DRIVER:
        vehicles.refuse_log_in(vehicle, driver_id)
    if vehicle.current_driver_id == driver_id:
        return vehicle, []
    left = rows.driven_by(tx, driver_id)
    vehicles.refuse_unseen_driver(vehicle, driver_id, [other.id for other in left], seen)
    elsewhere = rows.release_driver(tx, driver_id)
    rows.change(tx, scope, vehicle_id, current_driver_id=driver_id)
    for other in left:
        history.note(tx, actor, Event.DRIVER_UNSET, other, user_id=driver_id, ids=ids, now_ms=now_ms)
    if vehicle.current_driver_id is not None:
        history.note(tx, actor, Event.DRIVER_UNSET, vehicle, user_id=vehicle.current_driver_id, ids=ids, now_ms=now_ms)
    history.note(tx, actor, Event.DRIVER_SET, vehicle, user_id=driver_id, ids=ids, now_ms=now_ms)
    return _again(tx, scope, vehicle_id), [*elsewhere, *rows.sensors_of(tx, vehicle_id)]


def unset_driver(
    tx: WriteTx, *, actor: Actor, vehicle_id: VehicleId, driver_id: UserId, ids: TimeIds, now_ms: int
) -> tuple[Vehicle, list[SensorId]]:
    """End the driver's driving; return the vehicle and its sensors, as `set_driver`. The driver may be of any company.

    Raises `NotFound`, `vehicles.OtherDriver`, `Forbidden`; the latter also for a driver who is not that person.
    """
    scope, vehicle, person = _to_assign(tx, actor, _POSTS[Authority.DRIVER], vehicle_id, driver_id)
    if actor.authority is Authority.DRIVER:
        access.admitted(person, access.Thing.DRIVER)
    vehicles.refuse_unset_driver(vehicle, driver_id)
    rows.change(tx, scope, vehicle_id, current_driver_id=None)
    history.note(tx, actor, Event.DRIVER_UNSET, vehicle, user_id=driver_id, ids=ids, now_ms=now_ms)
    return _again(tx, scope, vehicle_id), rows.sensors_of(tx, vehicle_id)


def _to_assign(
    tx: ReadTx, actor: Actor, post: _Post, vehicle_id: VehicleId, user_id: UserId
) -> tuple[Scope, Vehicle, tuple[User, bool] | None]:
    """The vehicles that the actor assigns people to, this one, within reach, and the person, perhaps out of reach.

    Unknown things are refused before access is checked (spec/rest 3.3).
    """
    scope = access.scope_of(actor, post.assign)
    found = rows.find(tx, scope, vehicle_id)
    person = people.find(tx, access.scope_of(actor, post.receive), post.roles, user_id)
    if found is not None and person is None:
        access.admit(None, post.thing)
    return scope, access.admitted(found, access.Thing.VEHICLE), person


def _to_direct(tx: ReadTx, actor: Actor, vehicle_id: VehicleId, director_id: UserId) -> tuple[Scope, Vehicle]:
    """As `_to_assign`; the director is within reach, too."""
    scope, vehicle, person = _to_assign(tx, actor, _POSTS[Authority.DIRECTOR], vehicle_id, director_id)
    access.admitted(person, access.Thing.DIRECTOR)
    return scope, vehicle


def _again(tx: ReadTx, scope: Scope, vehicle_id: VehicleId) -> Vehicle:
    return access.admitted(rows.find(tx, scope, vehicle_id), access.Thing.VEHICLE)

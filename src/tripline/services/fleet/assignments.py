"""Who manages a vehicle, and who drives it.

A company's administrators and directors set anybody of their company as a driver, or somebody who has a right on the
vehicle. Drivers set and unset themselves: log in before driving, log out after it, so that the next one can take over
(client-surface 9). Trips are stored under the driver of the moment at which they begin (H9).

Not here: which vehicles and persons are within reach (`access`), rights on vehicles (`rights.py`).
"""

from tripline.domain import access, vehicles
from tripline.domain.access import Action, Actor, Authority, Scope
from tripline.domain.ids import SensorId, UserId, VehicleId
from tripline.domain.people import DRIVING_ROLES, User
from tripline.domain.vehicles import Vehicle
from tripline.store import people, rights
from tripline.store import vehicles as rows
from tripline.store.transactions import ReadTx, WriteTx

_DIRECTORS = (Authority.DIRECTOR,)


def set_director(tx: WriteTx, *, actor: Actor, vehicle_id: VehicleId, director_id: UserId) -> Vehicle:
    """The vehicle, managed by this director of its company. Raises `NotFound` or `Forbidden`."""
    scope, _ = _to_direct(tx, actor, vehicle_id, director_id)
    rows.change(tx, scope, vehicle_id, director_id=director_id)
    return _again(tx, scope, vehicle_id)


def unset_director(tx: WriteTx, *, actor: Actor, vehicle_id: VehicleId, director_id: UserId) -> Vehicle:
    """The vehicle without a managing director. Raises `NotFound`, `Forbidden`, `vehicles.OtherDirector`."""
    scope, vehicle = _to_direct(tx, actor, vehicle_id, director_id)
    vehicles.refuse_unset_director(vehicle, director_id)
    rows.change(tx, scope, vehicle_id, director_id=None)
    return _again(tx, scope, vehicle_id)


def set_driver(
    tx: WriteTx, *, actor: Actor, vehicle_id: VehicleId, driver_id: UserId
) -> tuple[Vehicle, list[SensorId]]:
    """The vehicle, driven by this person, who drives no other one any more; the sensors of all these vehicles.

    The caller tells the pipeline of each sensor after the commit (`SIGNAL_SENSOR_CHANGED`). Setting who is set changes
    nothing. Raises `NotFound`, `Forbidden`; for drivers also `vehicles.NotActivated` and `vehicles.Occupied`.
    """
    scope, vehicle, person = _to_drive(tx, actor, vehicle_id, driver_id)
    if actor.authority is Authority.DRIVER or not rights.may_drive(tx, vehicle_id, driver_id):
        access.admitted(person, "driver")
    if actor.authority is Authority.DRIVER:
        vehicles.refuse_log_in(vehicle, driver_id)
    if vehicle.current_driver_id == driver_id:
        return vehicle, []
    elsewhere = rows.release_driver(tx, driver_id)
    rows.change(tx, scope, vehicle_id, current_driver_id=driver_id)
    return _again(tx, scope, vehicle_id), [*elsewhere, *rows.sensors_of(tx, vehicle_id)]


def unset_driver(
    tx: WriteTx, *, actor: Actor, vehicle_id: VehicleId, driver_id: UserId
) -> tuple[Vehicle, list[SensorId]]:
    """The vehicle, driven by nobody, and its sensors, as `set_driver`; who drives it may be of any company.

    Raises `NotFound`, `vehicles.OtherDriver`, `Forbidden`; the latter also for a driver who is not that person.
    """
    scope, vehicle, person = _to_drive(tx, actor, vehicle_id, driver_id)
    if actor.authority is Authority.DRIVER:
        access.admitted(person, "driver")
    vehicles.refuse_unset_driver(vehicle, driver_id)
    rows.change(tx, scope, vehicle_id, current_driver_id=None)
    return _again(tx, scope, vehicle_id), rows.sensors_of(tx, vehicle_id)


def _to_direct(tx: ReadTx, actor: Actor, vehicle_id: VehicleId, director_id: UserId) -> tuple[Scope, Vehicle]:
    """The vehicles that the actor assigns directors to, and this one; vehicle and director are within reach."""
    scope = access.scope_of(actor, Action.VEHICLE_ASSIGN_DIRECTOR)
    found = rows.find(tx, scope, vehicle_id)
    receivers = access.scope_of(actor, Action.VEHICLE_RECEIVE_DIRECTOR)
    person = people.find_one_of(tx, receivers, _DIRECTORS, director_id)
    _refuse_unknown(found, person, "director")
    vehicle = access.admitted(found, "vehicle")
    access.admitted(person, "director")
    return scope, vehicle


def _to_drive(
    tx: ReadTx, actor: Actor, vehicle_id: VehicleId, driver_id: UserId
) -> tuple[Scope, Vehicle, tuple[User, bool] | None]:
    """The vehicles that the actor assigns drivers to, this one, within reach, and the person, perhaps out of reach."""
    scope = access.scope_of(actor, Action.VEHICLE_ASSIGN_DRIVER)
    found = rows.find(tx, scope, vehicle_id)
    receivers = access.scope_of(actor, Action.VEHICLE_RECEIVE_DRIVER)
    person = people.find_one_of(tx, receivers, DRIVING_ROLES, driver_id)
    _refuse_unknown(found, person, "driver")
    return scope, access.admitted(found, "vehicle"), person


def _refuse_unknown(vehicle: object | None, person: object | None, role: str) -> None:
    """What is unknown is said before what is foreign (client-surface 3.3)."""
    if vehicle is not None and person is None:
        access.admit(None, role)


def _again(tx: ReadTx, scope: Scope, vehicle_id: VehicleId) -> Vehicle:
    """The vehicle as it is now."""
    return access.admitted(rows.find(tx, scope, vehicle_id), "vehicle")

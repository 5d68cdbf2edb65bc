"""Correct the driver of a past trip, preview that, and withdraw it.

Managers who decide disputes of the trip may do it, except the former and the new driver. The new driver is a person
whom the actor could set on the vehicle now (spec/rest 9.1): rights at the time of the trip are not stored.
"""

from tripline.domain import access
from tripline.domain.access import Action, Actor, Scope, Thing
from tripline.domain.corrections import (
    CorrectedMeanwhile,
    NotCorrected,
    OwnTrip,
    SeenDriver,
    Totals,
    TripDriver,
    UnderWay,
    WithoutVehicle,
)
from tripline.domain.history import Change, Event
from tripline.domain.ids import TimeIds, TripId, UserId
from tripline.domain.people import DRIVING_ROLES
from tripline.domain.trends import NOTHING
from tripline.domain.vehicles import Vehicle
from tripline.language.catalogue import Language
from tripline.services import admission
from tripline.services.accounts import letters
from tripline.services.fleet import assignments, history
from tripline.store.accounts import accounts, mail_outbox
from tripline.store.fleet import people, vehicles
from tripline.store.scores import scores, sums
from tripline.store.transactions import ReadTx, WriteTx
from tripline.store.trips import drivers


def to_correct(tx: ReadTx, *, actor: Actor, trip_id: TripId) -> TripDriver:
    """The driver of a trip that the actor may correct.

    Raises `NotFound`, `Forbidden`, `OwnTrip`, `UnderWay`, `WithoutVehicle`.
    """
    admission.admit(tx, actor, Action.DISPUTE_DECIDE, Thing.TRIP, trip_id)
    known = drivers.of_trip(tx, trip_id)
    if actor.user_id in (known.driver_id, known.recorded_id):
        raise OwnTrip("drove")
    if known.under_way:
        raise UnderWay
    if known.vehicle_id is None:
        raise WithoutVehicle
    return known


def preview(tx: ReadTx, *, actor: Actor, known: TripDriver, driver_id: UserId | None) -> list[Totals]:
    """The scored trips of the former and the new driver, before and after; empty for the present driver.

    `driver_id`: None for nobody. Raises `NotFound`, `Forbidden`, `OwnTrip`.
    """
    if driver_id is not None and driver_id != known.recorded_id:
        require_driver(tx, actor=actor, known=known, driver_id=driver_id)
    if driver_id == known.driver_id:
        return []
    share = sums.shares(tx, [known.trip_no]).get(known.trip_no)
    moved = NOTHING if share is None else share.sums
    scope = access.scope_of(actor, Action.DRIVING_READ)
    found = []
    for user_id, sign in ((known.driver_id, -1), (driver_id, 1)):
        if user_id is not None:
            before = sums.of_subject(tx, user_id) if accounts.inside(tx, scope, user_id) else None
            found.append(Totals(user_id, before, None if before is None else before.plus(moved, sign)))
    return found


def require_driver(tx: ReadTx, *, actor: Actor, known: TripDriver, driver_id: UserId) -> None:
    """Require a person, other than the actor, whom the actor could set on the vehicle now.

    Raises `NotFound`, `Forbidden`, `OwnTrip`.
    """
    person = people.find(tx, access.scope_of(actor, Action.VEHICLE_RECEIVE_DRIVER), DRIVING_ROLES, driver_id)
    access.admit(None if person is None else True, Thing.DRIVER)
    if driver_id == actor.user_id:
        raise OwnTrip("becomes")
    access.admit(
        assignments.could_drive(tx, actor=actor, vehicle=_vehicle(tx, known), driver_id=driver_id), Thing.DRIVER
    )


def correct(
    tx: WriteTx,
    *,
    actor: Actor,
    trip_id: TripId,
    driver_id: UserId,
    language: Language,
    ids: TimeIds,
    now_ms: int,
    seen: SeenDriver | None = None,
) -> TripDriver:
    """Give a past trip this driver and mail that person; naming the present driver changes nothing.

    `language`: of the mail, unless the account chose one. `seen`: the driver that the actor saw; None: not compared.
    Raises as `to_correct` and `require_driver`, and `CorrectedMeanwhile`.
    """
    known = _held(tx, actor, trip_id)
    _require_seen(known, seen)
    require_driver(tx, actor=actor, known=known, driver_id=driver_id)
    if driver_id == known.driver_id:
        return known
    return _change(tx, actor, known, driver_id, language=language, ids=ids, now_ms=now_ms)


def withdraw(
    tx: WriteTx,
    *,
    actor: Actor,
    trip_id: TripId,
    language: Language,
    ids: TimeIds,
    now_ms: int,
    seen: SeenDriver | None = None,
) -> TripDriver:
    """Give the trip back the driver that its messages name, whether or not this one may drive the vehicle now.

    Raises as `to_correct`, and `NotCorrected`, `CorrectedMeanwhile`.
    """
    known = _held(tx, actor, trip_id)
    _require_seen(known, seen)
    if known.corrected_ms is None:
        raise NotCorrected
    return _change(tx, actor, known, known.recorded_id, language=language, ids=ids, now_ms=now_ms)


def _held(tx: WriteTx, actor: Actor, trip_id: TripId) -> TripDriver:
    """As `to_correct`, with the trip and its vehicle locked against scoring on a shared store."""
    known = to_correct(tx, actor=actor, trip_id=trip_id)
    if tx.shared:
        scores.hold(tx, [known.trip_no])
        scores.hold_vehicles(tx, [] if known.vehicle_id is None else [known.vehicle_id])
    return known


def _require_seen(known: TripDriver, seen: SeenDriver | None) -> None:
    if seen is not None and seen.driver_id != known.driver_id:
        raise CorrectedMeanwhile


def _vehicle(tx: ReadTx, known: TripDriver) -> Vehicle:
    assert known.vehicle_id is not None
    return access.admitted(
        vehicles.find(tx, Scope.everything("the vehicle of an admitted trip"), known.vehicle_id), Thing.VEHICLE
    )


def _change(
    tx: WriteTx,
    actor: Actor,
    known: TripDriver,
    driver_id: UserId | None,
    *,
    language: Language,
    ids: TimeIds,
    now_ms: int,
) -> TripDriver:
    """Give the trip this driver, with the entries of history and the mail to that person.

    Naming the recorded driver ends the correction.
    """
    if driver_id == known.recorded_id:
        drivers.change(tx, known, driver_id, recorded_id=None, corrected_ms=None, now_ms=now_ms)
    else:
        recorded_id = known.recorded_id
        drivers.change(tx, known, driver_id, recorded_id=recorded_id, corrected_ms=now_ms, now_ms=now_ms)
    vehicle = _vehicle(tx, known)
    events = ((Event.TRIP_DRIVER_UNSET, known.driver_id), (Event.TRIP_DRIVER_SET, driver_id))
    for event, user_id in events:
        if user_id is not None:
            of_trip = (Change("tripId", after=known.trip_id),)
            history.note(tx, actor, event, vehicle, user_id=user_id, changes=of_trip, ids=ids, now_ms=now_ms)
    account = None if driver_id is None else accounts.credentials_of(tx, driver_id)
    if account is not None:
        mail_outbox.add(
            tx,
            ids=ids,
            kind=letters.Kind.DRIVER,
            recipient=account.email,
            language=language,
            account_id=driver_id,
            trip_id=known.trip_id,
            now_ms=now_ms,
        )
    return drivers.of_trip(tx, known.trip_id)

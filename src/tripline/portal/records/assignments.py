"""Assigning a director or a driver to a vehicle, and unassigning them.

Each form contains the assignment it was rendered with. If another window changes the assignment meanwhile, the page
shows the new one and keeps the choice, ready to be submitted again.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec
from litestar.response import Response

from tripline.domain import fields, vehicles
from tripline.domain.access import Action, Authority
from tripline.domain.ids import SensorId, UserId, VehicleId
from tripline.domain.refusals import Refusal
from tripline.domain.vehicles import AssignedMeanwhile, PreviousAssignment, Vehicle
from tripline.http import changes, parameters
from tripline.http.changes import By
from tripline.http.context import Call, context_of
from tripline.portal.frame import addresses, forms, views
from tripline.portal.frame.notices import Undo
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import visitor_and, visitor_of
from tripline.portal.records import choices
from tripline.services import notifications
from tripline.services.fleet import assignments as service
from tripline.services.fleet import vehicles as records
from tripline.services.fleet.assignments import Chosen
from tripline.store.transactions import ReadTx, WriteTx

_DRIVES: Final = "drivesId"
"""The field with the vehicle that the chosen person drove at rendering; empty for none."""
_TEXTS: Final = "portal.assignments."
_DIRECTOR: Final = "director"
_DRIVER: Final = "driver"
_POSTS: Final = {_DIRECTOR: Authority.DIRECTOR, _DRIVER: Authority.DRIVER}
_ONE: Final = "/fleet/vehicles/{vehicleId}"
_assigning: Final = partial(page, refuses=(AssignedMeanwhile,))
_NO_LOG_IN: Final = (vehicles.NotActivated, vehicles.Occupied)


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an assignment."""

    vehicle: Vehicle
    before_id: UserId | None
    now_id: UserId | None
    could_return: bool = True
    """True if the actor could assign the previous person again."""
    person: Chosen | None = None
    """The new driver before the change, including the vehicle driven until then."""
    sensors: Sequence[SensorId] = ()


@page("GET", f"{_ONE}/director", access=Action.VEHICLE_ASSIGN_DIRECTOR)
async def choose_director(request: Call) -> Response[bytes]:
    """Choose the managing director of a vehicle."""
    return await _choose(request, _DIRECTOR, chosen_id=choices.chosen_before(request))


@page("GET", f"{_ONE}/driver", access=Action.VEHICLE_ASSIGN_DRIVER)
async def choose_driver(request: Call) -> Response[bytes]:
    """Choose the new driver of a vehicle."""
    return await _choose(request, _DRIVER, chosen_id=choices.chosen_before(request))


@_assigning("POST", f"{_ONE}/director", access=Action.VEHICLE_ASSIGN_DIRECTOR)
async def set_director(request: Call) -> Response[bytes]:
    """Assign the managing director of a vehicle."""

    def work(tx: WriteTx, by: By, vehicle_id: VehicleId, user_id: UserId, seen: PreviousAssignment) -> Done:
        before_id = records.read(tx, actor=by["actor"], vehicle_id=vehicle_id).director_id
        vehicle = service.set_director(tx, **by, vehicle_id=vehicle_id, director_id=user_id, seen=seen)
        return Done(vehicle=vehicle, before_id=before_id, now_id=user_id)

    return await _changed(request, _DIRECTOR, work)


@_assigning("POST", f"{_ONE}/director/unset", access=Action.VEHICLE_ASSIGN_DIRECTOR)
async def unset_director(request: Call) -> Response[bytes]:
    """Remove the managing director of a vehicle."""

    def work(tx: WriteTx, by: By, vehicle_id: VehicleId, user_id: UserId, _: PreviousAssignment) -> Done:
        vehicle = service.unset_director(tx, **by, vehicle_id=vehicle_id, director_id=user_id)
        return Done(vehicle=vehicle, before_id=user_id, now_id=None)

    return await _changed(request, _DIRECTOR, work)


@_assigning("POST", f"{_ONE}/driver", access=Action.VEHICLE_ASSIGN_DRIVER, refuses=(AssignedMeanwhile, *_NO_LOG_IN))
async def set_driver(request: Call) -> Response[bytes]:
    """Assign the current driver of a vehicle."""

    def work(tx: WriteTx, by: By, vehicle_id: VehicleId, user_id: UserId, seen: PreviousAssignment) -> Done:
        before_id = records.read(tx, actor=by["actor"], vehicle_id=vehicle_id).current_driver_id
        person = service.chosen(tx, actor=by["actor"], user_id=user_id)
        vehicle, sensors = service.set_driver(tx, **by, vehicle_id=vehicle_id, driver_id=user_id, seen=seen)
        could = _could_return(tx, by, vehicle, before_id)
        return Done(
            vehicle=vehicle, before_id=before_id, now_id=user_id, could_return=could, person=person, sensors=sensors
        )

    return await _changed(request, _DRIVER, work)


@_assigning("POST", f"{_ONE}/driver/unset", access=Action.VEHICLE_ASSIGN_DRIVER)
async def unset_driver(request: Call) -> Response[bytes]:
    """Remove the current driver of a vehicle."""

    def work(tx: WriteTx, by: By, vehicle_id: VehicleId, user_id: UserId, _: PreviousAssignment) -> Done:
        vehicle, sensors = service.unset_driver(tx, **by, vehicle_id=vehicle_id, driver_id=user_id)
        could = _could_return(tx, by, vehicle, user_id)
        return Done(vehicle=vehicle, before_id=user_id, now_id=None, could_return=could, sensors=sensors)

    return await _changed(request, _DRIVER, work)


async def _changed(
    request: Call, what: str, work: Callable[[WriteTx, By, VehicleId, UserId, PreviousAssignment], Done]
) -> Response[bytes]:
    """Do the work and go to the vehicle's page, or show the choice again. Notifies the pipeline of the change."""
    form, visitor = await forms.read(request), await visitor_of(request)
    context, vehicle_id = context_of(request), parameters.vehicle_id(request)
    user_id, seen = choices.person(form), _seen(form)
    try:
        done = await context.store.write(
            lambda tx: work(tx, changes.by(request, visitor.actor), vehicle_id, user_id, seen)
        )
    except AssignedMeanwhile as refusal:
        return await _choose(request, what, chosen_id=user_id, error=refusal)
    # An unassigning form names the person shown at rendering.
    except vehicles.OtherDirector:
        return await _choose(request, what, error=AssignedMeanwhile("director"))
    except vehicles.OtherDriver:
        return await _choose(request, what, error=AssignedMeanwhile("driver"))
    except _NO_LOG_IN as refusal:
        return await _choose(request, what, error=refusal)
    notifications.send(context.signals, notifications.sensors_changed(done.sensors))
    return views.moved(
        request,
        f"/fleet/vehicles/{done.vehicle.id}",
        notice=_TEXTS + _told(what, done),
        undo=_undo(what, done),
        number=done.vehicle.vehicle_no,
        other=(done.person and done.person.drives_no) or "",
    )


def _could_return(tx: ReadTx, by: By, vehicle: Vehicle, before_id: UserId | None) -> bool:
    return before_id is None or service.could_drive(tx, actor=by["actor"], vehicle=vehicle, driver_id=before_id)


def _told(what: str, done: Done) -> str:
    """Key of the notice; some notices mention effects that undo does not restore."""
    text = f"{what}_unset" if done.now_id is None else f"{what}_set"
    if not done.could_return:
        return f"{text}.for_good"
    left = None if done.person is None else done.person.drives
    if left in (None, done.vehicle.id):
        return text
    return f"{text}.left" if done.person and done.person.drives_no else f"{text}.left_hidden"


def _undo(what: str, done: Done) -> Undo | None:
    """The form that restores the previous assignment, unless it changes again meanwhile; None if impossible."""
    if done.before_id == done.now_id or not done.could_return:
        return None
    path = f"/fleet/vehicles/{done.vehicle.id}/{what}"
    if done.before_id is None:
        return Undo(f"{path}/unset", {choices.PERSON: done.now_id or ""})
    return Undo(path, {choices.PERSON: done.before_id, choices.SHOWN_ID: done.now_id or "", _DRIVES: ""})


async def _choose(
    request: Call, what: str, *, chosen_id: UserId | None = None, error: Refusal | None = None
) -> Response[bytes]:
    """The page to choose a person; `chosen_id` preselects one."""
    wanted = choices.asked(request, role=Authority.DIRECTOR if what == _DIRECTOR else None)
    visitor, found = await visitor_and(
        request,
        lambda tx, visitor: service.to_assign(
            tx,
            actor=visitor.actor,
            post=_POSTS[what],
            vehicle_id=parameters.vehicle_id(request),
            role=wanted.role,
            search=wanted.search,
            page_request=wanted.page_request,
            chosen_id=chosen_id,
        ),
        short=False,
    )
    vehicle = found.vehicle
    path = f"/fleet/vehicles/{vehicle.id}"
    # Not the requested address: a refused form was sent to one without a page.
    here = f"{path}/{what}"
    kept = [] if found.chosen is None else [(choices.CHOSEN, found.chosen.id)]
    return views.show(
        request,
        "vehicles/assign.html",
        title=_TEXTS + what,
        error=error,
        what=what,
        now_id=vehicle.director_id if what == _DIRECTOR else vehicle.current_driver_id,
        now=found.now,
        up=path,
        here_path=here,
        # A refused choice is shown on the same page of people.
        action=addresses.of(here, [each for each in request.query_params.multi_items() if each[0] != choices.CHOSEN]),
        **choices.values(visitor, wanted, found, here, kept, has_roles=what == _DRIVER),
    )


def _seen(form: forms.Form) -> PreviousAssignment:
    """The assignment at rendering; an empty field is None. Raises `BadParameter`."""
    shown_id, drives = choices.shown_id(form), form.text(_DRIVES)
    return PreviousAssignment(shown_id, VehicleId(fields.uuid(_DRIVES, drives)) if drives else None)

"""Taking a vehicle to drive it, and giving it back: the page that the code in its cab leads to.

The code grants nothing: the rules of spec/rest 9.1 decide, as over REST and on the vehicle's page.
"""

from functools import partial
from typing import Final

from litestar.response import Response

from tripline.domain import vehicles
from tripline.domain.access import Action
from tripline.domain.ids import SensorId
from tripline.domain.refusals import Kind, Refusal
from tripline.domain.vehicles import PreviousAssignment, Vehicle
from tripline.http import changes, parameters
from tripline.http.context import Call, context_of
from tripline.language import catalogue
from tripline.portal.driving.home import PATH
from tripline.portal.frame import forms, views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_and, visitor_of
from tripline.portal.records import choices
from tripline.services import notifications
from tripline.services.fleet import assignments
from tripline.services.fleet.assignments import Chosen, Taking
from tripline.store.transactions import ReadTx, WriteTx

_TEXTS: Final = "portal.driving."
_AGAIN: Final = (vehicles.NotActivated, vehicles.Occupied, vehicles.AssignedMeanwhile, vehicles.OtherDriver)
"""Refusals that the page shows with the vehicle's present state."""


@page("GET", f"{PATH}/{{vehicleId}}", access=Action.VEHICLE_DRIVE)
async def ask(request: Call) -> Response[bytes]:
    """Ask whether to take the vehicle, or to give it back."""
    return await _ask(request)


@page("POST", f"{PATH}/{{vehicleId}}", access=Action.VEHICLE_DRIVE, refuses=_AGAIN)
async def take(request: Call) -> Response[bytes]:
    """Take the vehicle; ends the visitor's driving elsewhere."""
    form, visitor = await forms.read(request), await visitor_of(request)
    context, own = context_of(request), visitor.actor.user_id
    shown_id, by = choices.shown_id(form), changes.by(request, visitor.actor)

    def work(tx: WriteTx) -> tuple[Vehicle, list[SensorId], Chosen | None]:
        person = assignments.chosen(tx, actor=visitor.actor, user_id=own)
        vehicle, sensors = assignments.set_driver(
            tx,
            **by,
            vehicle_id=parameters.vehicle_id(request),
            driver_id=own,
            seen=PreviousAssignment(shown_id, None if person is None else person.drives),
        )
        return vehicle, sensors, person

    try:
        vehicle, sensors, person = await context.store.write(work)
    except _AGAIN as refusal:
        return await _ask(request, error=refusal)
    except Refusal as refusal:
        return _refused(request, refusal)
    notifications.send(context.signals, notifications.sensors_changed(sensors))
    left = None if person is None or person.drives == vehicle.id else person.drives_no
    notice = "taken" if left is None else "taken_left"
    return views.moved(request, PATH, notice=_TEXTS + notice, number=vehicle.vehicle_no, other=left or "")


@page("POST", f"{PATH}/{{vehicleId}}/back", access=Action.VEHICLE_DRIVE, refuses=_AGAIN)
async def give_back(request: Call) -> Response[bytes]:
    """Give the vehicle back."""
    await forms.read(request)
    context, visitor = context_of(request), await visitor_of(request)
    by, vehicle_id, own = changes.by(request, visitor.actor), parameters.vehicle_id(request), visitor.actor.user_id
    work = partial(assignments.unset_driver, **by, vehicle_id=vehicle_id, driver_id=own)
    try:
        vehicle, sensors = await context.store.write(work)
    except _AGAIN as refusal:
        return await _ask(request, error=refusal)
    except Refusal as refusal:
        return _refused(request, refusal)
    notifications.send(context.signals, notifications.sensors_changed(sensors))
    return views.moved(request, PATH, notice=f"{_TEXTS}given_back", number=vehicle.vehicle_no)


async def _ask(request: Call, *, error: Refusal | None = None) -> Response[bytes]:
    def work(tx: ReadTx, visitor: Visitor) -> Taking | Refusal:
        try:
            return assignments.to_take(tx, actor=visitor.actor, vehicle_id=parameters.vehicle_id(request))
        except Refusal as refusal:
            return refusal

    visitor, found = await visitor_and(request, work)
    if isinstance(found, Refusal):
        return _refused(request, found)
    vehicle, own = found.vehicle, visitor.actor.user_id
    is_own = vehicle.current_driver_id == own
    title = visitor.say(_TEXTS + ("drives" if is_own else "take_title"), number=vehicle.vehicle_no)
    return views.show(
        request,
        "driving/take.html",
        title=views.Plain(title),
        error=error,
        vehicle=vehicle,
        is_own=is_own,
        driver=found.driver,
        leaves=found.own if found.own is not None and found.own.drives not in (None, vehicle.id) else None,
        refusal=None if found.refusal is None else catalogue.sentence(found.refusal, visitor.language, label=""),
        base=f"{PATH}/{vehicle.id}",
        up=PATH,
    )


def _refused(request: Call, refusal: Refusal) -> Response[bytes]:
    """The vehicle is out of the visitor's reach, or deleted. Raises any other refusal."""
    if refusal.kind not in (Kind.PERMISSION, Kind.NOT_FOUND):
        raise refusal
    is_gone = refusal.kind is Kind.NOT_FOUND
    return views.show(
        request,
        "driving/refused.html",
        title=_TEXTS + ("gone" if is_gone else "not_permitted"),
        status=404 if is_gone else 403,
        text=_TEXTS + ("gone_text" if is_gone else "not_permitted_text"),
        up=PATH,
    )

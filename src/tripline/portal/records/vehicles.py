"""Pages of a vehicle: its record and relations, registering, changing and deleting it, and its history."""

from typing import Final

from litestar.response import Response

from tripline.domain import access, vehicles
from tripline.domain.access import Action, Thing
from tripline.domain.ids import VehicleId
from tripline.domain.refusals import Refusal
from tripline.domain.scores import WhyNot
from tripline.domain.vehicles import Registration, Vehicle, VehicleEvent
from tripline.http import changes, parameters
from tripline.http.changes import By
from tripline.http.context import Call, context_of, fleet_of
from tripline.portal.frame import deletions, forms, navigation, record_forms, views, words
from tripline.portal.frame.deletions import Doomed
from tripline.portal.frame.notices import Undo
from tripline.portal.frame.page import page
from tripline.portal.frame.record_forms import FormValues
from tripline.portal.frame.visitors import Visitor, visitor_and, visitor_in, visitor_of
from tripline.portal.records import histories
from tripline.portal.records.histories import Lines
from tripline.services.fleet import goes_with, overviews
from tripline.services.fleet import vehicles as service
from tripline.services.fleet.overviews import VehicleOverview
from tripline.services.notifications import Notification
from tripline.store.devices.connections import Connection
from tripline.store.listing.sensors import Heard
from tripline.store.transactions import ReadTx, WriteTx
from tripline.wire.csv_registrations import VEHICLES as SHEET

FIELDS: Final = record_forms.columns(SHEET)
LABELS: Final = words.labels(FIELDS)
LIST: Final = navigation.VEHICLES
_CHOICES: Final = {
    "missionType": vehicles.MISSION_TYPES,
    "fuelType": vehicles.FUEL_TYPES,
    "category": vehicles.CATEGORIES,
}
_WHY: Final = {
    WhyNot.NO_POSITION: "portal.vehicles.why.no_position",
    WhyNot.NO_SAMPLES: "portal.vehicles.why.no_samples",
}
"""Texts for reasons that commands explain with the name of a setting."""
_HELPED: Final = ("vehicleNo", "mileage", "category", "fuelType", "usage")
"""Fields with a help text."""


@page("GET", "/fleet/vehicles/new", access=Action.VEHICLE_CREATE)
async def new(request: Call) -> Response[bytes]:
    """The form to register a vehicle."""
    visitor = await visitor_of(request)
    access.company_of(visitor.actor)
    return _form(request, visitor, record_forms.shown(dict.fromkeys(FIELDS, "")))


@page("POST", "/fleet/vehicles/new", access=Action.VEHICLE_CREATE, refuses=(vehicles.NumberTaken,))
async def register(request: Call) -> Response[bytes]:
    """Register a vehicle."""
    form = await forms.read(request)
    context, visitor = context_of(request), await visitor_of(request)
    access.company_of(visitor.actor)

    def work(tx: WriteTx) -> Vehicle:
        said = record_forms.values(SHEET, record_forms.typed(form, FIELDS), vehicles.registration)
        return service.register(tx, **changes.by(request, visitor.actor), registration=vehicles.registration(**said))

    try:
        made = await context.store.write(work)
    except Refusal as refusal:
        return _form(request, visitor, record_forms.refilled(form, FIELDS), error=forms.of_form(refusal))
    return views.moved(request, _path(made.id), notice="portal.vehicles.registered", number=made.vehicle_no)


@page("GET", "/fleet/vehicles/{vehicleId}", access=Action.VEHICLE_READ)
async def detail(request: Call) -> Response[bytes]:
    """A vehicle, its relations, and its recent history."""

    def work(tx: ReadTx, visitor: Visitor) -> tuple[VehicleOverview, Lines | None]:
        vehicle_id = parameters.vehicle_id(request)
        found = overviews.vehicle(tx, actor=visitor.actor, vehicle_id=vehicle_id)
        return found, histories.beside(tx, visitor, Thing.VEHICLE, vehicle_id, found.may)

    visitor, (found, lines) = await visitor_and(request, work)
    return views.show(
        request,
        "vehicles/detail.html",
        title=views.Plain(found.vehicle.vehicle_no),
        found=found,
        vehicle=found.vehicle,
        values={
            name: words.value(visitor, name, value)
            for name, value in record_forms.published(SHEET, found.vehicle, Registration).items()
        },
        heard={
            each.id: _heard(found.connections.get(each.id), fleet_of(request).heard_of(each.id))
            for each in found.sensors
        },
        no_score=_no_score(visitor, found),
        may={action.value for action in found.may},
        history=lines,
        list_path=LIST,
    )


@page("GET", "/fleet/vehicles/{vehicleId}/edit", access=Action.VEHICLE_MODIFY)
async def edit(request: Call) -> Response[bytes]:
    """The form to change a vehicle."""
    visitor, vehicle = await _found(request)
    return _form(request, visitor, record_forms.shown(texts(vehicle)), vehicle=vehicle)


@page("POST", "/fleet/vehicles/{vehicleId}/edit", access=Action.VEHICLE_MODIFY, refuses=(vehicles.NumberTaken,))
async def change(request: Call) -> Response[bytes]:
    """Change a vehicle; refused if the record was changed meanwhile."""
    form = await forms.read(request)
    visitor, vehicle = await _found(request)
    said = record_forms.typed(form, FIELDS)

    def apply(tx: WriteTx, now: Vehicle) -> Vehicle:
        named = record_forms.values(SHEET, said, lambda **named: vehicles.changed(now, named))
        return service.modify(tx, **changes.by(request, visitor.actor), vehicle_id=now.id, named=named)

    after = await record_forms.saved(
        request,
        visitor,
        said,
        vehicle,
        find=lambda tx: _vehicle(tx, request, visitor, Action.VEHICLE_MODIFY),
        texts=texts,
        apply=apply,
        show=lambda now, shown, error: _form(request, visitor, shown, vehicle=now, error=error),
    )
    if isinstance(after, Response):
        return after
    return views.moved(request, _path(after.id), notice="portal.vehicles.saved", number=after.vehicle_no)


@page("GET", "/fleet/vehicles/{vehicleId}/delete", access=Action.VEHICLE_DELETE)
async def ask_to_delete(request: Call) -> Response[bytes]:
    """Ask before a vehicle is deleted, and show the effects."""
    return await deletions.ask(request, _to_delete)


@page("POST", "/fleet/vehicles/{vehicleId}/delete", access=Action.VEHICLE_DELETE)
async def delete(request: Call) -> Response[bytes]:
    """Delete a vehicle and its dependent records."""

    def work(tx: WriteTx, by: By, vehicle: Vehicle) -> tuple[Notification, ...]:
        return service.delete(tx, **by, vehicle_id=vehicle.id)

    return await deletions.carried_out(request, _to_delete, work, notice="portal.vehicles.deleted")


@page("GET", "/fleet/vehicles/{vehicleId}/history", access=Action.VEHICLE_HISTORY_READ)
async def whole_history(request: Call) -> Response[bytes]:
    """The whole history of a vehicle; also of a deleted one."""
    return await histories.whole(request, Thing.VEHICLE, "vehicleId", base=LIST)


@page("POST", "/fleet/vehicles/{vehicleId}/activate", access=Action.VEHICLE_ACTIVATE)
async def activate(request: Call) -> Response[bytes]:
    """Activate a vehicle: drivers may take it."""
    notices = ("portal.vehicles.activated", "portal.vehicles.activated_already")
    return await _moved(request, VehicleEvent.ACTIVATE, notices, undo="deactivate")


@page("POST", "/fleet/vehicles/{vehicleId}/deactivate", access=Action.VEHICLE_ACTIVATE)
async def deactivate(request: Call) -> Response[bytes]:
    """Deactivate a vehicle: no further driver may take it."""
    notices = ("portal.vehicles.deactivated", "portal.vehicles.deactivated_already")
    return await _moved(request, VehicleEvent.DEACTIVATE, notices, undo="activate")


def texts(vehicle: Vehicle) -> dict[str, str]:
    """The form's initial values."""
    return {
        name: words.text(words.given(name, value))
        for name, value in record_forms.published(SHEET, vehicle, Registration).items()
    }


def _heard(known: Connection | None, here_ms: int | None) -> tuple[str, int | None]:
    """Return a device's connection state, as in the list's filter, and the time of its last message. `known` is the
    stored state; `here_ms` the time of the last message if the device is connected to this process.
    """
    if here_ms is not None:
        return Heard.CONNECTED.value, here_ms
    if known is None or not (known.connected or known.lost_ms is not None):
        return Heard.NEVER.value, None
    return (Heard.CONNECTED if known.connected else Heard.AWAY).value, known.seen_ms


def _no_score(visitor: Visitor, found: VehicleOverview) -> str | None:
    """The reason why the newest trip has no score; None without a trip, during it, or if it has a score."""
    trip = found.outcome
    if trip is None or trip.under_way or trip.score is not None:
        return None
    if trip.why_not is None:
        return visitor.say("portal.vehicles.score_waits")
    own = _WHY.get(trip.why_not)
    return visitor.say("portal.vehicles.no_score", why=trip.why_not if own is None else visitor.say(own))


async def _moved(request: Call, event: VehicleEvent, notices: tuple[str, str], *, undo: str) -> Response[bytes]:
    """Apply the event and go to the vehicle's page. `notices` are the texts for a change and for no change."""
    await forms.read(request)
    context, visitor = context_of(request), await visitor_of(request)
    vehicle_id = parameters.vehicle_id(request)
    vehicle, has_changed = await context.store.write(
        lambda tx: service.move(tx, **changes.by(request, visitor.actor), vehicle_id=vehicle_id, event=event)
    )
    path = _path(vehicle_id)
    told, already = notices
    if not has_changed:
        return views.moved(request, path, notice=already, number=vehicle.vehicle_no)
    return views.moved(request, path, notice=told, undo=Undo(f"{path}/{undo}"), number=vehicle.vehicle_no)


def _form(
    request: Call, visitor: Visitor, shown: FormValues, *, vehicle: Vehicle | None = None, error: Refusal | None = None
) -> Response[bytes]:
    return views.show(
        request,
        "vehicles/form.html",
        title="portal.vehicles.new" if vehicle is None else "portal.vehicles.edit",
        error=error,
        labels=LABELS,
        shown=shown,
        vehicle=vehicle,
        up=LIST if vehicle is None else _path(vehicle.id),
        fields=FIELDS,
        required=SHEET.required,
        choices={name: words.options(visitor, values) for name, values in _CHOICES.items()},
        helped=_HELPED,
        units=words.UNITS,
    )


async def _found(request: Call) -> tuple[Visitor, Vehicle]:
    return await visitor_and(request, lambda tx, visitor: _vehicle(tx, request, visitor, Action.VEHICLE_MODIFY))


def _vehicle(tx: ReadTx, request: Call, visitor: Visitor, action: Action) -> Vehicle:
    return service.find(tx, actor=visitor.actor, action=action, vehicle_id=parameters.vehicle_id(request))


def _to_delete(tx: ReadTx, request: Call) -> tuple[Visitor, Doomed[Vehicle]]:
    visitor = visitor_in(tx, request)
    vehicle = _vehicle(tx, request, visitor, Action.VEHICLE_DELETE)
    goes, title, up = goes_with.vehicle(tx, vehicle.id), "portal.vehicles.delete", _path(vehicle.id)
    return visitor, Doomed(vehicle, "vehicle", vehicle.vehicle_no, goes, title, up, list_path=LIST)


def _path(vehicle_id: VehicleId) -> str:
    return f"{LIST}/{vehicle_id}"

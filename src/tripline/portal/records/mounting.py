"""Pages that mount a sensor on a vehicle, unmount it, and show the progress of its device's activation.

An activation is requested, not awaited: its page refreshes itself until the result is final; without scripts the
visitor reloads it.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from litestar.response import Response

from tripline.domain import access, fields, sensors
from tripline.domain.access import Action, Thing
from tripline.domain.activations import Step
from tripline.domain.ids import RequestId, VehicleId, ms_of_no
from tripline.domain.refusals import BadParameter, NotFound, Refusal
from tripline.domain.rpc import StoredCall
from tripline.domain.sensors import Sensor
from tripline.domain.vehicles import Vehicle
from tripline.http import changes, parameters
from tripline.http.context import Call, context_of, rpc_of
from tripline.portal.frame import addresses, deletions, digests, forms, views
from tripline.portal.frame.deletions import GoesChanged
from tripline.portal.frame.notices import Undo
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_and, visitor_in, visitor_of
from tripline.services import admission, notifications
from tripline.services.fleet import goes_with, lists, vehicles
from tripline.services.fleet import sensors as service
from tripline.services.rpc import activation as rpc_activation
from tripline.services.rpc import requests
from tripline.services.rpc.activation import Progress
from tripline.store.listing.pages import Page, PageRequest
from tripline.store.listing.sensors import Filters, ListedSensor
from tripline.store.lists import Span, UnknownOffset, Window
from tripline.store.transactions import ReadTx, WriteTx

CALLS: Final = 25
SENSORS: Final = 20
"""Sensors to choose from; a search by serial number finds the others."""
SUGGESTED: Final = 20
"""Vehicle numbers suggested by the form."""
NUMBERS: Final = "f-vehicleNo-list"
"""The form's element with the suggestions."""
FAST_S: Final = 1
SLOW_S: Final = 5
"""Refresh interval of an activation whose device did not answer in time."""
_BADGES: Final = {
    Step.REQUESTED: "busy",
    Step.SILENT: "warning",
    Step.ACKNOWLEDGED: "busy",
    Step.DONE: "good",
    Step.REFUSED: "bad",
    Step.UNDELIVERED: "bad",
    Step.CANCELLED: "idle",
    Step.SUPERSEDED: "idle",
}


class Placed(msgspec.Struct, frozen=True):
    """A sensor, and its pending activation."""

    sensor: Sensor
    awaited: RequestId | None

    @property
    def digest(self) -> str:
        activation = str(self.sensor.activation_required)
        return digests.of({"on": self.sensor.vehicle_id or "", "awaited": self.awaited or "", "activation": activation})


class Leaving(msgspec.Struct, frozen=True, kw_only=True):
    """A sensor to unmount, or whose activation to cancel."""

    placed: Placed
    awaited_no: str | None
    """Number of the vehicle that the activation is for."""
    counts: Mapping[str, int]
    """Counts of records that end when the sensor is unmounted."""

    @property
    def ends_anything(self) -> bool:
        return self.placed.sensor.vehicle_id is not None or self.placed.awaited is not None

    @property
    def digest(self) -> str:
        counts = {what: str(count) for what, count in self.counts.items()}
        return digests.of({"placed": self.placed.digest, "for": self.awaited_no or "", **counts})


@page("GET", "/fleet/sensors/{sensorId}/mount", access=Action.SENSOR_MOUNT)
async def choose(request: Call) -> Response[bytes]:
    """Choose the vehicle for the sensor, with suggestions for the typed beginning of its number."""
    typed = addresses.text(request, "vehicleNo")

    def work(tx: ReadTx) -> tuple[Placed, str, list[str]]:
        visitor = visitor_in(tx, request)
        number = typed or _number_asked(tx, request, visitor)
        return _placed(tx, request, visitor), number, _numbers(tx, visitor, number)

    placed, number, numbers = await context_of(request).store.read_short(work)
    if views.target_of(request) == NUMBERS:
        title = "portal.mounting.mount"
        return views.show(request, "mounting/numbers.html", title=title, fragment="numbers", numbers=numbers)
    return _form(request, placed, number=number, numbers=numbers)


@page("GET", "/fleet/vehicles/{vehicleId}/sensor", access=Action.SENSOR_MOUNT)
async def choose_sensor(request: Call) -> Response[bytes]:
    """Choose the sensor to mount on a vehicle."""
    asked = addresses.text(request, "q")

    def work(tx: ReadTx) -> tuple[Vehicle, Page[ListedSensor]]:
        visitor = visitor_in(tx, request)
        vehicle_id = parameters.vehicle_id(request)
        vehicle = vehicles.read(tx, actor=visitor.actor, vehicle_id=vehicle_id)
        own = access.company_of(visitor.actor)
        filters = Filters(search=asked or None, mounted=False, company_id=own)
        page_request = PageRequest(limit=SENSORS, by="serial")
        return vehicle, lists.SENSORS.page(tx, actor=visitor.actor, filters=filters, page_request=page_request)

    vehicle, found = await context_of(request).store.read(work)
    return views.show(
        request,
        "mounting/choose.html",
        title="portal.mounting.choose",
        vehicle=vehicle,
        asked=asked,
        sensors=found.rows,
        more=found.more_behind,
    )


@page("POST", "/fleet/sensors/{sensorId}/mount", access=Action.SENSOR_MOUNT)
async def mount(request: Call) -> Response[bytes]:
    """Mount the sensor, or first have its device activate itself."""
    form = await forms.read(request)
    visitor = await visitor_of(request)
    context = context_of(request)
    sensor_id, number = parameters.sensor_id(request), form.text("vehicleNo")

    def look(tx: ReadTx) -> None:
        now = _placed(tx, request, visitor)
        # For a mounted sensor, a later refusal names the vehicle.
        if now.sensor.vehicle_id is None and form.text("digest") != now.digest:
            raise GoesChanged("mounting")

    try:
        vehicle_id = await context.store.read_short(lambda tx: _vehicle(tx, visitor, number))
        _, call = await rpc_of(request).mounter.start(
            actor=visitor.actor, sensor_id=sensor_id, vehicle_id=vehicle_id, look=look
        )
    except Refusal as refusal:
        placed, numbers = await context.store.read_short(
            lambda tx: (_placed(tx, request, visitor), _numbers(tx, visitor, number))
        )
        return _form(request, placed, number=number, numbers=numbers, error=forms.of_form(refusal))
    path = f"/fleet/sensors/{sensor_id}"
    if call is None:
        left = await context.store.read_short(lambda tx: _leaving(tx, request, visitor))
        undo = Undo(f"{path}/unmount", {"vehicleId": vehicle_id, "digest": left.digest})
        return views.moved(request, path, notice="portal.mounting.mounted", undo=undo, number=number)
    return views.moved(request, f"{path}/mount/{call.id}")


@page("GET", "/fleet/sensors/{sensorId}/mount/{requestId}", access=Action.RPC_READ)
async def progress(request: Call) -> Response[bytes]:
    """Progress of the activation of the sensor's device."""

    def work(tx: ReadTx, visitor: Visitor) -> Progress:
        sensor_id = parameters.sensor_id(request)
        request_id = RequestId(parameters.path_id(request, "requestId"))
        return rpc_activation.read(tx, actor=visitor.actor, sensor_id=sensor_id, request_id=request_id)

    visitor, found = await visitor_and(request, work)
    return views.show(
        request,
        "mounting/progress.html",
        title="portal.mounting.progress",
        fragment="progress",
        progress=found,
        badge=_BADGES[found.step],
        seconds=SLOW_S if found.step is Step.SILENT else FAST_S,
        may_mount=visitor.may(Action.SENSOR_MOUNT) and found.sensor.company_id == visitor.actor.company_id,
    )


@page("GET", "/fleet/sensors/{sensorId}/unmount", access=Action.SENSOR_MOUNT)
async def ask_to_unmount(request: Call) -> Response[bytes]:
    """Ask before the sensor is unmounted, and show the effects."""
    visitor, leaving = await visitor_and(request, lambda tx, visitor: _leaving(tx, request, visitor))
    return _unmount_form(request, visitor, leaving)


@page("POST", "/fleet/sensors/{sensorId}/unmount", access=Action.SENSOR_MOUNT)
async def unmount(request: Call) -> Response[bytes]:
    """Unmount the sensor from the displayed vehicle, or cancel its activation."""
    form = await forms.read(request)
    visitor = await visitor_of(request)
    context = context_of(request)
    sensor_id = parameters.sensor_id(request)
    shown = form.text("vehicleId")
    vehicle_id = VehicleId(fields.uuid("vehicleId", shown)) if shown else None

    def work(tx: WriteTx) -> tuple[Leaving, Sequence[notifications.Notification], Placed]:
        before = _leaving(tx, request, visitor)
        if before.ends_anything and form.text("digest") != before.digest:
            raise GoesChanged("unmounting")
        _, told = service.unmount(tx, **changes.by(request, visitor.actor), sensor_id=sensor_id, vehicle_id=vehicle_id)
        return before, told, _placed(tx, request, visitor)

    try:
        before, told, after = await context.store.write(work)
    except (sensors.NotMounted, GoesChanged) as refusal:
        leaving = await context.store.read_short(lambda tx: _leaving(tx, request, visitor))
        return _unmount_form(request, visitor, leaving, error=refusal)
    notifications.send(context.signals, told)
    path = f"/fleet/sensors/{sensor_id}"
    undo = _undone(path, before.placed.sensor, after)
    return views.moved(request, path, notice="portal.mounting.unmounted", undo=undo)


@page("GET", "/fleet/sensors/{sensorId}/calls", access=Action.RPC_READ)
async def calls(request: Call) -> Response[bytes]:
    """Calls to the sensor's device with their answers, newest first."""

    def work(tx: ReadTx) -> tuple[Sensor, list[StoredCall]]:
        actor, sensor_id = visitor_in(tx, request).actor, parameters.sensor_id(request)
        admission.admit(tx, actor, Action.RPC_READ, Thing.SENSOR, sensor_id)
        span = Span(limit=CALLS + 1, after=addresses.text(request, "after") or None)
        try:
            found = requests.of_sensor(tx, actor=actor, sensor_id=sensor_id, span=span)
        except UnknownOffset:
            found = requests.of_sensor(tx, actor=actor, sensor_id=sensor_id, span=Span(limit=CALLS + 1))
        return service.read(tx, actor=actor, sensor_id=sensor_id), list(found)

    sensor, found = await context_of(request).store.read(work)
    return views.show(
        request,
        "mounting/calls.html",
        title="portal.mounting.calls",
        sensor=sensor,
        calls=[(each, ms_of_no(each.no)) for each in found[:CALLS]],
        after=found[CALLS - 1].id if len(found) > CALLS else None,
    )


def _undone(path: str, before: Sensor, after: Placed) -> Undo | None:
    """The form that mounts the sensor again; None if it was not mounted or its device would have to activate itself."""
    if before.vehicle_no is None or before.activation_required:
        return None
    return Undo(f"{path}/mount", {"vehicleNo": before.vehicle_no, "digest": after.digest})


def _form(
    request: Call, placed: Placed, *, number: str, numbers: Sequence[str], error: Refusal | None = None
) -> Response[bytes]:
    return views.show(
        request,
        "mounting/mount.html",
        title="portal.mounting.mount",
        error=error,
        labels={
            "vehicleNo": "portal.mounting.number",
            "fuelType": "portal.mounting.fuel",
            "missionType": "portal.mounting.transmission",
        },
        placed=placed,
        number=number,
        numbers=numbers,
    )


def _unmount_form(
    request: Call, visitor: Visitor, leaving: Leaving, *, error: Refusal | None = None
) -> Response[bytes]:
    placed = leaving.placed
    awaits = placed.awaited and not placed.sensor.vehicle_id
    goes_on = {what: count for what, count in leaving.counts.items() if what == "calls_go_on"}
    ends = {what: count for what, count in leaving.counts.items() if what not in goes_on}
    return views.show(
        request,
        "mounting/unmount.html",
        title="portal.mounting.cancel_activation" if awaits else "portal.mounting.unmount",
        error=error,
        placed=placed,
        awaited_no=leaving.awaited_no,
        ends=deletions.sentences(visitor, "sensor", ends),
        stays=[
            visitor.say("portal.mounting.stays"),
            *deletions.sentences(visitor, "sensor", goes_on),
            *([visitor.say("portal.mounting.stays.line")] if placed.sensor.line is not None else []),
        ],
        digest=leaving.digest,
    )


def _placed(tx: ReadTx, request: Call, visitor: Visitor) -> Placed:
    sensor_id = parameters.sensor_id(request)
    sensor = service.find(tx, actor=visitor.actor, action=Action.SENSOR_MOUNT, sensor_id=sensor_id)
    awaited = rpc_activation.awaited(tx, actor=visitor.actor, sensor_id=sensor_id)
    return Placed(sensor, awaited)


def _leaving(tx: ReadTx, request: Call, visitor: Visitor) -> Leaving:
    placed = _placed(tx, request, visitor)
    awaited_no = None
    if placed.awaited is not None:
        awaited_no = rpc_activation.read(
            tx, actor=visitor.actor, sensor_id=placed.sensor.id, request_id=placed.awaited
        ).vehicle_no
    return Leaving(placed=placed, awaited_no=awaited_no, counts=goes_with.unmounting(tx, placed.sensor.id))


def _vehicle(tx: ReadTx, visitor: Visitor, number: str) -> VehicleId:
    """The vehicle with the typed number. Raises `BadParameter`, also for an unknown number."""
    if not number:
        raise BadParameter.missing("vehicleNo")
    try:
        return vehicles.read_by_number(tx, actor=visitor.actor, vehicle_no=number).id
    except NotFound:
        raise BadParameter("no_vehicle", field="vehicleNo") from None


def _numbers(tx: ReadTx, visitor: Visitor, beginning: str) -> list[str]:
    """Numbers of the company's own vehicles with this beginning, up to `SUGGESTED`."""
    own = access.company_of(visitor.actor)
    window = Window(limit=SUGGESTED, search=beginning or None)
    found = vehicles.owned_by(tx, actor=visitor.actor, company_id=own, window=window)
    return [each.vehicle_no for each in found]


def _number_asked(tx: ReadTx, request: Call, visitor: Visitor) -> str:
    """The number of the vehicle in the query, if any."""
    asked = addresses.text(request, "vehicle")
    if not asked:
        return ""
    vehicle_id = VehicleId(fields.uuid("vehicle", asked))
    return vehicles.read(tx, actor=visitor.actor, vehicle_id=vehicle_id).vehicle_no

"""Pages of a sensor: its record and device, registering, changing and deleting it, its token and its history."""

from typing import Any, Final

import msgspec
from litestar.response import Response

from tripline.domain import access, sensors, vehicles
from tripline.domain.access import Action, Thing
from tripline.domain.ids import SensorId
from tripline.domain.refusals import Refusal
from tripline.domain.sensors import Registration, Sensor
from tripline.http import changes, parameters
from tripline.http.changes import By
from tripline.http.context import Call, context_of, fleet_of
from tripline.language import catalogue
from tripline.portal.frame import deletions, forms, record_forms, views, words
from tripline.portal.frame.deletions import Doomed
from tripline.portal.frame.page import page
from tripline.portal.frame.record_forms import FormValues
from tripline.portal.frame.visitors import Visitor, visitor_and, visitor_in, visitor_of
from tripline.portal.records import histories
from tripline.portal.records.histories import Lines
from tripline.services import notifications
from tripline.services.barrier import GATEWAYS
from tripline.services.fleet import goes_with, overviews, removal
from tripline.services.fleet import sensors as service
from tripline.services.fleet.overviews import SensorOverview
from tripline.services.fleet.sensors import Latest
from tripline.services.notifications import Notification
from tripline.store.transactions import ReadTx, WriteTx
from tripline.wire.csv_registrations import SENSORS as SHEET

FIELDS: Final = record_forms.columns(SHEET)
LABELS: Final = words.labels(FIELDS)
TOKEN: Final = "credentialsId"  # noqa: S105  the name of a field
TYPES: Final = ("OBD2", "ADAS", "GPS", "BLACKBOX", "DTAG", "DTG", "AVN")
"""Suggested device types; any other word is accepted too."""
LIST: Final = "/fleet/sensors"
_ENDINGS: Final = "portal.sensors.lost."
_EVENTS: Final = "portal.pushes.type."
_REFUSES: Final = (sensors.SerialTaken, sensors.CredentialsTaken)


@page("GET", "/fleet/sensors/new", access=Action.SENSOR_CREATE)
async def new(request: Call) -> Response[bytes]:
    """The form to register a sensor."""
    visitor = await visitor_of(request)
    access.company_of(visitor.actor)
    return _form(request, visitor, record_forms.shown(dict.fromkeys(FIELDS, "")))


@page("POST", "/fleet/sensors/new", access=Action.SENSOR_CREATE, refuses=_REFUSES)
async def register(request: Call) -> Response[bytes]:
    """Register a sensor."""
    form = await forms.read(request)
    context, visitor = context_of(request), await visitor_of(request)
    access.company_of(visitor.actor)

    def work(tx: WriteTx) -> Sensor:
        said = record_forms.values(SHEET, record_forms.typed(form, FIELDS), sensors.registration)
        return service.register(tx, **changes.by(request, visitor.actor), registration=sensors.registration(**said))

    try:
        made = await context.store.write(work)
    except Refusal as refusal:
        return _form(request, visitor, record_forms.refilled(form, FIELDS), error=forms.of_form(refusal))
    return views.moved(request, _path(made.id), notice="portal.sensors.registered", number=made.serial_no)


@page("GET", "/fleet/sensors/{sensorId}", access=Action.SENSOR_READ)
async def detail(request: Call) -> Response[bytes]:
    """A sensor, its device, and its recent history."""
    if views.is_partial(request) and views.target_of(request) == "connection":
        return await _renewed(request)

    def work(tx: ReadTx, visitor: Visitor) -> tuple[SensorOverview, Lines | None]:
        sensor_id = parameters.sensor_id(request)
        found = overviews.sensor(tx, actor=visitor.actor, sensor_id=sensor_id)
        return found, histories.beside(tx, visitor, Thing.SENSOR, sensor_id, found.may)

    visitor, (found, lines) = await visitor_and(request, work)
    sensor, latest, terms = found.sensor, found.latest, catalogue.of_portal(visitor.language)
    return views.show(
        request,
        "sensors/detail.html",
        title=views.Plain(sensor.serial_no),
        found=found,
        sensor=sensor,
        values={
            name: words.value(visitor, name, value)
            for name, value in record_forms.published(SHEET, sensor, Registration).items()
        },
        connection=_connection(request, visitor, sensor.id, latest),
        readings=[
            (each.name, terms.get(_EVENTS + each.name), each.updated_ms, each.payload.decode(errors="replace"))
            for each in latest.values
        ],
        may={action.value for action in found.may},
        history=lines,
        list_path=LIST,
    )


@page("GET", "/fleet/sensors/{sensorId}/token", access=Action.SENSOR_CREDENTIAL_READ)
async def token(request: Call) -> Response[bytes]:
    """The access token of a sensor, on request, for roles that may read it."""
    _, sensor = await _found(request, Action.SENSOR_CREDENTIAL_READ)
    return views.show(request, "sensors/token.html", title="portal.sensors.token", sensor=sensor, up=_path(sensor.id))


@page("GET", "/fleet/sensors/{sensorId}/edit", access=Action.SENSOR_MODIFY)
async def edit(request: Call) -> Response[bytes]:
    """The form to change a sensor."""
    visitor, sensor = await _found(request, Action.SENSOR_MODIFY)
    return _form(request, visitor, record_forms.shown(texts(sensor)), sensor=sensor)


@page("POST", "/fleet/sensors/{sensorId}/edit", access=Action.SENSOR_MODIFY, refuses=_REFUSES)
async def change(request: Call) -> Response[bytes]:
    """Change a sensor; refused if the record was changed meanwhile. An empty token field keeps the token."""
    form, context = await forms.read(request), context_of(request)
    visitor, sensor = await _found(request, Action.SENSOR_MODIFY)
    said = record_forms.typed(form, FIELDS)

    def apply(tx: WriteTx, now: Sensor) -> tuple[Sensor, Sensor]:
        typed = {name: text for name, text in said.items() if name != TOKEN or text}
        named = record_forms.values(SHEET, typed, lambda **named: sensors.modified(now, named))
        return service.modify(tx, **changes.by(request, visitor.actor), sensor_id=now.id, changes=named)

    def show(now: Sensor, shown: FormValues, error: Refusal) -> Response[bytes]:
        shown = msgspec.structs.replace(shown, texts={**shown.texts, TOKEN: said[TOKEN]})
        return _form(request, visitor, shown, sensor=now, error=error)

    saved = await record_forms.saved(
        request,
        visitor,
        # No page shows the token, so it is not compared.
        {**said, TOKEN: ""},
        sensor,
        find=lambda tx: _sensor(tx, request, visitor, Action.SENSOR_MODIFY),
        texts=texts,
        apply=apply,
        show=show,
    )
    if isinstance(saved, Response):
        return saved
    was, after = saved
    if after.credentials_id != was.credentials_id:
        notifications.send(context.signals, notifications.credential_ended(after.id))
        await fleet_of(request).settling.settled(GATEWAYS)
    if after.type != was.type:
        notifications.send(context.signals, notifications.sensors_changed([after.id]))
    return views.moved(request, _path(after.id), notice="portal.sensors.saved", number=after.serial_no)


@page("GET", "/fleet/sensors/{sensorId}/delete", access=Action.SENSOR_DELETE)
async def ask_to_delete(request: Call) -> Response[bytes]:
    """Ask before a sensor is deleted, and show the effects."""
    return await deletions.ask(request, _to_delete)


@page("POST", "/fleet/sensors/{sensorId}/delete", access=Action.SENSOR_DELETE)
async def delete(request: Call) -> Response[bytes]:
    """Delete a sensor; its device is disconnected."""

    def work(tx: WriteTx, by: By, sensor: Sensor) -> tuple[Notification, ...]:
        return removal.remove_sensor(tx, **by, sensor_id=sensor.id)

    return await deletions.carried_out(request, _to_delete, work, notice="portal.sensors.deleted", settles=GATEWAYS)


@page("GET", "/fleet/sensors/{sensorId}/history", access=Action.SENSOR_HISTORY_READ)
async def whole_history(request: Call) -> Response[bytes]:
    """The whole history of a sensor; also of a deleted one."""
    return await histories.whole(request, Thing.SENSOR, "sensorId", base=LIST)


def texts(sensor: Sensor) -> dict[str, str]:
    """The form's initial values, without the token."""
    filled = {name: words.text(value) for name, value in record_forms.published(SHEET, sensor, Registration).items()}
    return {**filled, "activationRequired": record_forms.FLAGS[sensor.activation_required], TOKEN: ""}


async def _renewed(request: Call) -> Response[bytes]:
    """The current connection state, for a page that refreshes it."""
    sensor_id = parameters.sensor_id(request)
    visitor, latest = await visitor_and(
        request, lambda tx, visitor: service.latest(tx, actor=visitor.actor, sensor_id=sensor_id)
    )
    connection = _connection(request, visitor, sensor_id, latest)
    if views.is_shown(request, connection["state"]):
        return views.unchanged()
    return views.show(
        request,
        "sensors/connection.html",
        title="portal.sensors.connection",
        fragment="connection",
        connection=connection,
    )


def _connection(request: Call, visitor: Visitor, sensor_id: SensorId, latest: Latest) -> dict[str, Any]:
    """The state of a device's connection, and its digest, to detect changes."""
    here_ms = fleet_of(request).heard_of(sensor_id)
    connected = here_ms is not None or latest.held_by not in (None, fleet_of(request).node.id)
    heard_ms, why = latest.heard_ms if here_ms is None else here_ms, latest.lost_reason
    known = {
        "connected": connected,
        "heard_ms": heard_ms,
        "lost_ms": latest.lost_ms,
        "lost_reason": why and catalogue.of_portal(visitor.language).get(_ENDINGS + why, why),
        # As in the list's filter.
        "standing": "connected" if connected else "never" if heard_ms is None else "away",
    }
    return {**known, "state": views.state_of(known)}


def _form(
    request: Call, visitor: Visitor, shown: FormValues, *, sensor: Sensor | None = None, error: Refusal | None = None
) -> Response[bytes]:
    return views.show(
        request,
        "sensors/form.html",
        title="portal.sensors.new" if sensor is None else "portal.sensors.edit",
        error=error,
        labels=LABELS,
        shown=shown,
        sensor=sensor,
        up=LIST if sensor is None else _path(sensor.id),
        missions=words.options(visitor, vehicles.MISSION_TYPES),
        types=TYPES,
    )


async def _found(request: Call, action: Action) -> tuple[Visitor, Sensor]:
    """The visitor, and the sensor in the path to which the visitor may do this."""
    return await visitor_and(request, lambda tx, visitor: _sensor(tx, request, visitor, action))


def _sensor(tx: ReadTx, request: Call, visitor: Visitor, action: Action) -> Sensor:
    return service.find(tx, actor=visitor.actor, action=action, sensor_id=parameters.sensor_id(request))


def _to_delete(tx: ReadTx, request: Call) -> tuple[Visitor, Doomed[Sensor]]:
    visitor = visitor_in(tx, request)
    sensor = _sensor(tx, request, visitor, Action.SENSOR_DELETE)
    goes = {**goes_with.sensor(tx, sensor.id), "lines": int(sensor.line is not None)}
    title, up, on = "portal.sensors.delete", _path(sensor.id), sensor.vehicle_no
    return visitor, Doomed(sensor, "sensor", sensor.serial_no, goes, title, up, list_path=LIST, on=on)


def _path(sensor_id: SensorId) -> str:
    return f"{LIST}/{sensor_id}"

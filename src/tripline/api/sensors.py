"""Registering, finding, changing, listing, counting and deleting sensors (spec/rest 7.4)."""

from typing import Final

import msgspec
from litestar.types import ASGIApp

from tripline.api import counts
from tripline.domain import access, sensors
from tripline.domain.access import Action, Actor, Thing
from tripline.domain.refusals import BadParameter
from tripline.domain.sensors import Sensor
from tripline.http import answers, changes, pages, parameters, permission, reads
from tripline.http.context import Call, context_of, fleet_of
from tripline.http.operations import Value, operation
from tripline.services import admission, notifications
from tripline.services.barrier import GATEWAYS
from tripline.services.fleet import removal
from tripline.services.fleet import sensors as service
from tripline.store.transactions import ReadTx, WriteTx
from tripline.wire.rest import bodies as rest_bodies
from tripline.wire.rest import latest_values as rest_latest_values
from tripline.wire.rest import read_only as rest_read_only
from tripline.wire.rest import sensors as rest_sensors
from tripline.wire.rest.base import Count, Page

_ONE_OF: Final = (
    Value(
        "serialNo",
        str,
        "serial number of the device, in full; blanks, letter case and invisible characters do not matter",
        "SN-0001",
    ),
    Value("mdn", str, "telephone number of a carrier-linked device", "01212345678"),
)
_MOUNTED: Final = Value("mounted", bool, "true: only those on a vehicle, false: only those on none", False)
_CONNECTED: Final = Value(
    "connected", bool, "true: only those whose device is connected, false: only those whose device is not", False
)


@operation(
    "POST",
    "/api/tre/v1/sensor",
    access=Action.SENSOR_CREATE,
    request=rest_sensors.SensorRequest,
    required=("serialNo", "type", "credentialsId"),
    answer=rest_sensors.SensorRecord,
    refuses=(sensors.SerialTaken, sensors.CredentialsTaken),
)
async def register(request: Call) -> ASGIApp:
    """A sensor of the caller's company, on no vehicle yet.

    `additionalInfo` as an object registers a carrier-linked device, which need not have `credentialsId`; its line is
    opened by the carrier, which alone writes `mdn`, `nwStatus`, `subscription`, `imsi` and `iccid`: they are refused.
    """
    actor = await permission.permitted(request)
    access.company_of(actor)
    body = await parameters.json_object(request)
    sent = rest_bodies.read(body, rest_sensors.SensorRequest)
    said = rest_sensors.registration_fields(msgspec.structs.asdict(sent))
    registration = sensors.registration(linked=isinstance(sent.additional_info, rest_sensors.CarrierInfo), **said)

    def work(tx: WriteTx) -> rest_sensors.SensorRecord:
        new = service.register(tx, **changes.by(request, actor), registration=registration)
        rest_sensors.require_carriers_own(sent.additional_info, new)
        return rest_read_only.registered(body, rest_sensors.SensorRequest, rest_sensors.sensor_record(new))

    return answers.ok(await context_of(request).store.write(work))


@operation("GET", "/api/tre/v1/sensor", access=Action.SENSOR_READ, answer=rest_sensors.SensorRecord, query=_ONE_OF)
async def find(request: Call) -> ASGIApp:
    """The sensor with a serial number, in the caller's service type, or with a telephone number; give one of them."""

    def work(tx: ReadTx, actor: Actor) -> rest_sensors.SensorRecord:
        query = request.query_params
        serial_no, mdn = parameters.query_text(query, "serialNo"), parameters.query_text(query, "mdn")
        if serial_no is not None and mdn is not None:
            raise BadParameter("not_together", one="serialNo", other="mdn")
        if mdn is not None:
            return rest_sensors.sensor_record(service.read_by_mdn(tx, actor=actor, mdn=mdn))
        if serial_no is not None:
            return rest_sensors.sensor_record(service.read_by_serial(tx, actor=actor, serial_no=serial_no))
        raise BadParameter.missing("serialNo")

    return await reads.one(request, work)


@operation("GET", "/api/tre/v1/sensor/{sensorId}", access=Action.SENSOR_READ, answer=rest_sensors.SensorRecord)
async def read(request: Call) -> ASGIApp:
    """A sensor."""
    actor = await permission.permitted(request)
    sensor_id = parameters.sensor_id(request)
    found = await context_of(request).store.read_short(lambda tx: service.read(tx, actor=actor, sensor_id=sensor_id))
    return answers.ok(rest_sensors.sensor_record(found))


@operation(
    "PUT",
    "/api/tre/v1/sensor/{sensorId}",
    access=Action.SENSOR_MODIFY,
    request=rest_sensors.SensorRequest,
    answer=rest_sensors.SensorRecord,
    refuses=(sensors.SerialTaken, sensors.CredentialsTaken),
)
async def modify(request: Call) -> ASGIApp:
    """Change the sensor's registration: only the fields that are sent; null clears one.

    A device that is connected with a `credentialsId` that changes is disconnected at once and cannot reconnect with it.
    A changed `activationRequired` applies to the next mounting: a mounted sensor stays mounted. Fields that the carrier
    writes may be repeated but not changed.
    """
    context = context_of(request)
    actor, sensor_id = await permission.admitted_to(request, Thing.SENSOR, parameters.sensor_id)
    body = await parameters.json_object(request)
    named = rest_bodies.read_partial(body, rest_sensors.SensorRequest)
    wanted = rest_sensors.registration_fields(named)

    def work(tx: WriteTx) -> tuple[Sensor, Sensor]:
        before, after = service.modify(tx, **changes.by(request, actor), sensor_id=sensor_id, changes=wanted)
        rest_sensors.require_carriers_own(named.get("additional_info"), before)
        rest_read_only.changed(body, rest_sensors.SensorRequest, rest_sensors.sensor_record(after))
        return before, after

    before, after = await context.store.write(work)
    if after.credentials_id != before.credentials_id:
        notifications.send(context.signals, notifications.credential_ended(sensor_id))
        await fleet_of(request).settling.settled(GATEWAYS)
    if after.type != before.type:
        notifications.send(context.signals, notifications.sensors_changed([sensor_id]))
    return answers.ok(rest_sensors.sensor_record(after))


@operation("DELETE", "/api/tre/v1/sensor/{sensorId}", access=Action.SENSOR_DELETE, answer=None)
async def delete(request: Call) -> ASGIApp:
    """Delete a sensor: its device is disconnected at once, its open trip ends.

    Trips and events of vehicles stay and show the placeholder for their sensor; trips without a vehicle are deleted.
    """
    pending = await changes.made(
        request, lambda tx, by: removal.remove_sensor(tx, **by, sensor_id=parameters.sensor_id(request))
    )
    notifications.send(context_of(request).signals, pending)
    await fleet_of(request).settling.settled(GATEWAYS)
    return answers.ok({})


@operation(
    "GET", "/api/tre/v1/sensor/{sensorId}/latest", access=Action.SENSOR_READ, answer=rest_latest_values.LatestRecord
)
async def read_latest(request: Call) -> ASGIApp:
    """The sensor's current state: connection, newest microtrip, newest attributes."""
    actor = await permission.permitted(request)
    sensor_id = parameters.sensor_id(request)
    latest = await context_of(request).store.read_short(lambda tx: service.latest(tx, actor=actor, sensor_id=sensor_id))
    heard_ms = fleet_of(request).heard_of(sensor_id)
    record = rest_latest_values.latest_record(
        sensor_id,
        connected=heard_ms is not None or latest.held_by not in (None, fleet_of(request).node.id),
        last_seen_ms=latest.heard_ms if heard_ms is None else heard_ms,
        lost_ms=latest.lost_ms,
        lost_reason=latest.lost_reason,
        microtrip=latest.microtrip,
        attributes=((value.name, value.payload) for value in latest.values),
    )
    return answers.ok(record)


@operation(
    "GET",
    "/api/tre/v1/sensors",
    access=Action.SENSOR_READ,
    answer=pages.named(rest_sensors.SensorRecord),
    query=(pages.OF_COMPANY, _MOUNTED, _CONNECTED),
)
async def list_sensors(request: Call) -> ASGIApp:
    """The sensors of a company (the caller's when none is named), by serial number."""

    def work(tx: ReadTx, actor: Actor) -> Page:
        company_id = parameters.company_asked(request.query_params, actor)
        admission.admit(tx, actor, Action.COMPANY_READ, Thing.COMPANY, company_id)
        mounted = parameters.query_flag(request.query_params, "mounted")
        connected = parameters.query_flag(request.query_params, "connected")
        return reads.by_name(
            request,
            lambda window: service.owned_by(
                tx, actor=actor, company_id=company_id, window=window, mounted=mounted, connected=connected
            ),
            record=rest_sensors.sensor_record,
            name=lambda sensor: sensor.serial_no,
        )

    return await reads.answer(request, work)


@operation(
    "GET", "/api/tre/v1/sensors/count", access=Action.SENSOR_READ, answer=Count, query=(*counts.OF_WHOM, _MOUNTED)
)
async def count(request: Call) -> ASGIApp:
    """How many sensors a company has (the caller's when none is named), or how many the caller sees in all."""

    def mounted() -> bool | None:
        return parameters.query_flag(request.query_params, "mounted")

    return await counts.of_whom_asked(
        request,
        owned=lambda tx, actor, company_id: service.count_owned(
            tx, actor=actor, company_id=company_id, mounted=mounted()
        ),
        within=lambda tx, actor, service_type: service.count_in_service_type(
            tx, actor=actor, service_type=service_type, mounted=mounted()
        ),
    )

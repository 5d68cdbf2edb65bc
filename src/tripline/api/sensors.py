"""Registering, finding, listing and mounting sensors (client-surface 7.4)."""

from typing import Any, Final

import msgspec
from litestar.types import ASGIApp

from tripline import observe
from tripline.api import answers, guards, pages, parameters, reading
from tripline.api.operations import PageOf, Value, operation
from tripline.api.rim import Call, rim_of
from tripline.domain import access, sensors
from tripline.domain.access import Action
from tripline.domain.ids import CompanyId, SensorId, VehicleId
from tripline.domain.refusals import BadParameter
from tripline.services.fleet import companies
from tripline.services.fleet import sensors as service
from tripline.store.transactions import ReadTx
from tripline.wire import rest_reading, rest_sensors
from tripline.wire.rest import Page

SERIAL_NO: Final = Value(name="serialNo", type=str, meaning="serial number of the device", example="SN-0001")


@operation(
    "POST",
    "/api/tre/v1/sensor",
    access=Action.SENSOR_CREATE,
    request=rest_sensors.SensorRequest,
    answer=rest_sensors.SensorRecord,
    refuses=(sensors.SerialTaken, sensors.CredentialsTaken),
)
async def register(request: Call) -> ASGIApp:
    """A sensor of the caller's company, on no vehicle yet."""
    rim = rim_of(request)
    actor = await guards.permitted(request)
    access.company_of(actor)
    sent = rest_reading.read(await parameters.json_object(request), rest_sensors.SensorRequest)
    registration = sensors.registration(**msgspec.structs.asdict(sent))
    now_ms = rim.clock()
    new = await rim.store.write(
        lambda tx: service.register(tx, actor=actor, registration=registration, ids=rim.ids, now_ms=now_ms)
    )
    return answers.ok(rest_sensors.sensor_record(new))


@operation(
    "POST",
    "/api/tre/v1/sensor/{sensorId}/vehicle/{vehicleId}",
    access=Action.SENSOR_MOUNT,
    answer=rest_sensors.SensorRecord,
    refuses=(sensors.AlreadyMounted, sensors.NeedsActivation),
)
async def mount(request: Call) -> ASGIApp:
    """Mount the sensor on the vehicle; any body is ignored (G11)."""
    rim = rim_of(request)
    actor = await guards.permitted(request)
    sensor_id = SensorId(parameters.path_id(request, "sensorId"))
    vehicle_id = VehicleId(parameters.path_id(request, "vehicleId"))
    mounted, changed = await rim.store.write(
        lambda tx: service.mount(tx, actor=actor, sensor_id=sensor_id, vehicle_id=vehicle_id)
    )
    if changed:
        rim.signals.notify(observe.SIGNAL_SENSOR_CHANGED, sensor_id)
    return answers.ok(rest_sensors.sensor_record(mounted))


@operation("GET", "/api/tre/v1/sensor", access=Action.SENSOR_READ, answer=rest_sensors.SensorRecord, query=(SERIAL_NO,))
async def find(request: Call) -> ASGIApp:
    """The sensor with a serial number, in the caller's service type."""
    actor = await guards.permitted(request)
    serial_no = parameters.query_text(request.query_params, "serialNo")
    if serial_no is None:
        raise BadParameter.missing("serialNo")
    found = await rim_of(request).store.read_short(
        lambda tx: service.read_by_serial(tx, actor=actor, serial_no=serial_no)
    )
    return answers.ok(rest_sensors.sensor_record(found))


@operation("GET", "/api/tre/v1/sensor/{sensorId}", access=Action.SENSOR_READ, answer=rest_sensors.SensorRecord)
async def read(request: Call) -> ASGIApp:
    """A sensor."""
    actor = await guards.permitted(request)
    sensor_id = SensorId(parameters.path_id(request, "sensorId"))
    found = await rim_of(request).store.read_short(lambda tx: service.read(tx, actor=actor, sensor_id=sensor_id))
    return answers.ok(rest_sensors.sensor_record(found))


@operation(
    "GET",
    "/api/tre/v1/sensors",
    access=Action.SENSOR_READ,
    answer=PageOf(record=rest_sensors.SensorRecord, timed=False),
    query=(*pages.TEXT_PAGE, pages.OF_COMPANY),
)
async def list_sensors(request: Call) -> ASGIApp:
    """The sensors of a company (the caller's when none is named), by serial number."""

    def work(tx: ReadTx) -> Page:
        actor = guards.permitted_in(tx, request)
        asked = parameters.query_id(request.query_params, "companyId")
        company_id = access.company_of(actor) if asked is None else CompanyId(asked)
        companies.require(tx, actor=actor, company_id=company_id)
        page = pages.text_page(request)
        found = service.owned_by(tx, actor=actor, company_id=company_id, window=reading.window(page))
        return pages.text_answer(
            page, found, record=rest_sensors.sensor_record, name_and_id=lambda sensor: (sensor.serial_no, sensor.id)
        )

    return answers.ok(await reading.page(request, work))


handlers: Final[list[Any]] = [register, mount, find, read, list_sensors]

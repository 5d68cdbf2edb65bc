"""Registering, reading and mounting sensors."""

from collections.abc import Sequence
from dataclasses import fields, replace

from tripline.domain import access, sensors
from tripline.domain.access import Action, Actor
from tripline.domain.companies import Company
from tripline.domain.ids import CompanyId, SensorId, TimeIds, VehicleId
from tripline.domain.sensors import Registration, Sensor
from tripline.services.fleet import companies
from tripline.store import listing
from tripline.store import sensors as rows
from tripline.store import vehicles as vehicle_rows
from tripline.store.transactions import ReadTx, WriteTx


def register(tx: WriteTx, *, actor: Actor, registration: Registration, ids: TimeIds, now_ms: int) -> Sensor:
    """The new sensor of the actor's company, DEACTIVATED and on no vehicle.

    Raises `sensors.SerialTaken` or `sensors.CredentialsTaken`.
    """
    access.scope_of(actor, Action.SENSOR_CREATE)
    company = companies.own(tx, actor=actor)
    sensor_id = SensorId(ids.next(now_ms=now_ms))
    new = of_registration(registration, company=company, sensor_id=sensor_id, now_ms=now_ms)
    rows.insert_new(tx, new)
    return new


def of_registration(registration: Registration, *, company: Company, sensor_id: SensorId, now_ms: int) -> Sensor:
    """What a registration makes: the company's sensor, on no vehicle."""
    return Sensor(
        **{field.name: getattr(registration, field.name) for field in fields(Registration)},
        id=sensor_id,
        created_ms=now_ms,
        company_id=company.id,
        service_type=company.service_type,
        status=sensors.Status.DEACTIVATED,
    )


def read(tx: ReadTx, *, actor: Actor, sensor_id: SensorId) -> Sensor:
    """The sensor. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, Action.SENSOR_READ)
    return access.admitted(rows.find(tx, scope, sensor_id), "sensor")


def read_by_serial(tx: ReadTx, *, actor: Actor, serial_no: str) -> Sensor:
    """The sensor with this serial number in the actor's service type. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, Action.SENSOR_READ)
    service_type = companies.own(tx, actor=actor).service_type
    return access.admitted(rows.find_by_serial(tx, scope, service_type=service_type, serial_no=serial_no), "sensor")


def owned_by(tx: ReadTx, *, actor: Actor, company_id: CompanyId, window: listing.Window) -> Sequence[Sensor]:
    """The company's sensors that the actor may see, by serial number; `companies.require` was asked before.

    Raises `listing.UnknownOffset`.
    """
    scope = access.scope_of(actor, Action.SENSOR_READ)
    return rows.of_company(tx, scope, company_id, window)


def mount(tx: WriteTx, *, actor: Actor, sensor_id: SensorId, vehicle_id: VehicleId) -> tuple[Sensor, bool]:
    """The sensor on the vehicle, and whether that is new: mounting it where it is changes nothing.

    The caller tells the pipeline (`SIGNAL_SENSOR_CHANGED`) after the commit when it is. Raises `NotFound`, `Forbidden`,
    `sensors.AlreadyMounted` or `sensors.NeedsActivation`.
    """
    scope = access.scope_of(actor, Action.SENSOR_MOUNT)
    found_sensor = rows.find(tx, scope, sensor_id)
    found_vehicle = vehicle_rows.find(tx, scope, vehicle_id)
    if found_sensor is not None and found_vehicle is None:
        # What is unknown is said before what is foreign (client-surface 3.3).
        access.admit(None, "vehicle")
    sensor = access.admitted(found_sensor, "sensor")
    vehicle = access.admitted(found_vehicle, "vehicle")
    status = sensors.mounted_status(sensor, vehicle_id)
    if status is None:
        return sensor, False
    rows.mount(tx, scope, sensor_id, vehicle_id, status)
    return replace(sensor, status=status, vehicle_id=vehicle_id, vehicle_no=vehicle.vehicle_no), True

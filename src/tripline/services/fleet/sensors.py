"""Registering, reading, modifying, mounting and unmounting sensors.

Their latest values: spec/rest 8.4, spec/device-messages 6.18.
"""

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from tripline.domain import access, sensors
from tripline.domain import history as entries
from tripline.domain.access import Action, Actor, Scope, Thing
from tripline.domain.companies import Company
from tripline.domain.history import Event
from tripline.domain.ids import CompanyId, SensorId, TimeIds, VehicleId, ms_of_no
from tripline.domain.refusals import NotFound
from tripline.domain.sensors import Registration, Sensor
from tripline.domain.stored_trips import StoredMicrotrip
from tripline.domain.vehicles import Vehicle
from tripline.services import admission, notifications
from tripline.services.fleet import companies, history
from tripline.services.notifications import Notification
from tripline.services.rpc import activation
from tripline.store import lists
from tripline.store.devices import connections, latest_values
from tripline.store.devices.latest_values import LatestValue
from tripline.store.fleet import sensors as rows
from tripline.store.fleet import vehicles as vehicle_rows
from tripline.store.listing import sensors as listing
from tripline.store.rpc import activations as rpc_activations
from tripline.store.transactions import ReadTx, WriteTx
from tripline.store.trips import microtrips


class Mounting(Enum):
    """The result of mounting a sensor."""

    DONE = auto()
    NOTHING = auto()
    """It is already mounted there."""
    NEEDS_ACTIVATION = auto()
    """Its device must be activated before (`services/rpc/mounting.py`)."""


SECRET: Final = ("credentials_id",)
"""Fields whose values the history does not record, only their change."""


def register(tx: WriteTx, *, actor: Actor, registration: Registration, ids: TimeIds, now_ms: int) -> Sensor:
    """The new sensor of the actor's company, DEACTIVATED and on no vehicle.

    Raises `sensors.SerialTaken` or `sensors.CredentialsTaken`.
    """
    access.scope_of(actor, Action.SENSOR_CREATE)
    company = companies.own(tx, actor=actor)
    sensor_id = SensorId(ids.next(now_ms=now_ms))
    new = of_registration(registration, company=company, sensor_id=sensor_id, now_ms=now_ms)
    rows.insert_new(tx, new)
    said = entries.first_values(new, Registration.__struct_fields__, secret=SECRET)
    history.note(tx, actor, Event.REGISTERED, new, changes=said, ids=ids, now_ms=now_ms)
    return new


def of_registration(registration: Registration, *, company: Company, sensor_id: SensorId, now_ms: int) -> Sensor:
    """Make the company's sensor from a registration, on no vehicle."""
    return Sensor(
        **{name: getattr(registration, name) for name in Registration.__struct_fields__},
        id=sensor_id,
        created_ms=now_ms,
        company_id=company.id,
        service_type=company.service_type,
        status=sensors.Status.DEACTIVATED,
    )


def read(tx: ReadTx, *, actor: Actor, sensor_id: SensorId) -> Sensor:
    """The sensor. Raises `NotFound` or `Forbidden`."""
    scope, tokens = _reading(actor)
    return access.admitted(rows.find(tx, scope, sensor_id, tokens=tokens), access.Thing.SENSOR)


def read_by_serial(tx: ReadTx, *, actor: Actor, serial_no: str) -> Sensor:
    """The sensor with this serial number in the actor's service type. Raises `NotFound` or `Forbidden`."""
    scope, tokens = _reading(actor)
    service_type = companies.own(tx, actor=actor).service_type
    found = rows.find_by_serial(tx, scope, service_type=service_type, serial_no=serial_no, tokens=tokens)
    if found is None:
        raise NotFound("serial")
    return access.admitted(found, access.Thing.SENSOR)


def read_by_mdn(tx: ReadTx, *, actor: Actor, mdn: str) -> Sensor:
    """The sensor whose line has this telephone number. Raises `NotFound` or `Forbidden`."""
    scope, tokens = _reading(actor)
    found = rows.find_by_mdn(tx, scope, mdn, tokens=tokens)
    if found is None:
        raise NotFound("sensor_line")
    return access.admitted(found, access.Thing.SENSOR)


def owned_by(
    tx: ReadTx,
    *,
    actor: Actor,
    company_id: CompanyId,
    window: lists.Window,
    mounted: bool | None = None,
    connected: bool | None = None,
) -> Sequence[Sensor]:
    """The company's sensors that the actor may see, by serial number; the caller admitted the actor to the company.

    `mounted` selects those with or without a vehicle, `connected` those whose device is connected or not. Raises
    `UnknownOffset`.
    """
    scope, tokens = _reading(actor)
    return rows.of_company(tx, scope, company_id, window, mounted=mounted, connected=connected, tokens=tokens)


def count_owned(tx: ReadTx, *, actor: Actor, company_id: CompanyId, mounted: bool | None) -> int:
    """Count the sensors of `owned_by`; the caller admitted the actor to the company."""
    filters = listing.Filters(company_id=company_id, mounted=mounted)
    return listing.LIST.count(tx, access.scope_of(actor, Action.SENSOR_READ), filters)


def count_in_service_type(tx: ReadTx, *, actor: Actor, service_type: str, mounted: bool | None) -> int:
    """How many sensors of the actor's service type the actor may see. Raises `Forbidden` for another one."""
    scope = access.scope_of(actor, Action.SENSOR_READ)
    companies.require_service_type(tx, actor=actor, service_type=service_type)
    return listing.LIST.count(tx, scope, listing.Filters(mounted=mounted))


def find(tx: ReadTx, *, actor: Actor, action: Action, sensor_id: SensorId) -> Sensor:
    """The sensor with its access token, if the actor may do the action on it. Raises `NotFound` or `Forbidden`."""
    scope = access.scope_of(actor, action)
    return access.admitted(rows.find(tx, scope, sensor_id, tokens=scope), access.Thing.SENSOR)


def modify(
    tx: WriteTx, *, actor: Actor, sensor_id: SensorId, changes: Mapping[str, Any], ids: TimeIds, now_ms: int
) -> tuple[Sensor, Sensor]:
    """Change these fields of the sensor's registration; return it before and after.

    After the commit the caller ends the session of a replaced token (`SIGNAL_CREDENTIAL_ENDED`) and notifies the
    pipeline of a new type (`SIGNAL_SENSOR_CHANGED`). Raises `NotFound`, `Forbidden`, `BadParameter`,
    `sensors.SerialTaken` or `sensors.CredentialsTaken`.
    """
    scope = access.scope_of(actor, Action.SENSOR_MODIFY)
    before = find(tx, actor=actor, action=Action.SENSOR_MODIFY, sensor_id=sensor_id)
    after = sensors.modified(before, changes)
    if after != before:
        rows.modify(tx, scope, after)
        told = entries.differences(before, after, Registration.__struct_fields__, secret=SECRET)
        history.note(tx, actor, Event.CHANGED, before, changes=told, ids=ids, now_ms=now_ms)
    return before, after


def mount(
    tx: WriteTx, *, actor: Actor, sensor_id: SensorId, vehicle_id: VehicleId, ids: TimeIds, now_ms: int
) -> tuple[Sensor, Mounting]:
    """Mount the sensor on the vehicle, unless it needs activation; return it with the result.

    The caller notifies the pipeline (`SIGNAL_SENSOR_CHANGED`) after the commit if it was mounted. Raises `NotFound`,
    `Forbidden` or `sensors.AlreadyMounted`.
    """
    scope = access.scope_of(actor, Action.SENSOR_MOUNT)
    sensor, vehicle = both(tx, scope, sensor_id, vehicle_id)
    status = sensors.mounted_status(sensor, vehicle_id)
    if status is None:
        return sensor, Mounting.NOTHING
    if sensor.activation_required:
        return sensor, Mounting.NEEDS_ACTIVATION
    # An activation requested while the sensor still needed one is superseded.
    rpc_activations.forget(tx, sensor_id)
    rows.mount(tx, scope, sensor_id, vehicle_id, status)
    history.note(tx, actor, Event.MOUNTED, sensor, vehicle_id=vehicle_id, ids=ids, now_ms=now_ms)
    return replace(sensor, status=status, vehicle_id=vehicle_id, vehicle_no=vehicle.vehicle_no), Mounting.DONE


def unmount(
    tx: WriteTx, *, actor: Actor, sensor_id: SensorId, vehicle_id: VehicleId | None, ids: TimeIds, now_ms: int
) -> tuple[Sensor, tuple[Notification, ...]]:
    """Take the sensor off the vehicle (None: its current one); return it and the notifications for after the commit.

    Its values about the vehicle's state are deleted, since another company may see its next vehicle. A pending
    activation for the vehicle is cancelled: the sensor stays without a vehicle. Raises `NotFound`, `Forbidden` or
    `sensors.NotMounted`.
    """
    scope = access.scope_of(actor, Action.SENSOR_MOUNT)
    if vehicle_id is None:
        sensor = find(tx, actor=actor, action=Action.SENSOR_MOUNT, sensor_id=sensor_id)
    else:
        sensor, _ = both(tx, scope, sensor_id, vehicle_id)
    pending = rpc_activations.of_sensor(tx, sensor_id)
    if sensor.vehicle_id is None and pending is not None and vehicle_id in (None, pending[1]):
        return sensor, activation.activation(tx, sensor_id, ids=ids, now_ms=now_ms)
    status = sensors.unmounted_status(sensor, vehicle_id)
    rows.mount(tx, scope, sensor_id, None, status)
    history.note(tx, actor, Event.UNMOUNTED, sensor, vehicle_id=sensor.vehicle_id, ids=ids, now_ms=now_ms)
    latest_values.forget_of_vehicle(tx, sensor_id)
    return replace(sensor, status=status, vehicle_id=None, vehicle_no=None), notifications.sensors_changed([sensor_id])


def _reading(actor: Actor) -> tuple[Scope, Scope]:
    """The sensors that the actor may read, and those whose access tokens it may know."""
    return access.scope_of(actor, Action.SENSOR_READ), access.scope_of(actor, Action.SENSOR_CREDENTIAL_READ)


def both(tx: ReadTx, scope: Scope, sensor_id: SensorId, vehicle_id: VehicleId) -> tuple[Sensor, Vehicle]:
    """Sensor and vehicle, both inside the scope. Unknown goes before foreign (spec/rest 3.3)."""
    found_sensor = rows.find(tx, scope, sensor_id, tokens=scope)
    found_vehicle = vehicle_rows.find(tx, scope, vehicle_id)
    if found_sensor is not None and found_vehicle is None:
        access.admit(None, access.Thing.VEHICLE)
    return access.admitted(found_sensor, access.Thing.SENSOR), access.admitted(found_vehicle, access.Thing.VEHICLE)


class Latest(msgspec.Struct, frozen=True):
    """The stored state of a sensor."""

    heard_ms: int | None
    """When its newest session was last heard of, or the receipt of its newest trip, microtrip, event or report; None:
    never."""
    lost_ms: int | None
    """When its last session ended; None: none has."""
    lost_reason: str | None
    """Why it ended."""
    held_by: str | None
    """The node that its device is connected with, where there are several processes; None: it is not connected."""
    microtrip: StoredMicrotrip | None
    """Its newest microtrip, when that was driven within the actor's reach."""
    values: list[LatestValue]


def latest(tx: ReadTx, *, actor: Actor, sensor_id: SensorId) -> Latest:
    """The sensor's latest values. Raises `NotFound` or `Forbidden`.

    A sensor goes from vehicle to vehicle: who sees it on this one need not see where it was before.
    """
    admission.admit(tx, actor, Action.SENSOR_READ, Thing.SENSOR, sensor_id)
    values = latest_values.of_sensor(tx, sensor_id)
    heard = [ms_of_no(no) for no in latest_values.newest_rows(tx, sensor_id)]
    # An event's value has the device's time; its row has the time of receipt.
    heard += [value.updated_ms for value in values if not value.name.isdecimal()]
    connection = connections.of_sensor(tx, sensor_id)
    if connection is not None:
        heard.append(connection.seen_ms)
    driven = access.scope_of(actor, Action.DRIVING_READ)
    return Latest(
        heard_ms=max(heard, default=None),
        lost_ms=None if connection is None else connection.lost_ms,
        lost_reason=None if connection is None else connection.reason,
        held_by=connection.node_id if connection is not None and connection.connected else None,
        microtrip=microtrips.latest_of_sensor(tx, driven, sensor_id),
        values=values,
    )

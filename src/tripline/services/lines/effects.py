"""The effects of a carrier's actions on the record of a device, its line and what hangs on both.

Follows spec/interface (Carrier-side lifecycle actions) and spec/gaps G10; what stays when is told in
`docs/carrier.md`. Every function decides first and writes then, so a refused action has written nothing. What a
vehicle drove stays with the vehicle, whatever becomes of its device.

Not here: what an action may say (`domain/line_actions.py`), doing each once (`actions.py`).
"""

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec.structs import replace

from tripline.domain import access, line_actions, lines, sensors
from tripline.domain.access import Scope
from tripline.domain.companies import Company
from tripline.domain.ids import CompanyId, SensorId, TimeIds
from tripline.domain.line_actions import LineAction, Type
from tripline.domain.lines import Change, Line, LineEvent, NwStatus
from tripline.domain.refusals import BadParameter, NotFound
from tripline.domain.sensors import Sensor
from tripline.services import hints
from tripline.services.fleet import sensor_removal
from tripline.services.fleet import sensors as fleet_sensors
from tripline.services.hints import Hint
from tripline.services.push import notices
from tripline.services.rpc import cancellations
from tripline.store.devices import latest_values
from tripline.store.fleet import companies
from tripline.store.fleet import sensors as sensor_rows
from tripline.store.lines import changes as line_changes
from tripline.store.lines import devices as line_devices
from tripline.store.lines import lines as rows
from tripline.store.transactions import WriteTx

DEFAULT_TYPE: Final = "OBD2"
"""The type of a device that the carrier is the first to name, without saying its type."""


class Desk(msgspec.Struct, frozen=True):
    """What an effect works with."""

    tx: WriteTx
    scope: Scope
    ids: TimeIds
    now_ms: int


class Done(msgspec.Struct, frozen=True):
    """The outcome of an action: the device, the state of its line, and the hints after the commit."""

    sensor_id: SensorId
    nw_status: NwStatus
    hints: tuple[Hint, ...] = ()


def apply(desk: Desk, action: LineAction) -> Done:
    """Do the action. Raises `NotFound`, `BadParameter`, `lines.WrongState` or `lines.LineBusy`, all before it wrote."""
    return _EFFECTS[action.type](desk, action)


def _opening(desk: Desk, action: LineAction) -> Done:
    company = _owner(desk, action)
    imei = action.imei or ""
    found = _device(desk, company, imei)
    if found is not None and found.company_id != company.id:
        raise sensors.SerialTaken("other_company", field="imei", serial_no=imei)
    _require_free(desk, "mdn", action.mdn, found)
    before = NwStatus.NOT_OPENED if found is None else _idle(desk, found).nw_status
    after = lines.moved(before, LineEvent.OPEN)
    device = found or _new_device(desk, company, imei, action.device_type or DEFAULT_TYPE)
    line = Line(
        sensor_id=device.id,
        mdn=action.mdn,
        nw_status=after,
        subscription=action.subscription,
        imsi=action.imsi,
        iccid=action.iccid,
    )
    rows.claim(desk.tx, device.id, None)
    return _kept(desk, action, device, line)


def _device_change(desk: Desk, action: LineAction) -> Done:
    old, line = _line_in_use(desk, action)
    imei = action.new_imei or ""
    company = _company(desk, old.company_id)
    found = _device(desk, company, imei)
    if found is not None:
        _require_vacant(found, old)
    new = found or _new_device(desk, company, imei, action.device_type or old.type)
    left = Line(sensor_id=old.id, mdn=None, nw_status=lines.moved(line.nw_status, LineEvent.LEAVE))
    # The old device is on no vehicle from now on, the new one is where the old one was: neither awaits activation.
    cancelled = [_cancelled(desk, device) for device in (old, new)]
    line_devices.hand_over(desk.tx, old, new.id)
    latest_values.forget_of_vehicle(desk.tx, old.id)
    rows.claim(desk.tx, old.id, None)
    freed = _kept(desk, action, replace(old, vehicle_id=None), left)
    done = _kept(desk, action, new, replace(line, sensor_id=new.id), vehicle_of=old)
    told = (*cancelled[0], *cancelled[1], *freed.hints, *done.hints)
    return replace(done, hints=(*told, *hints.sensors_changed((old.id, new.id))))


def _owner_change(desk: Desk, action: LineAction) -> Done:
    old, line = _line_in_use(desk, action)
    left = Line(sensor_id=old.id, mdn=None, nw_status=lines.moved(line.nw_status, LineEvent.LEAVE))
    done = _kept(desk, action, old, left)
    gone = sensor_removal.forget(desk.tx, old.id, ids=desk.ids, now_ms=desk.now_ms)
    return replace(done, hints=(*done.hints, *gone))


def _number_change(desk: Desk, action: LineAction) -> Done:
    device, line = _line_in_use(desk, action)
    _require_free(desk, "newMdn", action.new_mdn or "", device)
    return _kept(desk, action, device, replace(line, mdn=action.new_mdn))


def _sim_change(desk: Desk, action: LineAction) -> Done:
    device, line = _line_in_use(desk, action)
    return _kept(desk, action, device, replace(line, imsi=action.imsi, iccid=action.iccid))


def _plan_change(desk: Desk, action: LineAction) -> Done:
    device, line = _line_in_use(desk, action)
    return _kept(desk, action, device, replace(line, subscription=action.subscription))


def _suspension(desk: Desk, action: LineAction) -> Done:
    device, line = _numbered(desk, action)
    seen = line.nw_status
    if seen is NwStatus.USE_SUSPENDED and rows.claim_of(desk.tx, device.id) is not None:
        # A call that asked to lift the pause was lost. A carrier suspends normal lines: so the pause was lifted.
        seen = NwStatus.NORMAL
    after = replace(line, nw_status=lines.moved(seen, action.event))
    rows.claim(desk.tx, device.id, None)
    return _kept(desk, action, device, after)


def _termination(desk: Desk, action: LineAction) -> Done:
    device, line = _numbered(desk, action)
    ended = Line(sensor_id=device.id, mdn=None, nw_status=lines.moved(line.nw_status, action.event))
    done = _kept(desk, action, device, ended)
    rows.claim(desk.tx, device.id, None)
    cancelled = _cancelled(desk, device)
    line_devices.clear(desk.tx, device.id)
    latest_values.forget(desk.tx, device.id)
    ended_hints = (*hints.credential_ended(device.id), *hints.sensors_changed([device.id]))
    return replace(done, hints=(*cancelled, *done.hints, *ended_hints))


_EFFECTS: Final[dict[Type, Callable[[Desk, LineAction], Done]]] = {
    Type.OPENING: _opening,
    Type.DEVICE_CHANGE: _device_change,
    Type.OWNER_CHANGE: _owner_change,
    Type.NUMBER_CHANGE: _number_change,
    Type.SIM_CHANGE: _sim_change,
    Type.TERMINATION: _termination,
    Type.SUSPENSION: _suspension,
    Type.PLAN_CHANGE: _plan_change,
}


def _numbered(desk: Desk, action: LineAction) -> tuple[Sensor, Line]:
    """The device whose line has the action's number, and the line, when nothing else is being done to it."""
    found = sensor_rows.find_by_mdn(desk.tx, desk.scope, action.mdn, tokens=desk.scope)
    if found is None:
        raise NotFound("line_number", field="mdn", mdn=action.mdn)
    device = access.admitted(found, access.Thing.LINE)
    line = _idle(desk, device)
    line_actions.require_stated(action, device, line)
    return device, line


def _line_in_use(desk: Desk, action: LineAction) -> tuple[Sensor, Line]:
    """As `_numbered`, when the line is in use: normal or suspended."""
    device, line = _numbered(desk, action)
    lines.moved(line.nw_status, LineEvent.KEEP)
    return device, line


def _idle(desk: Desk, device: Sensor) -> Line:
    """The device's line (not opened when it has none). Raises `lines.LineBusy` while the carrier is asked about it."""
    claim = rows.claim_of(desk.tx, device.id)
    if claim is not None and claim.holds(desk.now_ms):
        raise lines.busy()
    return device.line or Line(sensor_id=device.id, mdn=None, nw_status=NwStatus.NOT_OPENED)


def _owner(desk: Desk, action: LineAction) -> Company:
    """The company that an opening names: by its id, or as the operator of a service type."""
    asked, service_type = action.company_id, action.service_type
    if asked is not None:
        company = _company(desk, asked)
        if service_type is not None and service_type != company.service_type:
            raise BadParameter("service_type", field="serviceType", service_type=company.service_type)
        return company
    operator = line_devices.operator_of(desk.tx, service_type or "")
    if operator is None:
        raise NotFound("service_type", field="serviceType", service_type=str(service_type))
    return _company(desk, operator)


def _company(desk: Desk, company_id: CompanyId) -> Company:
    found = companies.find(desk.tx, desk.scope, company_id)
    if found is None:
        raise NotFound("company", field="companyId")
    return access.admitted(found, access.Thing.COMPANY)


def _device(desk: Desk, company: Company, imei: str) -> Sensor | None:
    """The sensor with this serial number in the company's service type."""
    found = sensor_rows.find_by_serial(
        desk.tx, desk.scope, service_type=company.service_type, serial_no=imei, tokens=desk.scope
    )
    return None if found is None else found[0]


def _new_device(desk: Desk, company: Company, imei: str, device_type: str) -> Sensor:
    """A new sensor of the company: without an access token, on no vehicle."""
    said = sensors.registration(linked=True, serial_no=imei, type=device_type)
    sensor_id = SensorId(desk.ids.next(now_ms=desk.now_ms))
    new = fleet_sensors.of_registration(said, company=company, sensor_id=sensor_id, now_ms=desk.now_ms)
    sensor_rows.insert_new(desk.tx, new)
    return new


def _cancelled(desk: Desk, device: Sensor) -> tuple[Hint, ...]:
    """Nothing is awaited any more of an activation of the device."""
    return cancellations.activation(desk.tx, device.id, ids=desk.ids, now_ms=desk.now_ms)


def _require_free(desk: Desk, field: str, mdn: str, device: Sensor | None) -> None:
    """Refuse a number that is the line of a device other than this one."""
    found = sensor_rows.find_by_mdn(desk.tx, desk.scope, mdn, tokens=desk.scope)
    if found is not None and (device is None or found[0].id != device.id):
        raise lines.number_taken(field, mdn)


def _require_vacant(new: Sensor, old: Sensor) -> None:
    """Refuse a device that cannot take over a line: another company's, on a vehicle, or with a line of its own."""
    if new.company_id != old.company_id:
        raise sensors.SerialTaken("new_of_other_company", field="newImei")
    if new.id == old.id or (new.line is not None and new.line.mdn is not None):
        raise lines.NumberTaken("has_line", field="newImei")
    if new.vehicle_id is not None:
        raise sensors.AlreadyMounted("new_device", field="newImei")


def _kept(desk: Desk, action: LineAction, device: Sensor, after: Line, *, vehicle_of: Sensor | None = None) -> Done:
    """Keep the line and tell whoever wants to know that its state changed."""
    before = NwStatus.NOT_OPENED if device.line is None else device.line.nw_status
    rows.put(desk.tx, after, now_ms=desk.now_ms)
    occurred_ms = desk.now_ms if action.occurred_ms is None else action.occurred_ms
    change = Change(
        no=desk.ids.take(1, now_ms=desk.now_ms),
        type=action.type.value,
        nw_status=after.nw_status,
        occurred_ms=occurred_ms,
    )
    line_changes.add(desk.tx, device.id, change)
    told: tuple[Hint, ...] = ()
    if after.nw_status is not before:
        told = notices.network_status(
            desk.tx,
            subject=notices.Subject(device.id, device.company_id, (vehicle_of or device).vehicle_id),
            status=after.nw_status,
            at_ms=occurred_ms,
            ids=desk.ids,
            now_ms=desk.now_ms,
        )
    return Done(device.id, after.nw_status, told)

"""Perform a carrier's actions in the order sent, each once; a refused action does not stop the others.

Follows spec/interface (Carrier-side lifecycle actions) and spec/gaps G10; `docs/carrier.md` lists the data that
survives each action. An effect decides before it writes, so a refused action has written nothing. Driving data stays
with its vehicle after any change of the device.

Not here: decoding actions (`api/carrier.py`), their content (`domain/line_actions.py`).
"""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import msgspec
from msgspec.structs import replace

from tripline.domain import access, line_actions, lines, sensors
from tripline.domain.access import Action, Actor, Scope
from tripline.domain.companies import Company
from tripline.domain.ids import CompanyId, SensorId, TimeIds
from tripline.domain.line_actions import LineAction, Outcome, Type
from tripline.domain.lines import Change, Line, LineEvent, NwStatus
from tripline.domain.refusals import BadParameter, NotFound, Refusal
from tripline.domain.sensors import Sensor
from tripline.services import notifications
from tripline.services.fleet import removal
from tripline.services.fleet import sensors as fleet_sensors
from tripline.services.notifications import Notification
from tripline.services.push import notices
from tripline.services.rpc import activation
from tripline.store.database import uniqueness
from tripline.store.devices import latest_values
from tripline.store.fleet import companies
from tripline.store.fleet import sensors as sensor_rows
from tripline.store.lines import actions as carrier_actions
from tripline.store.lines import lines as rows
from tripline.store.transactions import WriteTx


class ActionContext(msgspec.Struct, frozen=True):
    """The transaction, scope, row numbers and time of an effect."""

    tx: WriteTx
    scope: Scope
    ids: TimeIds
    now_ms: int


class Done(msgspec.Struct, frozen=True):
    """The outcome of an action: the device, the state of its line, and the notifications after the commit."""

    sensor_id: SensorId
    nw_status: NwStatus
    notifications: tuple[Notification, ...] = ()


class Submitted(msgspec.Struct, frozen=True):
    """A submitted action: its number, a digest of its content, and the content or the reason it cannot be read."""

    action_id: str
    content: str
    said: LineAction | Refusal


class Progress(msgspec.Struct, frozen=True):
    """The outcomes of the first actions, and notifications for after the commit; `halted`: the next one's line is
    busy."""

    outcomes: list[Outcome]
    notifications: list[Notification]
    halted: bool


def perform(
    tx: WriteTx, *, actor: Actor, submitted: Sequence[Submitted], busy: AbstractSet[str], ids: TimeIds, now_ms: int
) -> Progress:
    """Perform the actions up to the first on a busy line; `busy` lists more busy numbers. Raises `Forbidden`.

    Every outcome is stored with its action, refusals included; a repeated action returns the stored outcome.
    """
    context = ActionContext(tx, access.scope_of(actor, Action.CARRIER_ACT), ids, now_ms)
    progress = Progress([], [], halted=False)
    for each in submitted:
        try:
            outcome, notifications = _once(context, actor, each, busy)
        except lines.LineBusy:
            return Progress(progress.outcomes, progress.notifications, halted=True)
        progress.outcomes.append(outcome)
        progress.notifications.extend(notifications)
    return progress


def _once(
    context: ActionContext, actor: Actor, submitted: Submitted, busy: AbstractSet[str]
) -> tuple[Outcome, Sequence[Notification]]:
    known = carrier_actions.find(context.tx, actor.user_id, submitted.action_id)
    if known is not None:
        content, outcome = known
        if content == submitted.content:
            return outcome, ()
        changed = line_actions.ActionChanged(field="actionId")
        return Outcome(submitted.action_id, refused=changed), ()
    outcome, notifications = _tried(context, submitted, busy)
    carrier_actions.add(context.tx, actor.user_id, content=submitted.content, outcome=outcome, now_ms=context.now_ms)
    return outcome, notifications


def _tried(
    context: ActionContext, submitted: Submitted, busy: AbstractSet[str]
) -> tuple[Outcome, Sequence[Notification]]:
    """Return the outcome of the action. Raises `lines.LineBusy`, which is not an outcome: try the action again."""
    if isinstance(submitted.said, Refusal):
        return Outcome(submitted.action_id, refused=submitted.said), ()
    if submitted.said.mdn in busy:
        raise lines.LineBusy("under_way")
    try:
        with uniqueness.undone_if_refused(context.tx):
            done = _EFFECTS[submitted.said.type](context, submitted.said)
    except lines.LineBusy:
        raise
    except Refusal as refusal:
        return Outcome(submitted.action_id, refused=refusal), ()
    return Outcome(submitted.action_id, done.sensor_id, done.nw_status), done.notifications


DEFAULT_TYPE: Final = "OBD2"
"""The type of a device that the carrier is the first to name, without saying its type."""


def _opening(context: ActionContext, action: LineAction) -> Done:
    company = _owner(context, action)
    imei = action.imei or ""
    found = _device(context, company, imei)
    if found is not None and found.company_id != company.id:
        raise sensors.SerialTaken("other_company", field="imei", serial_no=imei)
    _require_free(context, "mdn", action.mdn, found)
    before = NwStatus.NOT_OPENED if found is None else _idle(context, found).nw_status
    after = lines.moved(before, LineEvent.OPEN)
    device = found or _new_device(context, company, imei, action.device_type or DEFAULT_TYPE)
    line = Line(
        sensor_id=device.id,
        mdn=action.mdn,
        nw_status=after,
        subscription=action.subscription,
        imsi=action.imsi,
        iccid=action.iccid,
    )
    rows.claim(context.tx, device.id, None)
    return _kept(context, action, device, line)


def _device_change(context: ActionContext, action: LineAction) -> Done:
    old, line = _line_in_use(context, action)
    imei = action.new_imei or ""
    company = _company(context, old.company_id)
    found = _device(context, company, imei)
    if found is not None:
        _require_vacant(found, old)
    new = found or _new_device(context, company, imei, action.device_type or old.type)
    left = Line(sensor_id=old.id, mdn=None, nw_status=lines.moved(line.nw_status, LineEvent.LEAVE))
    # The old device is on no vehicle from now on, the new one is where the old one was: neither awaits activation.
    cancelled = [_cancelled(context, device) for device in (old, new)]
    rows.hand_over(context.tx, old, new.id)
    latest_values.forget_of_vehicle(context.tx, old.id)
    rows.claim(context.tx, old.id, None)
    freed = _kept(context, action, replace(old, vehicle_id=None), left)
    done = _kept(context, action, new, replace(line, sensor_id=new.id), vehicle_of=old)
    pending = (*cancelled[0], *cancelled[1], *freed.notifications, *done.notifications)
    return replace(done, notifications=(*pending, *notifications.sensors_changed((old.id, new.id))))


def _owner_change(context: ActionContext, action: LineAction) -> Done:
    old, line = _line_in_use(context, action)
    left = Line(sensor_id=old.id, mdn=None, nw_status=lines.moved(line.nw_status, LineEvent.LEAVE))
    done = _kept(context, action, old, left)
    gone = removal.forget_sensor(context.tx, old.id, ids=context.ids, now_ms=context.now_ms)
    return replace(done, notifications=(*done.notifications, *gone))


def _number_change(context: ActionContext, action: LineAction) -> Done:
    device, line = _line_in_use(context, action)
    _require_free(context, "newMdn", action.new_mdn or "", device)
    return _kept(context, action, device, replace(line, mdn=action.new_mdn))


def _sim_change(context: ActionContext, action: LineAction) -> Done:
    device, line = _line_in_use(context, action)
    return _kept(context, action, device, replace(line, imsi=action.imsi, iccid=action.iccid))


def _plan_change(context: ActionContext, action: LineAction) -> Done:
    device, line = _line_in_use(context, action)
    return _kept(context, action, device, replace(line, subscription=action.subscription))


def _suspension(context: ActionContext, action: LineAction) -> Done:
    device, line = _numbered(context, action)
    seen = line.nw_status
    if seen is NwStatus.USE_SUSPENDED and rows.claim_of(context.tx, device.id) is not None:
        # A call that asked to lift the pause was lost. A carrier suspends normal lines: so the pause was lifted.
        seen = NwStatus.NORMAL
    after = replace(line, nw_status=lines.moved(seen, action.event))
    rows.claim(context.tx, device.id, None)
    return _kept(context, action, device, after)


def _termination(context: ActionContext, action: LineAction) -> Done:
    device, line = _numbered(context, action)
    ended = Line(sensor_id=device.id, mdn=None, nw_status=lines.moved(line.nw_status, action.event))
    done = _kept(context, action, device, ended)
    rows.claim(context.tx, device.id, None)
    cancelled = _cancelled(context, device)
    rows.clear(context.tx, device.id)
    latest_values.forget(context.tx, device.id)
    pending = (*notifications.credential_ended(device.id), *notifications.sensors_changed([device.id]))
    return replace(done, notifications=(*cancelled, *done.notifications, *pending))


_EFFECTS: Final[dict[Type, Callable[[ActionContext, LineAction], Done]]] = {
    Type.OPENING: _opening,
    Type.DEVICE_CHANGE: _device_change,
    Type.OWNER_CHANGE: _owner_change,
    Type.NUMBER_CHANGE: _number_change,
    Type.SIM_CHANGE: _sim_change,
    Type.TERMINATION: _termination,
    Type.SUSPENSION: _suspension,
    Type.PLAN_CHANGE: _plan_change,
}


def _numbered(context: ActionContext, action: LineAction) -> tuple[Sensor, Line]:
    """The device whose line has the action's number, and the line, when nothing else is being done to it."""
    found = sensor_rows.find_by_mdn(context.tx, context.scope, action.mdn, tokens=context.scope)
    if found is None:
        raise NotFound("line_number", field="mdn", mdn=action.mdn)
    device = access.admitted(found, access.Thing.LINE)
    line = _idle(context, device)
    line_actions.require_stated(action, device, line)
    return device, line


def _line_in_use(context: ActionContext, action: LineAction) -> tuple[Sensor, Line]:
    """As `_numbered`, when the line is in use: normal or suspended."""
    device, line = _numbered(context, action)
    lines.moved(line.nw_status, LineEvent.KEEP)
    return device, line


def _idle(context: ActionContext, device: Sensor) -> Line:
    """The device's line (not opened if it has none). Raises `lines.LineBusy` during a call to the carrier about it."""
    claim = rows.claim_of(context.tx, device.id)
    if claim is not None and claim.holds(context.now_ms):
        raise lines.LineBusy("under_way")
    return device.line or Line(sensor_id=device.id, mdn=None, nw_status=NwStatus.NOT_OPENED)


def _owner(context: ActionContext, action: LineAction) -> Company:
    """The company that an opening names: by its id, or as the operator of a service type."""
    asked, service_type = action.company_id, action.service_type
    if asked is not None:
        company = _company(context, asked)
        if service_type is not None and service_type != company.service_type:
            raise BadParameter("service_type", field="serviceType", service_type=company.service_type)
        return company
    operator = rows.operator_of(context.tx, service_type or "")
    if operator is None:
        raise NotFound("service_type", field="serviceType", service_type=str(service_type))
    return _company(context, operator)


def _company(context: ActionContext, company_id: CompanyId) -> Company:
    found = companies.find(context.tx, context.scope, company_id)
    if found is None:
        raise NotFound("company", field="companyId")
    return access.admitted(found, access.Thing.COMPANY)


def _device(context: ActionContext, company: Company, imei: str) -> Sensor | None:
    """The sensor with this serial number in the company's service type."""
    found = sensor_rows.find_by_serial(
        context.tx, context.scope, service_type=company.service_type, serial_no=imei, tokens=context.scope
    )
    return None if found is None else found[0]


def _new_device(context: ActionContext, company: Company, imei: str, device_type: str) -> Sensor:
    """A new sensor of the company: without an access token, on no vehicle."""
    said = sensors.registration(linked=True, serial_no=imei, type=device_type)
    sensor_id = SensorId(context.ids.next(now_ms=context.now_ms))
    new = fleet_sensors.of_registration(said, company=company, sensor_id=sensor_id, now_ms=context.now_ms)
    sensor_rows.insert_new(context.tx, new)
    return new


def _cancelled(context: ActionContext, device: Sensor) -> tuple[Notification, ...]:
    return activation.activation(context.tx, device.id, ids=context.ids, now_ms=context.now_ms)


def _require_free(context: ActionContext, field: str, mdn: str, device: Sensor | None) -> None:
    """Refuse a number that is the line of a device other than this one."""
    found = sensor_rows.find_by_mdn(context.tx, context.scope, mdn, tokens=context.scope)
    if found is not None and (device is None or found[0].id != device.id):
        raise lines.NumberTaken("other_device", field=field, mdn=mdn)


def _require_vacant(new: Sensor, old: Sensor) -> None:
    """Refuse a device that cannot take over a line: another company's, on a vehicle, or with a line of its own."""
    if new.company_id != old.company_id:
        raise sensors.SerialTaken("new_of_other_company", field="newImei")
    if new.id == old.id or (new.line is not None and new.line.mdn is not None):
        raise lines.NumberTaken("has_line", field="newImei")
    if new.vehicle_id is not None:
        raise sensors.AlreadyMounted("new_device", field="newImei")


def _kept(
    context: ActionContext, action: LineAction, device: Sensor, after: Line, *, vehicle_of: Sensor | None = None
) -> Done:
    """Store the line and notify subscribers of a changed state."""
    before = NwStatus.NOT_OPENED if device.line is None else device.line.nw_status
    rows.put(context.tx, after, now_ms=context.now_ms)
    occurred_ms = context.now_ms if action.occurred_ms is None else action.occurred_ms
    change = Change(
        no=context.ids.take(1, now_ms=context.now_ms),
        type=action.type.value,
        nw_status=after.nw_status,
        occurred_ms=occurred_ms,
    )
    rows.add(context.tx, device.id, change)
    pending: tuple[Notification, ...] = ()
    if after.nw_status is not before:
        pending = notices.network_status(
            context.tx,
            subject=notices.Subject(device.id, device.company_id, (vehicle_of or device).vehicle_id),
            status=after.nw_status,
            at_ms=occurred_ms,
            ids=context.ids,
            now_ms=context.now_ms,
        )
    return Done(device.id, after.nw_status, pending)

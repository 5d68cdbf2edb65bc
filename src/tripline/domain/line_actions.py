"""The eight actions of a carrier on a line: the fields of each, and its outcome.

Follows spec/interface (Carrier-side lifecycle actions) and spec/gaps G10.
"""

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Any, ClassVar, Final

import msgspec

from tripline.domain import fields, ids, instants
from tripline.domain.ids import CompanyId, SensorId
from tripline.domain.lines import Line, LineEvent, NwStatus
from tripline.domain.refusals import BadParameter, Invalid, Refusal
from tripline.domain.sensors import Sensor

_NUMBER: Final = re.compile(r"\+?[0-9]{3,31}", re.ASCII)
_DEVICE: Final = re.compile(r"[0-9A-Za-z]{1,32}", re.ASCII)


class Type(StrEnum):
    """Types of actions."""

    OPENING = "OPENING"
    DEVICE_CHANGE = "DEVICE_CHANGE"
    OWNER_CHANGE = "OWNER_CHANGE"
    NUMBER_CHANGE = "NUMBER_CHANGE"
    SIM_CHANGE = "SIM_CHANGE"
    TERMINATION = "TERMINATION"
    SUSPENSION = "SUSPENSION"
    PLAN_CHANGE = "PLAN_CHANGE"


KINDS: Final[dict[Type, dict[str, LineEvent]]] = {
    Type.SUSPENSION: {
        "USE": LineEvent.SUSPEND_USE,
        "DORMANT": LineEvent.SUSPEND_DORMANT,
        "TERMINATION": LineEvent.SUSPEND_TO_END,
    },
    Type.TERMINATION: {"ORDINARY": LineEvent.END, "AUTHORITY": LineEvent.END_BY_AUTHORITY},
}
"""The kinds of the actions that have several, and the line event of each."""

NEEDED: Final[dict[Type, tuple[str, ...]]] = {
    Type.OPENING: ("mdn", "imei"),
    Type.DEVICE_CHANGE: ("mdn", "newImei"),
    Type.OWNER_CHANGE: ("mdn",),
    Type.NUMBER_CHANGE: ("mdn", "newMdn"),
    Type.SIM_CHANGE: ("mdn", "imsi", "iccid"),
    Type.TERMINATION: ("mdn", "kind"),
    Type.SUSPENSION: ("mdn", "kind"),
    Type.PLAN_CHANGE: ("mdn", "subscription"),
}
"""The fields without which an action is refused; an opening needs `companyId` or `serviceType` besides."""

_USED: Final[dict[Type, frozenset[str]]] = {
    Type.OPENING: frozenset({"imei", "imsi", "iccid", "subscription", "companyId", "serviceType", "deviceType"}),
    Type.DEVICE_CHANGE: frozenset({"newImei", "deviceType"}),
    Type.OWNER_CHANGE: frozenset(),
    Type.NUMBER_CHANGE: frozenset({"newMdn"}),
    Type.SIM_CHANGE: frozenset({"imsi", "iccid"}),
    Type.TERMINATION: frozenset({"kind"}),
    Type.SUSPENSION: frozenset({"kind"}),
    Type.PLAN_CHANGE: frozenset({"subscription"}),
}
"""The fields that each action writes or selects by, besides the number of its line."""
_OF_OTHERS: Final = frozenset({"newImei", "newMdn", "kind"})
"""Fields that do not describe the present line: only the actions that use them may have them."""


class ActionChanged(Invalid):
    """An earlier action with this id has different content."""

    code: ClassVar[str] = "carrier.action_changed"


class LineAction(msgspec.Struct, frozen=True, kw_only=True):
    """A validated action with all fields that its type requires."""

    type: Type
    event: LineEvent
    mdn: str
    imei: str | None = None
    new_imei: str | None = None
    new_mdn: str | None = None
    imsi: str | None = None
    iccid: str | None = None
    subscription: str | None = None
    company_id: CompanyId | None = None
    service_type: str | None = None
    device_type: str | None = None
    occurred_ms: int | None = None
    stated: tuple[tuple[str, str], ...] = ()
    """Further fields about the device and line, by published names; they must match the record (`require_stated`)."""


class Outcome(msgspec.Struct, frozen=True):
    """The outcome of an action: done, or refused."""

    action_id: str
    sensor_id: SensorId | None = None
    """The device that has the line now; after an owner change its previous device."""
    nw_status: NwStatus | None = None
    refused: Refusal | None = None


def action_id(value: object) -> str:
    """The carrier's own number of an action: 1 to 255 printable characters. Raises `BadParameter`."""
    if value is not None and not isinstance(value, str):
        raise BadParameter("type_text", field="actionId")
    return fields.required("actionId", value)


def action(
    *, type: str | None = None, kind: str | None = None, occurred_time: int | None = None, **sent: str | None
) -> LineAction:
    """Return the action when all fields are valid; else raise the `BadParameter` of the first invalid one.

    `sent` holds the fields of `_CHECKS`. Those that the type does not use go to `stated`, or are refused when they do
    not describe the present line.
    """
    assert sent.keys() <= _CHECKS.keys(), sent.keys() - _CHECKS.keys()
    known = Type(str(fields.one_of("type", fields.required("type", type), tuple(Type))))
    named = {fields.published(own): sent.get(own) for own in _CHECKS} | {"kind": kind}
    for name in NEEDED[known]:
        fields.required(name, named[name])
    used = {"mdn", *_USED[known]}
    stated = tuple((name, value) for name, value in named.items() if value and name not in used)
    for name, _ in stated:
        if name in _OF_OTHERS:
            raise fields.ReadOnly("action_type", field=name, type=known)
    if known is Type.OPENING and not named["companyId"] and not named["serviceType"]:
        raise BadParameter("company_missing", field="companyId")
    event = _event(known, kind)
    values: dict[str, Any] = {
        own: check(name, named[name]) for own, check in _CHECKS.items() if (name := fields.published(own)) in used
    }
    return LineAction(type=known, event=event, **values, occurred_ms=_instant(occurred_time), stated=stated)


def require_stated(action: LineAction, device: Sensor, line: Line) -> None:
    """Check the stated fields of an action against its device and line. Raises `fields.ReadOnly`."""
    recorded = {
        "imei": device.serial_no,
        "imsi": line.imsi,
        "iccid": line.iccid,
        "subscription": line.subscription,
        "companyId": device.company_id,
        "serviceType": device.service_type,
        "deviceType": device.type,
    }
    for name, value in action.stated:
        if (ids.canonical(value) or value) != recorded[name]:
            raise fields.ReadOnly("not_on_record", field=name, type=action.type)


def _event(known: Type, kind: str | None) -> LineEvent:
    if known in KINDS:
        return KINDS[known][str(fields.one_of("kind", kind, tuple(KINDS[known])))]
    return LineEvent.OPEN if known is Type.OPENING else LineEvent.KEEP


def _number(name: str, value: str | None) -> str | None:
    if value and not _NUMBER.fullmatch(value):
        raise fields.WrongForm("phone_number", field=name)
    return value or None


def _device(name: str, value: str | None) -> str | None:
    if value and not _DEVICE.fullmatch(value):
        raise fields.WrongForm("device_number", field=name)
    return value or None


def _text(name: str, value: str | None) -> str | None:
    return fields.text(name, value or None)


def _company(name: str, value: str | None) -> str | None:
    return fields.uuid(name, value) if value else None


def _instant(value: int | None) -> int | None:
    if value is not None and not 0 <= value <= instants.LAST_MS:
        raise fields.OutOfRange("milliseconds", field="occurredTime", most=instants.LAST_MS)
    return value


_CHECKS: Final[dict[str, Callable[[str, str | None], str | None]]] = {
    "mdn": _number,
    "imei": _device,
    "new_imei": _device,
    "new_mdn": _number,
    "imsi": _device,
    "iccid": _device,
    "subscription": _text,
    "company_id": _company,
    "service_type": _text,
    "device_type": _text,
}
"""The check of each field of a line or its device, by our name of the field."""

"""JSON of carrier lines: the carrier's actions, their outcomes, and the request to lift a pause.

An addition to the interface, except `mdn` of the request (spec/rest 11).
"""

import hashlib
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from tripline.domain import line_actions
from tripline.domain.line_actions import Outcome
from tripline.domain.refusals import BadParameter
from tripline.wire.described import about
from tripline.wire.rest import examples
from tripline.wire.rest.base import Id, id_or_unset

ACTIONS_MAX: Final = 1_000
"""Actions in one request."""


class CarrierAction(msgspec.Struct, rename="camel", kw_only=True):
    """An action on a line. The required fields depend on its type."""

    action_id: Annotated[
        str | None,
        about("the carrier's own number of the action, 1 to 255 printable characters; required", "2025-000001"),
    ] = None
    type: Annotated[str | None, about(f"one of {', '.join(line_actions.Type)}; required", "OPENING")] = None
    kind: Annotated[
        str | None, about("of a suspension USE, DORMANT or TERMINATION; of a termination ORDINARY or AUTHORITY", "USE")
    ] = None
    mdn: Annotated[str | None, about("telephone number of the line; required", "01012345678")] = None
    imei: Annotated[str | None, about("IMEI of the device that a line is opened for", "356938035643809")] = None
    new_imei: Annotated[str | None, about("IMEI of the device that takes over the line", "356938035643817")] = None
    new_mdn: Annotated[str | None, about("telephone number that the line has from now on", "01087654321")] = None
    imsi: Annotated[str | None, about("IMSI of the SIM, letters and digits", "450081234567890")] = None
    iccid: Annotated[str | None, about("ICCID of the SIM, letters and digits", "8982300123456789012")] = None
    subscription: Annotated[str | None, about("plan code", "CATM1-10MB")] = None
    company_id: Annotated[
        str | None,
        about("company that owns the device of a new line; or `serviceType`", "b37c5a20-c801-11ef-9d5c-6b1f6f2a4c11"),
    ] = None
    service_type: Annotated[str | None, about("service type whose operator owns the device of a new line", "taxi")] = (
        None
    )
    device_type: Annotated[
        str | None, about("type of a device that was not registered before; OBD2 when not sent", "OBD2")
    ] = None
    occurred_time: Annotated[int | None, about("when it happened; epoch ms; now when not sent", 1735689602000)] = None


class CarrierActions(CarrierAction, kw_only=True):
    """One action, or up to 1,000 in `actions`, processed in order."""

    actions: Annotated[
        list[CarrierAction] | None,
        about(
            "a batch; the other fields then stand in each of its actions",
            [{"actionId": "2025-000002", "type": "SUSPENSION", "kind": "USE", "mdn": "01012345678"}],
        ),
    ] = None


class ActionOutcome(msgspec.Struct, rename="camel", kw_only=True):
    """The outcome of an action."""

    action_id: Annotated[str, about("the carrier's own number of the action", "2025-000001")]
    outcome: Annotated[str, about("DONE or REFUSED", "DONE")]
    sensor_id: Annotated[
        Id,
        about(
            "the device that has the line now, after an owner change the one that had it; the placeholder when refused",
            examples.SENSOR,
        ),
    ]
    nw_status: Annotated[str | None, about("state of the device's line now; null when refused", "01")]
    error_code: Annotated[int | UnsetType, about("of a refused action: code as in error answers", 30)] = UNSET
    message: Annotated[
        str | UnsetType,
        about("of a refused action: what to mend", "The line has nwStatus 02; suspension of use needs 01."),
    ] = UNSET


class ActionOutcomes(msgspec.Struct, kw_only=True):
    """The outcome of each action, in the order sent."""

    outcomes: Annotated[
        list[ActionOutcome],
        about(
            "one for each action",
            [{"actionId": "2025-000002", "outcome": "DONE", "sensorId": examples.SENSOR, "nwStatus": "02"}],
        ),
    ]


class UnpauseRequest(msgspec.Struct, rename="camel", kw_only=True):
    """The line that returns to normal."""

    mdn: Annotated[str | None, about("telephone number of the line; required", "01012345678")] = None


def submitted(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The actions in a request, at least one. Raises `BadParameter` when there are none, too many, or other values."""
    if "actions" not in body:
        return [body]
    actions = body["actions"]
    if not isinstance(actions, list) or not all(isinstance(each, dict) for each in actions):
        raise BadParameter("type_objects", field="actions")
    if not actions:
        raise BadParameter.missing("actions")
    for field in msgspec.structs.fields(CarrierAction):
        if body.get(field.encode_name):
            raise BadParameter("beside_actions", field=field.encode_name)
    if len(actions) > ACTIONS_MAX:
        raise BadParameter("actions_many", field="actions", most=ACTIONS_MAX)
    return actions


def digest(action: dict[str, Any]) -> str:
    """SHA-256 of the action's fields, independent of their order. Raises `BadParameter`."""
    try:
        return hashlib.sha256(msgspec.json.encode(action, order="sorted")).hexdigest()
    except RecursionError as error:
        raise BadParameter("body_deep") from error


def outcome(done: Outcome, error_code: int | None, message: str | None) -> ActionOutcome:
    """The record, with errorCode and message for a refused action."""
    return ActionOutcome(
        action_id=done.action_id,
        outcome="DONE" if done.refused is None else "REFUSED",
        sensor_id=id_or_unset(done.sensor_id),
        nw_status=done.nw_status,
        error_code=UNSET if error_code is None else error_code,
        message=UNSET if message is None else message,
    )

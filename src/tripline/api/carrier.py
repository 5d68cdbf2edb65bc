"""Carrier lines: the carrier's actions on them, and lifting the pause of one (spec/rest 11)."""

from typing import Any

import msgspec
from litestar.types import ASGIApp

from tripline.domain import access, line_actions, lines, sensors
from tripline.domain.access import Action
from tripline.domain.line_actions import Outcome
from tripline.domain.refusals import BadParameter, NotFound, Refusal
from tripline.http import answers, errors, languages, parameters, permission
from tripline.http.context import Call, context_of, lines_of
from tripline.http.operations import operation
from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.services import notifications
from tripline.services.lines.actions import Submitted
from tripline.wire.rest import bodies as rest_bodies
from tripline.wire.rest import lines as rest_lines
from tripline.wire.rest import sensors as rest_sensors


@operation(
    "POST",
    "/api/carrier/v1/actions",
    access=Action.CARRIER_ACT,
    request=rest_lines.CarrierActions,
    answer=rest_lines.ActionOutcomes,
    refuses=(
        NotFound,
        lines.WrongState,
        lines.LineBusy,
        lines.NumberTaken,
        line_actions.ActionChanged,
        sensors.SerialTaken,
        sensors.AlreadyMounted,
    ),
)
async def act(request: Call) -> ASGIApp:
    """Report the carrier's actions on lines in the order in which they happened: one action, or a batch in `actions`.

    A single action that is refused is answered with the error. In a batch each action has its own outcome, and a
    refused one does not stop the others. A repeated action is not executed again: the same content is answered with the
    first outcome, different content is refused. A line that is busy (errorCode 2) leaves no outcome behind: send the
    action again.
    """
    actor = await permission.permitted(request)
    body = await parameters.json_object(request)
    sent = [_submitted(each) for each in rest_lines.submitted(body)]
    outcomes = await lines_of(request).carrier_actions.perform(actor=actor, submitted=sent)
    if "actions" not in body and outcomes[0].refused is not None:
        raise outcomes[0].refused
    language = languages.asked_of(request)
    records = [_record(each, language) for each in outcomes]
    return answers.ok(rest_lines.ActionOutcomes(outcomes=records), language=language)


@operation(
    "POST",
    "/api/tre/v1_4/carrier/unpause",
    aliases=("/api/tre/v1_4/swing/unpause",),
    access=Action.CARRIER_UNPAUSE,
    request=rest_lines.UnpauseRequest,
    required=("mdn",),
    answer=rest_sensors.SensorRecord,
    refuses=(NotFound, lines.WrongState, lines.LineBusy, lines.CarrierRefused),
)
async def unpause(request: Call) -> ASGIApp:
    """Have the carrier lift the pause of a line of the caller's company: `nwStatus` goes from 02 to 01.

    When the carrier cannot be reached (503) it is not known whether the pause was lifted; ask again, it happens once.
    """
    actor = await permission.permitted(request)
    access.company_of(actor)
    sent = rest_bodies.read(await parameters.json_object(request), rest_lines.UnpauseRequest)
    if not sent.mdn:
        raise BadParameter.missing("mdn")
    device = await lines_of(request).unpauser.unpause(actor=actor, mdn=sent.mdn)
    notifications.send(context_of(request).signals, notifications.PUSH_DUE)
    return answers.ok(rest_sensors.sensor_record(device))


def _submitted(action: dict[str, Any]) -> Submitted:
    """The action as the service takes it. Raises `BadParameter` for one without an id: it cannot be recorded."""
    action_id = line_actions.action_id(action.get("actionId"))
    said: line_actions.LineAction | Refusal
    try:
        values = msgspec.structs.asdict(rest_bodies.read(action, rest_lines.CarrierAction))
        del values["action_id"]
        said = line_actions.action(**values)
    except BadParameter as refusal:
        said = refusal
    return Submitted(action_id, rest_lines.digest(action), said)


def _record(done: Outcome, language: Language) -> rest_lines.ActionOutcome:
    if done.refused is None:
        return rest_lines.outcome(done, None, None)
    code = errors.ANSWERS[done.refused.kind][1]
    return rest_lines.outcome(done, code, catalogue.sentence(done.refused, language))

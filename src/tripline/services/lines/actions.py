"""Perform a carrier's actions in the order sent, each once; a refused action does not stop the others.

Follows spec/gaps G10. Not here: the effect of each action (`effects.py`), decoding them (`api/carrier.py`).
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import msgspec

from tripline.domain import access, line_actions, lines
from tripline.domain.access import Action, Actor
from tripline.domain.ids import TimeIds
from tripline.domain.line_actions import LineAction, Outcome
from tripline.domain.refusals import Refusal
from tripline.services.lines import effects
from tripline.services.lines.effects import ActionContext
from tripline.services.notifications import Notification
from tripline.store.database import uniqueness
from tripline.store.lines import actions as carrier_actions
from tripline.store.transactions import WriteTx


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
    tx: WriteTx,
    *,
    actor: Actor,
    submitted: Sequence[Submitted],
    busy: AbstractSet[str],
    ids: TimeIds,
    now_ms: int,
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
        raise lines.busy()
    try:
        with uniqueness.undone_if_refused(context.tx):
            done = effects.apply(context, submitted.said)
    except lines.LineBusy:
        raise
    except Refusal as refusal:
        return Outcome(submitted.action_id, refused=refusal), ()
    return Outcome(submitted.action_id, done.sensor_id, done.nw_status), done.notifications

"""Contesting a trip or one of its events from its page, withdrawing that, and deciding it with a preview."""

import asyncio
from functools import partial
from typing import Final

from litestar.response import Response

from tripline.domain import fields
from tripline.domain.access import Action, Thing
from tripline.domain.disputes import AlreadyDisputed, Dispute, NotOpen, OwnDispute, Reason, TooManyDisputes
from tripline.domain.fields import LONG_TEXT_MAX
from tripline.domain.refusals import BadParameter, NotFound, Refusal
from tripline.http import parameters
from tripline.http.context import Call, context_of, scores_of
from tripline.http.operations import Value
from tripline.portal.frame import figures, forms, views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_and, visitor_of
from tripline.portal.trips import trip_page
from tripline.portal.trips.costs import Cost
from tripline.portal.trips.trip_page import PATH
from tripline.services import admission, notifications
from tripline.services.scores import disputes as service
from tripline.services.scores.disputes import ToDecide
from tripline.services.scores.reads import NoScoreYet
from tripline.store.transactions import ReadTx, WriteTx

_EVENT: Final = Value(
    name="event", type=str, meaning="id of the GPS event to contest", example="6c9ba3d0-c801-11ef-9d5c-6b1f6f2a4c11"
)
_ONE: Final = f"{PATH}/{{tripId}}"
_LABELS: Final = {
    "reason": "portal.trip.contest.reason",
    "text": "portal.trip.contest.text",
    "answer": "portal.trip.decide.answer",
    "eventId": "portal.trip.contest.what",
}


@page("GET", f"{_ONE}/contest", access=Action.DISPUTE_OPEN, query=(_EVENT,), refuses=(NoScoreYet,))
async def contest_form(request: Call) -> Response[bytes]:
    """The form to contest a trip or one of its events."""
    return await _contest(request, event_id=request.query_params.get("event", ""))


@page("POST", f"{_ONE}/contest", access=Action.DISPUTE_OPEN, refuses=(NoScoreYet, AlreadyDisputed, TooManyDisputes))
async def contest(request: Call) -> Response[bytes]:
    """Contest a trip or one of its events."""
    form = await forms.read(request)
    context, trip_id = context_of(request), parameters.trip_id(request)
    visitor = await visitor_of(request)
    event_id = form.text("event")
    try:
        reason = fields.one_of("reason", form.text("reason") or None, list(Reason))
        if reason is None:
            raise BadParameter.missing("reason")
        await scores_of(request).disputes.open(
            actor=visitor.actor,
            trip_id=trip_id,
            reason=Reason(reason),
            text=fields.prose("text", form.text("text")),
            event_id=fields.uuid("eventId", event_id) if event_id else None,
            mail=visitor.language if form.flag("mail") else None,
        )
    except Refusal as refusal:
        return await _contest(request, event_id=event_id, form=form, error=forms.of_form(refusal))
    notifications.send(context.signals, service.CHANGED)
    return views.moved(request, f"{PATH}/{trip_id}", notice="portal.trip.contest.sent")


@page("POST", f"{_ONE}/disputes/{{disputeId}}/withdraw", access=Action.DISPUTE_OPEN, refuses=(NotOpen,))
async def withdraw(request: Call) -> Response[bytes]:
    """Withdraw a dispute that is not decided yet; only for the person who opened it."""
    await forms.read(request)
    context, visitor = context_of(request), await visitor_of(request)
    dispute_id = parameters.path_id(request, "disputeId")

    withdraw = scores_of(request).disputes.withdraw
    withdrawn = await context.store.write(partial(withdraw, actor=visitor.actor, dispute_id=dispute_id))
    notifications.send(context.signals, service.CHANGED)
    return views.moved(request, f"{PATH}/{withdrawn.trip_id}", notice="portal.trip.dispute.withdrawn")


@page("GET", f"{_ONE}/disputes/{{disputeId}}", access=Action.DISPUTE_DECIDE, refuses=(OwnDispute,))
async def decision_form(request: Call) -> Response[bytes]:
    """A dispute to decide, with the score before and after side by side."""
    return await _decision(request)


@page("POST", f"{_ONE}/disputes/{{disputeId}}", access=Action.DISPUTE_DECIDE, refuses=(OwnDispute, NotOpen))
async def decide(request: Call) -> Response[bytes]:
    """Accept a dispute, so that the contested event or trip no longer counts, or reject it with an answer."""
    form = await forms.read(request)
    context, visitor = context_of(request), await visitor_of(request)
    dispute_id = parameters.path_id(request, "disputeId")
    accept = form.text("decision") == "accept"

    def work(tx: WriteTx) -> Dispute:
        service.to_decide(tx, actor=visitor.actor, dispute_id=dispute_id)
        text = form.text("answer")
        answer = fields.long_text("answer", text or None) if accept else fields.prose("answer", text)
        return scores_of(request).disputes.decide(
            tx, actor=visitor.actor, dispute_id=dispute_id, accept=accept, answer=answer or None
        )

    try:
        decided = await context.store.write(work)
    except Refusal as refusal:
        return await _decision(request, answer=form.text("answer"), error=forms.of_form(refusal))
    notifications.send(context.signals, service.CHANGED)
    notice = "portal.trip.decide.accepted" if accept else "portal.trip.decide.rejected"
    return views.moved(request, f"{PATH}/{decided.trip_id}", notice=notice)


async def _contest(
    request: Call, *, event_id: str, form: forms.Form | None = None, error: Refusal | None = None
) -> Response[bytes]:
    trip_id = parameters.trip_id(request)

    visitor, _ = await visitor_and(
        request, lambda tx, visitor: admission.admit(tx, visitor.actor, Action.DISPUTE_OPEN, Thing.TRIP, trip_id)
    )
    told = await trip_page.told_of(request, trip_id)
    outcome = told.view.outcome
    if outcome.score is None:
        if outcome.why_not is None:
            raise NoScoreYet("waiting")
        raise NoScoreYet("not_scored", why=outcome.why_not, reason=outcome.why_not.value)
    event: Cost | None = next((each for each in told.costs if event_id and each.event_id == event_id), None)
    return views.show(
        request,
        "trips/contest.html",
        title="portal.trip.contest.title",
        error=error,
        labels=_LABELS,
        told=told,
        event=event,
        event_id=event_id if event is not None else "",
        base=f"{PATH}/{trip_id}",
        reasons=[(each.value, visitor.say(f"portal.trip.reason.{each.value}")) for each in Reason],
        typed=forms.Typed() if form is None else form.typed,
        longest=LONG_TEXT_MAX,
    )


async def _decision(request: Call, *, answer: str = "", error: Refusal | None = None) -> Response[bytes]:
    context, dispute_id = context_of(request), parameters.path_id(request, "disputeId")

    def work(tx: ReadTx, visitor: Visitor) -> ToDecide:
        found = service.to_preview(tx, actor=visitor.actor, dispute_id=dispute_id)
        if found.dispute.trip_id != parameters.trip_id(request):
            raise NotFound("id", thing=Thing.DISPUTE)
        return found

    visitor, to_decide = await visitor_and(request, work, short=False)
    told = await trip_page.told_of(request, to_decide.dispute.trip_id)
    after = await asyncio.to_thread(service.score_without, to_decide, scores_of(request).roads)
    figure = figures.of(visitor.language, context.time_zone)
    return views.show(
        request,
        "trips/decide.html",
        title="portal.trip.decide.title",
        error=error,
        labels=_LABELS,
        told=told,
        dispute=to_decide.dispute,
        before=figure.number(told.view.outcome.score, 1),
        after=None if after is None else figure.number(after, 1),
        base=f"{PATH}/{to_decide.dispute.trip_id}",
        answer=answer,
        longest=LONG_TEXT_MAX,
    )

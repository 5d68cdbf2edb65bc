"""Disputes of scores: opening, listing, deciding and withdrawing them."""

from typing import Final

from litestar.types import ASGIApp

from tripline.domain import corrections, fields
from tripline.domain.access import Action, Actor, Thing
from tripline.domain.disputes import AlreadyDisputed, NotOpen, OwnDispute, Reason, State, TooManyDisputes
from tripline.domain.ids import UserId
from tripline.domain.refusals import BadParameter
from tripline.http import answers, languages, pages, parameters, permission, reads
from tripline.http.context import Call, context_of, scores_of
from tripline.http.operations import Value, operation
from tripline.services import admission, notifications
from tripline.services.scores import disputes as service
from tripline.services.scores.reads import NoScoreYet
from tripline.store.transactions import ReadTx, WriteTx
from tripline.wire.rest import bodies as rest_bodies
from tripline.wire.rest.base import Page
from tripline.wire.rest.disputes import DecideDispute, Dispute, Disputes, OpenDispute, dispute

_STATE: Final = Value("state", State, "those in this state alone", "OPEN")


@operation(
    "POST",
    "/api/tre/v1_3/trip/{tripId}/dispute",
    access=Action.DISPUTE_OPEN,
    request=OpenDispute,
    required=("reason", "text"),
    answer=Dispute,
    refuses=(NoScoreYet, AlreadyDisputed, TooManyDisputes),
)
async def open_dispute(request: Call) -> ASGIApp:
    """Dispute an event of a scored trip, or the whole trip."""
    actor, trip_id = await permission.admitted_to(request, Thing.TRIP, parameters.trip_id)
    sent = rest_bodies.read(await parameters.json_object(request), OpenDispute)
    reason = fields.one_of("reason", sent.reason, list(Reason))
    if reason is None:
        raise BadParameter.missing("reason")
    text = fields.prose("text", sent.text)
    event_id = fields.uuid("eventId", sent.event_id) if sent.event_id else None
    opened = await scores_of(request).disputes.open(
        actor=actor,
        trip_id=trip_id,
        reason=Reason(reason),
        text=text,
        event_id=event_id,
        mail=languages.asked_of(request) if sent.mail else None,
    )
    notifications.send(context_of(request).signals, service.CHANGED)
    return answers.ok(dispute(opened))


@operation("GET", "/api/tre/v1_3/trip/{tripId}/dispute", access=Action.DRIVING_READ, answer=Disputes)
async def list_disputes_of_trip(request: Call) -> ASGIApp:
    """The disputes of the trip, with their outcomes."""

    def work(tx: ReadTx, actor: Actor) -> Disputes:
        found = service.of_trip(tx, actor=actor, trip_id=parameters.trip_id(request))
        return Disputes([dispute(each) for each in found])

    return await reads.many(request, work)


@operation("GET", "/api/tre/v1_3/dispute/{disputeId}", access=Action.DRIVING_READ, answer=Dispute)
async def read_dispute(request: Call) -> ASGIApp:
    """A dispute, also for the person who opened it and may not read its trip any more."""

    def work(tx: ReadTx, actor: Actor) -> Dispute:
        return dispute(service.read(tx, actor=actor, dispute_id=_dispute_id(request)))

    return await reads.one(request, work)


@operation(
    "GET",
    "/api/tre/v1_3/company/{companyId}/dispute",
    access=Action.DISPUTE_LIST,
    answer=pages.timed(Dispute),
    query=(_STATE,),
)
async def list_disputes(request: Call) -> ASGIApp:
    """The disputes of the company's trips; for directors, of the vehicles that they manage."""

    def work(tx: ReadTx, actor: Actor) -> Page:
        company_id = parameters.company_id(request)
        admission.admit(tx, actor, Action.DISPUTE_LIST, Thing.COMPANY, company_id)
        asked = fields.one_of("state", parameters.query_text(request.query_params, "state"), list(State))
        state = None if asked is None else State(asked)
        return reads.by_time(
            request,
            lambda span: service.of_company(tx, actor=actor, company_id=company_id, span=span, state=state),
            record=dispute,
            id_of=lambda found: found.id,
        )

    return await reads.answer(request, work, laborious=True)


@operation(
    "PUT",
    "/api/tre/v1_3/dispute/{disputeId}/decision",
    access=Action.DISPUTE_DECIDE,
    request=DecideDispute,
    required=("accept",),
    answer=Dispute,
    refuses=(OwnDispute, NotOpen, *corrections.REFUSALS),
)
async def decide_dispute(request: Call) -> ASGIApp:
    """Accept a dispute, so that the disputed event or trip no longer counts or counts for another driver, or reject it
    with a reason."""
    context = context_of(request)
    actor = await permission.admitted(
        request, lambda tx, actor: service.to_decide(tx, actor=actor, dispute_id=_dispute_id(request))
    )
    dispute_id = _dispute_id(request)
    sent = rest_bodies.read(await parameters.json_object(request), DecideDispute)
    if (accept := sent.accept) is None:
        raise BadParameter.missing("accept")
    answer = fields.long_text("answer", sent.answer) if accept else fields.prose("answer", sent.answer)
    driver_id = UserId(fields.uuid("driverId", sent.driver_id)) if accept and sent.driver_id else None
    language = languages.asked_of(request)

    def work(tx: WriteTx) -> Dispute:
        desk = scores_of(request).disputes
        if driver_id is None:
            return dispute(desk.decide(tx, actor=actor, dispute_id=dispute_id, accept=accept, answer=answer or None))
        return dispute(
            desk.correct(
                tx, actor=actor, dispute_id=dispute_id, driver_id=driver_id, answer=answer or None, language=language
            )
        )

    decided = await context.store.write(work)
    notifications.send(context.signals, service.CHANGED)
    return answers.ok(decided)


@operation(
    "PUT",
    "/api/tre/v1_3/dispute/{disputeId}/withdrawal",
    access=Action.DISPUTE_OPEN,
    answer=Dispute,
    refuses=(NotOpen,),
)
async def withdraw_dispute(request: Call) -> ASGIApp:
    """Withdraw a dispute that is not decided yet; only for the person who opened it."""
    context = context_of(request)

    def work(tx: WriteTx) -> Dispute:
        actor = permission.permitted_in(tx, request)
        return dispute(scores_of(request).disputes.withdraw(tx, actor=actor, dispute_id=_dispute_id(request)))

    withdrawn = await context.store.write(work)
    notifications.send(context.signals, service.CHANGED)
    return answers.ok(withdrawn)


def _dispute_id(request: Call) -> str:
    return parameters.path_id(request, "disputeId")

"""Rescorings: having a company's stored trips scored anew, how far that is, cancelling it."""

from litestar.types import ASGIApp

from tripline.domain import fields
from tripline.domain.access import Action, Actor, Thing
from tripline.domain.refusals import BadParameter
from tripline.domain.rescorings import Ended, RescoringRequest, UnderWay
from tripline.http import answers, changes, pages, parameters, permission, reads
from tripline.http.context import Call, context_of
from tripline.http.operations import operation
from tripline.services import notifications
from tripline.services.scores import rescorings
from tripline.store.transactions import ReadTx, WriteTx
from tripline.wire.rest import bodies as rest_bodies
from tripline.wire.rest.base import Page
from tripline.wire.rest.rescorings import BeginRescoring, Rescoring, rescoring


@operation(
    "POST",
    "/api/tre/v1_3/company/{companyId}/scoring/rescoring",
    access=Action.POLICY_CHOOSE,
    request=BeginRescoring,
    required=("dryRun",),
    answer=Rescoring,
    refuses=(UnderWay,),
)
async def begin_rescoring(request: Call) -> ASGIApp:
    """Have stored trips of the company scored anew in the background, by the policy in force for each; or try that."""
    context = context_of(request)
    actor, company_id = await permission.admitted_to(request, Thing.COMPANY, parameters.company_id)
    sent = rest_bodies.read(await parameters.json_object(request), BeginRescoring)
    if sent.dry_run is None:
        raise BadParameter.missing("dryRun")
    for name, at_ms in (("fromTime", sent.from_time), ("toTime", sent.to_time)):
        parameters.check_instant(name, at_ms)
    asked = RescoringRequest(
        from_ms=sent.from_time,
        to_ms=sent.to_time,
        everything=bool(sent.all),
        dry_run=sent.dry_run,
        policy=sent.policy,
        area=None if sent.map is None else fields.required("map", sent.map),
    )

    def work(tx: WriteTx) -> Rescoring:
        return rescoring(rescorings.begin(tx, **changes.by(request, actor), company_id=company_id, asked=asked))

    begun = await context.store.write(work)
    notifications.send(context.signals, notifications.RESCORING_DUE)
    return answers.ok(begun)


@operation(
    "GET",
    "/api/tre/v1_3/company/{companyId}/scoring/rescoring",
    access=Action.POLICY_CHOOSE,
    answer=pages.timed(Rescoring),
)
async def list_rescorings(request: Call) -> ASGIApp:
    """The company's rescorings: their authors, progress and changes."""

    def work(tx: ReadTx) -> Page:
        _, company_id = permission.admitted_in(tx, request, Thing.COMPANY, parameters.company_id)
        return reads.by_time(
            request,
            lambda span: rescorings.of_company(tx, company_id=company_id, span=span),
            record=rescoring,
            id_of=lambda found: found.id,
        )

    return answers.ok(await reads.page(request, work))


@operation("GET", "/api/tre/v1_3/rescoring/{rescoringId}", access=Action.POLICY_CHOOSE, answer=Rescoring)
async def read_rescoring(request: Call) -> ASGIApp:
    """The progress of a rescoring, and its changes so far."""

    def work(tx: ReadTx, actor: Actor) -> Rescoring:
        return rescoring(rescorings.read(tx, actor=actor, rescoring_id=_rescoring_id(request)))

    return await reads.one(request, work)


@operation(
    "PUT",
    "/api/tre/v1_3/rescoring/{rescoringId}/cancellation",
    access=Action.POLICY_CHOOSE,
    answer=Rescoring,
    refuses=(Ended,),
)
async def cancel_rescoring(request: Call) -> ASGIApp:
    """Cancel a rescoring. Scores that have changed already stay."""
    context = context_of(request)

    def work(tx: WriteTx) -> Rescoring:
        actor, rescoring_id = permission.permitted_in(tx, request), _rescoring_id(request)
        return rescoring(rescorings.cancel(tx, actor=actor, rescoring_id=rescoring_id, now_ms=context.clock()))

    return answers.ok(await context.store.write(work))


def _rescoring_id(request: Call) -> str:
    return parameters.path_id(request, "rescoringId")

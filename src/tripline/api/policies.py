"""Scoring policies: listing them, reading a company's policies, previewing and choosing another."""

from typing import Final

import msgspec
from litestar.types import ASGIApp

from tripline.domain.access import Action, Actor, Thing
from tripline.domain.refusals import BadParameter, NotFound
from tripline.domain.rescorings import RescoringRequest, UnderWay
from tripline.http import answers, changes, parameters, permission, reads
from tripline.http.context import Call, context_of, scores_of
from tripline.http.operations import Value, operation
from tripline.services import notifications, shares
from tripline.services.scores import policy_service, rescorings
from tripline.store.scores import policies, rescore
from tripline.store.scores import rescorings as rescoring_rows
from tripline.store.scores.policies import Chosen, ChosenFor, Kind, Policy
from tripline.store.scores.rescore import NamedTrip
from tripline.store.transactions import ReadTx, WriteTx
from tripline.wire.rest import bodies as rest_bodies
from tripline.wire.rest.base import Id
from tripline.wire.rest.policies import (
    ChoosePolicy,
    CompanyScoring,
    PolicyChoice,
    PolicyChoiceFor,
    PolicyMover,
    PolicyPreview,
    ScoringPolicies,
    ScoringPolicy,
    TryPolicy,
)
from tripline.wire.rest.rescorings import rescoring

_DIGITS: Final = 10


@operation("GET", "/api/tre/v1_3/scoring/policies", access=Action.POLICY_CHOOSE, answer=ScoringPolicies)
async def list_policies(request: Call) -> ASGIApp:
    """Every stored scoring policy, with all its parameters, and the companies and service types that chose one."""

    def work(tx: ReadTx, actor: Actor) -> ScoringPolicies:
        choices = policy_service.choices_within(tx, actor=actor)
        return ScoringPolicies([_policy(each) for each in policies.every(tx)], [_choice_for(each) for each in choices])

    return await reads.many(request, work)


@operation(
    "GET",
    "/api/tre/v1_3/scoring/policy/{policy}",
    access=Action.DRIVING_READ,
    in_path=(Value("policy", str, "number of the policy", "1", required=True),),
    answer=ScoringPolicy,
    refuses=(NotFound,),
)
async def read_policy(request: Call) -> ASGIApp:
    """One scoring policy, by the number that scores name."""

    def work(tx: ReadTx, _: Actor) -> ScoringPolicy:
        number = request.path_params["policy"]
        found = policies.one(tx, _number(number))
        if found is None:
            raise NotFound("policy", no=number)
        return _policy(found)

    return await reads.one(request, work)


@operation("GET", "/api/tre/v1_3/company/{companyId}/scoring", access=Action.POLICY_CHOOSE, answer=CompanyScoring)
async def company_scoring(request: Call) -> ASGIApp:
    """The scoring policy of the company's trips, and the choices by date."""
    return answers.ok(await context_of(request).store.read(lambda tx: _company_scoring(tx, request)))


@operation(
    "PUT",
    "/api/tre/v1_3/company/{companyId}/scoring",
    access=Action.POLICY_CHOOSE,
    request=ChoosePolicy,
    required=("policy",),
    answer=CompanyScoring,
    refuses=(UnderWay,),
)
async def choose_policy(request: Call) -> ASGIApp:
    """Score the company's trips by a policy from a date on. Choices for later dates are removed.

    `preview` first shows the effect of the policy on stored trips. Their scores stay until they are scored again: with
    `rescore` in the background, from the same date on.
    """
    context = context_of(request)
    actor, company_id = await permission.admitted_to(request, Thing.COMPANY, parameters.company_id)
    body = await parameters.json_object(request)
    sent = rest_bodies.read(body, ChoosePolicy)
    if "policy" not in body:
        raise BadParameter.missing("policy")
    parameters.check_instant("fromTime", sent.from_time)

    def work(tx: WriteTx) -> None:
        from_ms = scores_of(request).policies.choose(
            tx, actor=actor, company_id=company_id, no=sent.policy, from_ms=sent.from_time
        )
        if sent.rescore:
            rescorings.begin(
                tx, **changes.by(request, actor), company_id=company_id, asked=RescoringRequest(from_ms=from_ms)
            )

    await context.store.write(work)
    if sent.rescore:
        notifications.send(context.signals, notifications.RESCORING_DUE)
    return answers.ok(await context.store.read(lambda tx: _company_scoring(tx, request)))


@operation(
    "POST",
    "/api/tre/v1_3/company/{companyId}/scoring/preview",
    access=Action.POLICY_CHOOSE,
    request=TryPolicy,
    required=("policy",),
    answer=PolicyPreview,
    refuses=(policy_service.PreviewUnderWay,),
)
async def preview_policy(request: Call) -> ASGIApp:
    """Score the company's newest scored trips by another policy, without storing the result."""
    context = context_of(request)
    actor, company_id = await permission.admitted_to(request, Thing.COMPANY, parameters.company_id)
    sent = rest_bodies.read(await parameters.json_object(request), TryPolicy)
    if (no := sent.policy) is None:
        raise BadParameter.missing("policy")
    parameters.check_instant("fromTime", sent.from_time)
    from_ms = context.clock() if sent.from_time is None else sent.from_time
    service = scores_of(request).policies
    policy, holder = await context.store.read(lambda tx: (policy_service.known(tx, no), shares.holder(tx, actor)))
    found = await service.preview(company_id, policy, holder)
    means = found.means

    def named(tx: ReadTx) -> tuple[dict[int, NamedTrip], int]:
        trips = rescore.named(tx, [each.trip_no for each in found.movers])
        return trips, service.to_score(tx, company_id, no, from_ms=from_ms, zone=context.time_zone)

    trips, to_score = await context.store.read(named)
    return answers.ok(
        PolicyPreview(
            trips=found.judged,
            same=found.same,
            moved=found.moved,
            lost=found.lost,
            mean_change=found.sum / found.moved if found.moved else 0.0,
            greatest_change=found.most,
            reasons=dict(found.reasons),
            mean_before=None if means is None else means.before,
            mean_after=None if means is None else means.after,
            movers=[
                PolicyMover(Id(trips[each.trip_no].id), trips[each.trip_no].start_ms, each.before, each.after)
                for each in found.movers
                if each.trip_no in trips
            ],
            to_score=to_score,
        )
    )


def _company_scoring(tx: ReadTx, request: Call) -> CompanyScoring:
    actor = permission.permitted_in(tx, request)
    company_id = parameters.company_id(request)
    chosen = policy_service.choices(tx, actor=actor, company_id=company_id)
    newest = rescoring_rows.newest(tx, company_id)
    in_force = scores_of(request).policies.in_force(tx, company_id)
    return CompanyScoring(
        in_force=in_force.no,
        in_force_by=in_force.source,
        in_force_since=in_force.since_ms,
        choices=[_choice(each) for each in chosen],
        rescoring=None if newest is None else rescoring(newest),
    )


def _choice(chosen: Chosen) -> PolicyChoice:
    by = chosen.chosen_by
    return PolicyChoice(chosen.no, chosen.from_ms, chosen.chosen_ms, None if by is None else Id(by))


def _choice_for(found: ChosenFor) -> PolicyChoiceFor:
    each = found.chosen
    is_company = each.kind is Kind.COMPANY
    return PolicyChoiceFor(
        company_id=Id(each.subject) if is_company else None,
        company_name=found.name,
        service_type=None if is_company else each.subject,
        policy=each.no,
        from_time=each.from_ms,
    )


def _number(text: str) -> int:
    """The number of a policy in a path; 0 for other texts, which no policy has."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS else 0


def _policy(kept: Policy) -> ScoringPolicy:
    sections = msgspec.to_builtins(kept.rules)
    del sections["scoring"]["grace_s"]  # the time of scoring is not part of a policy
    return ScoringPolicy(policy=kept.no, **sections)

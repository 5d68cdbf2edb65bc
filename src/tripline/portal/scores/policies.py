"""Pages of scoring policies: the stored ones and their use; choosing one for a company, with a preview, and following
the rescoring.

REST has the same: policies, previews, rescorings (spec/rest 10.2, 10.4). Policies are added with `tripline policy`.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from litestar.response import Response

from tripline.domain import fields, trends
from tripline.domain.access import Action, Thing
from tripline.domain.ids import CompanyId
from tripline.domain.refusals import BadParameter, Refusal
from tripline.domain.rescorings import Ended, Outcome, Rescoring, RescoringRequest, Stage, UnderWay
from tripline.domain.scores import Source, why_not
from tripline.domain.shares import Holder
from tripline.http import changes, parameters
from tripline.http.context import Call, context_of, scores_of
from tripline.language import catalogue
from tripline.portal.frame import addresses, digests, figures, forms, views
from tripline.portal.frame.page import page
from tripline.portal.frame.record_forms import ChangedMeanwhile
from tripline.portal.frame.visitors import Visitor, visitor_and, visitor_in
from tripline.portal.scores import policy_words
from tripline.services import admission, notifications, shares
from tripline.services.fleet import history
from tripline.services.scores import policy_service, rescorings
from tripline.services.scores.policy_service import InForce, PreviewUnderWay
from tripline.services.scores.rescore import Preview
from tripline.store.scores import policies, rescore
from tripline.store.scores import rescorings as rescoring_rows
from tripline.store.scores.policies import Chosen, ChosenFor, Policy
from tripline.store.transactions import ReadTx, WriteTx

LIST: Final = "/scores/policies"
NONE: Final = "none"
"""The choice of no own policy."""
_POLICY, _FROM, _RESCORE, _SHOWN = "policy", "from", "rescore", "shown"
_LABELS: Final = {_POLICY: "portal.policy.policy", _FROM: "portal.policy.from"}
_REFUSES: Final = (UnderWay, ChangedMeanwhile)
_DIGITS: Final = 10
"""Of the number of a policy; none has the number 0."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """The choice that the page previews."""

    no: int | None
    """None: no own policy."""
    judged_by: Policy | None
    """The policy that would be in force."""
    day: int
    from_ms: int
    to_score: int
    differs: list[tuple[str, str, str]]
    """Names of settings with their values now and then."""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a company's page."""

    company_id: CompanyId
    name: str | None
    policies: Sequence[Policy]
    in_force: InForce
    choices: Sequence[Chosen]
    behind: int
    """Stored scores by another policy of trips since the company's choice holds."""
    rescoring: Rescoring | None
    wanted: Wanted | None


@page("GET", LIST, access=Action.POLICY_CHOOSE)
async def every(request: Call) -> Response[bytes]:
    """Stored policies in words, and the companies and service types that chose one."""
    service = scores_of(request).policies

    def work(tx: ReadTx, visitor: Visitor) -> tuple[list[Policy], list[ChosenFor], int | None]:
        choices = policy_service.choices_within(tx, actor=visitor.actor)
        return policies.every(tx), choices, service.of_settings(tx)

    visitor, (known, choices, own) = await visitor_and(request, work, short=False)
    company_id = visitor.actor.company_id
    return views.show(
        request,
        "scores/policies.html",
        title="portal.policy.title",
        policies=policy_words.of(visitor, known),
        choices=choices,
        own=own,
        most=policy_service.LISTED,
        company=None if company_id is None else _path(company_id),
    )


@page("GET", "/scores/companies/{companyId}/policy", access=Action.POLICY_CHOOSE)
async def show(request: Call) -> Response[bytes]:
    """The policy of a company, and the effects of another one."""
    return await _show(request, request.query_params)


@page("GET", "/scores/companies/{companyId}/policy/preview", access=Action.POLICY_CHOOSE)
async def preview(request: Call) -> Response[bytes]:
    """The company's newest trips judged by another policy."""
    context, service = context_of(request), scores_of(request).policies

    def work(tx: ReadTx, visitor: Visitor) -> tuple[Shown, Holder]:
        return _read(tx, request, visitor, request.query_params), shares.holder(tx, visitor.actor)

    visitor, (shown, holder) = await visitor_and(request, work, short=False)
    wanted = shown.wanted
    if wanted is None or wanted.judged_by is None:
        return views.moved(request, _path(shown.company_id))
    try:
        outcome = await service.preview(shown.company_id, wanted.judged_by, holder)
    except PreviewUnderWay as refusal:
        return _shown(request, visitor, shown, fragment="preview", busy=catalogue.sentence(refusal, visitor.language))
    trips = await context.store.read(lambda tx: rescore.named(tx, [each.trip_no for each in outcome.movers]))
    movers = [(trips[no], before, after) for no, before, after in outcome.movers if no in trips]
    return _shown(request, visitor, shown, fragment="preview", preview=outcome, movers=movers)


@page("GET", "/scores/companies/{companyId}/policy/rescoring", access=Action.POLICY_CHOOSE)
async def progress(request: Call) -> Response[bytes]:
    """The progress of the company's newest rescoring."""
    return await _show(request, {}, fragment="rescoring")


@page("POST", "/scores/companies/{companyId}/policy", access=Action.POLICY_CHOOSE, refuses=_REFUSES)
async def choose(request: Call) -> Response[bytes]:
    """Choose the policy of a company from a day on, and have its stored trips scored again if the form says so."""
    form = await forms.read(request)
    context, service = context_of(request), scores_of(request).policies
    sent = {name: form.text(name) for name in (_POLICY, _FROM)}

    def work(tx: WriteTx) -> tuple[Visitor, Shown, Wanted]:
        visitor = visitor_in(tx, request)
        shown = _read(tx, request, visitor, sent)
        wanted = shown.wanted
        if wanted is None:
            raise BadParameter.missing(_POLICY)
        if form.text(_SHOWN) != _state(shown):
            raise ChangedMeanwhile()
        service.choose(tx, actor=visitor.actor, company_id=shown.company_id, no=wanted.no, from_ms=wanted.from_ms)
        if form.flag(_RESCORE):
            _begin(tx, request, visitor, shown.company_id, RescoringRequest(from_ms=wanted.from_ms))
        return visitor, shown, wanted

    try:
        visitor, shown, wanted = await context.store.write(work)
    except Refusal as refusal:
        return await _show(request, sent, error=forms.of_form(refusal))
    if form.flag(_RESCORE):
        notifications.send(context.signals, notifications.RESCORING_DUE)
    figure = figures.of(visitor.language, context.time_zone)
    notice = "portal.policy.chosen" if wanted.no is not None else "portal.policy.ended"
    return views.moved(
        request, _path(shown.company_id), notice=notice, policy=wanted.no or 0, day=figure.date(wanted.from_ms)
    )


@page("POST", "/scores/companies/{companyId}/policy/rescore", access=Action.POLICY_CHOOSE, refuses=_REFUSES)
async def rescore_trips(request: Call) -> Response[bytes]:
    """Score the company's stored trips again since its choice holds, or try a policy on all of them."""
    form = await forms.read(request)
    context = context_of(request)
    sent = {_POLICY: form.text(_POLICY), _FROM: ""}

    def work(tx: WriteTx) -> Shown:
        visitor = visitor_in(tx, request)
        shown = _read(tx, request, visitor, sent)
        if shown.wanted is None:
            asked = RescoringRequest(from_ms=shown.in_force.since_ms)
        else:
            tried = None if shown.wanted.judged_by is None else shown.wanted.judged_by.no
            asked = RescoringRequest(dry_run=True, policy=tried, everything=True)
        _begin(tx, request, visitor, shown.company_id, asked)
        return shown

    try:
        shown = await context.store.write(work)
    except Refusal as refusal:
        return await _show(request, sent, error=forms.of_form(refusal))
    notifications.send(context.signals, notifications.RESCORING_DUE)
    return views.moved(request, _path(shown.company_id))


@page("POST", "/scores/companies/{companyId}/policy/cancel", access=Action.POLICY_CHOOSE, refuses=(Ended,))
async def cancel(request: Call) -> Response[bytes]:
    """Cancel a rescoring; scores that have changed already stay."""
    form = await forms.read(request)
    context = context_of(request)

    def work(tx: WriteTx) -> CompanyId:
        visitor, company_id = _admitted(tx, request)
        rescoring_id = fields.uuid("rescoringId", form.text("rescoringId"))
        rescorings.cancel(tx, actor=visitor.actor, rescoring_id=rescoring_id, now_ms=context.clock())
        return company_id

    try:
        company_id = await context.store.write(work)
    except Ended as refusal:
        return await _show(request, {}, error=refusal)
    return views.moved(request, _path(company_id), notice="portal.policy.cancelled")


def _begin(tx: WriteTx, request: Call, visitor: Visitor, company_id: CompanyId, asked: RescoringRequest) -> None:
    rescorings.begin(tx, **changes.by(request, visitor.actor), company_id=company_id, asked=asked)


async def _show(
    request: Call, asked: Any, *, fragment: str = views.CONTENT, error: Refusal | None = None
) -> Response[bytes]:
    def work(tx: ReadTx) -> tuple[Visitor, Shown]:
        visitor = visitor_in(tx, request)
        try:
            return visitor, _read(tx, request, visitor, asked)
        except BadParameter:
            # The refused values: without them, the page shows the rest.
            if error is None:
                raise
            return visitor, _read(tx, request, visitor, {})

    visitor, shown = await context_of(request).store.read(work)
    return _shown(request, visitor, shown, fragment=fragment, error=error)


def _admitted(tx: ReadTx, request: Call) -> tuple[Visitor, CompanyId]:
    visitor = visitor_in(tx, request)
    company_id = parameters.company_id(request)
    admission.admit(tx, visitor.actor, Action.POLICY_CHOOSE, Thing.COMPANY, company_id)
    return visitor, company_id


def _read(tx: ReadTx, request: Call, visitor: Visitor, asked: Any) -> Shown:
    """Read the page of a company. Raises `NotFound`, `Forbidden`, and `BadParameter` for a wrong choice."""
    context, service = context_of(request), scores_of(request).policies
    company_id = parameters.company_id(request)
    choices = policy_service.choices(tx, actor=visitor.actor, company_id=company_id)
    in_force = service.in_force(tx, company_id)
    known = policies.every(tx)
    behind = 0
    if in_force.source is Source.COMPANY and in_force.since_ms is not None:
        behind = service.to_score(tx, company_id, in_force.no, from_ms=in_force.since_ms, zone=context.time_zone)
    wanted = None
    if text := asked.get(_POLICY, ""):
        no = None if text == NONE else policy_service.known(tx, parameters.whole(text, most_digits=_DIGITS) or 0).no
        now = next((each for each in known if each.no == in_force.no), None)
        then_no = service.in_force_without(tx, company_id).no if no is None else no
        then = next((each for each in known if each.no == then_no), None)
        today = trends.day_of(context.clock(), context.time_zone)
        day = fields.day(_FROM, asked[_FROM]) if asked.get(_FROM) else today
        from_ms = trends.midnight_ms(day, context.time_zone)
        wanted = Wanted(
            no=no,
            judged_by=then,
            day=day,
            from_ms=from_ms,
            to_score=service.to_score(tx, company_id, no, from_ms=from_ms, zone=context.time_zone),
            differs=[] if now is None or then is None else policy_words.differences(now.rules, then.rules),
        )
    return Shown(
        company_id=company_id,
        name=history.name_of(tx, Thing.COMPANY, company_id),
        policies=known,
        in_force=in_force,
        choices=choices,
        behind=behind,
        rescoring=rescoring_rows.newest(tx, company_id),
        wanted=wanted,
    )


def _shown(
    request: Call,
    visitor: Visitor,
    shown: Shown,
    *,
    fragment: str,
    error: Refusal | None = None,
    preview: Preview | None = None,
    **values: Any,
) -> Response[bytes]:
    path, wanted, running = _path(shown.company_id), shown.wanted, shown.rescoring
    counted = Outcome() if running is None else running.counted
    choice = wanted and (NONE if wanted.no is None else str(wanted.no))
    day = wanted and trends.text(wanted.day)
    return views.show(
        request,
        "scores/policy.html",
        title=views.Plain(visitor.say("portal.policy.of", name=shown.name or visitor.say("portal.record.elsewhere"))),
        fragment=fragment,
        error=error,
        labels=_LABELS,
        path=path,
        shown=shown,
        policies=policy_words.of(visitor, shown.policies),
        source=f"portal.policy.source.{shown.in_force.source}",
        state=_state(shown),
        choice=choice,
        day=day,
        preview=preview,
        preview_path=choice and day and addresses.of(f"{path}/preview", [(_POLICY, choice), (_FROM, day)]),
        reasons={} if preview is None else {why: why_not(why) for why in preview.reasons},
        none=NONE,
        counted=counted,
        mean_change=counted.sum / counted.moved if counted.moved else 0.0,
        is_running=running is not None and running.state is Stage.RUNNING,
        **values,
    )


def _state(shown: Shown) -> str:
    """Digest of the choices that the page shows, to notice those of other people."""
    return digests.of({"choices": repr([(each.no, each.from_ms) for each in shown.choices])})


def _path(company_id: CompanyId) -> str:
    return f"/scores/companies/{company_id}/policy"

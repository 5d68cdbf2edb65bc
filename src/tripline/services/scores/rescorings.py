"""Begin, read and cancel rescorings of a company's stored trips, for administrators."""

import msgspec

from tripline.domain import access, rescorings
from tripline.domain.access import Action, Actor, Thing
from tripline.domain.ids import CompanyId, TimeIds
from tripline.domain.refusals import BadParameter
from tripline.domain.rescorings import NEXT, Cause, Ended, Outcome, Rescoring, RescoringRequest
from tripline.services import admission
from tripline.services.scores import policy_service
from tripline.store.lists import Span
from tripline.store.scores import rescorings as rows
from tripline.store.transactions import ReadTx, WriteTx


def begin(
    tx: WriteTx, *, actor: Actor, company_id: CompanyId, asked: RescoringRequest, ids: TimeIds, now_ms: int
) -> Rescoring:
    """Begin a rescoring of the company's trips.

    Raises `NotFound`, `Forbidden`, `BadParameter`, `UnderWay`.
    """
    admission.admit(tx, actor, Action.POLICY_CHOOSE, Thing.COMPANY, company_id)
    if asked.policy is not None:
        if not asked.dry_run:
            raise BadParameter("policy_tried_only", field="policy")
        policy_service.known(tx, asked.policy)
    rows.forget_old(tx, company_id, kept=rescorings.KEPT - 1)
    new_id = ids.next(now_ms=now_ms)
    rows.keep(
        tx,
        rescoring_id=new_id,
        company_id=company_id,
        requested_by=actor.user_id,
        asked=asked,
        outcome=msgspec.json.encode(Outcome()),
        state=NEXT[None, None],
        now_ms=now_ms,
    )
    return read(tx, actor=actor, rescoring_id=new_id)


def read(tx: ReadTx, *, actor: Actor, rescoring_id: str) -> Rescoring:
    """Return a rescoring of a company whose policy the actor may choose. Raises `NotFound`, `Forbidden`."""
    scope = access.scope_of(actor, Action.POLICY_CHOOSE)
    return access.admitted(rows.inside(tx, scope, rescoring_id), Thing.RESCORING)


def cancel(tx: WriteTx, *, actor: Actor, rescoring_id: str, now_ms: int) -> Rescoring:
    """Cancel the rescoring; scores written so far remain. Raises `NotFound`, `Forbidden`, `Ended`."""
    found = read(tx, actor=actor, rescoring_id=rescoring_id)
    state = NEXT.get((found.state, Cause.CANCEL))
    if state is None or not rows.close(tx, found.no, state, now_ms=now_ms):
        raise Ended(state=read(tx, actor=actor, rescoring_id=rescoring_id).state)
    return read(tx, actor=actor, rescoring_id=rescoring_id)


def of_company(tx: ReadTx, *, company_id: CompanyId, span: Span) -> list[Rescoring]:
    """Rescorings of a company, in the order of their requests. The caller has checked access.

    Raises `UnknownOffset`.
    """
    return rows.of_company(tx, company_id, span)

"""Pages of delegation between companies: what is delegated to whom, and the candidates.

Not here: delegating vehicles and taking them back (`delegation_of_many.py`), the chain of a single vehicle and the
rights on it (`chains.py`).
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, TypeAlias

import msgspec
from litestar.response import Response

from tripline.domain import access, fields
from tripline.domain.access import Action, Actor
from tripline.domain.delegations import Relation
from tripline.domain.ids import CompanyId
from tripline.domain.refusals import Refusal
from tripline.http import parameters
from tripline.http.rim import Call, rim_of
from tripline.portal import forms, newcomers, views, windows
from tripline.portal.forms import Form
from tripline.portal.notices import Undo
from tripline.portal.page import page
from tripline.portal.visitors import Visitor, visitor_in, visitor_of
from tripline.portal.windows import Part
from tripline.services.fleet import candidates, companies, delegations
from tripline.store.lists import Window
from tripline.store.transactions import ReadTx, WriteTx

COMPANIES: Final = 200
"""Candidates and delegated companies that are shown; there is a handful."""
TO: Final = "toCompanyId"
"""The field with the company that vehicles go to."""
BETWEEN: Final = "."
"""What stands between vehicle and company in the value of a box."""
Choice: TypeAlias = tuple[CompanyId, str]
"""Id and name of a company that vehicles go to."""
_PARTNER: Final = "partnerId"
"""The field with a partner that becomes a candidate."""
_TITLE: Final = "portal.delegation.title"


class Receiver(msgspec.Struct, frozen=True):
    """A company that has vehicles of one's own."""

    id: CompanyId
    name: str
    vehicles: int


class Sides(msgspec.Struct, frozen=True, kw_only=True):
    """What the overview shows: one of its tabs."""

    tab: str
    out: Part[Any] | None = None
    received: Part[Any] | None = None
    owners: dict[CompanyId, str] = {}
    """Names of the companies whose vehicles were received."""
    receivers: Sequence[Receiver] = ()
    chosen: CompanyId | None = None
    """The company whose vehicles are shown."""
    candidates: Sequence[Relation] = ()
    partners: Sequence[Choice] = ()
    """Own partners that may become candidates."""


@page("GET", "/delegation", access=Action.VEHICLE_DELEGATIONS_READ)
async def overview(request: Call) -> Response[bytes]:
    """Vehicles delegated to others, those received, and the companies that vehicles may be delegated to."""

    def work(tx: ReadTx) -> tuple[Visitor, Sides | None]:
        visitor = visitor_in(tx, request)
        if visitor.actor.company_id is None:
            return visitor, None
        tabs = {"out": _out, "in": _received, "candidates": _candidates}
        tab = request.query_params.get("tab")
        found = tabs.get(tab or "out", _out)(tx, request, visitor)
        if tab is None and not found.receivers and (found.out is None or not found.out.rows):
            received = _received(tx, request, visitor)
            if received.received is not None and received.received.rows:
                return visitor, received
        return visitor, found

    visitor, sides = await rim_of(request).store.read(work)
    if sides is None:
        return newcomers.shown(request, visitor, title=_TITLE)
    return _overview(request, visitor, sides)


@page("POST", "/delegation/candidates", access=Action.CANDIDATE_MANAGE)
async def register(request: Call) -> Response[bytes]:
    """Register a company that vehicles may be delegated to."""
    form = await forms.read(request)
    visitor = await visitor_of(request)
    rim = rim_of(request)
    now_ms = rim.clock()

    def work(tx: WriteTx) -> Relation:
        own = access.company_of(visitor.actor)
        named = _PARTNER if form.text(_PARTNER) else TO
        other = receiver_named(named, form.text(named))
        return candidates.register(
            tx, actor=visitor.actor, company_id=own, to_company_id=other, ids=rim.ids, now_ms=now_ms
        )

    try:
        relation = await rim.store.write(work)
    except Refusal as refusal:
        if refusal.kind in forms.NOT_OF_FORM:
            raise
        sides = await rim.store.read(lambda tx: _candidates(tx, request, visitor))
        return _overview(request, visitor, sides, error=refusal, typed=form.typed)
    return views.moved(
        request,
        "/delegation?tab=candidates",
        notice="portal.delegation.candidate.registered",
        company=relation.to_company_name,
    )


@page("POST", "/delegation/candidates/remove", access=Action.CANDIDATE_MANAGE)
async def remove(request: Call) -> Response[bytes]:
    """Remove a company that no vehicle is delegated to."""
    form = await forms.read(request)
    visitor = await visitor_of(request)
    rim = rim_of(request)
    other, now_ms = _receiver(form), rim.clock()

    def work(tx: WriteTx) -> None:
        own = access.company_of(visitor.actor)
        candidates.remove(tx, actor=visitor.actor, company_id=own, to_company_id=other, ids=rim.ids, now_ms=now_ms)

    await rim.store.write(work)
    undo = Undo("/delegation/candidates", {TO: other})
    return views.moved(request, "/delegation?tab=candidates", notice="portal.delegation.candidate.removed", undo=undo)


def _out(tx: ReadTx, request: Call, visitor: Visitor) -> Sides:
    """Own vehicles delegated to others: of one company at a time, if the actor may know the companies; else all."""
    actor, asked = visitor.actor, windows.asked(request)
    if not visitor.may(Action.CANDIDATE_READ):
        found = delegations.held(tx, actor=actor, window=asked)
        return Sides(tab="out", out=windows.part(request, found, name=lambda each: each.vehicle_no))
    receivers = [
        Receiver(each.to_company_id, each.to_company_name, _count(tx, actor, each.to_company_id))
        for each in _relations(tx, actor, delegated=True)
    ]
    chosen = CompanyId(windows.text(request, "company"))
    if chosen not in {each.id for each in receivers}:
        if not receivers:
            return Sides(tab="out")
        chosen = receivers[0].id
    given = delegations.between(tx, actor=actor, to_company_id=chosen, window=asked)
    shown = windows.part(request, given, name=lambda each: each.vehicle_no, company=chosen)
    return Sides(tab="out", out=shown, receivers=receivers, chosen=chosen)


def _received(tx: ReadTx, request: Call, visitor: Visitor) -> Sides:
    """Vehicles of others that one's company has."""
    own = access.company_of(visitor.actor)
    window = windows.asked(request)
    found = delegations.delegated(tx, actor=visitor.actor, company_id=own, received=True, window=window)
    shown = windows.part(request, found, name=lambda each: each.vehicle_no)
    owners = {each.company_id for each in shown.rows}
    names = {company_id: candidates.counterpart(tx, company_id).name for company_id in owners}
    return Sides(tab="in", received=shown, owners=names)


def _candidates(tx: ReadTx, _request: Call, visitor: Visitor) -> Sides:
    """Companies that vehicles may be delegated to."""
    if not visitor.may(Action.CANDIDATE_READ):
        return Sides(tab="candidates")
    found = _relations(tx, visitor.actor, delegated=False)
    receivers = [
        Receiver(each.to_company_id, each.to_company_name, 0) for each in _relations(tx, visitor.actor, delegated=True)
    ]
    known = {each.to_company_id for each in found} | {each.id for each in receivers}
    partners = _partners(tx, visitor.actor, known) if visitor.may(Action.CANDIDATE_MANAGE) else []
    return Sides(tab="candidates", candidates=found, receivers=receivers, partners=partners)


def _partners(tx: ReadTx, actor: Actor, known: AbstractSet[CompanyId]) -> list[Choice]:
    """The actor's partners beside those known, by name: the first `COMPANIES`. A partner has none."""
    listed = companies.listed(tx, actor=actor, service_type=None, window=Window(limit=COMPANIES + len(known) + 1))
    return [(each.id, each.name) for each in listed if each.id not in known and each.id != actor.company_id][:COMPANIES]


def _relations(tx: ReadTx, actor: Actor, *, delegated: bool) -> Sequence[Relation]:
    own, window = access.company_of(actor), Window(limit=COMPANIES)
    return candidates.of_company(tx, actor=actor, company_id=own, delegated=delegated, window=window)


def _count(tx: ReadTx, actor: Actor, to_company_id: CompanyId) -> int:
    return delegations.count_between(tx, actor=actor, to_company_id=to_company_id)


def _overview(request: Call, visitor: Visitor, sides: Sides, **more: Any) -> Response[bytes]:
    return views.show(
        request,
        visitor,
        "delegation/overview.html",
        title=_TITLE,
        labels={TO: "portal.delegation.company_id", _PARTNER: "portal.delegation.partner"},
        sides=sides,
        may_delegate=visitor.may(Action.VEHICLE_DELEGATE),
        may_manage=visitor.may(Action.CANDIDATE_MANAGE),
        may_read=visitor.may(Action.CANDIDATE_READ),
        between=BETWEEN,
        **more,
    )


def receivers_of(tx: ReadTx, actor: Actor) -> list[Choice]:
    """Companies that the actor's company may delegate vehicles to, by name."""
    related = [*_relations(tx, actor, delegated=False), *_relations(tx, actor, delegated=True)]
    return sorted(((each.to_company_id, each.to_company_name) for each in related), key=lambda each: each[1])


def _receiver(form: Form) -> CompanyId:
    """The company that vehicles go to, or may go to. Raises `BadParameter`."""
    return receiver_named(TO, form.text(TO))


def receiver_named(name: str, value: str) -> CompanyId:
    """The company that the field names. Raises `BadParameter`."""
    return CompanyId(parameters.uuid_of(fields.required(name, value), name))


handlers: Final[list[Any]] = [overview, register, remove]

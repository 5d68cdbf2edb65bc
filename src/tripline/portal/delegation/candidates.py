"""The page of candidates: companies that vehicles may be delegated to."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any, Final, TypeAlias

from litestar.response import Response

from tripline.domain import access, fields
from tripline.domain.access import Action, Actor
from tripline.domain.delegations import Relation
from tripline.domain.ids import CompanyId
from tripline.domain.refusals import Refusal
from tripline.http import changes
from tripline.http.context import Call, context_of
from tripline.portal.frame import forms, views
from tripline.portal.frame.notices import Undo
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_and, visitor_of
from tripline.services.fleet import candidates, companies
from tripline.store.lists import Window
from tripline.store.transactions import ReadTx

COMPANIES: Final = 200
"""Maximum number of companies shown; usually there are few."""
TO: Final = "toCompanyId"
BETWEEN: Final = "."
"""Separator between vehicle and company in a checkbox value."""
Choice: TypeAlias = tuple[CompanyId, str]
"""Id and name of a receiving company."""
CANDIDATES: Final = "/delegation/candidates"
_PARTNER: Final = "partnerId"


@page("GET", CANDIDATES, access=Action.CANDIDATE_READ)
async def show(request: Call) -> Response[bytes]:
    """Companies that vehicles may be delegated to."""
    visitor, shown = await visitor_and(
        request, lambda tx, visitor: None if visitor.actor.company_id is None else _read(tx, visitor), short=False
    )
    if shown is None:
        return views.without_company(request, title="portal.delegation.title")
    return _shown(request, visitor, shown)


@page("POST", CANDIDATES, access=Action.CANDIDATE_MANAGE)
async def register(request: Call) -> Response[bytes]:
    """Register a company that vehicles may be delegated to."""
    form = await forms.read(request)
    context, visitor = context_of(request), await visitor_of(request)
    by, own = changes.by(request, visitor.actor), access.company_of(visitor.actor)
    named = _PARTNER if form.text(_PARTNER) else TO
    try:
        other = receiver_named(named, form.text(named))
        relation = await context.store.write(partial(candidates.register, **by, company_id=own, to_company_id=other))
    except Refusal as refusal:
        shown = await context.store.read(lambda tx: _read(tx, visitor))
        return _shown(request, visitor, shown, error=forms.of_form(refusal), typed=form.typed)
    return views.moved(
        request, CANDIDATES, notice="portal.delegation.candidate.registered", company=relation.to_company_name
    )


@page("POST", f"{CANDIDATES}/remove", access=Action.CANDIDATE_MANAGE)
async def remove(request: Call) -> Response[bytes]:
    """Remove a candidate company without delegated vehicles."""
    form = await forms.read(request)
    context, visitor = context_of(request), await visitor_of(request)
    other = receiver_named(TO, form.text(TO))
    by, own = changes.by(request, visitor.actor), access.company_of(visitor.actor)
    await context.store.write(partial(candidates.remove, **by, company_id=own, to_company_id=other))
    undo = Undo(CANDIDATES, {TO: other})
    return views.moved(request, CANDIDATES, notice="portal.delegation.candidate.removed", undo=undo)


def _read(tx: ReadTx, visitor: Visitor) -> dict[str, Any]:
    """The candidates, the holders of vehicles of the visitor's company, and partners that may become candidates."""
    found, holders = _relations(tx, visitor.actor, delegated=False), holders_of(tx, visitor.actor)
    known = {each.to_company_id for each in found} | {company_id for company_id, _ in holders}
    partners = partners_of(tx, visitor.actor, known) if visitor.may(Action.CANDIDATE_MANAGE) else []
    return {"candidates": found, "holders": holders, "partners": partners}


def _relations(tx: ReadTx, actor: Actor, *, delegated: bool) -> Sequence[Relation]:
    own, window = access.company_of(actor), Window(limit=COMPANIES)
    return candidates.of_company(tx, actor=actor, company_id=own, delegated=delegated, window=window)


def _shown(request: Call, visitor: Visitor, shown: dict[str, Any], **more: Any) -> Response[bytes]:
    return views.show(
        request,
        "delegation/candidates.html",
        title="portal.delegation.candidates",
        labels={TO: "portal.delegation.company_id", _PARTNER: "portal.delegation.partner"},
        shown=shown,
        may_delegate=visitor.may(Action.VEHICLE_DELEGATE),
        may_manage=visitor.may(Action.CANDIDATE_MANAGE),
        **more,
    )


def partners_of(tx: ReadTx, actor: Actor, known: AbstractSet[CompanyId] = frozenset()) -> list[Choice]:
    """The actor's partners except those in `known`, by name: the first `COMPANIES`. Partners have no partners."""
    listed = companies.listed(tx, actor=actor, service_type=None, window=Window(limit=COMPANIES + len(known) + 1))
    return [(each.id, each.name) for each in listed if each.id not in known and each.id != actor.company_id][:COMPANIES]


def holders_of(tx: ReadTx, actor: Actor) -> list[Choice]:
    """Companies that currently have vehicles of the actor's company, by name: the first `COMPANIES`."""
    return [(each.to_company_id, each.to_company_name) for each in _relations(tx, actor, delegated=True)]


def receivers_of(tx: ReadTx, actor: Actor) -> list[Choice]:
    """Companies that the actor's company may delegate vehicles to, by name."""
    related = [*_relations(tx, actor, delegated=False), *_relations(tx, actor, delegated=True)]
    return sorted(((each.to_company_id, each.to_company_name) for each in related), key=lambda each: each[1])


def receiver_named(name: str, value: str) -> CompanyId:
    """The company id in the named field. Raises `BadParameter`."""
    return CompanyId(fields.uuid(name, fields.required(name, value)))

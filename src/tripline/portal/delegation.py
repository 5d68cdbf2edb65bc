"""Pages of delegation between companies: what is delegated to whom, the candidates, and many vehicles at once.

Not here: the chain of a single vehicle and the rights on it (`chains.py`).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias
from urllib.parse import urlencode

import msgspec
from litestar.response import Response

from tripline.domain import access, fields
from tripline.domain.access import Action, Actor
from tripline.domain.delegations import Relation
from tripline.domain.ids import CompanyId, VehicleId
from tripline.domain.refusals import BadParameter, Refusal
from tripline.http import parameters
from tripline.http.rim import Call, rim_of
from tripline.language import catalogue
from tripline.portal import forms, newcomers, views, windows
from tripline.portal.forms import Form
from tripline.portal.notices import Undo
from tripline.portal.page import page
from tripline.portal.visitors import Visitor, visitor_in, visitor_of
from tripline.portal.windows import Part
from tripline.services import hints
from tripline.services.fleet import candidates, delegations, vehicles
from tripline.services.fleet import delegations_of_many as many
from tripline.services.fleet.delegations_of_many import Done, Impossible, Pair, Preview
from tripline.store.lists import Window
from tripline.store.transactions import ReadTx, WriteTx

COMPANIES: Final = 200
"""Candidates and delegated companies that are shown; there is a handful."""
SHOWN: Final = 100
"""Vehicles that a preview names."""
FIELDS: Final = many.MOST + 20
TEXT: Final = 200_000
CONFIRMED: Final = "confirmed"
"""The step of a form whose preview was seen."""
_TITLE: Final = "portal.delegation.title"
Choice: TypeAlias = tuple[CompanyId, str]
"""Id and name of a company that vehicles go to."""
_TO: Final = "toCompanyId"
"""The field with the company that vehicles go to."""
_VEHICLE: Final = "vehicleId"
"""The field with the chosen vehicles."""
_BETWEEN: Final = "."
"""What stands between vehicle and company in the value of a box."""


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
        other = _receiver(form)
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
    undo = Undo("/delegation/candidates", {_TO: other})
    return views.moved(request, "/delegation?tab=candidates", notice="portal.delegation.candidate.removed", undo=undo)


@page("GET", "/delegation/new", access=Action.VEHICLE_DELEGATE)
async def choose(request: Call) -> Response[bytes]:
    """Choose vehicles, and the company that they are delegated to."""
    return await _chosen_again(request, await visitor_of(request))


@page("POST", "/delegation/delegate", access=Action.VEHICLE_DELEGATE)
async def delegate(request: Call) -> Response[bytes]:
    """Delegate the chosen vehicles, after a preview of what that touches."""
    form = await forms.read(request, fields=FIELDS, most=TEXT)
    visitor = await visitor_of(request)
    rim = rim_of(request)
    checked = fields.Checks()
    to_company_id = checked(_receiver_named, _TO, form.text(_TO))
    vehicle_ids = checked(_vehicles_named, _VEHICLE, form.many(_VEHICLE))
    try:
        checked.end()
        pairs = many.chosen([Pair(each, to_company_id) for each in vehicle_ids])
    except BadParameter as refusal:
        return await _chosen_again(request, visitor, error=refusal, form=form)
    if not form.flag(CONFIRMED):
        preview = await rim.store.read(lambda tx: many.preview_delegating(tx, actor=visitor.actor, pairs=pairs))
        return _previewed(request, visitor, preview, takes_back=False)
    now_ms = rim.clock()

    def work(tx: WriteTx, some: Sequence[Pair]) -> Done:
        return many.delegate(tx, actor=visitor.actor, pairs=some, ids=rim.ids, now_ms=now_ms)

    return _done(request, visitor, await _in_turn(request, pairs, work), takes_back=False)


@page("POST", "/delegation/take-back", access=Action.VEHICLE_DELEGATE)
async def take_back(request: Call) -> Response[bytes]:
    """Take the chosen vehicles back, after a preview of what ends with that."""
    form = await forms.read(request, fields=FIELDS, most=TEXT)
    visitor = await visitor_of(request)
    rim = rim_of(request)
    pairs = many.chosen([_pair(each) for each in form.many("delegation")])
    if not form.flag(CONFIRMED):
        preview = await rim.store.read(lambda tx: many.preview_taking_back(tx, actor=visitor.actor, pairs=pairs))
        return _previewed(request, visitor, preview, takes_back=True)

    now_ms = rim.clock()

    def work(tx: WriteTx, some: Sequence[Pair]) -> Done:
        return many.take_back(tx, actor=visitor.actor, pairs=some, ids=rim.ids, now_ms=now_ms)

    done = await _in_turn(request, pairs, work)
    hints.tell(rim.signals, hints.sensors_changed(done.sensors))
    return _done(request, visitor, done, takes_back=True)


async def _in_turn(request: Call, pairs: Sequence[Pair], work: Callable[..., Done]) -> Done:
    """What the work (of a transaction and `some` pairs) did with all of them, some in each transaction."""
    total = Done(pairs=[], impossible=[], sensors=[])
    for first in range(0, len(pairs), many.AT_ONCE):
        done = await rim_of(request).store.write(partial(work, some=pairs[first : first + many.AT_ONCE]))
        total.pairs.extend(done.pairs)
        total.impossible.extend(done.impossible)
        total.sensors.extend(done.sensors)
    return total


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
    return Sides(tab="candidates", candidates=found, receivers=receivers)


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
        labels={_TO: "portal.delegation.company_id"},
        sides=sides,
        may_delegate=visitor.may(Action.VEHICLE_DELEGATE),
        may_manage=visitor.may(Action.CANDIDATE_MANAGE),
        may_read=visitor.may(Action.CANDIDATE_READ),
        between=_BETWEEN,
        **more,
    )


def receivers_of(tx: ReadTx, actor: Actor) -> list[Choice]:
    """Companies that the actor's company may delegate vehicles to, by name."""
    related = [*_relations(tx, actor, delegated=False), *_relations(tx, actor, delegated=True)]
    return sorted(((each.to_company_id, each.to_company_name) for each in related), key=lambda each: each[1])


async def _chosen_again(
    request: Call, visitor: Visitor, *, error: Refusal | None = None, form: Form | None = None
) -> Response[bytes]:
    """The page on which vehicles are chosen, with what was refused of the choice."""

    def work(tx: ReadTx) -> tuple[Part[Any], list[Choice]]:
        own = access.company_of(visitor.actor)
        found = vehicles.owned_by(tx, actor=visitor.actor, company_id=own, window=windows.asked(request))
        shown = windows.part(request, found, name=lambda vehicle: vehicle.vehicle_no)
        return shown, receivers_of(tx, visitor.actor)

    shown, companies = await rim_of(request).store.read(work)
    return views.show(
        request,
        visitor,
        "delegation/choose.html",
        title="portal.delegation.choose.title",
        error=error,
        labels={_TO: "portal.delegation.company", _VEHICLE: "portal.delegation.vehicle"},
        vehicles=shown,
        companies=companies,
        company=form.text(_TO) if form else windows.text(request, "company"),
    )


def _previewed(request: Call, visitor: Visitor, preview: Preview, *, takes_back: bool) -> Response[bytes]:
    return views.show(
        request,
        visitor,
        "delegation/preview.html",
        title="portal.delegation.take_back.title" if takes_back else "portal.delegation.delegate.title",
        preview=preview,
        impossible=_in_words(visitor, preview.impossible),
        takes_back=takes_back,
        shown=SHOWN,
        between=_BETWEEN,
    )


def _done(request: Call, visitor: Visitor, done: Done, *, takes_back: bool) -> Response[bytes]:
    """What was done: on the list, or on a page of its own when something was refused."""
    if done.impossible:
        return views.show(
            request,
            visitor,
            "delegation/done.html",
            title="portal.delegation.take_back.title" if takes_back else "portal.delegation.delegate.title",
            done=len(done.pairs),
            impossible=_in_words(visitor, done.impossible),
            takes_back=takes_back,
            shown=SHOWN,
        )
    notice = "portal.delegation.taken_back" if takes_back else "portal.delegation.delegated"
    there = f"/delegation?{urlencode({'company': done.pairs[0].to_company_id})}"
    return views.moved(request, there, notice=notice, n=len(done.pairs))


class Told(msgspec.Struct, frozen=True):
    """Why something cannot be done with a vehicle."""

    vehicle_id: VehicleId
    vehicle_no: str | None
    sentence: str


def _in_words(visitor: Visitor, impossible: Sequence[Impossible]) -> list[Told]:
    label = visitor.say("portal.delegation.vehicle")
    return [
        Told(
            each.pair.vehicle_id,
            each.vehicle_no,
            catalogue.sentence(each.refusal, visitor.language, label=label),
        )
        for each in impossible
    ]


def _pair(value: str) -> Pair:
    """Vehicle and company of a delegation that a form names. Raises `BadParameter`."""
    vehicle, _, company = value.partition(_BETWEEN)
    return Pair(_vehicle(vehicle), CompanyId(parameters.uuid_of(company, "delegation")))


def _receiver(form: Form) -> CompanyId:
    """The company that vehicles go to, or may go to. Raises `BadParameter`."""
    return _receiver_named(_TO, form.text(_TO))


def _receiver_named(name: str, value: str) -> CompanyId:
    return CompanyId(parameters.uuid_of(fields.required(name, value), name))


def _vehicles_named(name: str, values: Sequence[str]) -> list[VehicleId]:
    """The vehicles that are chosen. Raises `BadParameter`, also when there is none."""
    if not values:
        raise BadParameter("vehicles_none", field=name)
    return [_vehicle(each) for each in values]


def _vehicle(value: str) -> VehicleId:
    return VehicleId(parameters.uuid_of(value, _VEHICLE))


handlers: Final[list[Any]] = [overview, register, remove, choose, delegate, take_back]

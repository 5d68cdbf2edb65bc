"""Delegating or taking back many vehicles: choose them, preview the effects, confirm, undo."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final
from urllib.parse import urlencode

from litestar.response import Response

from tripline.domain import access, fields
from tripline.domain.access import Action
from tripline.domain.history import Event
from tripline.domain.ids import CompanyId, VehicleId
from tripline.domain.refusals import BadParameter, Refusal
from tripline.domain.vehicles import Vehicle
from tripline.http import changes
from tripline.http.context import Call, context_of
from tripline.portal.delegation import candidates
from tripline.portal.frame import (
    addresses,
    deletions,
    digests,
    forms,
    navigation,
    unchanged,
    undo_forms,
    views,
)
from tripline.portal.frame.forms import Form
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_of
from tripline.services import notifications
from tripline.services.fleet import bulk_delegations as many
from tripline.services.fleet import history, vehicles
from tripline.services.fleet.bulk_delegations import Done, Pair, Preview
from tripline.store.lists import Window
from tripline.store.transactions import ReadTx

PAGE: Final = 50
"""Vehicles to choose from at once."""
SHOWN: Final = 100
"""Vehicles listed in a preview."""
FIELDS: Final = many.MOST + 20
TEXT: Final = 200_000
CONFIRMED: Final = "confirmed"
_CHOOSE: Final = "/delegation/new"
_UNDO: Final = "/delegation/undo"
_BACK: Final = {Event.DELEGATED: Event.TAKEN_BACK, Event.TAKEN_BACK: Event.DELEGATED}
_VEHICLE: Final = "vehicleId"


@page("GET", _CHOOSE, access=Action.VEHICLE_DELEGATE)
async def choose(request: Call) -> Response[bytes]:
    """Choose vehicles and the company that receives them."""
    return await _chosen_again(request, await visitor_of(request))


@page("POST", _CHOOSE, access=Action.VEHICLE_DELEGATE)
async def choose_more(request: Call) -> Response[bytes]:
    """Search or turn the page; chosen vehicles stay chosen."""
    form = await forms.read(request, fields=FIELDS, most=TEXT)
    return await _chosen_again(request, await visitor_of(request), form=form)


@page("POST", "/delegation/delegate", access=Action.VEHICLE_DELEGATE)
async def delegate(request: Call) -> Response[bytes]:
    """Delegate the chosen vehicles, after a preview of the effects."""
    form = await forms.read(request, fields=FIELDS, most=TEXT)
    visitor = await visitor_of(request)
    context = context_of(request)
    checked = fields.Checks()
    to_company_id = checked(candidates.receiver_named, candidates.TO, form.text(candidates.TO))
    vehicle_ids = checked(_vehicles_named, _VEHICLE, form.many(_VEHICLE))
    try:
        checked.end()
        pairs = many.chosen([Pair(each, to_company_id) for each in vehicle_ids])
    except BadParameter as refusal:
        return await _chosen_again(request, visitor, error=refusal, form=form)
    if not form.flag(CONFIRMED):
        preview = await context.store.read(lambda tx: many.preview_delegating(tx, actor=visitor.actor, pairs=pairs))
        return _previewed(request, visitor, preview, takes_back=False, back=_back(form))
    by = changes.by(request, visitor.actor)
    done = await _in_turn(request, pairs, partial(many.delegate, **by))
    return _done(request, visitor, form, done, Event.DELEGATED, by["now_ms"])


@page("POST", "/delegation/take-back", access=Action.VEHICLE_DELEGATE)
async def take_back(request: Call) -> Response[bytes]:
    """Take the chosen vehicles back, after a preview of the rights that end."""
    form = await forms.read(request, fields=FIELDS, most=TEXT)
    visitor = await visitor_of(request)
    context = context_of(request)
    pairs = many.chosen([_pair(each) for each in form.many("delegation")])
    preview = await context.store.read(lambda tx: many.preview_taking_back(tx, actor=visitor.actor, pairs=pairs))
    if not form.flag(CONFIRMED):
        return _previewed(request, visitor, preview, takes_back=True)
    if form.text("digest") != _digest(preview):
        return _previewed(request, visitor, preview, takes_back=True, error=deletions.GoesChanged("take_back"))
    by = changes.by(request, visitor.actor)
    done = await _in_turn(request, pairs, partial(many.take_back, **by))
    notifications.send(context.signals, notifications.sensors_changed(done.sensors))
    return _done(request, visitor, form, done, Event.TAKEN_BACK, by["now_ms"])


@page("POST", _UNDO, access=Action.VEHICLE_DELEGATE)
async def undo(request: Call) -> Response[bytes]:
    """Reverse a recent delegation or take-back."""
    form = await forms.read(request)
    visitor = await visitor_of(request)
    context = context_of(request)
    event, at_ms = undo_forms.asked(form, _BACK)
    now_ms = context.clock()
    done_to = partial(history.done_to, actor=visitor.actor, event=event, at_ms=at_ms, limit=many.MOST + 1)
    undo_forms.require_of(form, await context.store.read(done_to))
    work = partial(many.undo, actor=visitor.actor, event=event, at_ms=at_ms, ids=context.ids, now_ms=now_ms)
    done = await context.store.write(work)
    while done.last is not None:
        done.add(await context.store.write(partial(work, after=done.last)))
    notifications.send(context.signals, notifications.sensors_changed(done.sensors))
    return _done(request, visitor, form, done, _BACK[event], now_ms)


async def _in_turn(request: Call, pairs: Sequence[Pair], work: Callable[..., Done]) -> Done:
    """Run `work` (of a transaction and `pairs`) on all pairs, a batch per transaction, and return the total."""
    total = Done()
    for first in range(0, len(pairs), many.AT_ONCE):
        total.add(await context_of(request).store.write(partial(work, pairs=pairs[first : first + many.AT_ONCE])))
    return total


async def _chosen_again(
    request: Call, visitor: Visitor, *, error: Refusal | None = None, form: Form | None = None
) -> Response[bytes]:
    window = _window(request, form)

    def work(tx: ReadTx) -> tuple[Sequence[Vehicle], list[candidates.Choice]]:
        own = access.company_of(visitor.actor)
        found = vehicles.owned_by(tx, actor=visitor.actor, company_id=own, window=window)
        return found, candidates.receivers_of(tx, visitor.actor)

    found, companies = await context_of(request).store.read(work)
    chosen = dict.fromkeys(form.many(_VEHICLE)) if form else {}
    shown, following = found[:PAGE], None
    if len(found) > PAGE:
        there = addresses.changed(request, after=shown[-1].id, at=shown[-1].vehicle_no, q=window.search)
        following = f"{_CHOOSE}?{there.partition('?')[2]}"
    here = {row.id for row in shown}
    return views.show(
        request,
        "delegation/choose.html",
        title="portal.delegation.choose.title",
        error=error,
        labels={candidates.TO: "portal.delegation.company", _VEHICLE: "portal.delegation.vehicle"},
        vehicles=shown,
        chosen=chosen,
        elsewhere=[each for each in chosen if each not in here],
        asked=window.search or "",
        address=_CHOOSE,
        is_later="after" in request.query_params,
        following=following,
        companies=companies,
        company=form.text(candidates.TO) if form else addresses.text(request, "company"),
        back=form and _back(form),
    )


def _window(request: Call, form: Form | None) -> Window:
    """The vehicles to choose from, one more than the page shows. A submitted search starts at the first page."""
    after = addresses.text(request, "after") or None
    search = form.text("q") if form and after is None else addresses.text(request, "q")
    at = addresses.text(request, "at") or None
    return Window(limit=PAGE + 1, search=search or None, text_offset=at, id_offset=after)


def _digest(preview: Preview) -> str:
    found = (f"{each.pair} {each.directors} {each.drivers} {each.driven}" for each in preview.possible)
    return digests.of({"possible": "\n".join(sorted(found))})


def _previewed(
    request: Call,
    visitor: Visitor,
    preview: Preview,
    *,
    takes_back: bool,
    error: Refusal | None = None,
    back: str | None = None,
) -> Response[bytes]:
    """The preview; `back` is the list of vehicles the visitor came from, if any."""
    return views.show(
        request,
        "delegation/preview.html",
        title="portal.delegation.take_back.title" if takes_back else "portal.delegation.delegate.title",
        error=error,
        preview=preview,
        digest=_digest(preview),
        impossible=unchanged.in_words(visitor, preview.impossible),
        takes_back=takes_back,
        shown=SHOWN,
        between=candidates.BETWEEN,
        back=back,
    )


def _done(request: Call, visitor: Visitor, form: Form, done: Done, event: Event, now_ms: int) -> Response[bytes]:
    """Show the result: on the list, or on a page of its own if vehicles were refused. Undo is offered unless rights or
    drives ended for good.
    """
    takes_back, back = event is Event.TAKEN_BACK, _back(form)
    touched = [pair.vehicle_id for pair in done.pairs]
    undo_it = None if done.ended else undo_forms.button(_UNDO, event, now_ms, touched)
    notice = "portal.delegation.taken_back" if takes_back else "portal.delegation.delegated"
    if done.ended:
        notice = "portal.delegation.taken_back_for_good"
    if done.impossible:
        return views.show(
            request,
            "delegation/done.html",
            title="portal.delegation.take_back.title" if takes_back else "portal.delegation.delegate.title",
            done=len(done.pairs),
            notice=notice,
            undo=undo_it,
            impossible=unchanged.in_words(visitor, done.impossible),
            shown=SHOWN,
            back=back,
        )
    there = back or f"/delegation?{urlencode({'company': done.pairs[0].to_company_id})}"
    return views.moved(request, there, notice=notice, undo=undo_it, n=len(done.pairs))


def _back(form: Form) -> str | None:
    """Address of the list of vehicles the visitor came from; None if the vehicles were chosen here."""
    return addresses.of_list(form.text(addresses.NEXT), navigation.VEHICLES)


def _pair(value: str) -> Pair:
    """Parse a form's vehicle and company of a delegation. Raises `BadParameter`."""
    vehicle, _, company = value.partition(candidates.BETWEEN)
    return Pair(_vehicle(vehicle), CompanyId(fields.uuid("delegation", company)))


def _vehicles_named(name: str, values: Sequence[str]) -> list[VehicleId]:
    """The chosen vehicles. Raises `BadParameter`, also for an empty choice."""
    if not values:
        raise BadParameter("vehicles_none", field=name)
    return [_vehicle(each) for each in values]


def _vehicle(value: str) -> VehicleId:
    return VehicleId(fields.uuid(_VEHICLE, value))

"""Actions on vehicles chosen in the list: activate or deactivate them after a preview, or choose a company to delegate
to.

Each vehicle is changed or refused individually, by the rules for single vehicles. Each step links back to the list in
the state in which the vehicles were chosen.
"""

from collections.abc import Sequence
from typing import Final

from litestar.response import Response
from msgspec.structs import replace

from tripline.domain import fields
from tripline.domain.access import Action
from tripline.domain.ids import VehicleId
from tripline.domain.refusals import BadParameter
from tripline.domain.vehicles import UNDOES, VehicleEvent
from tripline.http import changes
from tripline.http.context import Call, context_of
from tripline.portal.delegation import candidates
from tripline.portal.frame import addresses, deletions, digests, forms, navigation, unchanged, undo_forms, views
from tripline.portal.frame.digests import Clash
from tripline.portal.frame.forms import Form
from tripline.portal.frame.notices import Undo
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_of
from tripline.portal.lists.tables import ROWS, Bulk
from tripline.services.fleet import bulk_vehicles as many
from tripline.services.fleet import history
from tripline.services.fleet import vehicles as single
from tripline.services.fleet.bulk_vehicles import Impossible, Preview
from tripline.store.transactions import ReadTx, WriteTx

LIST: Final = navigation.VEHICLES
_ACTIVATE: Final = "/fleet/vehicles/activate"
_DEACTIVATE: Final = "/fleet/vehicles/deactivate"
_DELEGATE: Final = "/fleet/vehicles/delegate"
_UNDO: Final = "/fleet/vehicles/undo"
_TEXTS: Final = "portal.vehicles.chosen."
_FIELD: Final = "vehicleId"
_CONFIRMED: Final = "confirmed"
_VERBS: Final = {VehicleEvent.ACTIVATE: "activate", VehicleEvent.DEACTIVATE: "deactivate"}
_DONE: Final = {event: cause for cause, event in single.MOVED.items()}
"""The vehicle event behind each event in the history."""
BULK: Final = (
    Bulk(text=f"{_TEXTS}delegate", address=_DELEGATE, icon="waypoints", action=Action.VEHICLE_DELEGATE),
    Bulk(text=f"{_TEXTS}activate", address=_ACTIVATE, icon="play", action=Action.VEHICLE_ACTIVATE),
    Bulk(text=f"{_TEXTS}deactivate", address=_DEACTIVATE, icon="pause", action=Action.VEHICLE_ACTIVATE),
)


@page("POST", _ACTIVATE, access=Action.VEHICLE_ACTIVATE, refuses=(deletions.GoesChanged,))
async def activate(request: Call) -> Response[bytes]:
    """Activate the chosen vehicles, after a preview of the changes."""
    return await _moved(request, VehicleEvent.ACTIVATE)


@page("POST", _DEACTIVATE, access=Action.VEHICLE_ACTIVATE, refuses=(deletions.GoesChanged,))
async def deactivate(request: Call) -> Response[bytes]:
    """Deactivate the chosen vehicles, after a preview of the changes."""
    return await _moved(request, VehicleEvent.DEACTIVATE)


@page("POST", _UNDO, access=Action.VEHICLE_ACTIVATE)
async def undo(request: Call) -> Response[bytes]:
    """Reverse a recent activation or deactivation of the vehicles that did not change since."""
    form = await forms.read(request)
    context, visitor = context_of(request), await visitor_of(request)
    done, at_ms = undo_forms.asked(form, _DONE)
    event, by = _DONE[done], changes.by(request, visitor.actor)

    def work(tx: WriteTx) -> tuple[list[VehicleId], list[Impossible]]:
        undo_forms.require_of(form, history.done_to(tx, actor=visitor.actor, event=done, at_ms=at_ms, limit=ROWS + 1))
        return many.undo(tx, **by, event=event, at_ms=at_ms)

    moved, kept = await context.store.write(work)
    back = UNDOES[event]
    if not kept:
        return _done(request, form, back, moved, by["now_ms"])
    return views.show(
        request,
        "delegation/done.html",
        title=f"{_TEXTS}{_VERBS[back]}.title",
        done=len(moved),
        notice=f"{_TEXTS}{_VERBS[back]}d",
        undo=_undo(back, moved, by["now_ms"]),
        impossible=unchanged.in_words(visitor, kept),
        records=LIST,
        shown=ROWS,
        back=_back(form),
    )


@page("POST", _DELEGATE, access=Action.VEHICLE_DELEGATE)
async def delegate(request: Call) -> Response[bytes]:
    """Choose the company that receives the chosen vehicles."""
    form = await forms.read(request)
    visitor = await visitor_of(request)
    chosen = _chosen(form)
    companies = await context_of(request).store.read(lambda tx: candidates.receivers_of(tx, visitor.actor))
    return views.show(
        request,
        "vehicles/delegate.html",
        title="portal.delegation.choose.title",
        chosen=chosen,
        companies=companies,
        back=_back(form),
    )


async def _moved(request: Call, event: VehicleEvent) -> Response[bytes]:
    form = await forms.read(request)
    context, visitor = context_of(request), await visitor_of(request)
    chosen, by = _chosen(form), changes.by(request, visitor.actor)

    def look(tx: ReadTx) -> Preview:
        return many.preview(tx, actor=visitor.actor, vehicle_ids=chosen, event=event)

    def work(tx: WriteTx) -> tuple[Preview, Clash | None]:
        found = look(tx)
        clash = digests.clash(form.text("digest"), now=_texts(found), typed={})
        for each in () if clash else found.changing:
            single.move(tx, **by, vehicle_id=each.id, event=event)
        return found, clash

    if not form.flag(_CONFIRMED):
        return _previewed(request, visitor, form, event, await context.store.read(look))
    found, clash = await context.store.write(work)
    if clash or not found.changing:
        return _previewed(request, visitor, form, event, found, clash)
    return _done(request, form, event, [each.id for each in found.changing], by["now_ms"])


def _done(request: Call, form: Form, event: VehicleEvent, moved: Sequence[VehicleId], now_ms: int) -> Response[bytes]:
    notice, undo_it = f"{_TEXTS}{_VERBS[event]}d", _undo(event, moved, now_ms)
    return views.moved(request, _back(form), notice=notice, undo=undo_it, n=len(moved))


def _undo(event: VehicleEvent, moved: Sequence[VehicleId], at_ms: int) -> Undo:
    return undo_forms.button(_UNDO, single.MOVED[event], at_ms, moved)


def _previewed(
    request: Call, visitor: Visitor, form: Form, event: VehicleEvent, preview: Preview, clash: Clash | None = None
) -> Response[bytes]:
    """The preview of the event; `clash` holds the differences from the confirmed preview."""
    return views.show(
        request,
        "vehicles/preview.html",
        title=f"{_TEXTS}{_VERBS[event]}.title",
        error=deletions.GoesChanged("vehicles") if clash else None,
        texts=f"{_TEXTS}{_VERBS[event]}.",
        preview=preview,
        driven=preview.driven if event is VehicleEvent.DEACTIVATE else 0,
        digest=digests.of(_texts(replace(preview, impossible=[]))),
        meanwhile={each.name for each in clash.changed} if clash else (),
        impossible=unchanged.in_words(visitor, preview.impossible),
        records=LIST,
        shown=ROWS,
        back=_back(form),
    )


def _texts(preview: Preview) -> dict[str, str]:
    found = {each.id: f"{each.status} {each.current_driver_id is not None}" for each in preview.possible}
    return dict(sorted({**found, **{each.vehicle_id: "impossible" for each in preview.impossible}}.items()))


def _back(form: Form) -> str:
    return addresses.of_list(form.text(addresses.NEXT), LIST) or LIST


def _chosen(form: Form) -> list[VehicleId]:
    """The chosen vehicles without duplicates. Raises `BadParameter` for none, or for more than a page of the list."""
    sent = dict.fromkeys(form.many(_FIELD))
    if not sent:
        raise BadParameter("vehicles_none", field=_FIELD)
    if len(sent) > ROWS:
        raise BadParameter("vehicles_many", field=_FIELD, most=ROWS)
    return [VehicleId(fields.uuid(_FIELD, each)) for each in sent]

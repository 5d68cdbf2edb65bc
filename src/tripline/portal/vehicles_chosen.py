"""Vehicles that somebody chose in the list: activated, deactivated or delegated together.

Each vehicle is moved or refused by itself, by the rules that hold for one. Not here: the list (`vehicle_list.py`), one
vehicle (`vehicles.py`), the delegation of many (`delegation.py`).
"""

from typing import Any, Final

import msgspec
from litestar.response import Response

from tripline.domain.access import Action
from tripline.domain.ids import VehicleId
from tripline.domain.refusals import BadParameter, Refusal
from tripline.domain.vehicles import VehicleEvent
from tripline.http import parameters
from tripline.http.rim import Call, rim_of
from tripline.language import catalogue
from tripline.portal import delegation, forms, views
from tripline.portal.page import page
from tripline.portal.tables import ROWS, Bulk
from tripline.portal.visitors import Visitor, visitor_of
from tripline.services.fleet import vehicles as service
from tripline.store.transactions import WriteTx

_LIST: Final = "/fleet/vehicles"
_ACTIVATE: Final = "/fleet/vehicles/activate"
_DEACTIVATE: Final = "/fleet/vehicles/deactivate"
_DELEGATE: Final = "/fleet/vehicles/delegate"
_TEXTS: Final = "portal.vehicles.chosen."
_FIELD: Final = "vehicleId"
BULK: Final = (
    Bulk(text=f"{_TEXTS}delegate", address=_DELEGATE, icon="waypoints", action=Action.VEHICLE_DELEGATE),
    Bulk(text=f"{_TEXTS}activate", address=_ACTIVATE, icon="play", action=Action.VEHICLE_ACTIVATE),
    Bulk(
        text=f"{_TEXTS}deactivate",
        address=_DEACTIVATE,
        icon="pause",
        action=Action.VEHICLE_ACTIVATE,
        means=f"{_TEXTS}deactivate_text",
    ),
)


class Left(msgspec.Struct, frozen=True):
    """A vehicle that stays as it is, and why."""

    vehicle_id: VehicleId
    sentence: str


@page("POST", _ACTIVATE, access=Action.VEHICLE_ACTIVATE)
async def activate(request: Call) -> Response[bytes]:
    """Let drivers drive the chosen vehicles."""
    return await _moved(request, VehicleEvent.ACTIVATE, "activated")


@page("POST", _DEACTIVATE, access=Action.VEHICLE_ACTIVATE)
async def deactivate(request: Call) -> Response[bytes]:
    """Let no further driver take the chosen vehicles."""
    return await _moved(request, VehicleEvent.DEACTIVATE, "deactivated")


@page("POST", _DELEGATE, access=Action.VEHICLE_DELEGATE)
async def delegate(request: Call) -> Response[bytes]:
    """Choose the company that the chosen vehicles are delegated to."""
    form = await forms.read(request)
    visitor = await visitor_of(request)
    chosen = _chosen(form)
    companies = await rim_of(request).store.read(lambda tx: delegation.receivers_of(tx, visitor.actor))
    return views.show(
        request,
        visitor,
        "vehicles/delegate.html",
        title="portal.delegation.choose.title",
        chosen=chosen,
        companies=companies,
    )


async def _moved(request: Call, event: VehicleEvent, done: str) -> Response[bytes]:
    form = await forms.read(request)
    rim, visitor = rim_of(request), await visitor_of(request)
    chosen, now_ms = _chosen(form), rim.clock()

    def work(tx: WriteTx) -> tuple[int, list[Left]]:
        changed, left = 0, []
        for vehicle_id in chosen:
            try:
                moved = service.move(
                    tx, actor=visitor.actor, vehicle_id=vehicle_id, event=event, ids=rim.ids, now_ms=now_ms
                )
                changed += moved.changed
            except Refusal as refusal:  # of one vehicle, before anything of it was written
                left.append(_left(visitor, vehicle_id, refusal))
        return changed, left

    changed, left = await rim.store.write(work)
    if not left:
        notice = _TEXTS + (done if changed else f"{done}_before")
        return views.moved(request, _LIST, notice=notice, n=changed or len(chosen))
    title = f"{_TEXTS}{done}_title"
    done_text = visitor.say(_TEXTS + done, n=changed) if changed else None
    return views.show(request, visitor, "vehicles/left.html", title=title, done_text=done_text, left=left)


def _left(visitor: Visitor, vehicle_id: VehicleId, refusal: Refusal) -> Left:
    label = visitor.say("portal.delegation.vehicle")
    return Left(vehicle_id, catalogue.sentence(refusal, visitor.language, label=label))


def _chosen(form: forms.Form) -> list[VehicleId]:
    """Each vehicle once. Raises `BadParameter` without any, or with more than a page of the list has."""
    sent = dict.fromkeys(form.many(_FIELD))
    if not sent:
        raise BadParameter("vehicles_none", field=_FIELD)
    if len(sent) > ROWS:
        raise BadParameter("vehicles_many", field=_FIELD, most=ROWS)
    return [VehicleId(parameters.uuid_of(each, _FIELD)) for each in sent]


handlers: Final[list[Any]] = [activate, deactivate, delegate]

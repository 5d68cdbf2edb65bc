"""Pages of share links: making one for a vehicle, the list of a company's links, ending one.

Not here: the page behind a link (`shared.py`).
"""

from typing import Any, Final

from litestar.response import Response

from tripline.domain import share_links
from tripline.domain.access import Action
from tripline.domain.ids import RecordId, VehicleId
from tripline.domain.refusals import BadParameter, Refusal
from tripline.domain.share_links import HOURS, TooManyLinks
from tripline.domain.vehicles import Vehicle
from tripline.http import cookies, parameters
from tripline.http.context import Call, context_of
from tripline.portal.frame import forms, views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_in, visitor_of
from tripline.services import share_links as service
from tripline.services.fleet import vehicles
from tripline.services.share_links import Made
from tripline.store.transactions import ReadTx, WriteTx

PATH: Final = "/shares"
_CHOICES: Final = (1, 8, HOURS, 3 * 24, 7 * 24, share_links.MOST_HOURS)
"""Hours that the form offers."""
_DAY: Final = 24
_LABELS: Final = {"hours": "portal.shares.hours"}


@page("GET", PATH, access=Action.VEHICLE_SHARE)
async def show(request: Call) -> Response[bytes]:
    """The company's links that work, on vehicles that the visitor may share."""

    def work(tx: ReadTx) -> tuple[Visitor, Any]:
        visitor = visitor_in(tx, request)
        return visitor, service.of_company(tx, actor=visitor.actor, now_ms=context_of(request).clock())

    visitor, links = await context_of(request).store.read_short(work)
    return views.show(request, visitor, "sharing/links.html", title="portal.shares.title", links=links)


@page("GET", "/fleet/vehicles/{vehicleId}/share", access=Action.VEHICLE_SHARE)
async def choose(request: Call) -> Response[bytes]:
    """The form to make a link to the vehicle."""

    def work(tx: ReadTx) -> tuple[Visitor, Vehicle]:
        visitor = visitor_in(tx, request)
        return visitor, _vehicle(tx, request, visitor)

    visitor, vehicle = await context_of(request).store.read_short(work)
    return _form(request, visitor, vehicle)


@page("POST", "/fleet/vehicles/{vehicleId}/share", access=Action.VEHICLE_SHARE, refuses=(TooManyLinks,))
async def make(request: Call) -> Response[bytes]:
    """Make a link; the answer shows its address, once."""
    form = await forms.read(request)
    context, visitor = context_of(request), await visitor_of(request)
    vehicle = await context.store.read_short(lambda tx: _vehicle(tx, request, visitor))

    def work(tx: WriteTx) -> Made:
        return service.make(
            tx,
            actor=visitor.actor,
            vehicle_id=vehicle.id,
            hours=_hours(form.text("hours")),
            trail=form.flag("trail"),
            number=form.flag("number"),
            ids=context.ids,
            now_ms=context.clock(),
        )

    try:
        made = await context.store.write(work)
    except Refusal as refusal:
        if refusal.kind in forms.NOT_OF_FORM:
            raise
        return _form(request, visitor, vehicle, error=refusal, labels=_LABELS)
    return views.show(
        request,
        visitor,
        "sharing/made.html",
        title="portal.shares.made",
        vehicle=vehicle,
        link=made.link,
        address=cookies.public_address(request) + made.path,
    )


@page("POST", f"{PATH}/{{linkId}}/end", access=Action.VEHICLE_SHARE)
async def end(request: Call) -> Response[bytes]:
    """End a link at once."""
    await forms.read(request)
    context, visitor = context_of(request), await visitor_of(request)
    link_id = RecordId(parameters.path_id(request, "linkId"))
    await context.store.write(
        lambda tx: service.end(tx, actor=visitor.actor, link_id=link_id, ids=context.ids, now_ms=context.clock())
    )
    return views.moved(request, PATH, notice="portal.shares.ended")


def _vehicle(tx: ReadTx, request: Call, visitor: Visitor) -> Vehicle:
    vehicle_id = VehicleId(parameters.path_id(request, "vehicleId"))
    service.admit(tx, actor=visitor.actor, vehicle_id=vehicle_id)
    return vehicles.read(tx, actor=visitor.actor, vehicle_id=vehicle_id)


def _hours(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdecimal()):
        raise BadParameter("integer", field="hours")
    return int(text[:6])


def _lasting(visitor: Visitor, hours: int) -> str:
    days = hours // _DAY
    return visitor.say("portal.shares.days", n=days) if days > 1 else visitor.say("portal.shares.hour_count", n=hours)


def _form(request: Call, visitor: Visitor, vehicle: Vehicle, **values: Any) -> Response[bytes]:
    return views.show(
        request,
        visitor,
        "sharing/make.html",
        title="portal.shares.make",
        vehicle=vehicle,
        hours=HOURS,
        choices=[(str(each), _lasting(visitor, each)) for each in _CHOICES],
        **values,
    )


handlers: Final[list[Any]] = [show, choose, make, end]

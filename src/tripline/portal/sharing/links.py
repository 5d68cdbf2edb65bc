"""Pages of share links: making one for a vehicle or a trip, the list of a company's links, ending one."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

import msgspec
from litestar.response import Response

from tripline.domain import share_links
from tripline.domain.access import Action, Thing
from tripline.domain.ids import RecordId
from tripline.domain.refusals import BadParameter, Refusal
from tripline.domain.share_links import HOURS, NotShareable, Shows, TooManyLinks
from tripline.domain.stored_trips import JudgedTrip
from tripline.domain.vehicles import Vehicle
from tripline.http import changes, cookies, parameters
from tripline.http.context import Call, context_of
from tripline.portal.frame import forms, views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_and, visitor_of
from tripline.services import admission
from tripline.services import share_links as service
from tripline.services.fleet import vehicles
from tripline.services.scores.reads import TooLong
from tripline.services.share_links import Made
from tripline.store.transactions import ReadTx, WriteTx

PATH: Final = "/shares"
_CHOICES: Final = (1, 8, HOURS, 3 * 24, 7 * 24, share_links.MOST_HOURS)
"""Hours that the form offers."""
_DAY: Final = 24
_LABELS: Final = {"hours": "portal.shares.hours"}


class Subject(msgspec.Struct, frozen=True):
    """The vehicle, or the trip of it, that is shared."""

    path: str
    """Address of its page."""
    vehicle: Vehicle
    trip: JudgedTrip | None = None


Reading: TypeAlias = Callable[[Call, ReadTx, Visitor], Subject]
"""Reads the vehicle or trip of a request, for a visitor who may share it."""


@page("GET", PATH, access=Action.VEHICLE_SHARE)
async def show(request: Call) -> Response[bytes]:
    """The company's links that work, on vehicles that the visitor may share."""
    _, links = await visitor_and(
        request, lambda tx, visitor: service.of_company(tx, actor=visitor.actor, now_ms=context_of(request).clock())
    )
    return views.show(request, "sharing/links.html", title="portal.shares.title", links=links)


@page("GET", "/fleet/vehicles/{vehicleId}/share", access=Action.VEHICLE_SHARE)
async def choose(request: Call) -> Response[bytes]:
    """The form to make a link to the vehicle."""
    return _form(request, *await visitor_and(request, partial(_vehicle, request)))


@page("POST", "/fleet/vehicles/{vehicleId}/share", access=Action.VEHICLE_SHARE, refuses=(TooManyLinks,))
async def make(request: Call) -> Response[bytes]:
    """Make a link; the answer shows its address, once."""
    return await _make(request, _vehicle)


@page("GET", "/trips/{tripId}/share", access=Action.VEHICLE_SHARE, refuses=(NotShareable,))
async def choose_of_trip(request: Call) -> Response[bytes]:
    """The form to make a link to the trip."""
    return _form(request, *await visitor_and(request, partial(_trip, request)))


@page("POST", "/trips/{tripId}/share", access=Action.VEHICLE_SHARE, refuses=(NotShareable, TooLong, TooManyLinks))
async def make_of_trip(request: Call) -> Response[bytes]:
    """Make a link to the trip; the answer shows its address, once."""
    return await _make(request, _trip)


@page("POST", f"{PATH}/{{linkId}}/end", access=Action.VEHICLE_SHARE)
async def end(request: Call) -> Response[bytes]:
    """End a link at once."""
    await forms.read(request)
    context, visitor = context_of(request), await visitor_of(request)
    link_id = RecordId(parameters.path_id(request, "linkId"))
    await context.store.write(lambda tx: service.end(tx, **changes.by(request, visitor.actor), link_id=link_id))
    return views.moved(request, PATH, notice="portal.shares.ended")


def _vehicle(request: Call, tx: ReadTx, visitor: Visitor) -> Subject:
    vehicle_id = parameters.vehicle_id(request)
    admission.admit(tx, visitor.actor, Action.VEHICLE_SHARE, Thing.VEHICLE, vehicle_id)
    return Subject(f"/fleet/vehicles/{vehicle_id}", vehicles.read(tx, actor=visitor.actor, vehicle_id=vehicle_id))


def _trip(request: Call, tx: ReadTx, visitor: Visitor) -> Subject:
    trip_id = parameters.trip_id(request)
    trip, vehicle_id = service.admit_to_trip(tx, actor=visitor.actor, trip_id=trip_id)
    return Subject(f"/trips/{trip_id}", vehicles.read(tx, actor=visitor.actor, vehicle_id=vehicle_id), trip)


async def _make(request: Call, read: Reading) -> Response[bytes]:
    form = await forms.read(request)
    visitor, subject = await visitor_and(request, partial(read, request))

    def work(tx: WriteTx) -> Made:
        by, hours, number = changes.by(request, visitor.actor), _hours(form.text("hours")), form.flag("number")
        if subject.trip is None:
            shows = Shows(number=number, trail=form.flag("trail"))
            return service.make(tx, **by, vehicle_id=subject.vehicle.id, hours=hours, shows=shows)
        shows = Shows(number=number, whole=form.flag("whole"))
        return service.make_of_trip(tx, **by, trip_id=subject.trip.id, hours=hours, shows=shows)

    try:
        made = await context_of(request).store.write(work)
    except Refusal as refusal:
        return _form(request, visitor, subject, error=forms.of_form(refusal), labels=_LABELS)
    return views.show(
        request,
        "sharing/made.html",
        title="portal.shares.made",
        subject=subject,
        link=made.link,
        address=cookies.public_address(request) + made.path,
    )


def _hours(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdecimal()):
        raise BadParameter("integer", field="hours")
    return int(text[:6])


def _lasting(visitor: Visitor, hours: int) -> str:
    days = hours // _DAY
    return visitor.say("portal.shares.days", n=days) if days > 1 else visitor.say("portal.shares.hour_count", n=hours)


def _form(request: Call, visitor: Visitor, subject: Subject, **values: Any) -> Response[bytes]:
    return views.show(
        request,
        "sharing/make.html",
        title="portal.shares.make" if subject.trip is None else "portal.shares.make_trip",
        subject=subject,
        hours=HOURS,
        choices=[(str(each), _lasting(visitor, each)) for each in _CHOICES],
        **values,
    )

"""The QR code to print for a vehicle's cab, with the address of the page for taking the vehicle.

Anyone may know the address: it grants nothing (`handover.py`).
"""

import asyncio
from typing import Final

import markupsafe
import segno
from litestar.response import Response

from tripline.domain.access import Action
from tripline.http import parameters
from tripline.http.context import Call, process_of
from tripline.portal.driving.home import PATH
from tripline.portal.frame import views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import visitor_and
from tripline.services.fleet import vehicles as service

_QUIET: Final = 4
"""Modules of white around the code (ISO/IEC 18004)."""


@page("GET", "/fleet/vehicles/{vehicleId}/code", access=Action.VEHICLE_ACTIVATE)
async def show(request: Call) -> Response[bytes]:
    """The code for the vehicle's cab."""
    visitor, vehicle = await visitor_and(
        request, lambda tx, visitor: service.read(tx, actor=visitor.actor, vehicle_id=parameters.vehicle_id(request))
    )
    address = process_of(request).public_url.rstrip("/")
    return views.show(
        request,
        "driving/code.html",
        title=views.Plain(visitor.say("portal.driving.code_of", number=vehicle.vehicle_no)),
        vehicle=vehicle,
        # On a thread: drawing takes 8 ms.
        code=await asyncio.to_thread(drawn, f"{address}{PATH}/{vehicle.id}") if address else None,
    )


def drawn(address: str) -> markupsafe.Markup:
    """The address as a QR code: SVG, black on white, without styles."""
    made = segno.make_qr(address, error="m")
    text = made.svg_inline(border=_QUIET, light="#fff", svgclass="cab-code", lineclass=None, omitsize=True)
    return markupsafe.Markup(text)  # noqa: S704  a drawing, without any text

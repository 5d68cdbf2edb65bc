"""Choosing an unmounted sensor of the visitor's company for a vehicle.

Not here: mounting the chosen sensor (`mounting.py`).
"""

from typing import Final

from litestar.response import Response

from tripline.domain import access
from tripline.domain.access import Action
from tripline.domain.vehicles import Vehicle
from tripline.http import parameters
from tripline.http.context import Call, context_of
from tripline.portal.frame import views, windows
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_in
from tripline.services.fleet import lists, vehicles
from tripline.store.listing.pages import Page, PageRequest
from tripline.store.listing.sensors import Filters, ListedSensor
from tripline.store.transactions import ReadTx

SHOWN: Final = 20
"""Sensors on the page; a search by serial number finds the others."""


@page("GET", "/fleet/vehicles/{vehicleId}/sensor", access=Action.SENSOR_MOUNT)
async def choose(request: Call) -> Response[bytes]:
    """Choose the sensor to mount on a vehicle."""
    asked = windows.text(request, "q")

    def work(tx: ReadTx) -> tuple[Visitor, Vehicle, Page[ListedSensor]]:
        visitor = visitor_in(tx, request)
        vehicle_id = parameters.vehicle_id(request)
        vehicle = vehicles.read(tx, actor=visitor.actor, vehicle_id=vehicle_id)
        own = access.company_of(visitor.actor)
        filters = Filters(search=asked or None, mounted=False, company_id=own)
        page_request = PageRequest(limit=SHOWN, by="serial")
        return visitor, vehicle, lists.SENSORS.page(tx, actor=visitor.actor, filters=filters, page_request=page_request)

    visitor, vehicle, found = await context_of(request).store.read(work)
    return views.show(
        request,
        visitor,
        "mounting/choose.html",
        title="portal.mounting.choose",
        vehicle=vehicle,
        asked=asked,
        sensors=found.rows,
        more=found.more_behind,
    )

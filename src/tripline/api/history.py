"""The history of vehicles, sensors, people and companies: their changes, with author and time (spec/rest 7.8)."""

from functools import partial
from typing import Final

from litestar.types import ASGIApp

from tripline.domain.access import Action, Actor, Thing
from tripline.http import pages, parameters, reads
from tripline.http.context import Call
from tripline.http.operations import operation
from tripline.services.fleet import history as service
from tripline.store.transactions import ReadTx
from tripline.wire.rest import history as rest_history
from tripline.wire.rest.base import Page

_history: Final = partial(operation, "GET", answer=pages.timed(rest_history.HistoryRecord))


@_history("/api/tre/v1/vehicle/{vehicleId}/history", access=Action.VEHICLE_HISTORY_READ)
async def of_vehicle(request: Call) -> ASGIApp:
    """Who changed the vehicle, its sensors, director, driver, delegations and rights, newest first by default;
    of a deleted one too."""
    return await _page(request, Thing.VEHICLE, "vehicleId")


@_history("/api/tre/v1/sensor/{sensorId}/history", access=Action.SENSOR_HISTORY_READ)
async def of_sensor(request: Call) -> ASGIApp:
    """Changes and mountings of the sensor with their authors, newest first by default; of a deleted sensor too.

    For a change of the access token, only its time is listed.
    """
    return await _page(request, Thing.SENSOR, "sensorId")


@_history("/api/tre/v1/user/{userId}/history", access=Action.USER_HISTORY_READ)
async def of_user(request: Call) -> ASGIApp:
    """Changes of the director, driver or administrator and of the person's rights, newest first by default.

    For a deleted person the changes and their authors remain; the person's own data is erased.
    """
    return await _page(request, Thing.USER, "userId")


@_history("/api/tre/v1/company/{companyId}/history", access=Action.COMPANY_HISTORY_READ)
async def of_company(request: Call) -> ASGIApp:
    """Changes of the company's record and candidates, and imports, with their authors, newest first by default.

    Changes of its vehicles, sensors and people are listed in their own history.
    """
    return await _page(request, Thing.COMPANY, "companyId")


async def _page(request: Call, thing: Thing, name: str) -> ASGIApp:
    """The page that the query asks for, when the caller may read the history of the thing in the path."""

    def work(tx: ReadTx, actor: Actor) -> Page:
        thing_id = parameters.path_id(request, name)
        service.admit(tx, actor=actor, thing=thing, thing_id=thing_id)
        return reads.by_time(
            request,
            lambda span: service.read(tx, actor=actor, thing=thing, thing_id=thing_id, span=span),
            record=rest_history.history_record,
            id_of=lambda entry: entry.id,
        )

    return await reads.answer(request, work)

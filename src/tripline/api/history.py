"""The history of vehicles, sensors, people and companies: their changes, with author and time (spec/rest 7.8)."""

from collections.abc import Callable

from litestar.types import ASGIApp

from tripline.domain.access import Action, Actor
from tripline.domain.history import Entry
from tripline.domain.ids import UserId
from tripline.http import answers, pages, parameters, permission, reads
from tripline.http.context import Call
from tripline.http.operations import PageOf, operation
from tripline.services.fleet import history as service
from tripline.store.lists import Span
from tripline.store.transactions import ReadTx
from tripline.wire.rest import history as rest_history
from tripline.wire.rest.base import Page


@operation(
    "GET",
    "/api/tre/v1/vehicle/{vehicleId}/history",
    access=Action.VEHICLE_HISTORY_READ,
    answer=PageOf(record=rest_history.HistoryRecord, timed=True),
    query=pages.TIME_PAGE,
)
async def of_vehicle(request: Call) -> ASGIApp:
    """Who changed the vehicle, its sensors, director, driver, delegations and rights, newest first by default;
    of a deleted one too.
    """

    def admitted(tx: ReadTx, actor: Actor) -> Callable[[Span], list[Entry]]:
        vehicle_id = parameters.vehicle_id(request)
        service.admit_to_vehicle(tx, actor=actor, vehicle_id=vehicle_id)
        return lambda span: service.of_vehicle(tx, actor=actor, vehicle_id=vehicle_id, span=span)

    return await _page(request, admitted)


@operation(
    "GET",
    "/api/tre/v1/sensor/{sensorId}/history",
    access=Action.SENSOR_HISTORY_READ,
    answer=PageOf(record=rest_history.HistoryRecord, timed=True),
    query=pages.TIME_PAGE,
)
async def of_sensor(request: Call) -> ASGIApp:
    """Changes and mountings of the sensor with their authors, newest first by default; of a deleted sensor too.

    For a change of the access token, only its time is listed.
    """

    def admitted(tx: ReadTx, actor: Actor) -> Callable[[Span], list[Entry]]:
        sensor_id = parameters.sensor_id(request)
        service.admit_to_sensor(tx, actor=actor, sensor_id=sensor_id)
        return lambda span: service.of_sensor(tx, actor=actor, sensor_id=sensor_id, span=span)

    return await _page(request, admitted)


@operation(
    "GET",
    "/api/tre/v1/user/{userId}/history",
    access=Action.USER_HISTORY_READ,
    answer=PageOf(record=rest_history.HistoryRecord, timed=True),
    query=pages.TIME_PAGE,
)
async def of_user(request: Call) -> ASGIApp:
    """Changes of the director, driver or administrator and of the person's rights, newest first by default.

    For a deleted person the changes and their authors remain; the person's own data is erased.
    """

    def admitted(tx: ReadTx, actor: Actor) -> Callable[[Span], list[Entry]]:
        user_id = UserId(parameters.path_id(request, "userId"))
        service.admit_to_user(tx, actor=actor, user_id=user_id)
        return lambda span: service.of_user(tx, actor=actor, user_id=user_id, span=span)

    return await _page(request, admitted)


@operation(
    "GET",
    "/api/tre/v1/company/{companyId}/history",
    access=Action.COMPANY_HISTORY_READ,
    answer=PageOf(record=rest_history.HistoryRecord, timed=True),
    query=pages.TIME_PAGE,
)
async def of_company(request: Call) -> ASGIApp:
    """Changes of the company's record and candidates, and imports, with their authors, newest first by default.

    Changes of its vehicles, sensors and people are listed in their own history.
    """

    def admitted(tx: ReadTx, actor: Actor) -> Callable[[Span], list[Entry]]:
        company_id = parameters.company_id(request)
        service.admit_to_company(tx, actor=actor, company_id=company_id)
        return lambda span: service.of_company(tx, actor=actor, company_id=company_id, span=span)

    return await _page(request, admitted)


async def _page(request: Call, admitted: Callable[[ReadTx, Actor], Callable[[Span], list[Entry]]]) -> ASGIApp:
    """The page that the query asks for, when the caller may read this history."""

    def work(tx: ReadTx) -> Page:
        return reads.by_time(
            request,
            admitted(tx, permission.permitted_in(tx, request)),
            record=rest_history.history_record,
            id_of=lambda entry: entry.id,
        )

    return answers.ok(await reads.page(request, work))

"""Lists and numbers of directors and drivers, and the vehicles that a director manages (spec/rest 7.2)."""

from typing import Any, Final

from litestar.types import ASGIApp

from tripline.domain.access import Action, Actor, Authority
from tripline.domain.ids import CompanyId, UserId
from tripline.http import answers, pages, parameters, permission, reads
from tripline.http.context import Call, context_of
from tripline.http.operations import PageOf, operation
from tripline.services.fleet import people as service
from tripline.services.fleet import vehicles
from tripline.store.transactions import ReadTx
from tripline.wire.rest import people as rest_people
from tripline.wire.rest import vehicles as rest_vehicles
from tripline.wire.rest.base import Count, Page


@operation(
    "GET",
    "/api/tre/v1/directors",
    access=Action.PERSON_LIST,
    answer=PageOf(record=rest_people.UserRecord, timed=False),
    query=(*pages.TEXT_PAGE, pages.OF_COMPANY),
)
async def list_directors(request: Call) -> ASGIApp:
    """The directors of a company (the caller's when none is named), by name."""
    return await _list(request, Authority.DIRECTOR)


@operation(
    "GET",
    "/api/tre/v1/drivers",
    access=Action.PERSON_LIST,
    answer=PageOf(record=rest_people.UserRecord, timed=False),
    query=(*pages.TEXT_PAGE, pages.OF_COMPANY),
)
async def list_drivers(request: Call) -> ASGIApp:
    """The drivers of a company (the caller's when none is named), by name; its directors are not among them."""
    return await _list(request, Authority.DRIVER)


@operation("GET", "/api/tre/v1/directors/count", access=Action.PERSON_LIST, answer=Count, query=(pages.OF_COMPANY,))
async def count_directors(request: Call) -> ASGIApp:
    """How many directors a company has (the caller's when none is named)."""
    return await _count(request, Authority.DIRECTOR)


@operation("GET", "/api/tre/v1/drivers/count", access=Action.PERSON_LIST, answer=Count, query=(pages.OF_COMPANY,))
async def count_drivers(request: Call) -> ASGIApp:
    """How many drivers a company has (the caller's when none is named); its directors are not among them."""
    return await _count(request, Authority.DRIVER)


@operation(
    "GET",
    "/api/tre/v1/director/{directorId}/vehicles",
    access=Action.VEHICLE_READ,
    answer=PageOf(record=rest_vehicles.VehicleRecord, timed=False),
    query=pages.TEXT_PAGE,
)
async def list_managed(request: Call) -> ASGIApp:
    """The vehicles that the person manages as director, limited to the caller's view, by number."""

    def work(tx: ReadTx) -> Page:
        actor = permission.permitted_in(tx, request)
        user_id = UserId(parameters.path_id(request, "directorId"))
        service.find(tx, actor=actor, action=Action.USER_READ, role=Authority.DIRECTOR, user_id=user_id)
        return reads.by_name(
            request,
            lambda window: vehicles.managed_by(tx, actor=actor, director_id=user_id, window=window),
            record=rest_vehicles.vehicle_record,
            name=lambda vehicle: vehicle.vehicle_no,
        )

    return answers.ok(await reads.page(request, work))


async def _list(request: Call, role: Authority) -> ASGIApp:
    def work(tx: ReadTx) -> Page:
        actor = permission.permitted_in(tx, request)
        company_id = _company(tx, request, actor)
        return reads.by_name(
            request,
            lambda window: service.listed(tx, actor=actor, company_id=company_id, role=role, window=window),
            record=rest_people.user_record,
            name=lambda user: user.name,
        )

    return answers.ok(await reads.page(request, work))


async def _count(request: Call, role: Authority) -> ASGIApp:
    def work(tx: ReadTx) -> int:
        actor = permission.permitted_in(tx, request)
        return service.count(tx, actor=actor, company_id=_company(tx, request, actor), role=role)

    return answers.ok(Count(await context_of(request).store.read(work)))


def _company(tx: ReadTx, request: Call, actor: Actor) -> CompanyId:
    """The company of the list, which the actor may read. Raises `NotFound`, `Forbidden`."""
    company_id = parameters.company_asked(request.query_params, actor)
    service.admit_to_list(tx, actor=actor, company_id=company_id)
    return company_id


handlers: Final[list[Any]] = [list_directors, list_drivers, count_directors, count_drivers, list_managed]

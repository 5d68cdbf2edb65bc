"""Directors and drivers: registering, reading, changing, deleting, counting and listing them; finding a person by
e-mail address (spec/rest 7.2).
"""

from functools import partial
from typing import Final

from litestar.types import ASGIApp

from tripline.api import person_bodies
from tripline.domain import access, people
from tripline.domain.access import Action, Actor, Authority, Thing
from tripline.domain.ids import CompanyId, UserId
from tripline.domain.refusals import BadParameter, NotFound
from tripline.http import answers, changes, pages, parameters, permission, reads
from tripline.http.context import Call, context_of
from tripline.http.operations import Value, operation
from tripline.services import admission, notifications
from tripline.services.fleet import people as service
from tripline.services.fleet import vehicles
from tripline.store.transactions import ReadTx
from tripline.wire.rest import people as rest_people
from tripline.wire.rest import vehicles as rest_vehicles
from tripline.wire.rest.base import Count, Page

EMAIL: Final = Value("email", str, "e-mail address, in any letter case", "jung@ace.example", required=True)
ID_IN_PATH: Final = {Authority.DIRECTOR: "directorId", Authority.DRIVER: "driverId"}
"""The name of a person's id under the path of each role."""

_register_at: Final = partial(
    operation,
    "POST",
    access=Action.PERSON_CREATE,
    request=rest_people.PersonRequest,
    required=("name", "email", "password"),
    answer=rest_people.UserRecord,
    refuses=(people.EmailTaken,),
)


@_register_at("/api/tre/v1/director")
async def register_director(request: Call) -> ASGIApp:
    """A director of the caller's company."""
    return await _register(request, Authority.DIRECTOR)


@_register_at("/api/tre/v1/driver")
async def register_driver(request: Call) -> ASGIApp:
    """A driver of the caller's company."""
    return await _register(request, Authority.DRIVER)


@operation("GET", "/api/tre/v1/director/{directorId}", access=Action.USER_READ, answer=rest_people.UserRecord)
async def read_director(request: Call) -> ASGIApp:
    """A director."""
    return await _read(request, Authority.DIRECTOR)


@operation("GET", "/api/tre/v1/driver/{driverId}", access=Action.USER_READ, answer=rest_people.UserRecord)
async def read_driver(request: Call) -> ASGIApp:
    """A driver, or a director, who may act as one."""
    return await _read(request, Authority.DRIVER)


_change_at: Final = partial(
    operation,
    "PUT",
    access=Action.PERSON_MODIFY,
    request=rest_people.PersonRequest,
    answer=rest_people.UserRecord,
    refuses=(people.EmailTaken, people.OwnCredentials),
)


@_change_at("/api/tre/v1/director/{directorId}")
async def change_director(request: Call) -> ASGIApp:
    """The director after a change of the fields in the body; a new password ends every session of the account.

    The caller's own e-mail address and password cannot be changed here.
    """
    return await _change(request, Authority.DIRECTOR)


@_change_at("/api/tre/v1/driver/{driverId}")
async def change_driver(request: Call) -> ASGIApp:
    """As of a director, the driver, or a director, who may act as one."""
    return await _change(request, Authority.DRIVER)


@operation("DELETE", "/api/tre/v1/director/{directorId}", access=Action.PERSON_DELETE, answer=None)
async def delete_director(request: Call) -> ASGIApp:
    """The director's account and rights end; vehicles and trips stay, without a managing director and driver."""
    return await _delete(request, Authority.DIRECTOR)


@operation("DELETE", "/api/tre/v1/driver/{driverId}", access=Action.PERSON_DELETE, answer=None)
async def delete_driver(request: Call) -> ASGIApp:
    """The account and rights of the driver, or of a director, end; trips and scores stay, without a driver."""
    return await _delete(request, Authority.DRIVER)


@operation(
    "GET",
    "/api/tre/v1/user",
    access=Action.USER_FIND,
    answer=rest_people.UserRecord,
    query=(EMAIL,),
    refuses=(NotFound,),
)
async def find(request: Call) -> ASGIApp:
    """The person with an e-mail address, in the caller's company and its partners; all others are reported as
    unknown."""
    actor = await permission.permitted(request)
    email = parameters.query_text(request.query_params, "email")
    if email is None:
        raise BadParameter.missing("email")
    found = await context_of(request).store.read_short(lambda tx: service.find_by_email(tx, actor=actor, email=email))
    return answers.ok(rest_people.user_record(found))


async def _register(request: Call, role: Authority) -> ASGIApp:
    actor = await permission.permitted(request)
    access.company_of(actor)
    return await person_bodies.register(request, actor, partial(service.register, role=role))


async def _read(request: Call, role: Authority) -> ASGIApp:
    actor = await permission.permitted(request)
    user_id = _user_id(request, role)
    found = await context_of(request).store.read_short(
        lambda tx: service.find(tx, actor=actor, action=Action.USER_READ, role=role, user_id=user_id)
    )
    return answers.ok(rest_people.user_record(found))


async def _change(request: Call, role: Authority) -> ASGIApp:
    actor = await permission.permitted(request)
    user_id = _user_id(request, role)
    find = partial(service.find, actor=actor, action=Action.PERSON_MODIFY, role=role, user_id=user_id)
    return await person_bodies.change(request, actor, find, partial(service.change, role=role, user_id=user_id))


async def _delete(request: Call, role: Authority) -> ASGIApp:
    changed = await changes.made(
        request, lambda tx, by: service.delete(tx, **by, role=role, user_id=_user_id(request, role))
    )
    notifications.send(context_of(request).signals, notifications.deleted(changed))
    return answers.ok({})


def _user_id(request: Call, role: Authority) -> UserId:
    return UserId(parameters.path_id(request, ID_IN_PATH[role]))


_list_at: Final = partial(
    operation, "GET", access=Action.PERSON_LIST, answer=pages.named(rest_people.UserRecord), query=(pages.OF_COMPANY,)
)


@_list_at("/api/tre/v1/directors")
async def list_directors(request: Call) -> ASGIApp:
    """The directors of a company (the caller's when none is named), by name."""
    return await _list(request, Authority.DIRECTOR)


@_list_at("/api/tre/v1/drivers")
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
    answer=pages.named(rest_vehicles.VehicleRecord),
)
async def list_managed(request: Call) -> ASGIApp:
    """The vehicles that the person manages as director, limited to the caller's view, by number."""

    def work(tx: ReadTx, actor: Actor) -> Page:
        user_id = UserId(parameters.path_id(request, "directorId"))
        service.find(tx, actor=actor, action=Action.USER_READ, role=Authority.DIRECTOR, user_id=user_id)
        return reads.by_name(
            request,
            lambda window: vehicles.managed_by(tx, actor=actor, director_id=user_id, window=window),
            record=rest_vehicles.vehicle_record,
            name=lambda vehicle: vehicle.vehicle_no,
        )

    return await reads.answer(request, work)


async def _list(request: Call, role: Authority) -> ASGIApp:
    def work(tx: ReadTx, actor: Actor) -> Page:
        company_id = _company(tx, request, actor)
        return reads.by_name(
            request,
            lambda window: service.listed(tx, actor=actor, company_id=company_id, role=role, window=window),
            record=rest_people.user_record,
            name=lambda user: user.name,
        )

    return await reads.answer(request, work)


async def _count(request: Call, role: Authority) -> ASGIApp:
    def work(tx: ReadTx, actor: Actor) -> Count:
        return Count(service.count(tx, actor=actor, company_id=_company(tx, request, actor), role=role))

    return await reads.many(request, work)


def _company(tx: ReadTx, request: Call, actor: Actor) -> CompanyId:
    """The company of the list, which the actor may read. Raises `NotFound`, `Forbidden`."""
    company_id = parameters.company_asked(request.query_params, actor)
    admission.admit(tx, actor, Action.PERSON_LIST, Thing.COMPANY, company_id)
    return company_id

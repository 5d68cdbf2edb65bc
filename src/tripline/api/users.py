"""Registering directors and drivers, and reading a driver (client-surface 7.2)."""

from typing import Any, Final

import msgspec
from litestar.types import ASGIApp

from tripline.api import answers, guards, parameters
from tripline.api.operations import operation
from tripline.api.rim import Call, rim_of
from tripline.domain import access, people
from tripline.domain.access import Action, Authority
from tripline.domain.ids import UserId
from tripline.services.fleet import people as service
from tripline.wire import rest_people, rest_reading


@operation(
    "POST",
    "/api/tre/v1/director",
    access=Action.PERSON_CREATE,
    request=rest_people.PersonRequest,
    answer=rest_people.UserRecord,
    refuses=(people.EmailTaken,),
)
async def register_director(request: Call) -> ASGIApp:
    """A director of the caller's company."""
    return await _register(request, Authority.DIRECTOR)


@operation(
    "POST",
    "/api/tre/v1/driver",
    access=Action.PERSON_CREATE,
    request=rest_people.PersonRequest,
    answer=rest_people.UserRecord,
    refuses=(people.EmailTaken,),
)
async def register_driver(request: Call) -> ASGIApp:
    """A driver of the caller's company."""
    return await _register(request, Authority.DRIVER)


@operation("GET", "/api/tre/v1/driver/{driverId}", access=Action.USER_READ, answer=rest_people.UserRecord)
async def read_driver(request: Call) -> ASGIApp:
    """A driver, or a director, who may act as one."""
    actor = await guards.permitted(request)
    user_id = UserId(parameters.path_id(request, "driverId"))
    found = await rim_of(request).store.read_short(lambda tx: service.read_driver(tx, actor=actor, user_id=user_id))
    return answers.ok(rest_people.user_record(found))


async def _register(request: Call, role: Authority) -> ASGIApp:
    rim = rim_of(request)
    actor = await guards.permitted(request)
    access.company_of(actor)
    sent = rest_reading.read(await parameters.json_object(request), rest_people.PersonRequest)
    registration = people.registration(**msgspec.structs.asdict(sent))
    password_hash = await rim.passwords.hash(registration.password)
    now_ms = rim.clock()
    new = await rim.store.write(
        lambda tx: service.register(
            tx,
            actor=actor,
            role=role,
            registration=registration,
            password_hash=password_hash,
            ids=rim.ids,
            now_ms=now_ms,
        )
    )
    return answers.ok(rest_people.user_record(new))


handlers: Final[list[Any]] = [register_director, register_driver, read_driver]

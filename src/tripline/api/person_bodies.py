"""Reads a person from a body: an administrator, director or driver, with the hash of the password.

The hash is made before the transaction, because it takes longer than all the rest.
"""

from typing import Any

import msgspec

from tripline.domain import people
from tripline.domain.access import Actor
from tripline.domain.people import Registration, User
from tripline.http import parameters, peers
from tripline.http.context import Call, accounts_of
from tripline.services.fleet import people as service
from tripline.wire.rest import bodies as rest_bodies
from tripline.wire.rest import people as rest_people
from tripline.wire.rest import read_only as rest_read_only


async def registration(request: Call, actor: Actor) -> tuple[dict[str, Any], Registration, str]:
    """The body, the new person that it describes, and the hash of the password.

    Raises `BadParameter` and `TooManyLogins`.
    """
    body = await parameters.json_object(request)
    said = people.registration(**msgspec.structs.asdict(rest_bodies.read(body, rest_people.PersonRequest)))
    requester = peers.requester_of(request, actor)
    return body, said, await accounts_of(request).passwords.hash(said.password, requester)


def registered(body: dict[str, Any], new: User) -> rest_people.UserRecord:
    """The record of the new person. Raises `fields.ReadOnly` when the body says something else of it."""
    return rest_read_only.registered(body, rest_people.PersonRequest, rest_people.user_record(new))


async def changes(request: Call, actor: Actor, before: User) -> tuple[dict[str, Any], str | None]:
    """The fields to change in a person's record, and the hash of the new password if there is one.

    Raises as `people.checked` of the fleet, `fields.ReadOnly`, and `TooManyLogins`.
    """
    body = await parameters.json_object(request)
    named = rest_bodies.read_partial(body, rest_people.PersonRequest)
    rest_read_only.changed(body, rest_people.PersonRequest, rest_people.user_record(before))
    password = service.checked(before, actor=actor, named=named).password
    if password is None:
        return named, None
    return named, await accounts_of(request).passwords.hash(password, peers.requester_of(request, actor))

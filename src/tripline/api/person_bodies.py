"""What a body says of a person, an administrator as well as a director or driver, and the hash of its password.

The hash is made before the transaction, because it takes longer than all the rest.
"""

from typing import Any

import msgspec

from tripline.api import parameters
from tripline.api.rim import Call, rim_of
from tripline.domain import people
from tripline.domain.access import Actor
from tripline.domain.people import Registration, User
from tripline.services.fleet import people as service
from tripline.wire import rest_people, rest_reading


async def registration(request: Call) -> tuple[Registration, str]:
    """A new person, and the hash of the password. Raises `BadParameter` and `TooManyLogins`."""
    sent = rest_reading.read(await parameters.json_object(request), rest_people.PersonRequest)
    said = people.registration(**msgspec.structs.asdict(sent))
    return said, await rim_of(request).passwords.hash(said.password)


async def changes(request: Call, actor: Actor, before: User) -> tuple[dict[str, Any], str | None]:
    """The fields that somebody is to change, and the hash of the password when that is one of them.

    Raises as `people.checked` of the fleet, and `TooManyLogins`.
    """
    named = rest_reading.read_partial(await parameters.json_object(request), rest_people.PersonRequest)
    password = service.checked(before, actor=actor, named=named).password
    return named, None if password is None else await rim_of(request).passwords.hash(password)

"""Registers and changes a person by a body: an administrator, director or driver.

The hash of the password is made before the transaction, because it takes longer than all the rest.
"""

from collections.abc import Callable

import msgspec
from litestar.types import ASGIApp

from tripline.domain import people
from tripline.domain.access import Actor
from tripline.domain.people import User
from tripline.http import answers, changes, parameters, peers
from tripline.http.context import Call, accounts_of, context_of
from tripline.services.fleet import people as service
from tripline.store.transactions import ReadTx, WriteTx
from tripline.wire.rest import bodies as rest_bodies
from tripline.wire.rest import people as rest_people
from tripline.wire.rest import read_only as rest_read_only


async def register(request: Call, actor: Actor, make: Callable[..., User]) -> ASGIApp:
    """The new person that the body describes, by `make`.

    Raises `BadParameter`, `TooManyLogins`, and `fields.ReadOnly` when the body says something else of the new record.
    """
    body = await parameters.json_object(request)
    said = people.registration(**msgspec.structs.asdict(rest_bodies.read(body, rest_people.PersonRequest)))
    password_hash = await accounts_of(request).passwords.hash(said.password, peers.requester_of(request, actor))

    def work(tx: WriteTx) -> rest_people.UserRecord:
        new = make(tx, **changes.by(request, actor), registration=said, password_hash=password_hash)
        return rest_read_only.registered(body, rest_people.PersonRequest, rest_people.user_record(new))

    return answers.ok(await context_of(request).store.write(work))


async def change(request: Call, actor: Actor, find: Callable[[ReadTx], User], apply: Callable[..., User]) -> ASGIApp:
    """The person that `find` reads, after `apply` changed the fields in the body.

    Raises as `people.checked` of the fleet, `fields.ReadOnly`, and `TooManyLogins`.
    """
    store = context_of(request).store
    before = await store.read_short(find)
    body = await parameters.json_object(request)
    named = rest_bodies.read_partial(body, rest_people.PersonRequest)
    rest_read_only.changed(body, rest_people.PersonRequest, rest_people.user_record(before))
    password, password_hash = service.checked(before, actor=actor, named=named).password, None
    if password is not None:
        password_hash = await accounts_of(request).passwords.hash(password, peers.requester_of(request, actor))
    changed = await store.write(
        lambda tx: apply(tx, **changes.by(request, actor), named=named, password_hash=password_hash)
    )
    return answers.ok(rest_people.user_record(changed))

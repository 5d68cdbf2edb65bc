"""Permission: refuse accounts whose role does not allow the operation.

The operation declares the action that it needs as `access` (`operations.py`).
"""

from collections.abc import Callable
from typing import TypeVar

from tripline.domain import access
from tripline.domain.access import Action, Actor, Thing
from tripline.http import authentication, operations
from tripline.http.context import Call, context_of
from tripline.services import admission
from tripline.store.transactions import ReadTx

Id = TypeVar("Id", bound=str)


def permitted_in(tx: ReadTx, request: Call) -> Actor:
    """The request's account; its role must permit the operation on some rows. This check comes before any other.

    Raises as `authentication.actor_in`, and `Forbidden`.
    """
    actor = authentication.actor_in(tx, request)
    require_role(request, actor)
    return actor


def require_role(request: Call, actor: Actor) -> None:
    """Check that the account's role permits the operation on some rows. Raises `Forbidden`."""
    needed = operations.of_request(request).access
    if isinstance(needed, Action):
        access.scope_of(actor, needed)


async def permitted(request: Call) -> Actor:
    """As `permitted_in`, in a statement of its own: for handlers that wait between this check and their own
    transaction."""
    actor = await authentication.actor(request)
    require_role(request, actor)
    return actor


async def admitted(request: Call, admit: Callable[[ReadTx, Actor], object]) -> Actor:
    """The caller, admitted to the object of a change before the body is read (spec/rest 3.3). The change itself checks
    again, in its own transaction."""

    def work(tx: ReadTx) -> Actor:
        actor = permitted_in(tx, request)
        admit(tx, actor)
        return actor

    return await context_of(request).store.read_short(work)


async def admitted_to(request: Call, thing: Thing, id_of: Callable[[Call], Id]) -> tuple[Actor, Id]:
    """As `admitted`: the caller, and the id in the path, of an object on which the operation is permitted."""
    return await context_of(request).store.read_short(lambda tx: admitted_in(tx, request, thing, id_of))


def admitted_in(tx: ReadTx, request: Call, thing: Thing, id_of: Callable[[Call], Id]) -> tuple[Actor, Id]:
    """As `admitted_to`, in a transaction of the handler. Raises as `permitted_in`, and `NotFound`."""
    actor, thing_id, needed = permitted_in(tx, request), id_of(request), operations.of_request(request).access
    assert isinstance(needed, Action)
    admission.admit(tx, actor, needed, thing, thing_id)
    return actor, thing_id

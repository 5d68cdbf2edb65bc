"""Permission: refuse accounts whose role does not allow the operation.

The operation declares the action that it needs as `access` (`operations.py`).

Not here: the caller (`authentication.py`), which role may do what (`domain/access.py`), on which rows (`services/`).
"""

from tripline.domain import access
from tripline.domain.access import Action, Actor
from tripline.http import authentication, operations
from tripline.http.context.base import Call
from tripline.store.transactions import ReadTx


def permitted_in(tx: ReadTx, request: Call) -> Actor:
    """The account that asks, whose role may do what the operation needs on some rows: the checks before any other.

    Raises as `authentication.actor_in`, and `Forbidden`.
    """
    actor = authentication.actor_in(tx, request)
    require_role(request, actor)
    return actor


def require_role(request: Call, actor: Actor) -> None:
    """Let pass an account whose role may do what the operation needs on some rows. Raises `Forbidden`."""
    needed = operations.of_request(request).access
    if isinstance(needed, Action):
        access.scope_of(actor, needed)


async def permitted(request: Call) -> Actor:
    """As `permitted_in`, by a statement on its own: for what waits between this check and its own transaction."""
    actor = await authentication.actor(request)
    require_role(request, actor)
    return actor

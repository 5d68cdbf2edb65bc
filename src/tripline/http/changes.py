"""Changes that callers make: who makes them, when, and in which transaction."""

from collections.abc import Callable
from typing import TypedDict, TypeVar

from tripline.domain.access import Actor
from tripline.domain.ids import TimeIds
from tripline.http import permission
from tripline.http.context import Call, context_of
from tripline.store.transactions import WriteTx

T = TypeVar("T")


class By(TypedDict):
    """Arguments of every service that changes something: `service.end(tx, **by, link_id=link_id)`."""

    actor: Actor
    ids: TimeIds
    now_ms: int


def by(request: Call, actor: Actor) -> By:
    """A change of this actor, now."""
    context = context_of(request)
    return By(actor=actor, ids=context.ids, now_ms=context.clock())


async def made(request: Call, change: Callable[[WriteTx, By], T]) -> T:
    """Make a change of the caller, which reads the ids in the path itself, in one transaction."""
    actor = await permission.permitted(request)
    return await context_of(request).store.write(lambda tx: change(tx, by(request, actor)))

"""Who asks: the account behind a request's `X-Authorization` header.

The scheme word may have any letter case and any number of blanks may follow it (client-surface 1). The account is read
at each request: a disabled or deleted one is refused although its token is good, and a company gained since the log-in
counts at once.

Not here: what the account may do (`domain/access.py`), the token's form (`services/tokens.py`).
"""

import re
from typing import Final

from tripline.api import operations
from tripline.api.rim import Call, rim_of
from tripline.domain import access
from tripline.domain.access import Action, Actor
from tripline.services.tokens import TokenUnreadable
from tripline.store import accounts
from tripline.store.transactions import ReadTx

_ASKING: Final = "tripline.actor"
_GONE: Final = "The account of this token does not exist or is disabled."
_HEADER: Final = re.compile(r"\s*bearer\s+(\S+)\s*", re.IGNORECASE)


def actor_in(tx: ReadTx, request: Call) -> Actor:
    """The account that asks, looked up in this transaction; the request is counted.

    Raises refusals of errorCode 10 and 11, and `TooManyRequests`.
    """
    rim = rim_of(request)
    now_ms = rim.clock()
    user_id = rim.tokens.user_of_access(_token(request), now_ms=now_ms)
    actor = accounts.actor(tx, user_id)
    if actor is None:
        raise TokenUnreadable(_GONE)
    rim.limits.count_request(user_id, now_ms=now_ms)
    request.scope[_ASKING] = actor  # type: ignore[typeddict-unknown-key]
    return actor


async def require_still(request: Call) -> None:
    """As `require_still_in`, in a transaction of its own: a body may take a minute to come."""
    if _ASKING in request.scope:
        await rim_of(request).store.read_short(lambda tx: require_still_in(tx, request))


def require_still_in(tx: ReadTx, request: Call) -> None:
    """Let pass when the account that asked, if one was asked for, is still there.

    Raises `TokenUnreadable` for one that was disabled or deleted meanwhile.
    """
    actor: Actor | None = request.scope.get(_ASKING)  # type: ignore[assignment]
    if actor is not None and accounts.actor(tx, actor.user_id) is None:
        raise TokenUnreadable(_GONE)


def permitted_in(tx: ReadTx, request: Call) -> Actor:
    """The account that asks, whose role may do what the operation needs on some rows: the checks before any other.

    What it needs is the `access` of its declaration. Raises as `actor_in`, and `Forbidden`.
    """
    actor = actor_in(tx, request)
    needed = operations.of_request(request).access
    if isinstance(needed, Action):
        access.scope_of(actor, needed)
    return actor


async def permitted(request: Call) -> Actor:
    """As `permitted_in`, in a transaction of its own: for what waits between this check and its own transaction."""
    return await rim_of(request).store.read_short(lambda tx: permitted_in(tx, request))


def _token(request: Call) -> str:
    # As it came: to make Litestar's map of all headers costs as much as finding the account.
    header = next((value for name, value in request.scope["headers"] if name == b"x-authorization"), None)
    if header is None:
        raise TokenUnreadable("The header X-Authorization is missing; log in and send 'Bearer <token>'.")
    found = _HEADER.fullmatch(header.decode("latin-1"))
    if found is None:
        raise TokenUnreadable("The header X-Authorization must have the form 'Bearer <token>'.")
    return found.group(1)

"""Account sessions as their owner sees them: list them, end one, all others or all.

Ending a session also ends its access tokens, refresh token or cookie with the commit, in every process: they are valid
only while its row exists (`http/authentication.py`).

Not here: opening them (`login.py`, `browser_sessions.py`).
"""

from collections.abc import Sequence

import msgspec

from tripline.domain.access import Actor
from tripline.domain.account_sessions import Session
from tripline.domain.refusals import NotFound
from tripline.store.accounts import sessions as rows
from tripline.store.lists import Span
from tripline.store.transactions import ReadTx, WriteTx


class Client(msgspec.Struct, frozen=True):
    """The client of a new session: its name for itself and its address, for the owner to recognise it."""

    agent: str | None
    address: str | None


def listed(tx: ReadTx, *, actor: Actor, now_ms: int, span: Span) -> Sequence[Session]:
    """The actor's own sessions, by when they were opened. Raises `UnknownOffset`."""
    return rows.listed(tx, actor.user_id, now_ms=now_ms, span=span)


def end(tx: WriteTx, *, actor: Actor, session_id: str) -> None:
    """End one session of the actor. Raises `NotFound` for an ended one or another account's."""
    if not rows.revoke_own(tx, actor.user_id, session_id):
        raise NotFound("session")


def end_all(tx: WriteTx, *, actor: Actor, kept: str | None) -> None:
    """End every session of the actor but the one kept, if any is."""
    rows.revoke_all(tx, actor.user_id, kept=kept)

"""Refresh sessions: each use of a refresh token makes the next one, and a stolen one gives itself away.

The token before the current one is good again for a moment, for answers that were lost and buttons pressed twice; it
gets what the first use got, so no session ever has two good tokens. Any older token, or this one later, was copied by
somebody: the whole session ends, for the thief and for the owner, who logs in again.
"""

import uuid
from enum import Enum, auto
from typing import Final

from tripline.domain.ids import UserId
from tripline.services.tokens import Ticket
from tripline.store import refresh_sessions
from tripline.store.refresh_sessions import Session
from tripline.store.transactions import WriteTx

GRACE_MS: Final = 10_000
"""How long after a rotation the token before is still good."""


class Use(Enum):
    """What a refresh token in hand is, as its session sees it."""

    CURRENT = auto()
    AGAIN = auto()
    STOLEN = auto()


def judged(session: Session, token_id: str, *, now_ms: int) -> Use:
    """What the token with this id is in its session."""
    if token_id == session.current:
        return Use.CURRENT
    if token_id == session.previous and now_ms < session.rotated_ms + GRACE_MS:
        return Use.AGAIN
    return Use.STOLEN


def opened(tx: WriteTx, *, user_id: UserId, life_ms: int, now_ms: int) -> Ticket:
    """The first ticket of a new session."""
    ticket = _ticket(str(uuid.uuid4()), now_ms + life_ms)
    refresh_sessions.add(
        tx,
        Session(
            id=ticket.session_id,
            user_id=user_id,
            created_ms=now_ms,
            expires_ms=ticket.expires_ms,
            current=ticket.token_id,
            previous=None,
            rotated_ms=now_ms,
        ),
    )
    return ticket


def exchanged(tx: WriteTx, session: Session, *, token_id: str, life_ms: int, now_ms: int) -> Ticket | None:
    """The session's next ticket; None when the token in hand was stolen, and the session is ended."""
    use = judged(session, token_id, now_ms=now_ms)
    if use is Use.AGAIN:
        return Ticket(session.id, session.current, session.expires_ms)
    if use is Use.STOLEN:
        refresh_sessions.revoke(tx, session.id)
        return None
    ticket = _ticket(session.id, now_ms + life_ms)
    refresh_sessions.rotate(tx, session, current=ticket.token_id, now_ms=now_ms, expires_ms=ticket.expires_ms)
    return ticket


def _ticket(session_id: str, expires_ms: int) -> Ticket:
    return Ticket(session_id, str(uuid.uuid4()), expires_ms)

"""Refresh tokens: each use of one makes the next of its session, and the use of a stolen one is detected.

The previous token stays valid for a moment, for lost answers and double clicks; it gets the same answer as the first
use, so a session never has two valid tokens. The use of an older token, or of this one later, means that it was copied:
the whole session ends, for the thief and for the owner, who logs in again.
"""

import uuid
from enum import Enum, auto
from typing import Final

from tripline.domain.account_sessions import Kind, Session
from tripline.domain.ids import UserId
from tripline.services.accounts.sessions import Client
from tripline.services.accounts.tokens import Ticket, Tokens
from tripline.store.accounts import sessions
from tripline.store.transactions import WriteTx

GRACE_MS: Final = 10_000
"""How long after a rotation the token before is still good."""


class Use(Enum):
    """The status of a refresh token in its session."""

    CURRENT = auto()
    AGAIN = auto()
    STOLEN = auto()


def judged(session: Session, token_id: str, *, now_ms: int) -> Use:
    """Judge the token with this id in its session."""
    if token_id == session.current:
        return Use.CURRENT
    if token_id == session.previous and now_ms < session.rotated_ms + GRACE_MS:
        return Use.AGAIN
    return Use.STOLEN


def opened(tx: WriteTx, *, user_id: UserId, tokens: Tokens, client: Client, now_ms: int) -> Ticket:
    """The first ticket of a new session."""
    ticket = _ticket(str(uuid.uuid4()), tokens, now_ms)
    sessions.add(
        tx,
        Session(
            id=ticket.session_id,
            user_id=user_id,
            created_ms=now_ms,
            expires_ms=now_ms + tokens.session_life_ms,
            current=ticket.token_id,
            previous=None,
            rotated_ms=now_ms,
            kind=Kind.REST,
            agent=client.agent,
            address=client.address,
        ),
    )
    return ticket


def exchanged(tx: WriteTx, session: Session, *, token_id: str, tokens: Tokens, now_ms: int) -> Ticket | None:
    """The session's next ticket; None when the token in hand was stolen, and the session is ended."""
    use = judged(session, token_id, now_ms=now_ms)
    if use is Use.AGAIN:
        # The token that the first use got, made again: a second one would open a second line to a thief.
        return Ticket(session.id, session.current, session.rotated_ms + tokens.refresh_life_ms)
    if use is Use.STOLEN:
        sessions.revoke(tx, session.id)
        return None
    ticket = _ticket(session.id, tokens, now_ms)
    expires_ms = now_ms + tokens.session_life_ms
    sessions.rotate(tx, session, current=ticket.token_id, now_ms=now_ms, expires_ms=expires_ms)
    return ticket


def _ticket(session_id: str, tokens: Tokens, now_ms: int) -> Ticket:
    return Ticket(session_id, str(uuid.uuid4()), now_ms + tokens.refresh_life_ms)

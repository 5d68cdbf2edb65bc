"""Refresh sessions: one for each log-in, with the refresh token that is good in it and the one before.

Found by the session's own id, which only a token that we signed names, so they take no scope.

Not here: what a token in hand means (`services/accounts/sessions.py`).
"""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import delete, insert, select, update

from tripline.domain.ids import UserId
from tripline.store.tables import refresh_session
from tripline.store.transactions import ReadTx, WriteTx

_SESSION: Final = refresh_session.c


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A log-in that can be prolonged; `current` and `previous` are the `jti` of refresh tokens."""

    id: str
    user_id: UserId
    created_ms: int
    expires_ms: int
    current: str
    previous: str | None
    rotated_ms: int


def add(tx: WriteTx, new: Session) -> None:
    """Keep a new session."""
    row = {column.name: getattr(new, column.name) for column in refresh_session.columns}
    tx.run(insert(refresh_session).values(**row))


def find(tx: ReadTx, session_id: str) -> Session | None:
    """The session with this id."""
    row = tx.one(select(refresh_session).where(_SESSION.id == session_id))
    return None if row is None else Session(**row._mapping)


def rotate(tx: WriteTx, session: Session, *, current: str, now_ms: int, expires_ms: int) -> None:
    """Make another token the good one; the present one becomes the one before."""
    tx.run(
        update(refresh_session)
        .where(_SESSION.id == session.id)
        .values(current=current, previous=session.current, rotated_ms=now_ms, expires_ms=expires_ms)
    )


def revoke(tx: WriteTx, session_id: str) -> None:
    """End one session: its refresh tokens are good no more."""
    tx.run(delete(refresh_session).where(_SESSION.id == session_id))


def revoke_all(tx: WriteTx, user_id: UserId) -> None:
    """End every session of the account: after a new password, and before the account is deleted."""
    tx.run(delete(refresh_session).where(_SESSION.user_id == user_id))


def purge(tx: WriteTx, *, now_ms: int, limit: int) -> int:
    """Forget sessions that have expired, the oldest first; how many."""
    expired = select(_SESSION.id).where(_SESSION.expires_ms <= now_ms).order_by(_SESSION.expires_ms).limit(limit)
    return tx.run(delete(refresh_session).where(_SESSION.id.in_(expired.with_for_update(skip_locked=True))))

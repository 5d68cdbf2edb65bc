"""One-time links to set a password, by the hash of the token in them; an account has one at most.

Whoever holds the token may set the password, so the look-up takes no scope.

Not here: making and spending them (`services/accounts/links.py`).
"""

from typing import Final

from sqlalchemy import delete, insert, select

from tripline.domain.ids import UserId
from tripline.store.tables import account, password_link
from tripline.store.transactions import ReadTx, WriteTx

_LINK: Final = password_link.c


def replace(tx: WriteTx, user_id: UserId, *, token_hash: str, now_ms: int, expires_ms: int) -> None:
    """Keep a new link of the account; an earlier one is good no more."""
    forget_user(tx, user_id)
    row = {"token_hash": token_hash, "user_id": user_id, "created_ms": now_ms, "expires_ms": expires_ms}
    tx.run(insert(password_link).values(**row))


def holder(tx: ReadTx, token_hash: str, *, now_ms: int) -> UserId | None:
    """The enabled account whose password the link sets; None when it is unknown, spent or expired."""
    row = tx.one(
        select(_LINK.user_id)
        .join(account, account.c.id == _LINK.user_id)
        .where(_LINK.token_hash == token_hash, _LINK.expires_ms > now_ms, account.c.enabled)
    )
    return None if row is None else UserId(row.user_id)


def forget_user(tx: WriteTx, user_id: UserId) -> None:
    """Forget the account's link: after it was used, and before the account is deleted."""
    tx.run(delete(password_link).where(_LINK.user_id == user_id))


def purge(tx: WriteTx, *, now_ms: int, limit: int) -> int:
    """Forget links that have expired, the oldest first; how many."""
    expired = select(_LINK.token_hash).where(_LINK.expires_ms <= now_ms).order_by(_LINK.expires_ms).limit(limit)
    return tx.run(delete(password_link).where(_LINK.token_hash.in_(expired.with_for_update(skip_locked=True))))

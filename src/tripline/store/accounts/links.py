"""One-time links by the hash of their token; an account has at most one for each purpose.

The token itself grants the link's purpose, so queries take no scope.
"""

from enum import StrEnum
from typing import Final

from sqlalchemy import bindparam, delete, insert, select

from tripline.domain.ids import UserId
from tripline.store.tables import account, account_link
from tripline.store.transactions import Hot, ReadTx, WriteTx

_LINK: Final = account_link.c


class Purpose(StrEnum):
    """The purpose of a link."""

    PASSWORD = "password"  # noqa: S105  a name
    SIGN_IN = "sign_in"


def replace(tx: WriteTx, user_id: UserId, purpose: Purpose, *, token_hash: str, now_ms: int, expires_ms: int) -> None:
    """Keep a new link of the account; an earlier one for the same purpose becomes void."""
    tx.run(delete(account_link).where(_LINK.user_id == user_id, _LINK.purpose == purpose))
    row = {"token_hash": token_hash, "user_id": user_id, "created_ms": now_ms, "expires_ms": expires_ms}
    tx.run(insert(account_link), {**row, "purpose": purpose})


def holder(tx: ReadTx, token_hash: str, purpose: Purpose, *, now_ms: int) -> UserId | None:
    """The enabled account that the link is for; None when it is unknown, spent or expired."""
    rows = tx.hot(_HOLDER, token_hash, purpose, now_ms)
    return UserId(rows[0][0]) if rows else None


def forget(tx: WriteTx, token_hash: str) -> None:
    """Forget a link that was spent."""
    tx.run(delete(account_link).where(_LINK.token_hash == token_hash))


def forget_user(tx: WriteTx, user_id: UserId) -> None:
    """Forget the account's links: after a new password or address, and before the account is deleted."""
    tx.run(_FORGET_USER, {"of_user": user_id})


def purge(tx: WriteTx, *, now_ms: int, limit: int) -> int:
    """Forget links that have expired, the oldest first; how many."""
    expired = select(_LINK.token_hash).where(_LINK.expires_ms <= now_ms).order_by(_LINK.expires_ms).limit(limit)
    return tx.run(delete(account_link).where(_LINK.token_hash.in_(expired.with_for_update(skip_locked=True))))


_FORGET_USER: Final = delete(account_link).where(_LINK.user_id == bindparam("of_user"))
_HOLDER: Final = Hot(
    select(_LINK.user_id)
    .join(account, account.c.id == _LINK.user_id)
    .where(
        _LINK.token_hash == bindparam("token_hash"),
        _LINK.purpose == bindparam("purpose"),
        _LINK.expires_ms > bindparam("now"),
        account.c.enabled,
    ),
    "token_hash",
    "purpose",
    "now",
)

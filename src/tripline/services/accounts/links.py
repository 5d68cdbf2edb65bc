"""One-time links to set a password: made when a mail is sent, spent by the password that is set.

The token has 256 random bits and is kept as its SHA-256 only; a slow hash would protect nothing that can be guessed.

Not here: the page behind a link (`api/password_page.py`), the mail around it (`postman.py`).
"""

import hashlib
import secrets
from typing import Final

from tripline.domain.ids import UserId
from tripline.domain.refusals import BadParameter
from tripline.store import accounts, password_links, refresh_sessions
from tripline.store.transactions import ReadTx, WriteTx

PATH: Final = "/account/set-password"
_BYTES: Final = 32
_MS_PER_HOUR: Final = 3_600_000


class LinkUnusable(BadParameter):
    """A link to set a password was used before, has expired, was replaced by a newer one, or is not whole."""

    code = "password.link_unusable"


def make(tx: WriteTx, *, user_id: UserId, hours: float, now_ms: int) -> str:
    """A new token for the account; an earlier one is good no more."""
    token = secrets.token_urlsafe(_BYTES)
    expires_ms = now_ms + round(hours * _MS_PER_HOUR)
    password_links.replace(tx, user_id, token_hash=_hash(token), now_ms=now_ms, expires_ms=expires_ms)
    return token


def holder(tx: ReadTx, *, token: str, now_ms: int) -> UserId:
    """The account whose password the token sets; it is not spent by looking. Raises `LinkUnusable`."""
    found = password_links.holder(tx, _hash(token), now_ms=now_ms)
    if found is None:
        raise LinkUnusable("This link was used before, has expired or is not complete; ask for a new one.")
    return found


def spend(tx: WriteTx, *, token: str, password_hash: str, now_ms: int) -> UserId:
    """The account whose password was set; the token is good no more, and neither is any refresh token of the account.

    Raises `LinkUnusable`.
    """
    user_id = holder(tx, token=token, now_ms=now_ms)
    set_password(tx, user_id=user_id, password_hash=password_hash, now_ms=now_ms)
    return user_id


def set_password(tx: WriteTx, *, user_id: UserId, password_hash: str, now_ms: int) -> None:
    """Keep the new password of the account and end what stood on the old one: its link and its refresh sessions."""
    accounts.set_password(tx, user_id, password_hash=password_hash, now_ms=now_ms)
    password_links.forget_user(tx, user_id)
    refresh_sessions.revoke_all(tx, user_id)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()

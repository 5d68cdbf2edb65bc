"""One-time links: to set a password, made when a mail is sent and spent by the password; to sign in, made by a command.

The token has 256 random bits and is stored as its SHA-256 only; a slow hash protects only guessable secrets. The link's
purpose is hashed with it, so that a link cannot serve another purpose.

Not here: the pages behind links (`portal/`), the mail around one (`postman.py`).
"""

import hashlib
import secrets
from typing import Final

from tripline import config
from tripline.domain.access import Actor
from tripline.domain.history import Change, Event
from tripline.domain.ids import TimeIds, UserId
from tripline.domain.refusals import BadParameter
from tripline.services.accounts import sessions as account_sessions
from tripline.services.accounts.sessions import Client, Cookie
from tripline.services.fleet import history
from tripline.store.accounts import accounts, sessions
from tripline.store.accounts import links as rows
from tripline.store.accounts.links import Purpose
from tripline.store.transactions import ReadTx, WriteTx

PATH: Final = "/account/set-password"
SIGN_IN_PATH: Final = "/sign-in/link"
SIGN_IN_HOURS: Final = 0.25
"""How long a link to sign in is good: it is made to be opened at once."""
_BYTES: Final = 32
_MS_PER_HOUR: Final = 3_600_000


class LinkUnusable(BadParameter):
    """A link was used before, has expired, was replaced by a newer one, or is not whole."""

    code = "password.link_unusable"


def make(tx: WriteTx, *, user_id: UserId, hours: float, now_ms: int, purpose: Purpose = Purpose.PASSWORD) -> str:
    """A new token of the account; an earlier one for this purpose becomes void."""
    token = secrets.token_urlsafe(_BYTES)
    expires_ms = now_ms + round(hours * _MS_PER_HOUR)
    rows.replace(tx, user_id, purpose, token_hash=_hash(token), now_ms=now_ms, expires_ms=expires_ms)
    return token


def holder(tx: ReadTx, *, token: str, now_ms: int, purpose: Purpose = Purpose.PASSWORD) -> UserId:
    """The account of the token; it is not spent by looking. Raises `LinkUnusable`."""
    found = rows.holder(tx, _hash(token), purpose, now_ms=now_ms)
    if found is None:
        raise LinkUnusable()
    return found


def sign_in(
    tx: WriteTx, *, token: str, client: Client, settings: config.Sessions, before: Cookie | None, now_ms: int
) -> Cookie:
    """The cookie of a new session of the token's account; the token is spent, and the session `before` of the
    same browser ends. Raises `LinkUnusable`."""
    user_id = holder(tx, token=token, now_ms=now_ms, purpose=Purpose.SIGN_IN)
    rows.forget(tx, _hash(token))
    return account_sessions.opened(tx, user_id=user_id, client=client, settings=settings, before=before, now_ms=now_ms)


def spend(tx: WriteTx, *, token: str, password_hash: str, now_ms: int) -> UserId:
    """The account whose password was set; the token is spent and every session of the account ends. Raises
    `LinkUnusable`."""
    user_id = holder(tx, token=token, now_ms=now_ms)
    set_password(tx, user_id=user_id, password_hash=password_hash, now_ms=now_ms)
    return user_id


def set_password(tx: WriteTx, *, user_id: UserId, password_hash: str, now_ms: int, kept: str | None = None) -> None:
    """Store the account's new password and end its links and all its sessions except `kept`."""
    accounts.set_password(tx, user_id, password_hash=password_hash, now_ms=now_ms)
    rows.forget_user(tx, user_id)
    sessions.revoke_all(tx, user_id, kept=kept)


def note_password(tx: WriteTx, actor: Actor, *, ids: TimeIds, now_ms: int) -> None:
    """Let the account's history say that it has another password, which its owner chose."""
    history.note(
        tx,
        actor,
        Event.CHANGED,
        company_id=actor.company_id,
        user_id=actor.user_id,
        changes=(Change("password", secret=True),),
        ids=ids,
        now_ms=now_ms,
    )


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()

"""Account sessions: those of browsers, with cookies, expiry and the token that forms must carry; an owner's list, and
ending them.

Ending a session also ends its access tokens, refresh token or cookie with the commit, in every process: they are valid
only while its row exists (`http/authentication.py`).

A cookie names its session and contains 256 random bits, stored as SHA-256 only; a slow hash protects only guessable
secrets. A sign-in always makes a new secret, so a cookie planted beforehand is useless. The token of forms is derived
from the secret: it needs no storage, belongs to one session, and does not reveal the secret.

A session ends after some time without a request, and in any case some time after the sign-in (`config.Sessions`).
Requests extend it at most once a minute, in batches and soon after (`Prolonger`), so that reading a page writes
nothing; automatic requests of a page do not extend it, so an open page does not keep a user signed in.

Not here: the cookie's name and attributes (`http/cookies.py`), sessions of REST (`login.py`).
"""

import base64
import hashlib
import hmac
import secrets
import uuid
from collections.abc import Sequence
from typing import Final

import msgspec

from tripline import config
from tripline.domain import ids
from tripline.domain.access import Actor
from tripline.domain.account_sessions import Kind, Session
from tripline.domain.ids import UserId
from tripline.domain.refusals import NotFound
from tripline.observe import logger
from tripline.services import poll_loop
from tripline.store.accounts import sessions as rows
from tripline.store.accounts.sessions import Visit
from tripline.store.lists import Span
from tripline.store.transactions import ReadTx, Store, WriteTx


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


PROLONGED_MS: Final = 60_000
"""A session that was prolonged so lately is not again."""
EVERY_S: Final = 5.0
"""Pause between two writes of extensions."""
_NOTED_MAX: Final = 10_000
_SECRET_BYTES: Final = 32
_SECRET_CHARACTERS: Final = 43

log = logger("accounts")


class Cookie(msgspec.Struct, frozen=True):
    """The content of a browser's cookie."""

    session_id: str
    secret: str

    @property
    def text(self) -> str:
        return f"{self.session_id}.{self.secret}"

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.secret.encode()).hexdigest()

    @property
    def csrf(self) -> str:
        """The token that a form of the session carries."""
        digest = hmac.digest(self.secret.encode(), b"form", "sha256")
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def cookie_in(text: str) -> Cookie | None:
    """The cookie in this text; None when it is none of ours."""
    session_id, _, secret = text.partition(".")
    if ids.canonical(session_id) != session_id or len(secret) != _SECRET_CHARACTERS or not secret.isascii():
        return None
    return Cookie(session_id, secret)


def opened(
    tx: WriteTx, *, user_id: UserId, client: Client, settings: config.Sessions, before: Cookie | None, now_ms: int
) -> Cookie:
    """The cookie of a new session; the session `before`, which the browser had until now, ends."""
    if before is not None and rows.visit(tx, before.session_id, before.hash, now_ms=now_ms) is not None:
        rows.revoke(tx, before.session_id)
    cookie = Cookie(str(uuid.uuid4()), secrets.token_urlsafe(_SECRET_BYTES))
    rows.add(
        tx,
        Session(
            id=cookie.session_id,
            user_id=user_id,
            created_ms=now_ms,
            expires_ms=_end_ms(settings, now_ms, now_ms),
            current=cookie.hash,
            previous=None,
            rotated_ms=now_ms,
            kind=Kind.BROWSER,
            agent=client.agent,
            address=client.address,
        ),
    )
    return cookie


class Prolonger:
    """Lets sessions last longer that are used."""

    def __init__(self, settings: config.Sessions) -> None:
        self.settings = settings
        self._after_ms = min(PROLONGED_MS, settings.idle_s * 100)
        self._noted: dict[str, tuple[int, int]] = {}

    def used(self, session_id: str, visit: Visit, *, now_ms: int) -> None:
        """Note that a session was used; written with the next round."""
        if now_ms - visit.prolonged_ms >= self._after_ms and len(self._noted) < _NOTED_MAX:
            self._noted[session_id] = now_ms, _end_ms(self.settings, visit.created_ms, now_ms)

    async def run(self, store: Store) -> None:
        await poll_loop.periodically(lambda: self.write(store), every_s=EVERY_S, log=log, failed="accounts.failed")

    async def write(self, store: Store) -> None:
        """Write noted extensions. Raises `Outage`; they then remain noted."""
        noted = dict(self._noted)
        if not noted:
            return
        used = [(session_id, used_ms, end_ms) for session_id, (used_ms, end_ms) in noted.items()]
        await store.write(lambda tx: rows.prolong(tx, used))
        for session_id, written in noted.items():
            if self._noted.get(session_id) == written:
                del self._noted[session_id]


def _end_ms(settings: config.Sessions, created_ms: int, used_ms: int) -> int:
    return min(used_ms + settings.idle_s * 1000, created_ms + settings.longest_s * 1000)

"""Log-in over REST and sign-in with a browser, token refresh, and changing one's password (spec/rest 2).

An unknown e-mail address, a wrong password and a disabled account get the same answer after the same time, which hides
the existence of accounts. Failures delay the next attempt (`throttle.py`).

Each use of a refresh token makes the next of its session. The previous token stays valid for a moment, for lost answers
and double clicks; it gets the same answer as the first use, so a session never has two valid tokens. The use of an
older token, or of this one later, means that it was copied: the whole session ends, for the thief and for the owner,
who logs in again.
"""

import hmac
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, TypeAlias, TypeVar

import msgspec

from tripline import config, observe
from tripline.domain.access import Actor
from tripline.domain.account_sessions import Kind as SessionKind
from tripline.domain.account_sessions import Session
from tripline.domain.ids import TimeIds, UserId
from tripline.domain.refusals import BadParameter, Kind, Refusal, TryLater
from tripline.services.accounts import links
from tripline.services.accounts import sessions as account_sessions
from tripline.services.accounts.hash_turns import Requester
from tripline.services.accounts.limits import Limits
from tripline.services.accounts.passwords import Passwords
from tripline.services.accounts.sessions import Client, Cookie
from tripline.services.accounts.throttle import seconds
from tripline.services.accounts.tokens import Pair, Ticket, Tokens, TokenUnreadable
from tripline.store.accounts import accounts, sessions
from tripline.store.accounts.accounts import Credentials
from tripline.store.transactions import Store, WriteTx

_log = observe.logger("accounts")

T = TypeVar("T")

Claim: TypeAlias = tuple[str, str]
"""A username and a password as one reading of a request gives them."""


GRACE_MS: Final = 10_000
"""How long after a rotation the token before is still good."""


class WrongCredentials(Refusal):
    """No enabled account has this e-mail address and password."""

    code = "login.wrong_credentials"
    kind = Kind.AUTHENTICATION


class MustWait(TryLater):
    """Too many attempts with a wrong password came from this address; the right one has to wait too."""

    code = "login.must_wait"


class WrongPassword(BadParameter):
    """The current password that was sent is not the account's."""

    code = "password.wrong"


class Attempts(msgspec.Struct, frozen=True):
    """Attempts from one address (`http/peers.py`), and the instant of this one, epoch ms."""

    limits: Limits
    address: str
    now_ms: int
    agent: str | None = None
    """The client's name for itself."""
    mark: str = ""
    """The mark that the browser has of an earlier sign-in (`Tokens.mark`)."""
    mark_of: Callable[[str], str] = str
    """Makes the mark of an account's e-mail address."""

    @property
    def client(self) -> Client:
        return Client(self.agent, self.address)

    def requester(self, account: str) -> Requester:
        """An attempt on this account, for its turn at a hash."""
        login = accounts.login_form(account)
        marked = bool(self.mark) and hmac.compare_digest(self.mark, self.mark_of(login))
        return Requester(login, self.address, known=marked or self.limits.knows(self.address))

    @asynccontextmanager
    async def one(self, account: str) -> AsyncIterator[None]:
        """One attempt on an account: good unless the block raises one of the refusals of wrong passwords. Raises
        `MustWait`, before the block."""
        login = accounts.login_form(account)
        wait_ms = self.limits.logins.begin(login, self.address, now_ms=self.now_ms)
        if wait_ms:
            _log.info("account.login_throttled")
            raise MustWait(after_s=seconds(wait_ms))
        try:
            yield
        except (WrongCredentials, WrongPassword):
            self.limits.logins.failed(login, self.address, now_ms=self.now_ms)
            raise
        except BaseException:
            self.limits.logins.withdrawn(login, self.address)
            raise
        self.limits.logins.succeeded(login, self.address)


async def log_in(
    store: Store, *, claims: Sequence[Claim], attempts: Attempts, passwords: Passwords, tokens: Tokens
) -> Pair:
    """New tokens for the account of the first claim that is right; the last one's account counts the attempt. Raises
    `WrongCredentials`, `MustWait`, `TooManyLogins`."""
    now_ms = attempts.now_ms

    def open_session(tx: WriteTx, found: Credentials) -> Ticket:
        return opened(tx, user_id=found.user_id, tokens=tokens, client=attempts.client, now_ms=now_ms)

    found, ticket = await _opened(store, claims, attempts, passwords, open_session)
    return _pair(tokens, found, ticket, now_ms)


async def sign_in(
    store: Store,
    *,
    claim: Claim,
    attempts: Attempts,
    passwords: Passwords,
    settings: config.Sessions,
    before: Cookie | None,
) -> Cookie:
    """The cookie of a new session of the account whose e-mail address and password these are; the session `before` of
    the same browser ends. Raises `WrongCredentials`, `MustWait`, `TooManyLogins`."""

    def open_session(tx: WriteTx, found: Credentials) -> Cookie:
        return account_sessions.opened(
            tx, user_id=found.user_id, client=attempts.client, settings=settings, before=before, now_ms=attempts.now_ms
        )

    return (await _opened(store, [claim], attempts, passwords, open_session))[1]


async def refresh(store: Store, *, refresh_token: str, tokens: Tokens, now_ms: int) -> Pair:
    """The next tokens of the session of a refresh token. Raises `TokenUnreadable`, `TokenExpired`."""
    held = tokens.ticket_of_refresh(refresh_token, now_ms=now_ms)

    def exchange(tx: WriteTx) -> tuple[Credentials, Ticket | None]:
        session = sessions.find(tx, held.session_id)
        found = None if session is None else accounts.credentials_of(tx, session.user_id)
        if session is None or found is None or not found.enabled:
            raise TokenUnreadable("session_ended")
        return found, exchanged(tx, session, token_id=held.token_id, tokens=tokens, now_ms=now_ms)

    found, ticket = await store.write(exchange)
    if ticket is None:
        _log.warning("account.refresh_reused", account=found.user_id)
        raise TokenUnreadable("refresh_used")
    return _pair(tokens, found, ticket, now_ms)


async def change_password(
    store: Store, *, actor: Actor, current: str, new: str, attempts: Attempts, passwords: Passwords, ids: TimeIds
) -> None:
    """Set the actor's password and end all its sessions, including the current one. Raises `WrongPassword`, `MustWait`,
    `TooManyLogins`."""
    found = await store.read_short(lambda tx: accounts.credentials_of(tx, actor.user_id))
    if found is None:
        raise TokenUnreadable("account_deleted")
    kept, wrong = found.password_hash, WrongPassword(field="currentPassword")

    def keep(tx: WriteTx) -> None:
        now = accounts.credentials_of(tx, actor.user_id)
        if now is None or now.password_hash != kept:
            raise wrong
        links.set_password(tx, user_id=actor.user_id, password_hash=password_hash, now_ms=attempts.now_ms)
        links.note_password(tx, actor, ids=ids, now_ms=attempts.now_ms)

    requester = Requester(actor.user_id, attempts.address, known=True)
    async with attempts.one(found.email):
        if not await passwords.matches(current, kept, requester):
            raise wrong
        password_hash = await passwords.hash(new, requester)
        await store.write(keep)


async def _opened(
    store: Store,
    claims: Sequence[Claim],
    attempts: Attempts,
    passwords: Passwords,
    open_session: Callable[[WriteTx, Credentials], T],
) -> tuple[Credentials, T]:
    """Return the account of the first correct claim and its opened session."""

    def work(tx: WriteTx) -> T:
        # The password may have been changed while this log-in was compared with the old one.
        if accounts.credentials_of(tx, found.user_id) != found:
            raise _wrong()
        return open_session(tx, found)

    async with attempts.one(claims[-1][0]):
        found = await _first_right(store, claims, attempts, passwords)
        made = await store.write(work)
    attempts.limits.known.add(found.user_id, attempts.address)
    return found, made


async def _first_right(store: Store, claims: Sequence[Claim], attempts: Attempts, passwords: Passwords) -> Credentials:
    for username, password in claims:
        found = await store.read_short(partial(accounts.credentials, email=username))
        kept = None if found is None else found.password_hash
        right = await passwords.matches(password, kept, attempts.requester(username))
        if found is not None and right and found.enabled:
            return found
    raise _wrong()


def _wrong() -> WrongCredentials:
    _log.info("account.login_failed")
    return WrongCredentials()


def _pair(tokens: Tokens, found: Credentials, ticket: Ticket, now_ms: int) -> Pair:
    return tokens.issue(
        user_id=found.user_id, email=found.email, authority=found.authority, ticket=ticket, now_ms=now_ms
    )


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
            kind=SessionKind.REST,
            agent=client.agent,
            address=client.address,
        ),
    )
    return ticket


def exchanged(tx: WriteTx, session: Session, *, token_id: str, tokens: Tokens, now_ms: int) -> Ticket | None:
    """The session's next ticket; None when the token in hand was stolen, and the session is ended."""
    if token_id == session.previous and now_ms < session.rotated_ms + GRACE_MS:
        # The token that the first use got, made again: a second one would open a second line to a thief.
        return Ticket(session.id, session.current, session.rotated_ms + tokens.refresh_life_ms)
    if token_id != session.current:
        sessions.revoke(tx, session.id)
        return None
    ticket = _ticket(session.id, tokens, now_ms)
    expires_ms = now_ms + tokens.session_life_ms
    sessions.rotate(tx, session, current=ticket.token_id, now_ms=now_ms, expires_ms=expires_ms)
    return ticket


def _ticket(session_id: str, tokens: Tokens, now_ms: int) -> Ticket:
    return Ticket(session_id, str(uuid.uuid4()), now_ms + tokens.refresh_life_ms)

"""Access and refresh tokens: JWT signed with HS512, according to spec/rest 2.

A token is verified once and then cached until it expires. The store is queried at every request for the session and the
account's state (`http/authentication.py`), so a token only identifies the account and never grants permissions.

A refresh token names its session and itself; the store decides if it is the session's valid one.
"""

import base64
import hmac
import uuid
from typing import Any, Final

import msgspec
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

from tripline import config
from tripline.domain.ids import UserId
from tripline.domain.refusals import Kind, Refusal

_REFRESH: Final = "REFRESH_TOKEN"
_KNOWN_MAX: Final = 10_000
_LONGEST: Final = 4_096
"""Characters of a token that is worth decoding; ours have under 700."""


class TokenUnreadable(Refusal):
    """The token is missing, damaged, signed by another key, or of the other sort."""

    code = "token.unreadable"
    kind = Kind.AUTHENTICATION


class TokenExpired(Refusal):
    """The token was good once."""

    code = "token.expired"
    kind = Kind.TOKEN_EXPIRED


class Ticket(msgspec.Struct, frozen=True):
    """A refresh token's content besides its holder: its session, its own id (`jti`) and expiry, epoch ms."""

    session_id: str
    token_id: str
    expires_ms: int


class Bearer(msgspec.Struct, frozen=True):
    """An access token's content: its account, its session, and its expiry, epoch s."""

    user_id: UserId
    session_id: str
    expires_s: int


class Pair(msgspec.Struct, frozen=True):
    """The tokens of a log-in."""

    token: str
    refresh_token: str


class Tokens:
    """Makes and verifies tokens under one signing key."""

    def __init__(self, *, key: bytes, settings: config.Tokens) -> None:
        self._key = OctKey.import_key(key)
        self._mark_key = hmac.digest(key, b"known browser", "sha256")
        self._settings = settings
        self._known: dict[str, Bearer] = {}

    def access(self, *, user_id: UserId, email: str, authority: str, session_id: str, now_ms: int) -> str:
        """A new access token. Never equal to an earlier one: each carries an id of its own (`jti`)."""
        expires_s = now_ms // 1000 + self._settings.access_s
        own = {"jti": str(uuid.uuid4()), "sid": session_id}
        return self._sign(user_id, email, authority, now_ms, expires_s, own)

    def issue(self, *, user_id: UserId, email: str, authority: str, ticket: Ticket, now_ms: int) -> Pair:
        """A new access token, and the refresh token of the ticket."""
        own = {"jti": ticket.token_id, "sid": ticket.session_id}
        return Pair(
            token=self.access(
                user_id=user_id, email=email, authority=authority, session_id=ticket.session_id, now_ms=now_ms
            ),
            refresh_token=self._sign(user_id, email, _REFRESH, now_ms, ticket.expires_ms // 1000, own),
        )

    def mark(self, login: str) -> str:
        """The mark of a browser that signed in with this e-mail address, in the form in which two are compared."""
        return base64.urlsafe_b64encode(hmac.digest(self._mark_key, login.encode(), "sha256")).decode().rstrip("=")

    @property
    def refresh_life_ms(self) -> int:
        return self._settings.refresh_s * 1000

    @property
    def session_life_ms(self) -> int:
        """Lifetime of a session without refreshes: that of its longest-lived token."""
        return max(self._settings.refresh_s, self._settings.access_s) * 1000

    def bearer_of_access(self, token: str, *, now_ms: int) -> Bearer:
        """Decode this access token. Raises `TokenUnreadable`, `TokenExpired`."""
        known = self._known.get(token)
        if known is None:
            claims = self._claims(token)
            if _REFRESH in claims["scopes"]:
                raise TokenUnreadable("refresh_for_access")
            if not isinstance(claims.get("sid"), str):
                raise TokenUnreadable("no_session")
            known = Bearer(claims["userId"], claims["sid"], claims["exp"])
            self._remember(token, known)
        _check_life(known.expires_s, now_ms)
        return known

    def ticket_of_refresh(self, token: str, *, now_ms: int) -> Ticket:
        """Decode this refresh token. Raises `TokenUnreadable`, `TokenExpired`."""
        claims = self._claims(token)
        if _REFRESH not in claims["scopes"]:
            raise TokenUnreadable("access_for_refresh")
        _check_life(claims["exp"], now_ms)
        if not (isinstance(claims.get("sid"), str) and isinstance(claims.get("jti"), str)):
            raise TokenUnreadable("no_session")
        return Ticket(claims["sid"], claims["jti"], claims["exp"] * 1000)

    def _sign(self, user_id: UserId, email: str, scope: str, now_ms: int, expires_s: int, own: dict[str, str]) -> str:
        claims = {
            "sub": email,
            "scopes": [scope],
            "userId": user_id,
            "enabled": True,
            "iss": self._settings.issuer,
            "iat": now_ms // 1000,
            "exp": expires_s,
            **own,
        }
        return jwt.encode({"alg": "HS512"}, claims, self._key, algorithms=["HS512"], default_type=None)

    def _claims(self, token: str) -> dict[str, Any]:
        """The claims of a token that carries our signature and every claim that is read here."""
        unreadable = TokenUnreadable("damaged")
        if len(token) > _LONGEST:
            raise unreadable
        try:
            claims = jwt.decode(token, self._key, algorithms=["HS512"]).claims
        except (JoseError, ValueError) as error:
            raise unreadable from error
        if not (
            isinstance(claims.get("userId"), str)
            and isinstance(claims.get("exp"), int)
            and isinstance(claims.get("scopes"), list)
        ):
            raise unreadable
        return claims

    def _remember(self, token: str, known: Bearer) -> None:
        if len(self._known) >= _KNOWN_MAX:
            self._known.pop(next(iter(self._known)), None)  # several threads may ask at once
        self._known[token] = known


def _check_life(expires_s: int, now_ms: int) -> None:
    if now_ms >= expires_s * 1000:
        raise TokenExpired()

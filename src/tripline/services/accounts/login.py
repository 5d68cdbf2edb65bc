"""Log-in and token refresh (client-surface 2).

An unknown e-mail address, a wrong password and a disabled account get one sentence after one time, so that nobody
learns which accounts exist.
"""

from tripline import observe
from tripline.domain.refusals import Kind, Refusal
from tripline.services.passwords import Passwords
from tripline.services.tokens import Pair, Tokens, TokenUnreadable
from tripline.store import accounts
from tripline.store.transactions import Store

_log = observe.logger("accounts")


class WrongCredentials(Refusal):
    """No enabled account has this e-mail address and password."""

    code = "login.wrong_credentials"
    kind = Kind.AUTHENTICATION


async def log_in(
    store: Store, *, username: str, password: str, passwords: Passwords, tokens: Tokens, now_ms: int
) -> Pair:
    """New tokens for the account. Raises `WrongCredentials`, `TooManyLogins`."""
    found = await store.read_short(lambda tx: accounts.credentials(tx, username))
    right = await passwords.matches(password, found.password_hash if found else None)
    if found is None or not right or not found.enabled:
        _log.info("account.login_failed")
        raise WrongCredentials("Invalid username or password.")
    return tokens.issue(user_id=found.user_id, email=found.email, authority=found.authority, now_ms=now_ms)


async def refresh(store: Store, *, refresh_token: str, tokens: Tokens, now_ms: int) -> Pair:
    """New tokens for the holder of a refresh token. Raises `TokenUnreadable`, `TokenExpired`."""
    user_id = tokens.user_of_refresh(refresh_token, now_ms=now_ms)
    found = await store.read_short(lambda tx: accounts.credentials_of(tx, user_id))
    if found is None or not found.enabled:
        raise TokenUnreadable("The account of this token does not exist or is disabled.")
    return tokens.issue(user_id=user_id, email=found.email, authority=found.authority, now_ms=now_ms)

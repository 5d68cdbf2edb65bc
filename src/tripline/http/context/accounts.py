"""Accounts: passwords, tokens, sessions, and their limits."""

import msgspec

from tripline import config
from tripline.domain.access import Actor
from tripline.domain.ids import UserId
from tripline.http.context.base import Call
from tripline.services.accounts.browser_sessions import Prolonger
from tripline.services.accounts.limits import Limits
from tripline.services.accounts.passwords import Passwords
from tripline.services.accounts.tokens import Tokens


class Accounts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts that log accounts in and recognise them."""

    tokens: Tokens
    passwords: Passwords
    limits: Limits
    browsers: Prolonger = msgspec.field(default_factory=lambda: Prolonger(config.Sessions()))
    """Prolongs the sessions of browsers."""
    actors: dict[UserId, Actor] = msgspec.field(default_factory=dict)
    """Accounts as of their latest request; verified before use (`authentication.known_actor`)."""
    browsing: dict[str, UserId] = msgspec.field(default_factory=dict)
    """Accounts of recent browsers by the hash of their cookie; for limits, never for access."""


def accounts_of(request: Call) -> Accounts:
    """Return the parts for accounts."""
    accounts: Accounts = request.app.state["accounts"]
    return accounts

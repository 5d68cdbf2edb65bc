"""Counts log-ins, mails and requests in memory, and limits their rate.

Counts are this process's own and begin anew with it; known addresses are read from the store.
"""

from typing import Final

from tripline import config
from tripline.domain.ids import UserId
from tripline.domain.refusals import TryLater
from tripline.services.accounts.known_addresses import KnownAddresses
from tripline.services.accounts.quota import Quota
from tripline.services.accounts.throttle import Throttle, seconds

_HOUR_MS: Final = 3_600_000
_MINUTE_MS: Final = 60_000
RESETS_PER_HOUR: Final = 3
"""Reset mails to one account: enough for a lost mail, too few to flood a mailbox."""


class TooManyRequests(TryLater):
    """The account has used up its requests of this minute (G33)."""

    code = "request.too_many"


class TooManyForms(TryLater):
    """The address has sent more applications and asked for more reset mails than it may in an hour."""

    code = "form.too_many"


class Limits:
    """The counters, from their settings."""

    def __init__(self, *, accounts: config.Accounts, rest: config.Rest) -> None:
        self.logins = Throttle(accounts)
        self.known = KnownAddresses()
        self._forms = Quota(accounts.applications_per_hour, per_ms=_HOUR_MS)
        self._resets = Quota(RESETS_PER_HOUR, per_ms=_HOUR_MS)
        self._requests = Quota(rest.requests_per_minute, per_ms=_MINUTE_MS) if rest.requests_per_minute else None

    def knows(self, address: str) -> bool:
        """True if an account signed in from this address recently, or the operator trusts it."""
        return address in self.known or self.logins.trusts(address)

    def count_request(self, user_id: UserId, *, now_ms: int) -> None:
        """Count one request of the account. Raises `TooManyRequests`."""
        if self._requests is not None and (wait_ms := self._requests.take(user_id, now_ms=now_ms)):
            raise TooManyRequests(after_s=seconds(wait_ms))

    def count_form(self, address: str, *, now_ms: int) -> None:
        """Count a public form from this address. Raises `TooManyForms`."""
        if wait_ms := self._forms.take(address, now_ms=now_ms):
            raise TooManyForms(after_s=seconds(wait_ms))

    def may_reset(self, login: str, *, now_ms: int) -> bool:
        """Count a reset mail to this account; False if the limit is reached."""
        return not self._resets.take(login, now_ms=now_ms)

"""Counts log-ins, mails and requests in memory, and limits their rate.

Counts are this process's own and begin anew with it. Addresses where accounts signed in lately are read from the
sessions in the store: their attempts do not wait behind strangers' (`hash_turns.py`). Only the address counts, not the
account: the answer must not depend on which accounts exist.
"""

import asyncio
import collections
import threading
from collections import OrderedDict
from typing import Final

from tripline import config
from tripline.domain.ids import UserId
from tripline.domain.refusals import TryLater
from tripline.observe import logger
from tripline.ports.clocks import Clock
from tripline.services import poll_loop
from tripline.services.accounts.throttle import Throttle, seconds
from tripline.store.accounts import sessions
from tripline.store.accounts.accounts import login_form
from tripline.store.transactions import Store

REMEMBERED: Final = 50_000
"""Number of remembered keys, the latest used; a forgotten key has its whole allowance again. And of addresses, once for
each account; the accounts that signed in longest ago are forgotten."""
OF_ACCOUNT: Final = 8
"""Addresses of one account, the latest, so that an account cannot make a whole network known."""
EVERY_S: Final = 60.0
OVERLAP_MS: Final = 300_000
"""Sessions are read again for this long, because clocks of processes differ and commits take time."""
_AT_ONCE: Final = 1_000
"""Sessions taken up before the loop serves the others."""

log = logger("accounts")


class KnownAddresses:
    """The latest addresses of each account."""

    def __init__(self, *, remembered: int = REMEMBERED) -> None:
        self._of: OrderedDict[UserId, list[str]] = OrderedDict()
        """By account, the one that signed in longest ago first; the latest address last."""
        self._uses: collections.Counter[str] = collections.Counter()
        self._size = 0
        self._remembered = remembered
        self._read_ms = 0

    def __contains__(self, address: str) -> bool:
        return address in self._uses

    def add(self, user_id: UserId, address: str) -> None:
        own = self._of.setdefault(user_id, [])
        self._of.move_to_end(user_id)
        if address in own:
            own.remove(address)
        else:
            self._uses[address] += 1
            self._size += 1
        own.append(address)
        if len(own) > OF_ACCOUNT:
            self._forget(own.pop(0))
        while self._size > self._remembered:
            for each in self._of.popitem(last=False)[1]:
                self._forget(each)

    async def run(self, store: Store, clock: Clock) -> None:
        await poll_loop.periodically(
            lambda: self.read(store, now_ms=clock()), every_s=EVERY_S, log=log, failed="accounts.failed"
        )

    async def read(self, store: Store, *, now_ms: int) -> None:
        """Add the addresses of sessions that were opened since the last time. Raises `Outage`."""
        since_ms = self._read_ms - OVERLAP_MS
        found = await store.read(lambda tx: sessions.opened_since(tx, since_ms, now_ms=now_ms, limit=self._remembered))
        found.reverse()
        for start in range(0, len(found), _AT_ONCE):
            for user_id, address in found[start : start + _AT_ONCE]:
                self.add(user_id, address)
            await asyncio.sleep(0)
        self._read_ms = now_ms

    def _forget(self, address: str) -> None:
        self._size -= 1
        self._uses[address] -= 1
        if not self._uses[address]:
            del self._uses[address]


class Quota:
    """`count` takes of one key in `per_ms`. Safe to call from any thread."""

    def __init__(self, count: int, *, per_ms: int, remembered: int = REMEMBERED) -> None:
        # Instants are stored in parts of a ms, as many as the count, so that a share is a whole number of them:
        # `per_ms`.
        self._count = count
        self._share = per_ms
        self._whole = per_ms * count
        self._remembered = remembered
        self._free: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: str, *, now_ms: int) -> float:
        """0 when it may be done, and is counted; else the ms to wait."""
        now = now_ms * self._count
        with self._lock:
            # Not later than a whole allowance from now, also when the clock was set back.
            free = min(max(self._free.get(key, 0), now), now + self._whole)
            wait = free + self._share - now - self._whole
            self._free[key] = free if wait > 0 else free + self._share
            self._free.move_to_end(key)
            if len(self._free) > self._remembered:
                self._free.popitem(last=False)
        return max(wait, 0) / self._count


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

    def may_reset(self, email: str, *, now_ms: int) -> bool:
        """Count a reset mail to this address; False if the limit is reached, which is hidden from the requester."""
        return not self._resets.take(login_form(email), now_ms=now_ms)

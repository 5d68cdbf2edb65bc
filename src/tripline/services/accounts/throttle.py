"""Failed log-ins and how long they make one wait: a decision on counts, kept in memory.

Failures are counted for an account and an address together, and for an address alone. So whoever guesses from
elsewhere only ever waits himself: the owner's address has a count of its own. Attempts under way use up what may still
fail, so that guessing many at once gains nothing; only where nothing failed yet may a few more go side by side, as
programs do that start together.

Not here: which address a request comes from (`api/peers.py`), and what an attempt compares (`login.py`).
"""

import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, TypeVar

from tripline import config

K = TypeVar("K")

REMEMBERED: Final = 50_000
"""Keys of each sort, the latest used; about 15 MB when full."""
ACCOUNT_MAX: Final = 255
"""Characters of an account's name that are told apart: no account has more."""
TOGETHER: Final = 20
"""Attempts side by side while none has failed."""
BRIEF_MS: Final = 1_000
"""How long to wait for attempts under way to end."""
_DOUBLINGS_MAX: Final = 40


@dataclass(slots=True)
class Count:
    """Failures in a row, attempts under way, when the last one failed, and until when nothing is tried."""

    failures: int = 0
    under_way: int = 0
    failed_ms: int = 0
    until_ms: int = 0

    def wait_ms(self, allowed: int, now_ms: int) -> int:
        """0 when another attempt may begin."""
        if now_ms < self.until_ms:
            return self.until_ms - now_ms
        room = max(allowed - self.failures, 1) if self.failures else max(allowed, TOGETHER)
        return BRIEF_MS if self.under_way >= room else 0

    def end(self) -> None:
        """One attempt less is under way."""
        self.under_way = max(self.under_way - 1, 0)


class Throttle:
    """Says before each attempt whether it has to wait. Times are epoch ms; waits never exceed the longest one set.

    Each attempt that `begin` lets pass is ended by exactly one of `failed`, `succeeded` and `withdrawn`.
    """

    def __init__(self, settings: config.Accounts, *, remembered: int = REMEMBERED) -> None:
        self._failures = settings.failures
        self._address_failures = settings.address_failures
        self._first_ms = round(settings.wait_s * 1000)
        self._longest_ms = max(round(settings.longest_wait_s * 1000), self._first_ms)
        self._pairs: OrderedDict[tuple[str, str], Count] = OrderedDict()
        self._addresses: OrderedDict[str, Count] = OrderedDict()
        self._remembered = remembered

    def begin(self, account: str, address: str, *, now_ms: int) -> int:
        """0: the attempt may be made; else ms to wait before another."""
        pair = self._count(self._pairs, _pair(account, address), now_ms)
        alone = self._count(self._addresses, address, now_ms)
        wait_ms = max(pair.wait_ms(self._failures, now_ms), alone.wait_ms(self._address_failures, now_ms))
        if not wait_ms:
            pair.under_way += 1
            alone.under_way += 1
        return wait_ms

    def failed(self, account: str, address: str, *, now_ms: int) -> None:
        """The attempt was no good."""
        self._fail(self._count(self._pairs, _pair(account, address), now_ms), self._failures, now_ms)
        self._fail(self._count(self._addresses, address, now_ms), self._address_failures, now_ms)

    def succeeded(self, account: str, address: str) -> None:
        """The attempt was good: what failed before it from this address is forgiven, for this account alone."""
        self.withdrawn(account, address)
        self.forgive(account, address)

    def withdrawn(self, account: str, address: str) -> None:
        """The attempt was not made after all."""
        for count in (self._pairs.get(_pair(account, address)), self._addresses.get(address)):
            if count is not None:
                count.end()

    def forgive(self, account: str, address: str) -> None:
        """Forget what failed for this account from this address."""
        pair = self._pairs.get(_pair(account, address))
        if pair is not None:
            pair.failures = pair.until_ms = 0

    def _count(self, counts: "OrderedDict[K, Count]", key: K, now_ms: int) -> Count:
        """The count of a key, begun anew after a quiet time."""
        count = counts.get(key)
        if count is None:
            count = counts[key] = Count()
            if len(counts) > self._remembered:
                counts.popitem(last=False)
        else:
            counts.move_to_end(key)
        # A clock that was set back must not make anybody wait longer than ever meant.
        count.until_ms = min(count.until_ms, now_ms + self._longest_ms)
        count.failed_ms = min(count.failed_ms, now_ms)
        if now_ms - max(count.failed_ms, count.until_ms) >= self._longest_ms:
            count.failures = 0
        return count

    def _fail(self, count: Count, allowed: int, now_ms: int) -> None:
        count.end()
        count.failures += 1
        count.failed_ms = now_ms
        if count.failures >= allowed:
            doublings = min(count.failures - allowed, _DOUBLINGS_MAX)
            count.until_ms = now_ms + min(self._first_ms << doublings, self._longest_ms)


def seconds(wait_ms: float) -> int:
    """The wait in whole seconds, rounded up, as Retry-After says it."""
    return math.ceil(wait_ms / 1000)


def _pair(account: str, address: str) -> tuple[str, str]:
    return account[:ACCOUNT_MAX], address

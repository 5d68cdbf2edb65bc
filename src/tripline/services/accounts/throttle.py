"""Delays after failed log-ins: a decision on counts, stored in memory.

Failures are counted per pair of account and address. For an address alone each account counts once, until it logs in
from there or some time has passed: users' typing errors do not block an application server. An attacker elsewhere is
slowed down without locking out the owner, whose address has its own counts. Attempts in progress use up the remaining
failures, so parallel guessing gains nothing; only without any failure may a few more run in parallel, as for programs
that start together.

Not here: finding a request's address (`http/peers.py`), checking an attempt (`login.py`).
"""

import ipaddress
import math
from collections import OrderedDict
from typing import Final, TypeAlias

import msgspec

from tripline import config

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

REMEMBERED: Final = 50_000
"""Keys of each sort, the latest used; about 15 MB when full. Only attempts that were made take a place."""
ACCOUNT_MAX: Final = 255
"""Characters of an account's name that count: no account has more."""
TOGETHER: Final = 20
"""Attempts side by side while none has failed."""
BRIEF_MS: Final = 1_000
"""How long to wait for attempts under way to end."""
_DOUBLINGS_MAX: Final = 40


class Count(msgspec.Struct):
    """Of an account at an address: failures in a row, attempts under way, when the last one failed, and until when
    nothing is tried."""

    failures: int = 0
    under_way: int = 0
    failed_ms: int = 0
    until_ms: int = 0
    at_address: bool = False
    """True if these failures count at the address."""


class Address(msgspec.Struct):
    """Of an address: accounts that failed from it, attempts under way, and until when nothing is tried."""

    accounts: float = 0.0
    """Accounts with failures, less those forgiven over time: all within the longest wait, not counting the waits
    themselves."""
    under_way: int = 0
    seen_ms: int = 0
    """Up to when time was taken into account."""
    until_ms: int = 0
    waits: int = 0
    """Number of waits since the count was last zero."""


class Throttle:
    """Says before each attempt whether it has to wait. Times are epoch ms; waits never exceed the longest one set.

    Each attempt that `begin` lets pass is ended by exactly one of `failed`, `succeeded` and `withdrawn`.
    """

    def __init__(self, settings: config.Accounts, *, remembered: int = REMEMBERED) -> None:
        self._failures = settings.failures
        self._address_failures = settings.address_failures
        self._first_ms = round(settings.wait_s * 1000)
        self._longest_ms = max(round(settings.longest_wait_s * 1000), self._first_ms)
        self._trusted = [_as_counted(ipaddress.ip_network(each)) for each in settings.trusted_addresses]
        self._pairs: OrderedDict[tuple[str, str], Count] = OrderedDict()
        self._addresses: OrderedDict[str, Address] = OrderedDict()
        self._remembered = remembered

    def begin(self, account: str, address: str, *, now_ms: int) -> int:
        """0: the attempt may be made; else ms to wait before another."""
        key = _pair(account, address)
        pair, alone = self._count(key, now_ms), self._address(address, now_ms)
        wait_ms = _wait_ms(pair, pair.failures, self._failures, now_ms)
        if not self.trusts(address):
            wait_ms = max(wait_ms, _wait_ms(alone, math.ceil(alone.accounts), self._address_failures, now_ms))
        if not wait_ms:
            pair.under_way += 1
            alone.under_way += 1
            self._keep(key, pair, alone)
        # A waiting pair stays remembered but does not evict others.
        elif key in self._pairs:
            self._pairs.move_to_end(key)
        return wait_ms

    def failed(self, account: str, address: str, *, now_ms: int) -> None:
        key = _pair(account, address)
        pair, alone = self._count(key, now_ms), self._address(address, now_ms)
        _end(pair)
        _end(alone)
        pair.failures += 1
        pair.failed_ms = now_ms
        if pair.failures >= self._failures:
            pair.until_ms = now_ms + self._longer_ms(pair.failures - self._failures)
        if not pair.at_address:
            pair.at_address = True
            alone.accounts = min(alone.accounts + 1, self._address_failures)
            # Forgiving leaves fractions: above the last whole account all of them are used up.
            if alone.accounts > self._address_failures - 1:
                alone.until_ms = now_ms + self._longer_ms(alone.waits)
                alone.waits += 1
        self._keep(key, pair, alone)

    def succeeded(self, account: str, address: str) -> None:
        """Record a successful attempt: forgive this account's earlier failures from this address."""
        self.withdrawn(account, address)
        self.forgive(account, address)

    def withdrawn(self, account: str, address: str) -> None:
        """The attempt was not made after all."""
        key = _pair(account, address)
        for count in (self._pairs.get(key), self._addresses.get(address)):
            if count is not None:
                _end(count)
        self._drop(key)

    def forgive(self, account: str, address: str) -> None:
        """Clear this account's failures from this address."""
        key = _pair(account, address)
        pair, alone = self._pairs.get(key), self._addresses.get(address)
        if pair is not None:
            if pair.at_address and alone is not None:
                alone.accounts = max(alone.accounts - 1, 0.0)
            pair.failures = pair.until_ms = 0
            pair.at_address = False
        self._drop(key)

    def trusts(self, address: str) -> bool:
        """True for an address that the operator named as an application server's."""
        if not self._trusted:
            return False
        try:
            asked = ipaddress.ip_network(address)
        except ValueError:
            return False
        return any(
            network.version == asked.version and network.supernet_of(asked)  # type: ignore[arg-type]
            for network in self._trusted
        )

    def _count(self, key: tuple[str, str], now_ms: int) -> Count:
        """The count of an account at an address, begun anew after a quiet time; a new one is not kept yet."""
        count = self._pairs.get(key) or Count()
        # After the clock was set back, a wait must not exceed the longest one.
        count.until_ms = min(count.until_ms, now_ms + self._longest_ms)
        count.failed_ms = min(count.failed_ms, now_ms)
        if now_ms - max(count.failed_ms, count.until_ms) >= self._longest_ms:
            count.failures = 0
            count.at_address = False
        return count

    def _address(self, address: str, now_ms: int) -> Address:
        """The count of an address, less the failures forgiven over time; a new one is not stored yet."""
        alone = self._addresses.get(address) or Address()
        alone.until_ms = min(alone.until_ms, now_ms + self._longest_ms)
        since_ms = now_ms - max(alone.seen_ms, alone.until_ms)
        if since_ms > 0:
            alone.accounts = max(alone.accounts - since_ms * self._address_failures / self._longest_ms, 0.0)
            if not alone.accounts:
                alone.waits = alone.until_ms = 0
        alone.seen_ms = now_ms
        return alone

    def _keep(self, key: tuple[str, str], pair: Count, alone: Address) -> None:
        self._pairs[key] = pair
        self._pairs.move_to_end(key)
        self._addresses[key[1]] = alone
        self._addresses.move_to_end(key[1])
        for counts in (self._pairs, self._addresses):
            if len(counts) > self._remembered:
                counts.popitem(last=False)

    def _drop(self, key: tuple[str, str]) -> None:
        """Forget counts that hold nothing."""
        pair, alone = self._pairs.get(key), self._addresses.get(key[1])
        if pair is not None and not (pair.failures or pair.under_way or pair.until_ms):
            del self._pairs[key]
        if alone is not None and not (alone.accounts or alone.under_way or alone.until_ms):
            del self._addresses[key[1]]

    def _longer_ms(self, doublings: int) -> int:
        return min(self._first_ms << min(doublings, _DOUBLINGS_MAX), self._longest_ms)


def seconds(wait_ms: float) -> int:
    """The wait in whole seconds, rounded up, as Retry-After says it."""
    return math.ceil(wait_ms / 1000)


def _pair(account: str, address: str) -> tuple[str, str]:
    return account[:ACCOUNT_MAX], address


def _wait_ms(count: Count | Address, failures: int, allowed: int, now_ms: int) -> int:
    """0 when another attempt may begin."""
    if now_ms < count.until_ms:
        return count.until_ms - now_ms
    room = max(allowed - failures, 1) if failures else max(allowed, TOGETHER)
    return BRIEF_MS if count.under_way >= room else 0


def _end(count: Count | Address) -> None:
    count.under_way = max(count.under_way - 1, 0)


def _as_counted(network: Network) -> Network:
    """IPv6 addresses count as their /64 (`http/peers.py`), so widen a smaller network to its /64."""
    return network if network.version == 4 or network.prefixlen <= 64 else network.supernet(new_prefix=64)

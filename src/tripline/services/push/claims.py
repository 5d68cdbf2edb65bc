"""The receivers of this process: all of them, or on a shared store the ones it has claimed.

A claim is renewed long before it expires. If renewal fails, no request begins unless it ends before another process may
take over: so a receiver has one sender at a time, and one order. The receivers of a dead process are taken over when
their claims expire.
"""

import asyncio
import contextlib
from collections.abc import Iterable
from typing import Final

from tripline.ports.outages import Outage
from tripline.store.push import claims as push_claims
from tripline.store.push.queue import Key
from tripline.store.transactions import Store

RENEW_S: Final = 3.0
"""Interval between renewals of claims."""
SPARE_S: Final = 10.0
"""How much longer a claim lasts than a request may take."""
MARGIN_S: Final = 1.0
"""Safety margin before the last moment to begin a request."""
FOREIGN_S: Final = 2.0
"""How long another process's receiver is left alone before trying to claim it again."""
LEAVE_S: Final = 2.0
MOST_FOREIGN: Final = 10_000
"""Beyond it the whole cache is cleared: claiming again costs less than finding the oldest."""


class Claims:
    """Receivers of this process. `request_s`: the longest duration of a request."""

    def __init__(self, *, store: Store, holder: str, request_s: float) -> None:
        self._store = store
        self._holder = holder
        self._request_s = request_s
        self._lease_ms = round((request_s + SPARE_S) * 1_000)
        self._good_until: dict[Key, float] = {}
        """When the last request may begin, by the loop's clock: it must end before the claim does."""
        self._foreign_until: dict[Key, float] = {}
        """When receivers of other processes may be claimed again."""
        self._renew_at = 0.0

    def hold(self, key: Key) -> bool:
        """True if a request to the receiver may begin now."""
        if not self._store.shared:
            return True
        return asyncio.get_running_loop().time() < self._good_until.get(key, 0.0)

    async def wanted(self, keys: Iterable[Key]) -> list[Key]:
        """Claim free receivers, and return the ones that this process holds. Raises `Outage`."""
        keys = list(keys)
        if not self._store.shared or not keys:
            return keys
        now_s = asyncio.get_running_loop().time()
        free = [key for key in keys if key not in self._good_until and self._foreign_until.get(key, 0.0) <= now_s]
        if free:
            taken = await self._store.write(
                lambda tx: push_claims.take(tx, free, holder=self._holder, lease_ms=self._lease_ms), locked=True
            )
            self._believe(taken, now_s)
            self._shun([key for key in free if key not in taken], now_s)
        return [key for key in keys if key in self._good_until]

    async def renew(self) -> set[Key]:
        """Renew claims when due; return the receivers that were lost to other processes. Raises `Outage`."""
        now_s = asyncio.get_running_loop().time()
        if not self._good_until or now_s < self._renew_at:
            return set()
        held = set(self._good_until)
        kept = await self._store.write(
            lambda tx: push_claims.renew(tx, held, holder=self._holder, lease_ms=self._lease_ms), locked=True
        )
        self._believe(kept, now_s)
        self._renew_at = now_s + RENEW_S
        for key in held - kept:
            del self._good_until[key]
        return held - kept

    async def leave_all(self) -> None:
        """Release all receivers at shutdown; if the store is down, their claims expire."""
        with contextlib.suppress(Outage, TimeoutError):
            async with asyncio.timeout(LEAVE_S):
                await self.leave(list(self._good_until))

    async def leave(self, keys: Iterable[Key]) -> None:
        """Release these receivers. Raises `Outage`."""
        left = [key for key in keys if key in self._good_until]
        for key in left:
            del self._good_until[key]
        # Removed first: once the row is gone another process may send, even if our commit seems to fail.
        if left:
            await self._store.write(lambda tx: push_claims.leave(tx, left, holder=self._holder), locked=True)

    def _believe(self, keys: Iterable[Key], asked_s: float) -> None:
        """Hold these claims from `asked_s`, before the query: the database's clock began no earlier."""
        until = asked_s + self._lease_ms / 1_000 - self._request_s - MARGIN_S
        self._good_until.update(dict.fromkeys(keys, until))

    def _shun(self, keys: Iterable[Key], now_s: float) -> None:
        if len(self._foreign_until) > MOST_FOREIGN:
            self._foreign_until.clear()
        self._foreign_until.update(dict.fromkeys(keys, now_s + FOREIGN_S))

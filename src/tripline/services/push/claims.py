"""The receivers of this process: all of them, or on a shared store those that it has claimed.

A claim is renewed long before it runs out. When it cannot be, nothing more is begun early enough that the last request
has ended before another process takes over: so a receiver has one sender at a time, and one order. One whose process
died is taken over when its claim has run out.
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
"""How often claims are renewed."""
SPARE_S: Final = 10.0
"""How much longer a claim holds than a request may take."""
MARGIN_S: Final = 1.0
"""So much before the last moment nothing is begun any more."""
FOREIGN_S: Final = 2.0
"""How long somebody else's receiver is not asked for again."""
LEAVE_S: Final = 2.0
MOST_FOREIGN: Final = 10_000
"""Beyond it all are forgotten: asking again costs less than finding the oldest."""


class Claims:
    """Receivers of this process. `request_s` is how long a request may take."""

    def __init__(self, *, store: Store, holder: str, request_s: float) -> None:
        self._store = store
        self._holder = holder
        self._request_s = request_s
        self._lease_ms = round((request_s + SPARE_S) * 1_000)
        self._good_until: dict[Key, float] = {}
        """Until when a request may begin, by the loop's clock: it has to be over before the claim is."""
        self._foreign_until: dict[Key, float] = {}
        """Until when another process's receivers are not asked for."""
        self._renew_at = 0.0

    def hold(self, key: Key) -> bool:
        """Whether a request to the receiver may begin now."""
        if not self._store.shared:
            return True
        return asyncio.get_running_loop().time() < self._good_until.get(key, 0.0)

    async def wanted(self, keys: Iterable[Key]) -> list[Key]:
        """Those of the receivers that are this process's, or are from now on. Raises `Outage`."""
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
        """Renew when it is time; the receivers that are another process's now. Raises `Outage`."""
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
        """Let others send to every receiver, at the end; when the store is away they find out by themselves."""
        with contextlib.suppress(Outage, TimeoutError):
            async with asyncio.timeout(LEAVE_S):
                await self.leave(list(self._good_until))

    async def leave(self, keys: Iterable[Key]) -> None:
        """Let others send to these receivers. Raises `Outage`."""
        left = [key for key in keys if key in self._good_until]
        for key in left:
            del self._good_until[key]
        # Forgotten first: once the row is gone another process may send, whether or not we hear of it.
        if left:
            await self._store.write(lambda tx: push_claims.leave(tx, left, holder=self._holder), locked=True)

    def _believe(self, keys: Iterable[Key], asked_s: float) -> None:
        """These hold from before the database was asked: its clock began no earlier."""
        until = asked_s + self._lease_ms / 1_000 - self._request_s - MARGIN_S
        self._good_until.update(dict.fromkeys(keys, until))

    def _shun(self, keys: Iterable[Key], now_s: float) -> None:
        if len(self._foreign_until) > MOST_FOREIGN:
            self._foreign_until.clear()
        self._foreign_until.update(dict.fromkeys(keys, now_s + FOREIGN_S))

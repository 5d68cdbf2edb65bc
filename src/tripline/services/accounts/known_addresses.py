"""Addresses where accounts signed in lately. Their attempts do not wait behind strangers' (`hash_turns.py`).

Read from the sessions in the store, so that they outlast a restart and other processes have them too. Only the address
counts, not the account: the answer must not depend on which accounts exist.
"""

import asyncio
import collections
from collections import OrderedDict
from typing import Final

from tripline.domain.ids import UserId
from tripline.observe import logger
from tripline.ports.clocks import Clock
from tripline.services import poll_loop
from tripline.store.accounts import sessions
from tripline.store.transactions import Store

REMEMBERED: Final = 50_000
"""Addresses, once for each account; the accounts that signed in longest ago are forgotten."""
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
        """Remember that the account signed in from this address."""
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
        """Read new sessions every minute, until cancelled."""

        async def read() -> int:
            await self.read(store, now_ms=clock())
            return 0

        await poll_loop.periodically(read, every_s=EVERY_S, log=log, failed="accounts.failed")

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

"""The sweeper: forgets refresh sessions and links that have expired, and mails parked long ago.

None of them is good for anything by then; they only take room.
"""

from typing import Final

from tripline.observe import logger
from tripline.ports import Clock
from tripline.services import rounds
from tripline.store import mail_outbox, password_links, refresh_sessions
from tripline.store.transactions import Store, WriteTx

EVERY_S: Final = 600.0
BATCH: Final = 1_000
"""Rows in one transaction: it delays the commit of what devices send."""
PARKED_MS: Final = 30 * 86_400_000
"""How long a parked mail can be seen."""

log = logger("accounts")


class Sweeper:
    """Sweeps in small transactions."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def run(self) -> None:
        """Sweep at once and then every ten minutes, until cancelled."""
        await rounds.now_and_then(self.sweep, every_s=EVERY_S, log=log, failed="accounts.failed")

    async def sweep(self) -> int:
        """Forget one batch of each sort; the rows of the fullest. Raises `Outage`."""
        now_ms = self._clock()

        def work(tx: WriteTx) -> int:
            mail_outbox.purge_parked(tx, before_ms=now_ms - PARKED_MS)
            return max(
                refresh_sessions.purge(tx, now_ms=now_ms, limit=BATCH),
                password_links.purge(tx, now_ms=now_ms, limit=BATCH),
            )

        return await self._store.write(work, locked=True)

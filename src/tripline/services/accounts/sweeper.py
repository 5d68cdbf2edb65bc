"""The sweeper: deletes expired account sessions, links and share links, an account's sessions beyond the limit, mails
parked long ago, old changes of access to positions, and history beyond its retention.

Not here: drafts of imports (`services/imports/draft_worker.py`).
"""

from typing import Final

from tripline.domain.instants import DAY_MS
from tripline.observe import logger
from tripline.ports.clocks import Clock
from tripline.services import poll_loop
from tripline.store import positions, share_links
from tripline.store.accounts import links, mail_outbox, sessions
from tripline.store.fleet import history
from tripline.store.transactions import Store, WriteTx

EVERY_S: Final = 600.0
BATCH: Final = 1_000
"""Rows in one transaction, which delays the commits of device messages."""
SESSIONS: Final = 10_000
"""Sessions of one account; a script that logs in for each request opens as many in some minutes."""
PARKED_MS: Final = 30 * DAY_MS
"""How long a parked mail can be seen."""
REACH_KEPT_MS: Final = 8 * DAY_MS
"""Retention of changes in access to positions; cursors expire earlier (`services/live/positions.py`)."""

log = logger("accounts")


class Sweeper:
    """Sweeps in small transactions."""

    def __init__(self, *, store: Store, clock: Clock, history_days: int) -> None:
        self._store = store
        self._history_ms = history_days * DAY_MS
        self._clock = clock

    async def run(self) -> None:
        await poll_loop.periodically(self.sweep, every_s=EVERY_S, log=log, failed="accounts.failed")

    async def sweep(self) -> int:
        """Forget one batch of each sort; the rows of the fullest. Raises `Outage`."""
        now_ms = self._clock()
        crowded = await self._store.read(lambda tx: sessions.crowded(tx, most=SESSIONS))

        def work(tx: WriteTx) -> int:
            mail_outbox.purge_parked(tx, before_ms=now_ms - PARKED_MS)
            return max(
                positions.purge(tx, now_ms=now_ms, keep_ms=REACH_KEPT_MS, limit=BATCH),
                sessions.purge(tx, now_ms=now_ms, limit=BATCH),
                0 if crowded is None else sessions.purge_surplus(tx, crowded[0], limit=min(crowded[1], BATCH)),
                links.purge(tx, now_ms=now_ms, limit=BATCH),
                share_links.purge(tx, now_ms=now_ms, limit=BATCH),
                history.purge(tx, before_ms=now_ms - self._history_ms, limit=BATCH),
            )

        return await self._store.write(work, locked=True)

"""End calls whose process died before they ended, and delete old calls.

The process that makes a call ends it when its time is over (`calls.py`); this module ends the calls of dead processes.
Any number of processes may do it side by side: each claims calls that no other one has.
"""

from typing import Final

from tripline import config
from tripline.domain.ids import TimeIds, first_no
from tripline.domain.instants import DAY_MS
from tripline.domain.rpc import CallEvent
from tripline.observe import logger
from tripline.ports.clocks import Clock
from tripline.ports.signals import Signals
from tripline.services import notifications, poll_loop
from tripline.services.notifications import Notification
from tripline.services.rpc import requests
from tripline.store.rpc import calls as rpc_calls
from tripline.store.transactions import ReadTx, Store, WriteTx

EVERY_S: Final = 2.0
MARGIN_MS: Final = 3_000
"""Grace beyond a call's deadline: the process that waits for it ends it first."""
BATCH: Final = 100
"""Calls in one transaction: it delays the commit of device messages."""

log = logger("rpc")


class Overdue:
    """Ends overdue calls and deletes old ones, in small transactions."""

    def __init__(self, *, store: Store, settings: config.Rpc, ids: TimeIds, signals: Signals, clock: Clock) -> None:
        self._store = store
        self._kept_ms = int(settings.kept_days * DAY_MS)
        self._ids = ids
        self._signals = signals
        self._clock = clock

    async def run(self) -> None:
        """Sweep every few seconds, until cancelled."""
        await poll_loop.periodically(self.sweep, every_s=EVERY_S, log=log, failed="rpc.failed")

    async def sweep(self) -> int:
        """End a batch of overdue calls and delete a batch of old ones; return the larger number. Raises `Outage`."""
        now_ms = self._clock()
        if not await self._store.read_short(lambda tx: self._is_due(tx, now_ms)):
            return 0

        def work(tx: WriteTx) -> tuple[int, tuple[Notification, ...]]:
            overdue = rpc_calls.claim_overdue(tx, before_ms=now_ms - MARGIN_MS, limit=BATCH)
            pending = requests.end_all(tx, overdue, event=CallEvent.NO_ACK, ids=self._ids, now_ms=now_ms)
            gone = rpc_calls.purge(tx, before_no=first_no(now_ms - self._kept_ms), limit=BATCH)
            return max(len(overdue), gone), pending

        done, pending = await self._store.write(work, locked=True)
        notifications.send(self._signals, pending)
        return done

    def _is_due(self, tx: ReadTx, now_ms: int) -> bool:
        return bool(
            rpc_calls.overdue(tx, before_ms=now_ms - MARGIN_MS, limit=1)
            or rpc_calls.old(tx, before_no=first_no(now_ms - self._kept_ms), limit=1)
        )

"""The eraser: deletes the remaining data of deleted vehicles, sensors and persons, a little at a time.

The pending work is a list in the store (`store/erasure/erasures.py`), so an eraser that stops at any point resumes
there. It never blocks the single writer for long: a transaction deletes as many rows as fit into `BUDGET_S`, however
fast or slow the disk is, and device messages go between two of them. Of several processes, one erases a given item.

Not here: deleting the vehicle, sensor or person itself (`services/fleet/`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from tripline.domain.ids import SensorId, UserId, VehicleId
from tripline.metrics import ERASED_ROWS
from tripline.observe import SIGNAL_ERASURE_DUE, logger
from tripline.ports.signals import Signals
from tripline.services.fleet import removal
from tripline.services.poll_loop import PollLoop
from tripline.store.erasure import erasures, remains
from tripline.store.erasure.erasures import Kind
from tripline.store.transactions import Store, WriteTx

BUDGET_S: Final = 0.003
"""Duration of the deletes in a transaction; its commit doubles or triples that, below 20 ms."""
ROWS: Final = 50
"""Rows deleted between two checks of the stopwatch."""
REST_S: Final = 0.01
"""Pause between two transactions, so that others get at least as much of the writer."""
LOOK_S: Final = 5.0
"""Interval between checks without a notification: for deletions by other processes, and after an outage."""
AT_ONCE: Final = 500
"""Vehicles, sensors or persons taken from the list at once."""

LetGo = Callable[[Sequence[str]], Awaitable[None]]
"""Waits until no batch can write rows that refer to these any more (`Intake.let_go_of`)."""

_ERASE_SOME: Final[dict[Kind, Callable[[WriteTx, str, int], int]]] = {
    Kind.VEHICLE: lambda tx, owner_id, limit: remains.erase_some_of_vehicle(tx, VehicleId(owner_id), limit=limit),
    Kind.SENSOR: lambda tx, owner_id, limit: removal.erase_some_of_sensor(tx, SensorId(owner_id), limit=limit),
    Kind.PERSON: lambda tx, owner_id, limit: remains.erase_some_of_person(tx, UserId(owner_id), limit=limit),
}

log = logger("eraser")


class _Done(NamedTuple):
    looked_at: int
    """Number of items that need no further transaction."""
    through: int
    """Items that are now fully erased."""
    rows: int


class Eraser:
    """Erases the remaining data of deleted vehicles, sensors and persons. `stopwatch` returns seconds."""

    def __init__(self, *, store: Store, signals: Signals, let_go: LetGo, stopwatch: Callable[[], float]) -> None:
        self._store = store
        self._let_go = let_go
        self._stopwatch = stopwatch
        self._poll_loop = PollLoop(signals, SIGNAL_ERASURE_DUE, look_s=LOOK_S)

    async def run(self) -> None:
        await self._poll_loop.run(self.erase_pending, log=log, failed="erase.failed")

    async def erase_pending(self) -> int:
        """Erase the oldest pending items of each kind; return how many were finished. Raises `Outage`."""
        return sum([await self._erase(kind) for kind in Kind])

    async def _erase(self, kind: Kind) -> int:
        waiting = await self._store.read_short(lambda tx: erasures.pending(tx, limit=AT_ONCE, kind=kind))
        if not waiting:
            return 0
        # Rows placed before the deletion are written by now, and found below; no more are placed on these items.
        await self._let_go(waiting)
        left, through, rows = waiting, 0, 0
        while left:
            done = await self._store.write(lambda tx, left=left: self._some(tx, kind, left), locked=True)  # type: ignore[misc]
            left, through, rows = left[done.looked_at :], through + done.through, rows + done.rows
            ERASED_ROWS.inc(done.rows)
            await asyncio.sleep(REST_S)
        if through:
            log.info("erase.done", kind=kind, deleted=through, rows=rows)
        return through

    def _some(self, tx: WriteTx, kind: Kind, waiting: Sequence[str]) -> _Done:
        """Erase until the time budget is spent."""
        began = self._stopwatch()
        looked_at = through = rows = 0
        while looked_at < len(waiting) and self._stopwatch() - began < BUDGET_S:
            if not erasures.hold(tx, waiting[looked_at]):
                looked_at += 1  # another process is erasing it, or has finished
                continue
            erased = _ERASE_SOME[kind](tx, waiting[looked_at], ROWS)
            if not erased:
                erasures.finish(tx, waiting[looked_at])
                looked_at, through = looked_at + 1, through + 1
            rows += erased
        return _Done(looked_at, through, rows)

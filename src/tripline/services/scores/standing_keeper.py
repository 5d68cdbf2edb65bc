"""Compute percentiles of scores, for each period with changed scores, a minute after the first change.

Requests read percentiles by key (`store/scores/trends.py`). The worker leases one period, reads its members in pages,
and rests after each page for four times its duration: it uses at most a fifth of one core and does not delay devices.
The latest period comes first. When many change, such as all days of a deleted vehicle, earlier ones take longer.
"""

import asyncio
from array import array
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from tripline.domain import trends
from tripline.domain.trends import Step, Subject
from tripline.later import Later
from tripline.observe import logger
from tripline.ports.clocks import Clock
from tripline.services import poll_loop
from tripline.store.scores import standings
from tripline.store.scores.standings import Member, Taken
from tripline.store.transactions import ReadTx, Store

if TYPE_CHECKING:
    from tripline.scoring import percentiles
else:
    # It imports numpy, which a process without percentiles to compute does not need.
    percentiles = Later("tripline.scoring.percentiles")

EVERY_MS: Final = 60_000
"""Delay from the first change of a period to its next count."""
LEASE_MS: Final = 60_000
"""Lease of a period, renewed when half of it has passed."""
LOOK_S: Final = 5.0
PAGE: Final = 1_000
"""Members in one read: some 5 ms."""
ROWS: Final = 500
"""Rows in one write, or slightly more for a single service type: some 5 ms."""
NOTED: Final = 500
"""Most changes turned into periods in one write."""
REST: Final = 4.0
"""Rest after a read or write, in multiples of its duration."""

T = TypeVar("T")

log = logger("standings")


class StandingKeeper:
    """One for each process that scores trips. `stopwatch` returns seconds."""

    def __init__(self, *, store: Store, clock: Clock, stopwatch: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._stopwatch = stopwatch

    async def run(self) -> None:
        """Count due periods until cancelled; pause after a failure."""
        await poll_loop.periodically(self.keep, every_s=LOOK_S, log=log, failed="standings.failed")

    async def keep(self) -> int:
        """Turn noted changes into periods, and count one due period; 0: nothing to do. Raises `Outage`."""
        now_ms = self._clock()
        if not await self._store.read_short(lambda tx: standings.any_waiting(tx, now_ms=now_ms)):
            return 0
        noted = await self._rested(
            self._store.write(lambda tx: standings.fold(tx, due_ms=now_ms + EVERY_MS, limit=NOTED), locked=True)
        )
        taken = await self._store.write(
            lambda tx: standings.take(tx, now_ms=now_ms, until_ms=now_ms + LEASE_MS), locked=True
        )
        if taken is not None and (counted := await self._counted(taken)) is not None:
            due_ms = now_ms + EVERY_MS
            await self._store.write(lambda tx: standings.finish(tx, counted, due_ms=due_ms), locked=True)
        return noted + (taken is not None)

    async def _counted(self, taken: Taken) -> Taken | None:
        """Replace the percentiles of a period; return it under its latest lease, or None if another worker took it."""
        held: Taken | None = taken
        for kind in Subject:
            groups: dict[str, array[float]] = defaultdict(lambda: array("d"))
            after = ""
            while members := await self._members(taken, kind, after):
                after = members[-1].subject
                for each in members:
                    groups[each.service_type].append(each.badness)
                if held is None or (held := await self._renewed(held)) is None:
                    return None
            for some in _batches(await self._groups(taken, kind, groups)):
                if held is None or not await self._replaced(held, kind, some):
                    return None
        return held

    async def _members(self, taken: Taken, kind: Subject, after: str) -> Sequence[Member]:
        """The next members, after a rest."""

        def read(tx: ReadTx) -> Sequence[Member]:
            return standings.members(tx, kind, taken.period, taken.day, after=after, limit=PAGE)

        return await self._rested(self._store.read(read, consistent=False))

    async def _renewed(self, held: Taken) -> Taken | None:
        """Renew the lease of a period once half of it has passed; None: another worker took it."""
        now_ms = self._clock()
        if now_ms < held.lease_ms - LEASE_MS // 2:
            return held
        return await self._store.write(lambda tx: standings.renew(tx, held, until_ms=now_ms + LEASE_MS), locked=True)

    async def _groups(
        self, taken: Taken, kind: Subject, members: "Mapping[str, array[float]]"
    ) -> dict[str, list[Step]]:
        """Percentiles of each service type; empty for a group that became too small."""
        before = await self._store.read(lambda tx: standings.types(tx, kind, taken.period, taken.day))
        return {name: [] for name in before} | await asyncio.to_thread(_steps, members)

    async def _replaced(self, held: Taken, kind: Subject, groups: Mapping[str, list[Step]]) -> bool:
        """Write changed percentiles; False: another worker took the period."""

        def changed(tx: ReadTx) -> dict[str, list[Step]]:
            return {
                name: steps
                for name, steps in groups.items()
                if steps != standings.steps(tx, kind, held.period, held.day, name)
            }

        new = await self._rested(self._store.read(changed))
        if not new:
            return True
        return await self._rested(self._store.write(lambda tx: standings.replace(tx, held, kind, new), locked=True))

    async def _rested(self, work: Awaitable[T]) -> T:
        """Do a read or write, then rest."""
        began = self._stopwatch()
        answer = await work
        await asyncio.sleep(REST * (self._stopwatch() - began))
        return answer


def _steps(members: "Mapping[str, array[float]]") -> dict[str, list[Step]]:
    """The percentiles of each service type that has enough members."""
    return {
        name: list(map(Step, *percentiles.steps(badness)))
        for name, badness in members.items()
        if len(badness) >= trends.GROUP
    }


def _batches(groups: Mapping[str, list[Step]]) -> Iterator[dict[str, list[Step]]]:
    """Split the service types into batches of about `ROWS` rows."""
    some: dict[str, list[Step]] = {}
    rows = 0
    for name, steps in groups.items():
        some[name] = steps
        rows += 1 + len(steps)
        if rows >= ROWS:
            yield some
            some, rows = {}, 0
    if some:
        yield some

"""Run the rescorings that administrators requested, a few trips at a time, in every process that scores trips.

Each round leases the rescoring that has waited longest, does one step and stores its progress. Trips go through the
same queue as newly ended trips, so all scorers share the work and the scores are the same. The transaction that queues
a batch also stores its trips and their earlier scores in the rescoring's row: after a crash, each trip is still counted
once.

Rescoring yields to new trips: nothing is queued while many trips wait to be scored.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec.structs import replace

from tripline.domain.rescorings import NEXT, Batch, Cause, Outcome, Rescoring, Touched
from tripline.observe import SIGNAL_RESCORING_DUE, logger
from tripline.ports.clocks import Clock
from tripline.ports.maps import RoadMatcher
from tripline.ports.outages import Outage
from tripline.ports.signals import Signals
from tripline.services import notifications
from tripline.services.poll_loop import PollLoop
from tripline.services.scores import rescore
from tripline.services.scores.rescore import BITE, LOOK_S
from tripline.services.scores.scorer import Scorer
from tripline.store.scores import rescore as trips
from tripline.store.scores import rescorings as rows
from tripline.store.scores.rescore import Choice, Page
from tripline.store.transactions import ReadTx, Store, WriteTx

LEASE_MS: Final = 60_000
"""Lease of a rescoring; when it expires, another process may take over. A step takes a second, but a preview that asks
a road server takes longer, so the lease is renewed during the step."""
LOOKS: Final = 100
"""Most checks in one step for queued trips to be scored: ten seconds."""
GIVE_WAY_MS: Final = 1_000
LOOKED_THROUGH: Final = 10_000
"""Most trips examined in one step, if few or none need scoring."""
LOOKED_INTO: Final = 1_000
"""The same if their samples may have to be examined."""
REST_S: Final = 1.0
"""Interval between checks for rescorings without a notification."""

log = logger("rescorer")


class Rescorer:
    """One for each process that scores trips."""

    def __init__(
        self,
        *,
        store: Store,
        scorer: Scorer,
        signals: Signals,
        clock: Clock,
        roads: RoadMatcher | None = None,
        areas: Callable[[str], Touched] = Touched,
    ) -> None:
        """`roads`: the source of speed limits; None: no limits. `areas`: returns the extent of an area's map."""
        self._roads = roads
        self._areas = areas
        self._store = store
        self._scorer = scorer
        self._signals = signals
        self._clock = clock
        self._poll_loop = PollLoop(signals, SIGNAL_RESCORING_DUE, look_s=REST_S)

    async def run(self) -> None:
        """Run due rescorings until cancelled; pause after a failure."""
        await self._poll_loop.run(self.go_on, log=log, failed="rescoring.failed")

    async def go_on(self) -> int:
        """Do one step of the rescoring that has waited longest; 0: none is due. Raises `Outage`."""
        now_ms = self._clock()
        if not await self._store.read_short(lambda tx: rows.any_due(tx, now_ms=now_ms)):
            return 0
        taken = await self._store.write(
            lambda tx: rows.take(tx, now_ms=now_ms, until_ms=now_ms + LEASE_MS), locked=True
        )
        if taken is None:
            return 0
        if taken.asked.dry_run:
            lease = _Lease(self._store, self._clock, taken)
            now = await self._tried(lease)
            taken = lease.held
        elif taken.batch is None:
            now = await self._asked(taken)
        else:
            now = await self._counted(taken, taken.batch)
        return await self._keep(taken, now)

    async def _tried(self, lease: "_Lease") -> Rescoring:
        """Preview a few more trips, and return the rescoring with their outcome."""
        taken = lease.held
        own = await self._scorer.own_policy()
        known = await rescore.every_policy(self._store, own.rules)
        page = await self._page(taken, own.no)
        outcome = taken.counted
        policy = None if taken.asked.policy is None else known[taken.asked.policy]
        await rescore.try_on(self._store, page.trip_nos, known, policy, outcome, self._roads, renew=lease.renew)
        return self._behind(lease.held, page, outcome)

    async def _asked(self, taken: Rescoring) -> Rescoring:
        """Return the rescoring with the next trips to queue; the commit of its row queues them."""
        now_ms = self._clock()
        if await self._store.read(lambda tx: rows.jobs_due(tx, now_ms=now_ms, most=BITE)) >= BITE:
            return replace(taken, due_ms=now_ms + GIVE_WAY_MS)
        own = await self._scorer.own_policy()
        page = await self._page(taken, own.no)
        now = self._behind(taken, page, taken.counted)
        if not page.trip_nos:
            return now
        before = await self._store.read(lambda tx: trips.values(tx, page.trip_nos))
        return replace(now, batch=Batch(page.trip_nos, before))

    async def _counted(self, taken: Rescoring, batch: Batch) -> Rescoring:
        """Return the rescoring with the results of the queued trips; unchanged if some are still waiting."""
        looks = 0
        # The values are failed attempts: do not wait for failed trips, as their pauses grow to an hour.
        while not all((left := await self._store.read(lambda tx: trips.waiting(tx, batch.trip_nos))).values()):
            looks += 1
            if looks >= LOOKS:
                return replace(taken, due_ms=self._clock() + GIVE_WAY_MS)
            await asyncio.sleep(LOOK_S)
        outcome = taken.counted
        await rescore.count(self._store, batch.trip_nos, batch.before, left, outcome)
        return replace(taken, batch=None, outcome=msgspec.json.encode(outcome), due_ms=self._clock())

    async def _page(self, taken: Rescoring, own_policy: int) -> Page:
        """The rescoring's next trips, excluding trips registered after it."""
        asked = taken.asked
        choice = Choice(
            from_ms=asked.from_ms,
            to_ms=asked.to_ms,
            company_id=taken.company_id,
            everything=asked.everything,
            touched=None if asked.area is None else self._areas(asked.area),
        )

        most = LOOKED_THROUGH if asked.area is None else LOOKED_INTO

        def look(tx: ReadTx) -> Page:
            after, looked_at = taken.after_no, 0
            while True:
                found = trips.page(tx, choice, own_policy=own_policy, after=after, before=taken.no, limit=BITE)
                looked_at += found.looked_at
                if found.last is None or found.trip_nos or looked_at >= most:
                    return found._replace(looked_at=looked_at)
                after = found.last

        return await self._store.read(look)

    def _behind(self, taken: Rescoring, page: Page, outcome: Outcome) -> Rescoring:
        """Return the rescoring after a page; finished if no trips remain."""
        now_ms = self._clock()
        now = replace(
            taken, looked_at=taken.looked_at + page.looked_at, outcome=msgspec.json.encode(outcome), due_ms=now_ms
        )
        if page.last is None:
            return replace(now, state=NEXT[taken.state, Cause.FINISH], ended_ms=now_ms)
        return replace(now, after_no=page.last)

    async def _keep(self, taken: Rescoring, now: Rescoring) -> int:
        """Store the progress and queue the trips of a new batch; 1 if the next step is due at once."""
        asks = now.batch is not None and taken.batch is None

        def keep(tx: WriteTx) -> bool:
            step = now if taken.first_no else replace(now, first_no=rows.first_trip(tx))
            held = rows.go_on(tx, taken, step)
            if held and asks and now.batch is not None:
                trips.ask(tx, now.batch.trip_nos, due_ms=self._clock())
            return held

        held = await self._store.write(keep, locked=True)
        if held and asks:
            notifications.send(self._signals, notifications.SCORING_DUE)
        if held and now.ended_ms is not None:
            counted = now.counted
            log.info("rescoring.done", trips=counted.judged, moved=counted.moved, dry_run=now.asked.dry_run)
        return int(held and now.due_ms <= self._clock())


class _Lease:
    """The lease of a rescoring during a step."""

    def __init__(self, store: Store, clock: Clock, taken: Rescoring) -> None:
        self._store = store
        self._clock = clock
        self.held = taken
        """The rescoring under its latest lease."""

    async def renew(self) -> None:
        """Renew the lease once half of it has passed.

        If the store is down, or the rescoring was cancelled or taken over, the lease stays as it is and the result of
        the step is discarded.
        """
        due_ms = self._clock() + LEASE_MS
        if due_ms - self.held.due_ms < LEASE_MS // 2:
            return
        with contextlib.suppress(Outage):
            if await self._store.write(lambda tx: rows.put_off(tx, self.held, due_ms=due_ms), locked=True):
                self.held = replace(self.held, due_ms=due_ms)

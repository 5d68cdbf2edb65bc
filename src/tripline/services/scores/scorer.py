"""The scorer: take due jobs, judge their trips and store the results; closing a trip wakes it.

Three steps, on either store: take (a short transaction), judge (outside any transaction), store (one transaction, which
drops results whose jobs have changed). The commit of a result also deletes its job, so a scorer that stops at any point
resumes there. A failed job is retried after growing pauses and delays no other job.

On a shared store any number of scorers work side by side. A scorer leases its jobs: to the others they become due when
the lease ends, and it is renewed while the batch is judged. The lease only avoids duplicate work; the comparison in
`results.py` prevents storing a result twice.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from tripline.domain.ids import TimeIds
from tripline.later import Later
from tripline.metrics import SCORED
from tripline.observe import SIGNAL_SCORING_DUE, logger
from tripline.ports.clocks import Clock
from tripline.ports.maps import RoadMatcher, RoadsOutage
from tripline.ports.outages import Outage
from tripline.ports.signals import Signals
from tripline.scoring.rules import Rules
from tripline.services.poll_loop import PollLoop
from tripline.store.scores import policies, scores
from tripline.store.scores.policies import Policy
from tripline.store.scores.scores import Job, Task
from tripline.store.transactions import ReadTx, Store, WriteTx

if TYPE_CHECKING:
    from tripline.services.scores import judgement
    from tripline.services.scores import results as scores_results
    from tripline.services.scores.judgement import Result
else:
    # They import numpy, which only scoring needs. `with_samples` loads it off the event loop.
    judgement = Later("tripline.services.scores.judgement")
    scores_results = Later("tripline.services.scores.results")

JOBS: Final = 32
"""Most jobs in one batch: its transaction delays the commit of device messages."""
SAMPLES: Final = 100_000
"""A batch takes no further job after this many samples: some 10 MB of rows and arrays."""
INLINE_SAMPLES: Final = 4_000
"""A single trip of up to this many samples is judged on the event loop (two milliseconds); a longer one, several, or
any with maps, on a thread."""
LEASE_MS: Final = 10_000
"""Lease of a job on a shared store; when it expires, another process may take the job."""
RENEW_S: Final = 3.0
"""How often to renew the leases of a batch while it is judged. Judging takes milliseconds, or under a second for a trip
of a million samples; with a road server, as long as its answers, one after another."""
LOOK_S: Final = 1.0
"""Interval between checks for jobs without a notification: jobs that fall due, and jobs of other processes."""
LEAVE_S: Final = 2.0
FIRST_PAUSE_MS: Final = 1_000
LONGEST_PAUSE_MS: Final = 3_600_000

log = logger("scorer")


def pause_ms(attempts: int) -> int:
    """Pause of a job after its `attempts`-th failure: doubling from a second to an hour."""
    return min(FIRST_PAUSE_MS << min(attempts - 1, 20), LONGEST_PAUSE_MS)


class Scorer:
    """Scores the trips that are waiting."""

    def __init__(
        self,
        *,
        store: Store,
        rules: Rules,
        ids: TimeIds,
        signals: Signals,
        clock: Clock,
        zone: ZoneInfo,
        roads: RoadMatcher | None = None,
    ) -> None:
        """`roads`: the source of speed limits; None: no limits."""
        self._store = store
        self._roads = roads
        self._rules = rules
        self._policies: dict[int | None, Policy] = {}
        """Policies by number; None: the policy of the settings."""
        self._ids = ids
        self._clock = clock
        self._zone = zone
        """Time zone of days and nights."""
        self._leased: dict[int, Job] = {}
        """Leased jobs on a shared store, by trip, each under its latest lease."""
        self._poll_loop = PollLoop(signals, SIGNAL_SCORING_DUE, look_s=LOOK_S)

    async def run(self) -> None:
        """Score due jobs until cancelled; pause after a failure that affects all jobs."""
        await self._poll_loop.run(self.score_due, log=log, failed="score.failed")

    async def score_due(self) -> int:
        """Score one batch of due jobs; return how many were handled. Raises `Outage`."""
        await self._know_policies(set())
        tasks = await self._take()
        if not tasks:
            return 0
        try:
            await self._score_all(tasks)
        except asyncio.CancelledError:
            await self._give_back()
            raise
        return len(tasks)

    async def own_policy(self) -> Policy:
        """Return the policy of the settings, storing it if it is new."""
        await self._know_policies(set())
        return self._policies[None]

    async def _know_policies(self, numbers: set[int | None]) -> None:
        """Load the policies that are not cached; policies never change."""
        if None not in self._policies:
            self._policies[None] = await self._kept_policy()
        if not numbers <= self._policies.keys():
            self._policies |= {policy.no: policy for policy in await self._store.read(policies.every)}

    async def _kept_policy(self) -> Policy:
        known = await self._store.read(lambda tx: policies.of_rules(tx, self._rules))
        if known is not None:
            return known
        return await self._store.write(lambda tx: policies.keep(tx, self._rules, now_ms=self._clock()))

    async def _score_all(self, tasks: Sequence[Task]) -> None:
        try:
            await self._score(tasks)
        except Exception as error:  # a job that cannot be judged must not delay the others
            if _stops_all(error):
                raise
            for task in tasks:
                await self._score_alone(task)

    async def _take(self) -> list[Task]:
        """Take one batch of due jobs with their samples; lease them on a shared store."""
        if not self._store.shared:
            return await self._store.read(lambda tx: with_samples(tx, self._due(tx, JOBS)))
        if not await self._store.read(lambda tx: self._due(tx, 1)):
            return []
        tasks = await self._store.write(self._lease, locked=True)
        self._leased = {task.job.trip_no: task.job for task in tasks}
        return tasks

    def _due(self, tx: ReadTx, limit: int) -> list[Job]:
        return scores.due(tx, now_ms=self._clock(), limit=limit)

    def _lease(self, tx: WriteTx) -> list[Task]:
        now_ms = self._clock()
        tasks = with_samples(tx, scores.claim(tx, now_ms=now_ms, limit=JOBS))
        return [task._replace(job=scores.put_off(tx, task.job, due_ms=now_ms + LEASE_MS)) for task in tasks]

    async def _renew(self, lease_ms: int) -> None:
        """Renew the leases of our jobs, except jobs that were requested again; if the store is down, they expire."""
        if not self._leased:
            return

        def put_off(tx: WriteTx) -> dict[int, Job]:
            due_ms = self._clock() + lease_ms
            return {no: scores.put_off(tx, job, due_ms=due_ms) for no, job in self._leased.items()}

        with contextlib.suppress(Outage):
            self._leased = await self._store.write(put_off, locked=True)

    async def _give_back(self) -> None:
        """Return our jobs to other scorers at shutdown."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_S):
                await self._renew(0)

    def _in_hand(self, job: Job) -> Job:
        """The job under its latest lease."""
        return self._leased.get(job.trip_no, job)

    async def _score(self, tasks: Sequence[Task]) -> None:
        judged = await self._judged(tasks)
        results = [replace(result, job=self._in_hand(result.job)) for result in judged]

        def keep(tx: WriteTx) -> "list[Result]":
            return scores_results.keep(tx, results, ids=self._ids, now_ms=self._clock(), zone=self._zone)

        _report(await self._store.write(keep, locked=True))

    async def _judged(self, tasks: Sequence[Task]) -> "list[Result]":
        await self._know_policies({task.job.policy for task in tasks})
        roads = self._roads if self._roads is not None and self._roads.has_maps else None
        if roads is None and len(tasks) == 1 and len(tasks[0].packed) <= INLINE_SAMPLES * judgement.SAMPLE_BYTES:
            return judgement.judged(tasks, self._policies, zone=self._zone)
        judge = partial(judgement.judged, tasks, self._policies, roads, zone=self._zone)
        return await judged_aside(judge, renew=partial(self._renew, LEASE_MS))

    async def _score_alone(self, task: Task) -> None:
        """Score a job by itself; postpone it if it fails."""
        try:
            await self._score([task])
        except Exception as error:  # a bug, bad row or lost map; stored with the job and logged
            if _stops_all(error):
                raise
            job = self._in_hand(task.job)
            SCORED.labels("failed").inc()
            if isinstance(error, RoadsOutage):
                log.warning("score.failed", trip=job.trip_id, attempts=job.attempts + 1, error=str(error))
            else:
                log.exception("score.failed", trip=job.trip_id, attempts=job.attempts + 1)
            text = f"{type(error).__name__}: {error}"
            due_ms = self._clock() + pause_ms(job.attempts + 1)
            await self._store.write(lambda tx: scores.postpone(tx, job, error=text, due_ms=due_ms), locked=True)


def _stops_all(error: Exception) -> bool:
    """True if the outage affects every job."""
    return isinstance(error, Outage) and not isinstance(error, RoadsOutage)


async def judged_aside(judge: "Callable[[], list[Result]]", *, renew: Callable[[], Awaitable[None]]) -> "list[Result]":
    """Run `judge` on a thread and return its results; renew leases meanwhile."""
    judging = asyncio.get_running_loop().run_in_executor(None, judge)
    try:
        while not (await asyncio.wait([judging], timeout=RENEW_S))[0]:
            await renew()
    finally:
        judging.cancel()
    return judging.result()


def with_samples(tx: ReadTx, jobs: Sequence[Job]) -> list[Task]:
    """The first jobs with their samples, enough for one batch."""
    tasks: list[Task] = []
    size = 0
    for job in jobs:
        task = scores.task(tx, job)
        tasks.append(task)
        size += len(task.packed)
        if size >= SAMPLES * judgement.SAMPLE_BYTES:
            break
    return tasks


def _report(kept: "Sequence[Result]") -> None:
    for result in kept:
        SCORED.labels(result.not_scored or "scored").inc()
    if kept:
        log.info("score.done", trips=len(kept), scored=sum(result.score is not None for result in kept))

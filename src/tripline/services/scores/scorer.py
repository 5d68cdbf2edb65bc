"""The scorer: takes due jobs, judges their trips, keeps the results; wakes when a trip was closed.

A job's row goes with the commit of its result, so a scorer that is stopped anywhere begins again where it was. A job
that fails is tried again after growing pauses and holds up no other.

On a shared store any number of scorers work side by side: a batch is one transaction, which holds the rows of its jobs
and trips from the look to the commit. On the embedded one, whose one writer must not wait for the judging, jobs are
read first and compared again when their results are kept.
"""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Final

from tripline import config
from tripline.domain.ids import TimeIds
from tripline.observe import SCORED, SIGNAL_SCORING_DUE, logger
from tripline.ports import Clock, Outage, Signals
from tripline.scoring.rules import Rules
from tripline.services.rounds import Rounds
from tripline.services.scores import arrays, judging, keeping
from tripline.services.scores.judging import Result
from tripline.services.scores.rules import rules
from tripline.store import scores
from tripline.store.scores import Job
from tripline.store.transactions import ReadTx, Store, WriteTx

JOBS: Final = 32
"""Jobs in one batch at most: its transaction delays the commit of what devices send."""
SAMPLES: Final = 100_000
"""Samples after which a batch takes no further job: some 10 MB of rows and arrays."""
INLINE_SAMPLES: Final = 4_000
"""Up to this many samples are judged on the event loop (under a millisecond); more go to a thread."""
LOOK_S: Final = 1.0
"""How often to look for jobs unasked: those that become due by the clock, and those of other processes."""
FIRST_PAUSE_MS: Final = 1_000
LONGEST_PAUSE_MS: Final = 3_600_000

Work = list[tuple[Job, bytes]]

log = logger("scorer")


def pause_ms(attempts: int) -> int:
    """How long a job rests after it failed for the `attempts`-th time: doubling from a second to an hour."""
    return min(FIRST_PAUSE_MS << min(attempts - 1, 20), LONGEST_PAUSE_MS)


class Scorer:
    """Scores the trips that wait for it."""

    def __init__(
        self,
        *,
        store: Store,
        scoring: config.Scoring,
        harsh: config.Harsh,
        ids: TimeIds,
        signals: Signals,
        clock: Clock,
    ) -> None:
        self._store = store
        self._rules: Rules = rules(scoring, harsh)
        self._accumulate = scoring.accumulate
        self._ids = ids
        self._clock = clock
        self._rounds = Rounds(signals, SIGNAL_SCORING_DUE, look_s=LOOK_S)

    async def run(self) -> None:
        """Score what is due, until cancelled. Trouble with the store, or with no job in particular, costs a pause."""
        await self._rounds.run(self.score_due, log=log, failed="score.failed")

    async def score_due(self) -> int:
        """Score one batch of due jobs; how many were handled. Raises `Outage` when the store is away."""
        if self._store.shared:
            return await self._score_claimed()
        work = await self._store.read(self._due)
        if not work:
            return 0
        try:
            await self._score(work)
        except Outage:
            raise
        except Exception:  # noqa: BLE001  a job that cannot be judged must not hold up the others
            for one in work:
                await self._guarded(one[0], self._score([one]))
        return len(work)

    def _due(self, tx: ReadTx) -> Work:
        """Due jobs with their samples, as many as make one batch."""
        return _with_samples(tx, scores.due(tx, now_ms=self._clock(), limit=JOBS))

    async def _score_claimed(self) -> int:
        """Score one batch of jobs that no other process has in hand; how many were handled. Raises `Outage`."""
        if not await self._store.read(lambda tx: scores.due(tx, now_ms=self._clock(), limit=1)):
            return 0
        try:
            taken, kept = await self._store.write(self._in_hand, locked=True)
        except Outage:
            raise
        except Exception:  # noqa: BLE001  a job that cannot be judged must not hold up the others
            jobs = await self._store.read(lambda tx: scores.due(tx, now_ms=self._clock(), limit=JOBS))
            for job in jobs:
                await self._guarded(job, self._score_in_hand(job))
            return len(jobs)
        _report(kept)
        return taken

    def _in_hand(self, tx: WriteTx) -> tuple[int, list[Result]]:
        work = _with_samples(tx, scores.claim(tx, now_ms=self._clock(), limit=JOBS))
        return len(work), self._keep(tx, judging.judged(work, self._rules)) if work else []

    async def _score_in_hand(self, job: Job) -> None:
        def work(tx: WriteTx) -> list[Result]:
            claimed = scores.claim_one(tx, job.trip_no)
            work = [] if claimed is None else _with_samples(tx, [claimed])
            return self._keep(tx, judging.judged(work, self._rules)) if work else []

        _report(await self._store.write(work, locked=True))

    def _keep(self, tx: WriteTx, results: list[Result]) -> list[Result]:
        return keeping.keep(tx, results, accumulate=self._accumulate, ids=self._ids, now_ms=self._clock())

    async def _score(self, work: Work) -> None:
        results = await self._judged(work)
        _report(await self._store.write(lambda tx: self._keep(tx, results)))

    async def _judged(self, work: Work) -> list[Result]:
        if sum(len(packed) for _, packed in work) <= INLINE_SAMPLES * arrays.PACKED.itemsize:
            return judging.judged(work, self._rules)
        return await asyncio.to_thread(judging.judged, work, self._rules)

    async def _guarded(self, job: Job, scoring: Awaitable[None]) -> None:
        """Score a job by itself; put it off when it fails."""
        try:
            await scoring
        except Outage:
            raise
        except Exception as error:  # any bug or bad row; it is kept with the job and logged
            SCORED.labels("failed").inc()
            log.exception("score.failed", trip=job.trip_id, attempts=job.attempts + 1)
            text = f"{type(error).__name__}: {error}"
            due_ms = self._clock() + pause_ms(job.attempts + 1)
            await self._store.write(lambda tx: scores.postpone(tx, job, error=text, due_ms=due_ms), locked=True)


def _with_samples(tx: ReadTx, jobs: Sequence[Job]) -> Work:
    """The jobs with their samples, as many as make one batch."""
    work: Work = []
    size = 0
    for job in jobs:
        packed = scores.samples(tx, job.trip_no)
        work.append((job, packed))
        size += len(packed)
        if size >= SAMPLES * arrays.PACKED.itemsize:
            break
    return work


def _report(kept: Sequence[Result]) -> None:
    for result in kept:
        SCORED.labels(result.not_scored or "scored").inc()
    if kept:
        log.info("score.done", trips=len(kept), scored=sum(result.score is not None for result in kept))

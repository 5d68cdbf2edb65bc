"""Scoring trips anew on request: a few at a time through the queue, so that a trip that ends meanwhile waits for few.

Whatever has been scored stays so when this ends early, and the same request goes on from there: trips whose score is by
the policy in force are passed over.

Not here: what administrators ask for over REST (`rescorer.py`), how a trip is judged (`judgement.py`), what is written
(`results.py`).
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from tripline.later import Later
from tripline.ports.clocks import Clock
from tripline.ports.maps import RoadMatcher
from tripline.scoring.rules import Rules
from tripline.services.scores.duplicates import DUPLICATE
from tripline.services.scores.scorer import Scorer, judged_aside, with_samples
from tripline.store.scores import policies, rescore, scores
from tripline.store.scores.policies import Policy
from tripline.store.scores.rescore import Choice
from tripline.store.scores.scores import Job
from tripline.store.transactions import ReadTx, Store

if TYPE_CHECKING:
    from tripline.services.scores import judgement
else:
    judgement = Later("tripline.services.scores.judgement")

BITE: Final = 100
"""Trips asked for at once: a trip that ends behind them waits for their scoring, a quarter of a second."""
TRIED: Final = 20
"""Trips tried at once for somebody who waits."""
LOOK_S: Final = 0.1
"""How often to look whether other processes have scored what they took."""
UNKNOWN: Final = -1
"""The number of settings that are no policy yet."""
Progress = Callable[[int], None]
"""Told how many trips have been looked at."""


class Outcome(msgspec.Struct, kw_only=True):
    """What scoring anew changed, or would change."""

    judged: int = 0
    same: int = 0
    """Scores that stayed, and trips that have none as before."""
    moved: int = 0
    gained: int = 0
    """Trips that had no score."""
    lost: int = 0
    """Trips that have no score any more."""
    failed: int = 0
    """Their jobs are tried again by a server, with growing pauses."""
    most: float = 0.0
    """The largest change of a score."""
    sum: float = 0.0
    """Of all changes, each without its sign."""
    reasons: dict[str, int] = {}
    """Why trips would lose their score, when it is only tried."""

    def compare(self, trip_nos: Sequence[int], before: Mapping[int, float], after: Mapping[int, float]) -> None:
        """Count what became of these trips; each mapping has the scores of those that have one."""
        for no in trip_nos:
            self.judged += 1
            if no in before and no in after and before[no] != after[no]:
                change = abs(after[no] - before[no])
                self.moved += 1
                self.sum += change
                self.most = max(self.most, change)
            elif (no in before) == (no in after):
                self.same += 1
            elif no in after:
                self.gained += 1
            else:
                self.lost += 1


async def rescored(store: Store, scorer: Scorer, choice: Choice, *, clock: Clock, progress: Progress) -> Outcome:
    """Score the chosen trips anew, this process and whoever else works at the queue. Raises `Outage`."""
    outcome = Outcome()
    own = await scorer.own_policy()
    async for trip_nos in _chosen(store, choice, own.no, progress):
        await _score(store, scorer, trip_nos, outcome, due_ms=clock())
    while await scorer.score_due():
        pass  # trips that these have a bearing on (`duplicates.py`)
    return outcome


async def tried(
    store: Store,
    rules: Rules,
    choice: Choice,
    *,
    policy: Policy | None,
    progress: Progress,
    roads: RoadMatcher | None = None,
) -> Outcome:
    """What scoring the chosen trips anew would change; nothing is written. Raises `Outage`.

    Duplicates count as staying so: nothing is decided between trips.

    `rules`: those of the settings. `policy`: the one to try in place of those in force. `roads`: what tells limits.
    """
    outcome = Outcome()
    known = await every_policy(store, rules)
    async for trip_nos in _chosen(store, choice, known[None].no, progress):
        await try_on(store, trip_nos, known, policy, outcome, roads)
    return outcome


async def every_policy(store: Store, rules: Rules) -> dict[int | None, Policy]:
    """All policies by their numbers; None: that of the settings, which may be none yet."""
    known: dict[int | None, Policy] = {each.no: each for each in await store.read(policies.every)}
    own = await store.read(lambda tx: policies.of_rules(tx, rules))
    return known | {None: own or Policy(UNKNOWN, rules)}


async def tried_on(
    store: Store, trip_nos: Sequence[int], policy: Policy, *, most: int, roads: RoadMatcher | None = None
) -> Outcome:
    """What scoring these trips by a policy would change, until so many samples are judged; nothing is written.

    Raises `Outage`.
    """
    outcome = Outcome()
    known: dict[int | None, Policy] = {policy.no: policy}
    samples = 0
    for at in range(0, len(trip_nos), TRIED):
        if samples < most:
            samples += await try_on(store, trip_nos[at : at + TRIED], known, policy, outcome, roads)
    return outcome


async def _chosen(store: Store, choice: Choice, own_policy: int, progress: Progress) -> AsyncIterator[list[int]]:
    """Row numbers of the chosen trips, a few at a time, the oldest first."""
    after, looked_at = 0, 0
    while True:
        page = await store.read(partial(rescore.page, choice=choice, own_policy=own_policy, after=after, limit=BITE))
        if page.last is None:
            return
        if page.trip_nos:
            yield page.trip_nos
        after = page.last
        looked_at += page.looked_at
        progress(looked_at)


async def _score(store: Store, scorer: Scorer, trip_nos: Sequence[int], outcome: Outcome, *, due_ms: int) -> None:
    """Ask for these trips, and score until none of them has a job but those that failed."""
    before = await store.read(lambda tx: rescore.values(tx, trip_nos))
    await store.write(lambda tx: rescore.ask(tx, trip_nos, due_ms=due_ms))
    while not all((left := await store.read(lambda tx: rescore.waiting(tx, trip_nos))).values()):
        if not await scorer.score_due():
            await asyncio.sleep(LOOK_S)
    await count(store, trip_nos, before, left, outcome)


async def count(
    store: Store, trip_nos: Sequence[int], before: Mapping[int, float], failed: Container[int], outcome: Outcome
) -> None:
    """Count what became of trips that were asked for, none of which waits any more but those that failed."""
    after = await store.read(lambda tx: rescore.values(tx, trip_nos))
    done = [no for no in trip_nos if no not in failed]
    outcome.failed += len(trip_nos) - len(done)
    outcome.compare(done, before, after)


class _Asked(NamedTuple):
    """What is judged without keeping it."""

    scores: dict[int, float]
    """Those that trips have now."""
    jobs: list[Job]


async def _nothing() -> None:
    """Nothing to renew."""


async def try_on(
    store: Store,
    trip_nos: Sequence[int],
    known: Mapping[int | None, Policy],
    policy: Policy | None,
    outcome: Outcome,
    roads: RoadMatcher | None = None,
    *,
    renew: Callable[[], Awaitable[None]] = _nothing,
) -> int:
    """Judge these trips and keep nothing of it; how many samples they had.

    `renew`: called every few seconds and behind each batch, by whoever holds something as long as this takes.
    """

    def read(tx: ReadTx) -> _Asked:
        jobs = filter(None, (scores.as_if_asked(tx, no) for no in trip_nos))
        by_policy = [job if policy is None else job._replace(policy=policy.no) for job in jobs]
        return _Asked(rescore.values(tx, trip_nos), by_policy)

    before, jobs = await store.read(read)
    after: dict[int, float] = {}
    done = size = 0
    while done < len(jobs):
        tasks = await store.read(partial(with_samples, jobs=jobs[done:]))
        done += len(tasks)
        size += sum(len(task.packed) for task in tasks)
        for result in await judged_aside(partial(judgement.judged, tasks, known, roads), renew=renew):
            if result.score is not None and result.job.not_scored != DUPLICATE:
                after[result.job.trip_no] = result.score.score
            elif result.job.trip_no in before:
                reason = result.not_scored or ""
                outcome.reasons[reason] = outcome.reasons.get(reason, 0) + 1
        await renew()
    outcome.compare([job.trip_no for job in jobs], before, after)
    return size // judgement.SAMPLE_BYTES

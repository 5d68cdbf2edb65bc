"""Rescore trips on request, a few at a time through the queue, so that newly ended trips do not wait long.

If this stops early, the scores so far remain, and repeating the request continues from there: trips already scored by
the policy in force are skipped.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from tripline.domain.rescorings import Outcome
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
"""Trips requested at once: a trip that ends in the meantime waits a quarter of a second for them."""
TRIED: Final = 20
"""Trips previewed at once while a caller waits."""
MOVERS: Final = 5
"""Largest changes that a preview lists."""
LOOK_S: Final = 0.1
"""Interval between checks for trips that other processes are scoring."""
UNKNOWN: Final = -1
"""Number for settings not stored as a policy."""
Progress = Callable[[int], None]
"""Called with the number of trips examined."""


class Mover(NamedTuple):
    """A trip whose score would change."""

    trip_no: int
    before: float
    after: float


class Means(NamedTuple):
    """Mean score of the trips that keep one."""

    before: float
    after: float


class Preview(Outcome, kw_only=True):
    """Changes that another policy would make."""

    kept: int = 0
    """Trips that keep a score, the same or another."""
    before: float = 0.0
    """Sum of their scores now."""
    after: float = 0.0
    """Sum of their scores by the policy."""
    movers: list[Mover] = msgspec.field(default_factory=list)
    """The largest changes, the largest first."""

    def compare(self, trip_nos: Sequence[int], before: Mapping[int, float], after: Mapping[int, float]) -> None:
        """Count the changes of these trips, and add up their scores."""
        super().compare(trip_nos, before, after)
        both = [Mover(no, before[no], after[no]) for no in trip_nos if no in before and no in after]
        self.kept += len(both)
        self.before += math.fsum(each.before for each in both)
        self.after += math.fsum(each.after for each in both)
        moved = [*self.movers, *(each for each in both if each.before != each.after)]
        self.movers = sorted(moved, key=lambda each: (-abs(each.after - each.before), each.trip_no))[:MOVERS]

    @property
    def means(self) -> Means | None:
        """Mean scores; None: no trip keeps a score."""
        return Means(self.before / self.kept, self.after / self.kept) if self.kept else None


async def rescored(store: Store, scorer: Scorer, choice: Choice, *, clock: Clock, progress: Progress) -> Outcome:
    """Rescore the chosen trips, sharing the queue with other scorers. Raises `Outage`."""
    outcome = Outcome()
    own = await scorer.own_policy()
    async for trip_nos in _chosen(store, choice, own.no, progress):
        await _score(store, scorer, trip_nos, outcome, due_ms=clock())
    while await scorer.score_due():
        pass  # trips affected by these (`duplicates.py`)
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
    """Preview the changes of rescoring the chosen trips, without writing anything. Raises `Outage`.

    Duplicates are assumed to stay duplicates.

    `rules`: from the settings. `policy`: the one to try instead of those in force. `roads`: the source of speed limits.
    """
    outcome = Outcome()
    known = await every_policy(store, rules)
    async for trip_nos in _chosen(store, choice, known[None].no, progress):
        await try_on(store, trip_nos, known, policy, outcome, roads)
    return outcome


async def every_policy(store: Store, rules: Rules) -> dict[int | None, Policy]:
    """All policies by number; the key None holds the policy of the settings, which may not be stored yet."""
    known: dict[int | None, Policy] = {each.no: each for each in await store.read(policies.every)}
    own = await store.read(lambda tx: policies.of_rules(tx, rules))
    return known | {None: own or Policy(UNKNOWN, rules)}


async def tried_on(
    store: Store,
    trip_nos: Sequence[int],
    policy: Policy,
    *,
    most: int,
    in_time: Callable[[], bool],
    roads: RoadMatcher | None = None,
) -> Preview:
    """Preview scoring these scored trips by a policy, without writing anything.

    It ends once `most` samples have been judged, or when `in_time` returns False. Raises `Outage`.
    """
    outcome = Preview()
    known: dict[int | None, Policy] = {policy.no: policy}
    samples = 0
    for at in range(0, len(trip_nos), TRIED):
        if samples < most and (at == 0 or in_time()):
            samples += await try_on(store, trip_nos[at : at + TRIED], known, policy, outcome, roads)
    return outcome


async def _chosen(store: Store, choice: Choice, own_policy: int, progress: Progress) -> AsyncIterator[list[int]]:
    """Row numbers of the chosen trips in pages, oldest first."""
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
    """Request scoring of these trips, and score until only failed jobs remain."""
    before = await store.read(lambda tx: rescore.values(tx, trip_nos))
    await store.write(lambda tx: rescore.ask(tx, trip_nos, due_ms=due_ms))
    while not all((left := await store.read(lambda tx: rescore.waiting(tx, trip_nos))).values()):
        if not await scorer.score_due():
            await asyncio.sleep(LOOK_S)
    await count(store, trip_nos, before, left, outcome)


async def count(
    store: Store, trip_nos: Sequence[int], before: Mapping[int, float], failed: Container[int], outcome: Outcome
) -> None:
    """Count the changes of requested trips, once only failed jobs remain."""
    after = await store.read(lambda tx: rescore.values(tx, trip_nos))
    done = [no for no in trip_nos if no not in failed]
    outcome.failed += len(trip_nos) - len(done)
    outcome.compare(done, before, after)


class _Preview(NamedTuple):
    scores: dict[int, float]
    """Current scores of the trips."""
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
    """Judge these trips without storing results; return the number of samples.

    `renew`: called every few seconds and after each batch, so that the caller can renew a lease.
    """

    def read(tx: ReadTx) -> _Preview:
        jobs = filter(None, (scores.as_if_asked(tx, no) for no in trip_nos))
        by_policy = [job if policy is None else job._replace(policy=policy.no) for job in jobs]
        return _Preview(rescore.values(tx, trip_nos), by_policy)

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

"""Counts percentiles of a store in a test, and works them out anew from its sums."""

import itertools
from collections import defaultdict
from typing import Any

from sqlalchemy import select

from tripline.domain import trends
from tripline.domain.trends import NOTHING, Step, Sums
from tripline.services.scores.standing_keeper import EVERY_MS, StandingKeeper
from tripline.store import tables
from tripline.store.scores import sums
from tripline.store.transactions import ReadTx, Store

Group = tuple[str, str, int, str]
"""Kind, period, its first day, service type."""


class Clock:
    """An instant that a test moves."""

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms


def keeper(store: Store, clock: Clock) -> StandingKeeper:
    """A worker that never rests."""
    return StandingKeeper(store=store, clock=clock, stopwatch=lambda: 0.0)


async def count(store: Store, *, now_ms: int) -> None:
    """Count every percentile that waits at this instant or becomes due within a minute."""
    clock = Clock(now_ms)
    await until_idle(keeper(store, clock), clock)


async def until_idle(worker: StandingKeeper, clock: Clock) -> None:
    """Let a worker do all it has to, now and a minute later."""
    for _ in range(2):
        while await worker.keep():
            pass
        clock.now_ms += EVERY_MS


def kept(tx: ReadTx) -> dict[Group, list[Step]]:
    """The percentiles of every group as they are stored."""
    found: dict[Group, list[Step]] = defaultdict(list)
    for row in tx.all(select(tables.score_standing).order_by(tables.score_standing.c.badness)):
        found[row.kind, row.period, row.day, row.service_type].append(Step(row.badness, row.percentile, row.above))
    return dict(found)


def badness(tx: ReadTx) -> dict[Group, dict[str, float]]:
    """The badness of each member of every group, from its sums."""
    types = {
        "vehicle": dict(_pairs(tx, select(tables.vehicle.c.id, tables.vehicle.c.service_type))),
        "company": dict(_pairs(tx, select(tables.company.c.id, tables.company.c.service_type))),
    }
    people = _pairs(tx, select(tables.account.c.id, tables.account.c.company_id))
    types["driver"] = {each: types["company"][of] for each, of in people if of is not None}
    pooled: dict[tuple[str, str, int, str], Sums] = {}
    for (subject, period, day, _, kind), of in sums.kept(tx).items():
        pooled[kind, period, day, subject] = pooled.get((kind, period, day, subject), NOTHING).plus(of)
    found: dict[Group, dict[str, float]] = defaultdict(dict)
    for (kind, period, day, subject), of in pooled.items():
        if subject in types[kind] and of.harsh_known >= trends.KNOWN_LEAST:
            found[kind, period, day, types[kind][subject]][subject] = of.badness
    return dict(found)


def exact(members: list[float], own: float) -> float:
    """The percentile of a member by counting."""
    worse, equal = sum(each > own for each in members), members.count(own)
    return 100 * (worse + equal / 2) / len(members)


def expected(tx: ReadTx) -> dict[Group, list[Step]]:
    """The percentiles of every group that is large enough; all have fewer members than make steps coarse."""
    return {group: _steps(sorted(of.values())) for group, of in badness(tx).items() if len(of) >= trends.GROUP}


def _steps(members: list[float]) -> list[Step]:
    own = ((each, exact(members, each)) for each in sorted(set(members)))
    return [Step(*each, _joining(members, each[0])) for each in itertools.chain([(-1.0, 100.0)], own)]


def _joining(members: list[float], above: float) -> float:
    """The percentile of one who joins the group with a little more badness."""
    worse = sum(each > above for each in members)
    return 100 * (min(worse, len(members) - 1) + 0.5) / len(members)


def _pairs(tx: ReadTx, statement: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in tx.all(statement)]

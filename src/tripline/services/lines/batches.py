"""A carrier's batch of actions from first to last: some in each transaction, with a wait where a line is busy."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from tripline import observe
from tripline.domain.access import Actor
from tripline.domain.ids import TimeIds
from tripline.domain.line_actions import LineAction, Outcome
from tripline.domain.lines import LineBusy
from tripline.ports.clocks import Clock
from tripline.ports.signals import Signals
from tripline.services import notifications
from tripline.services.barrier import GATEWAYS, Barrier
from tripline.services.lines import actions
from tripline.services.lines.actions import Progress, Submitted
from tripline.store.transactions import Store, WriteTx

T = TypeVar("T")

PAUSES_S: Final = (0.05, 0.1, 0.2, 0.35, 0.5, 0.8)
"""Pauses between attempts, two seconds in total. No lock is held during a pause."""


async def until_free(attempt: Callable[[], Awaitable[T]]) -> T:
    """Repeat the attempt until the line is free. Raises `LineBusy` when the attempts run out."""
    for pause_s in PAUSES_S:
        with contextlib.suppress(LineBusy):
            return await attempt()
        await asyncio.sleep(pause_s)
    return await attempt()


AT_ONCE: Final = 10
"""Actions in one transaction, about 2 ms each: that long do other writers wait."""


class Batches:
    """Applies batches of actions; gives notifications after each commit."""

    def __init__(self, *, store: Store, settling: Barrier, signals: Signals, ids: TimeIds, clock: Clock) -> None:
        self._store = store
        self._settling = settling
        self._signals = signals
        self._ids = ids
        self._clock = clock

    async def perform(self, *, actor: Actor, submitted: Sequence[Submitted]) -> list[Outcome]:
        """Return the outcome of each action, in order.

        If a line stays busy, refuse this action and, to preserve their order, the line's later ones in the batch. These
        refusals are not stored, so the actions may be sent again. The total wait is bounded.
        """
        outcomes: list[Outcome] = []
        ends_sessions = False
        busy: set[str] = set()
        pauses = iter(PAUSES_S)
        while len(outcomes) < len(submitted):
            left = submitted[len(outcomes) :]
            progress = await self._some(actor, left[:AT_ONCE], busy)
            outcomes += progress.outcomes
            ends_sessions |= any(subject == observe.SIGNAL_CREDENTIAL_ENDED for subject, _ in progress.notifications)
            if not progress.halted:
                continue
            halted = left[len(progress.outcomes)]
            pause_s = None if _number(halted) in busy else next(pauses, None)
            if pause_s is None:
                busy.add(_number(halted))
                outcomes.append(Outcome(halted.action_id, refused=LineBusy("under_way")))
            else:
                await asyncio.sleep(pause_s)
        if ends_sessions:
            await self._settling.settled(GATEWAYS)
        return outcomes

    async def _some(self, actor: Actor, submitted: Sequence[Submitted], busy: set[str]) -> Progress:
        def work(tx: WriteTx) -> Progress:
            return actions.perform(tx, actor=actor, submitted=submitted, busy=busy, ids=self._ids, now_ms=self._clock())

        progress = await self._store.write(work)
        notifications.send(self._signals, progress.notifications)
        return progress


def _number(submitted: Submitted) -> str:
    return submitted.said.mdn if isinstance(submitted.said, LineAction) else ""

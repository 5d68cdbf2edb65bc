"""Wait until other processes have acted on a notification, for a process whose answer depends on it.

 requester: notification, question --> each process: acts on the notification, answers --> requester: all have answered

Notifications of one process arrive in order, so a process that answers has acted on every notification before the
question. A process that lost notifications answers after recovering their effects.
"""

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Collection
from typing import Final

import msgspec

from tripline import observe
from tripline.ports.outages import Outage
from tripline.ports.signals import Signals
from tripline.services.nodes import DEAD_MS, Node
from tripline.store.database import nodes
from tripline.store.transactions import Store

WITHIN_S: Final = 5.0
"""Longest wait for answers. By then a gateway that reaches the store has compared its sessions with the rows, and a
pipeline has reloaded companies' selectors."""
LOOK_S: Final = 1.0
"""Interval between repeated questions to processes that do not answer."""
GATEWAYS: Final = frozenset({"gateway", "all"})
"""Roles of processes that have device sessions."""
PIPELINES: Final = GATEWAYS | {"worker"}
"""Roles of processes that ingest device messages."""
log = observe.logger("nodes")


class _Question(msgspec.Struct):
    answered: set[str] = msgspec.field(default_factory=set)
    """The processes that answered, by node."""
    changed: asyncio.Event = msgspec.field(default_factory=asyncio.Event)


class Barrier:
    """Asks the other processes that share the store."""

    def __init__(self, *, store: Store, node: Node, signals: Signals) -> None:
        self._store = store
        self._node = node
        self._signals = signals
        self._numbers = itertools.count(1)
        self._questions: dict[int, _Question] = {}
        signals.subscribe(observe.SIGNAL_HINTS_SETTLED, self._settled)

    async def settled(self, roles: Collection[str]) -> None:
        """Wait until each process of these roles has acted on all earlier notifications, or `WITHIN_S` has passed.

        A single process acts on notifications immediately.
        """
        if not self._node.shared:
            return
        number = next(self._numbers)
        question = self._questions[number] = _Question()
        try:
            for _ in range(round(WITHIN_S / LOOK_S)):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_S):
                        await self._all_answer(number, question, roles)
                        return
        finally:
            del self._questions[number]
        log.warning("node.unsettled", seconds=WITHIN_S)

    async def _all_answer(self, number: int, question: _Question, roles: Collection[str]) -> None:
        try:
            there = await self._store.read_short(lambda tx: nodes.of_roles(tx, roles, for_ms=DEAD_MS))
        except Outage:
            await asyncio.sleep(LOOK_S)  # the processes are unknown
            raise TimeoutError from None
        others = there - {self._node.id}  # this process has acted on its own notifications already
        if others:
            self._signals.notify(observe.SIGNAL_HINTS_ASKED, f"{self._node.id} {number}")
        while not others <= question.answered:
            await question.changed.wait()
            question.changed.clear()

    def _settled(self, detail: str) -> None:
        asked_by, number, answered_by = detail.split(" ")
        question = self._questions.get(int(number)) if asked_by == self._node.id else None
        if question is not None:
            question.answered.add(answered_by)
            question.changed.set()


class Answering:
    """Answers other processes. Create it after all other listeners."""

    def __init__(self, *, node: Node, signals: Signals, is_behind: Callable[[], bool]) -> None:
        """`is_behind`: returns true while lost notifications are not recovered; then this process does not answer."""
        self._node = node
        self._signals = signals
        self._is_behind = is_behind
        signals.subscribe(observe.SIGNAL_HINTS_ASKED, self._asked)

    def _asked(self, question: str) -> None:
        if not self._is_behind():
            self._signals.notify(observe.SIGNAL_HINTS_SETTLED, f"{question} {self._node.id}")

"""The gateways, for a process that must know that each has acted on what it told them.

    asker: hint, then question --> every gateway: acts on the hint, then answers --> asker: all have answered

Hints of one process arrive in order, so whoever answers has acted on every hint before the question. A gateway that
lost hints answers once it has compared its sessions with the rows.

Not here: the gateway's side (`sessions.py`), sending to devices (`rpc/sending.py`).
"""

import asyncio
import contextlib
import itertools
from dataclasses import dataclass, field
from typing import Final

from tripline import observe
from tripline.ports import Outage, Signals
from tripline.services.nodes import DEAD_MS, Node
from tripline.store import nodes
from tripline.store.transactions import Store

WITHIN_S: Final = 5.0
"""How long gateways may take to answer. One that reaches the store has compared its sessions with the rows by then."""
LOOK_S: Final = 1.0
"""How often a gateway that does not answer is asked again."""
log = observe.logger("sessions")


@dataclass(slots=True)
class _Question:
    answered: set[str] = field(default_factory=set)
    """The gateways that answered, by node."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class Gateways:
    """Every gateway that shares the store with this process."""

    def __init__(self, *, store: Store, node: Node, signals: Signals) -> None:
        self._store = store
        self._node = node
        self._signals = signals
        self._numbers = itertools.count(1)
        self._questions: dict[int, _Question] = {}
        signals.subscribe(observe.SIGNAL_SESSIONS_SETTLED, self._settled)

    async def settled(self) -> None:
        """Returns when every gateway has acted on the hints that were given before, or after `WITHIN_S`.

        Where there is one process, hints are acted on while they are given.
        """
        if not self._node.shared:
            return
        number = next(self._numbers)
        question = self._questions[number] = _Question()
        try:
            for _ in range(round(WITHIN_S / LOOK_S)):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_S):
                        await self._all_answer(number, question)
                        return
        finally:
            del self._questions[number]
        log.warning("session.unsettled", seconds=WITHIN_S)

    async def _all_answer(self, number: int, question: _Question) -> None:
        try:
            gateways = await self._store.read_short(lambda tx: nodes.gateways(tx, for_ms=DEAD_MS))
        except Outage:
            await asyncio.sleep(LOOK_S)  # nobody knows whom to wait for
            raise TimeoutError from None
        others = gateways - {self._node.id}  # this process has acted on its own hints already
        if others:
            self._signals.notify(observe.SIGNAL_SESSIONS_ASKED, f"{self._node.id} {number}")
        while not others <= question.answered:
            await question.changed.wait()
            question.changed.clear()

    def _settled(self, detail: str) -> None:
        asked_by, number, gateway = detail.split(" ")
        question = self._questions.get(int(number)) if asked_by == self._node.id else None
        if question is not None:
            question.answered.add(gateway)
            question.changed.set()

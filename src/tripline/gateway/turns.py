"""Costly steps done a few at a time: between two lots the event loop serves other connections.

A fleet that reconnects after a restart needs ten thousand TLS handshakes at once, about a millisecond each. Connected
devices must not wait for all of them; nor for the ends of ten thousand connections, when a network fails.

Every other step is the one that has waited longest, so that a fleet behind one address gets its share however many
addresses others use. The steps between go from address to address, so that a flood from one address delays no other.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final, TypeAlias

Step: TypeAlias = Callable[[], None]

STEPS: Final = 4
"""Steps in one turn of the loop: a few milliseconds."""


class Line:
    """Waiting steps."""

    def __init__(self) -> None:
        self._added = 0
        self._in_order: OrderedDict[int, str] = OrderedDict()
        """Addresses by the number of their step, oldest first."""
        self._of: OrderedDict[str, deque[tuple[int, Step]]] = OrderedDict()
        """Steps of each address, oldest first; the address with the next turn first."""
        self._takes_oldest = False

    def __len__(self) -> int:
        return len(self._in_order)

    def add(self, step: Step, address: str) -> None:
        self._added += 1
        self._in_order[self._added] = address
        self._of.setdefault(address, deque()).append((self._added, step))

    def take(self) -> Step:
        """Take the next step: alternately the oldest, and one of the next address."""
        self._takes_oldest = not self._takes_oldest
        address = next(iter(self._in_order.values() if self._takes_oldest else self._of))
        steps = self._of[address]
        number, step = steps.popleft()
        del self._in_order[number]
        if not steps:
            del self._of[address]
        elif not self._takes_oldest:
            self._of.move_to_end(address)
        return step


class Turns:
    """Runs waiting steps, `STEPS` in a turn of the loop; steps of begun handshakes come before new ones."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._begun, self._new = Line(), Line()
        self._called = False

    def wait(self, step: Step, *, address: str = "", begun: bool = False) -> None:
        """Run the step when its turn comes. An error goes to the loop's handler and does not stop the others."""
        (self._begun if begun else self._new).add(step, address)
        if not self._called:
            self._called = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        try:
            for _ in range(STEPS):
                waiting = self._begun or self._new
                if not waiting:
                    break
                waiting.take()()
        finally:
            self._called = bool(self._begun or self._new)
            if self._called:
                self._loop.call_soon(self._turn)

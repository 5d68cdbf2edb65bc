"""Costly steps done a few at a time: between two lots the event loop serves everybody else.

A fleet that comes back after a restart wants ten thousand TLS handshakes at once, about a millisecond each. Devices
that are connected already must not wait for all of them; nor for the ends of ten thousand connections, when a network
fails.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

STEPS: Final = 4
"""Steps in one turn of the loop: a few milliseconds."""


class Turns:
    """Calls what waits, in order, `STEPS` a turn of the loop; what was begun goes before what is new."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._begun: deque[Callable[[], None]] = deque()
        self._new: deque[Callable[[], None]] = deque()
        self._called = False

    def wait(self, step: Callable[[], None], *, begun: bool = False) -> None:
        """Call the step when its turn comes. What it raises goes to the loop's handler; the others are called."""
        (self._begun if begun else self._new).append(step)
        if not self._called:
            self._called = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        try:
            for _ in range(STEPS):
                waiting = self._begun or self._new
                if not waiting:
                    break
                waiting.popleft()()
        finally:
            self._called = bool(self._begun or self._new)
            if self._called:
                self._loop.call_soon(self._turn)

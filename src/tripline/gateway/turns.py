"""Costly steps done a few at a time: between two lots the event loop serves everybody else.

A fleet that comes back after a restart wants ten thousand TLS handshakes at once, about a millisecond each. Devices
that are connected already must not wait for all of them.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

STEPS: Final = 4
"""Steps in one turn of the loop: a few milliseconds."""


class Turns:
    """Calls what waits, in order, `STEPS` a turn of the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[Callable[[], None]] = deque()

    def wait(self, step: Callable[[], None]) -> None:
        """Call the step when its turn comes. It must not raise."""
        self._waiting.append(step)
        if len(self._waiting) == 1:
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        for _ in range(min(STEPS, len(self._waiting))):
            self._waiting[0]()
            self._waiting.popleft()
        if self._waiting:
            self._loop.call_soon(self._turn)

"""Connections that are not read because the pipeline has too much queued.

Checks every few milliseconds while a connection waits, and not at all otherwise: frames at QoS 0 are never settled, so
no call would wake a connection that sends only those.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from tripline.ports.devices import Intake

LOOK_S: Final = 0.01


class Crowd:
    """Resumes all waiting connections as soon as the intake has room."""

    def __init__(self, intake: Intake, loop: asyncio.AbstractEventLoop) -> None:
        self._intake = intake
        self._loop = loop
        self._waiting: list[Callable[[], None]] = []

    def wait(self, resume: Callable[[], None]) -> None:
        """Call `resume` once the intake has room again."""
        if not self._waiting:
            self._loop.call_later(LOOK_S, self._look)
        self._waiting.append(resume)

    def _look(self) -> None:
        if self._intake.crowded:
            self._loop.call_later(LOOK_S, self._look)
            return
        waiting, self._waiting = self._waiting, []
        for resume in waiting:
            resume()

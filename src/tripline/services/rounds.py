"""Working off what waits in a table: at once when a hint says so, and now and then unasked.

A hint may be lost, and other processes and the clock make work too; so whoever works looks for itself.
"""

import asyncio
from collections.abc import Awaitable, Callable

from structlog.typing import FilteringBoundLogger

from tripline.ports import Outage, Signals


class Rounds:
    """Rounds of one worker, woken by hints of one subject."""

    def __init__(self, signals: Signals, subject: str, *, look_s: float) -> None:
        self._asked = asyncio.Event()
        self._look_s = look_s
        signals.subscribe(subject, lambda _: self._asked.set())

    async def run(self, work: Callable[[], Awaitable[int]], *, log: FilteringBoundLogger, failed: str) -> None:
        """Work until cancelled: again at once while the work says that it did something. Trouble costs a pause.

        `failed` is the log event of trouble.
        """
        while True:
            self._asked.clear()
            done = 0
            try:
                done = await work()
            except Outage as outage:
                log.warning(failed, error=str(outage))
            except Exception:
                log.exception(failed)
            if not done:
                await self._wait()

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(self._look_s):
                await self._asked.wait()
        except TimeoutError:
            pass

"""Working off what waits in a table: at once when a hint says so, and now and then unasked.

A hint may be lost, and other processes and the clock make work too; so whoever works looks for itself. Trouble never
ends a worker.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from tripline import observe
from tripline.ports.outages import Outage
from tripline.ports.signals import Signals

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

Work = Callable[[], Awaitable[int]]
"""Does some of what is to be done; more than 0 when it did something, so that there may be more."""


class Rounds:
    """Rounds of one worker, woken by hints of one subject."""

    def __init__(self, signals: Signals, subject: str, *, look_s: float) -> None:
        self._asked = asyncio.Event()
        self._look_s = look_s
        for each in (subject, observe.SIGNAL_RESYNC):
            signals.subscribe(each, lambda _: self._asked.set())

    async def run(self, work: Work, *, log: "FilteringBoundLogger", failed: str) -> None:
        """Work until cancelled: again at once while the work says that it did something. Trouble costs a pause.

        `failed` is the log event of trouble.
        """
        while True:
            self._asked.clear()
            if not await _attempt(work, log, failed, failed):
                await self._wait()

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(self._look_s):
                await self._asked.wait()
        except TimeoutError:
            pass


async def now_and_then(
    work: Work, *, every_s: float, log: "FilteringBoundLogger", failed: str, outage: str | None = None
) -> None:
    """As `Rounds.run`, for work that nobody hints at. `outage` is the log event of an outage, if it has its own."""
    while True:
        while await _attempt(work, log, failed, outage or failed):
            pass
        await asyncio.sleep(every_s)


def report(error: Exception, log: "FilteringBoundLogger", *, failed: str, outage: str) -> None:
    """Log trouble that a worker survives, while it is handled: an outage in a line, anything else as the bug it is."""
    if isinstance(error, Outage):
        log.warning(outage, error=str(error))
    else:
        log.exception(failed)


async def _attempt(work: Work, log: "FilteringBoundLogger", failed: str, outage: str) -> int:
    """What the work says; 0 when there was trouble."""
    try:
        return await work()
    except Exception as error:  # noqa: BLE001  the worker goes on after any error
        report(error, log, failed=failed, outage=outage)
        return 0

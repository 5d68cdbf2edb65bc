"""Loops of workers: work at once when a notification arrives, and every few seconds without one.

Notifications can be lost, and other processes and the clock create work too, so a worker reads its table itself. No
error ends a worker.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from tripline import observe
from tripline.ports.outages import Outage
from tripline.ports.signals import Signals

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

Work = Callable[[], Awaitable[int | None]]
"""Do some work; return more than 0 if there may be more."""


class PollLoop:
    """The loop of one worker, woken by notifications of these subjects, and where some may be lost."""

    def __init__(self, signals: Signals, *subjects: str, look_s: float) -> None:
        self._asked = asyncio.Event()
        self._look_s = look_s
        for each in (*subjects, observe.SIGNAL_RESYNC):
            signals.subscribe(each, lambda _: self._asked.set())

    async def run(self, work: Work, *, log: "FilteringBoundLogger", failed: str) -> None:
        """Work until cancelled; repeat at once while the work returns more than 0, pause after an error.

        `failed` is the log event of an error.
        """
        while True:
            self._asked.clear()
            if not await _attempt(work, log, failed, failed):
                await set_within(self._asked, self._look_s)


async def set_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait for the event, at most this long; True if it is set."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


async def periodically(
    work: Work, *, every_s: float, log: "FilteringBoundLogger", failed: str, outage: str | None = None
) -> None:
    """Do work without notifications. `outage` is the log event of an outage if it differs from `failed`."""
    while True:
        while await _attempt(work, log, failed, outage or failed):
            pass
        await asyncio.sleep(every_s)


def report(error: Exception, log: "FilteringBoundLogger", *, failed: str, outage: str) -> None:
    """Log a failure that a worker survives, in its handler: an outage in one line, anything else with its traceback."""
    if isinstance(error, Outage):
        log.warning(outage, error=str(error))
    else:
        log.exception(failed)


async def _attempt(work: Work, log: "FilteringBoundLogger", failed: str, outage: str) -> int | None:
    """Return the result of the work; 0 after a failure."""
    try:
        return await work()
    except Exception as error:  # noqa: BLE001  the worker goes on after any error
        report(error, log, failed=failed, outage=outage)
        return 0

"""Signals inside one process: a notification reaches every listener of its subject on the event loop's next turn.

Not here: notifications between processes, which need a store that can carry them.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable

from tripline import observe

_log = observe.logger("signals")


class LocalSignals:
    """Implements `ports.signals.Signals`. Made on the event loop; `notify` may be called from any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._listeners: dict[str, list[Callable[[str], None]]] = defaultdict(list)

    def notify(self, subject: str, detail: str = "") -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._deliver, subject, detail)

    def subscribe(self, subject: str, listener: Callable[[str], None]) -> None:
        self._listeners[subject].append(listener)

    async def run(self) -> None:
        """There are no other processes to notify."""

    def _deliver(self, subject: str, detail: str) -> None:
        for listener in self._listeners[subject]:
            try:
                listener(detail)
            except Exception:  # noqa: BLE001  one listener's bug must not cost the others their notification
                _log.exception("signal.failed", subject=subject)

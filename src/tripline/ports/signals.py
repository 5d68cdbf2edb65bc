"""Notifications between parts of the program, and between its processes."""

from collections.abc import Callable
from typing import Protocol


class Signals(Protocol):
    """Notifications between components (and, scaled out, between processes). State is in tables; a lost notification
    costs only time.

    Subjects are the constants of `observe.py` (`SIGNAL_...`).
    """

    def notify(self, subject: str, detail: str = "") -> None:
        """Notify every subscriber of the subject; never blocks, never raises."""

    def subscribe(self, subject: str, listener: Callable[[str], None]) -> None:
        """Call the listener (on the event loop, quickly) with the detail of each notification."""

    async def run(self) -> None:
        """Pass notifications between processes, if there are several, until cancelled; waiting ones are still sent
        then."""

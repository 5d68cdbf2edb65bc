"""An event loop whose clock stands still until a test moves it: bounds of time, to the tenth of a second, at once."""

import asyncio
from typing import Final

ROUNDS: Final = 20
"""Turns of the loop in which a byte sent over the loopback is read, answered and acted on."""


class SteppedLoop(asyncio.SelectorEventLoop):
    """A loop whose timers end when `move` says that it is so late."""

    def __init__(self) -> None:
        self._now: float | None = 0.0
        self._ahead = 0.0
        super().__init__()

    def time(self) -> float:
        """The time that was moved to; after `go` it passes by itself."""
        return super().time() + self._ahead if self._now is None else self._now

    async def move(self, seconds: float) -> None:
        """Act on what was sent, let the time pass, and let timers that are due then end."""
        await _rounds()
        assert self._now is not None
        self._now += seconds
        await _rounds()

    def go(self) -> None:
        """Let time pass by itself."""
        self._ahead = self.time() - super().time()
        self._now = None


def stepped() -> SteppedLoop:
    """The running loop."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SteppedLoop)
    return loop


async def _rounds() -> None:
    for _ in range(ROUNDS):
        await asyncio.sleep(0)

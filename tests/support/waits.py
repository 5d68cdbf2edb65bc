"""Waiting for what has no event of its own: rows, counters, fakes and other processes."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PATIENCE_S = 10.0
LOOK_S = 0.05
"""Pause between two looks at another process, which costs it as much as the test."""


async def until(condition: Callable[[], object], within_s: float = PATIENCE_S) -> None:
    """Wait until the condition holds. Raises `TimeoutError`."""
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110  there is no event for it
            await asyncio.sleep(0.001)


def seen(look: Callable[[], T], enough: Callable[[T], object] = bool, *, within_s: float = 20.0) -> T:
    """What the look gives as soon as that is enough. Raises `AssertionError` with what it gave last."""
    end = time.monotonic() + within_s
    while not enough(found := look()):
        assert time.monotonic() < end, found
        time.sleep(LOOK_S)
    return found

"""Waiting for what has no event of its own: rows, counters and fakes."""

import asyncio
from collections.abc import Callable

PATIENCE_S = 10.0


async def until(condition: Callable[[], object], within_s: float = PATIENCE_S) -> None:
    """Wait until the condition holds. Raises `TimeoutError`."""
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110  there is no event for it
            await asyncio.sleep(0.001)

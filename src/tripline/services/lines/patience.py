"""Decides how long to wait for a line that is busy with another action."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from tripline.domain.lines import LineBusy

T = TypeVar("T")

PAUSES_S: Final = (0.05, 0.1, 0.2, 0.35, 0.5, 0.8)
"""Pauses between attempts, two seconds in total. No lock is held during a pause."""


async def until_free(attempt: Callable[[], Awaitable[T]]) -> T:
    """Repeat the attempt until the line is free. Raises `LineBusy` when the attempts run out."""
    for pause_s in PAUSES_S:
        with contextlib.suppress(LineBusy):
            return await attempt()
        await asyncio.sleep(pause_s)
    return await attempt()

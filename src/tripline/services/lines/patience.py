"""Decides how long to wait for a line that is busy with another action."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from tripline.domain.lines import LineBusy

T = TypeVar("T")

PAUSES_S: Final = (0.05, 0.1, 0.2, 0.35, 0.5, 0.8)
"""Pauses between attempts: two seconds together. Nothing is held meanwhile."""


async def until_free(attempt: Callable[[], Awaitable[T]]) -> T:
    """What the attempt gives once the line is free. Raises `LineBusy` when it never was in all that time."""
    for pause_s in PAUSES_S:
        with contextlib.suppress(LineBusy):
            return await attempt()
        await asyncio.sleep(pause_s)
    return await attempt()

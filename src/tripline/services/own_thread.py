"""A thread for one kind of work, independent of the shared threads that requests may keep busy."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class OwnThread:
    """Runs one job after the other on its thread."""

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)

    async def run(self, work: Callable[..., T], *values: Any) -> T:
        """Return the result of the work."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, work, *values)

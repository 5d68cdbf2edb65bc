"""Long loops on a thread, so written that the event loop runs beside them.

Not here: threads (`asyncio.to_thread`, the readers of the store).
"""

import time
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

T = TypeVar("T")

STRETCH_S: Final = 0.002
"""Longest work without a pause, one item left out."""
PAUSE_S: Final = 0.0005


def each(items: Iterable[T]) -> Iterator[T]:
    """Iterate over the items; after every two milliseconds of work the thread sleeps for half of one.

    Without the pauses the event loop waits up to 5 ms (`sys.getswitchinterval`) each time it needs the interpreter, and
    so do messages of devices. Never to be used on the event loop itself.
    """
    until = time.perf_counter() + STRETCH_S
    for item in items:
        yield item
        if time.perf_counter() >= until:
            time.sleep(PAUSE_S)
            until = time.perf_counter() + STRETCH_S

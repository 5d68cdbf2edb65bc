"""A token bucket: a number of actions at once, then one each time a share of the period has passed.

The generic cell rate algorithm: one number a key, the instant at which its whole allowance is free again.
"""

import threading
from collections import OrderedDict
from typing import Final

REMEMBERED: Final = 50_000
"""Number of remembered keys, the latest used; a forgotten key has its whole allowance again."""


class Quota:
    """`count` takes of one key in `per_ms`. Safe to call from any thread."""

    def __init__(self, count: int, *, per_ms: int, remembered: int = REMEMBERED) -> None:
        # Instants are stored in parts of a ms, as many as the count, so that a share is a whole number of them:
        # `per_ms`.
        self._count = count
        self._share = per_ms
        self._whole = per_ms * count
        self._remembered = remembered
        self._free: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: str, *, now_ms: int) -> float:
        """0 when it may be done, and is counted; else the ms to wait."""
        now = now_ms * self._count
        with self._lock:
            # Not later than a whole allowance from now, also when the clock was set back.
            free = min(max(self._free.get(key, 0), now), now + self._whole)
            wait = free + self._share - now - self._whole
            self._free[key] = free if wait > 0 else free + self._share
            self._free.move_to_end(key)
            if len(self._free) > self._remembered:
                self._free.popitem(last=False)
        return max(wait, 0) / self._count

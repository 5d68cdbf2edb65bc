"""How often something may be done in a time: so many at once, then one each time a share of it has passed.

The generic cell rate algorithm: one number a key, the instant at which its whole allowance is free again.
"""

import threading
from collections import OrderedDict
from typing import Final

REMEMBERED: Final = 50_000
"""Keys, the latest used; whoever is forgotten has the whole allowance again."""


class Quota:
    """`count` takes of one key in `per_ms`. Safe to call from any thread."""

    def __init__(self, count: int, *, per_ms: int, remembered: int = REMEMBERED) -> None:
        self._per_ms = per_ms
        self._share_ms = per_ms / count
        self._remembered = remembered
        self._free_ms: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: str, *, now_ms: int) -> float:
        """0 when it may be done, and is counted; else the ms to wait."""
        with self._lock:
            known = self._free_ms.get(key, 0.0)
            # Not later than a whole allowance from now, also when the clock was set back.
            free_ms = min(max(known, now_ms), now_ms + self._per_ms) + self._share_ms
            wait_ms = free_ms - now_ms - self._per_ms
            # Shares that do not divide the time leave a rounding error.
            if wait_ms > 1e-3:
                return wait_ms
            self._free_ms[key] = free_ms
            self._free_ms.move_to_end(key)
            if len(self._free_ms) > self._remembered:
                self._free_ms.popitem(last=False)
            return 0.0

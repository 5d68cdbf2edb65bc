"""Cached rankings of companies, up to a minute old.

A company may have 100,000 vehicles, and each page of a ranking would read them all: so each process caches rankings for
a minute.

Not here: pages of rankings (`trends.py`), their rows (`store/scores/trends.py`), percentiles (`standing_keeper.py`).
"""

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from threading import Lock
from typing import Final

LIFE_MS: Final = 60_000
MOST: Final = 400_000
"""Most members of all cached rankings, about 100 bytes each; beyond it the oldest ranking is dropped."""
OF_ITSELF: Final = 100
"""Members added to the size of each ranking, so that the number of empty rankings is bounded too."""
Key = tuple[str, str, int, str]
"""Kind, period, its first day, and company."""


class Ranking:
    """A company's vehicles or drivers in a period, best first; ties by smaller id."""

    def __init__(self, members: Sequence[tuple[str, float]]) -> None:
        """`members`: subjects with their badness, in this order."""
        self._subjects = [subject for subject, _ in members]
        self._badness = array("d", [badness for _, badness in members])

    def __len__(self) -> int:
        return len(self._subjects)

    def behind(self, subject: str) -> int:
        """Return the position after a subject. Raises `ValueError` if it is not ranked."""
        return self._subjects.index(subject) + 1

    def places(self, begin: int, limit: int) -> list[tuple[str, float, int]]:
        """Subject, badness and rank from a position on; ranks begin at 1, and equal subjects share one."""
        chosen = zip(self._subjects[begin : begin + limit], self._badness[begin : begin + limit], strict=True)
        return [(subject, badness, bisect_left(self._badness, badness) + 1) for subject, badness in chosen]


class Standings:
    """The rankings that a process caches, bounded by their total members. Thread-safe."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._free = most
        self._known: dict[Key, tuple[int, Ranking]] = {}
        self._lock = Lock()

    def of(self, key: Key, *, now_ms: int) -> Ranking | None:
        """Return the ranking cached under this key within the last minute."""
        with self._lock:
            at_ms, found = self._known.get(key, (0, None))
        return found if 0 <= now_ms - at_ms < LIFE_MS else None

    def keep(self, key: Key, read: Ranking, *, now_ms: int) -> None:
        """Cache a ranking, unless it alone exceeds the bound."""
        with self._lock:
            self._forget(key)
            if _size(read) <= self._most:
                while self._free < _size(read):
                    self._forget(next(iter(self._known)))
                self._known[key] = now_ms, read
                self._free -= _size(read)

    def _forget(self, key: Key) -> None:
        if key in self._known:
            self._free += _size(self._known.pop(key)[1])


def _size(read: Ranking) -> int:
    return len(read) + OF_ITSELF

"""Rankings of companies, as they were read up to a minute ago.

A company may have 100,000 vehicles, and each page of a ranking would read all of them: so a process remembers a ranking
for a minute.

Not here: pages of rankings (`trends.py`), their rows (`store/scores/trends.py`), percentiles (`standing_keeper.py`).
"""

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from threading import Lock
from typing import Final

LIFE_MS: Final = 60_000
MOST: Final = 400_000
"""Members that all rankings have together, about 100 bytes each. Beyond it the one that was read first is forgotten."""
OF_ITSELF: Final = 100
"""Members that each ranking counts for by itself, so that empty ones are bounded too."""
Key = tuple[str, str, int, str]
"""Kind, period, its first day, and the company."""


class Ranking:
    """A company's vehicles or drivers in a period, the best first; of equal ones the smaller id."""

    def __init__(self, members: Sequence[tuple[str, float]]) -> None:
        """`members`: with their badness, in this order."""
        self._subjects = [subject for subject, _ in members]
        self._badness = array("d", [badness for _, badness in members])

    def __len__(self) -> int:
        return len(self._subjects)

    def behind(self, subject: str) -> int:
        """The place behind a subject. Raises `ValueError` when it has none."""
        return self._subjects.index(subject) + 1

    def places(self, begin: int, limit: int) -> list[tuple[str, float, int]]:
        """Subject, badness and rank of some from a place on; ranks are from 1, equal ones share one."""
        chosen = zip(self._subjects[begin : begin + limit], self._badness[begin : begin + limit], strict=True)
        return [(subject, badness, bisect_left(self._badness, badness) + 1) for subject, badness in chosen]


class Standings:
    """Rankings that a process knows, up to so many members together. For any thread."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._free = most
        self._known: dict[Key, tuple[int, Ranking]] = {}
        self._lock = Lock()

    def of(self, key: Key, *, now_ms: int) -> Ranking | None:
        """What was read under this key; None: nothing within the last minute."""
        with self._lock:
            at_ms, found = self._known.get(key, (0, None))
        return found if 0 <= now_ms - at_ms < LIFE_MS else None

    def keep(self, key: Key, read: Ranking, *, now_ms: int) -> None:
        """Keep it in place of what is there, unless it has too many members by itself."""
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

"""Scores of many subjects in a period, as they were read up to a minute ago: for percentiles and rankings.

A service type may have 100,000 vehicles: a page of a trend would read each of them for each of its periods. What was
read once serves every page of the next minute in this process.

Not here: what is made of them (`trends.py`), their rows (`store/scores/trends.py`).
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from threading import Lock
from typing import Final, Generic, TypeVar

from tripline.domain import trends

LIFE_MS: Final = 60_000
MOST_OF_GROUPS: Final = 4_000_000
"""Members that all groups have together, 8 bytes each. Beyond it the group that was read first is forgotten."""
MOST_OF_RANKINGS: Final = 400_000
"""The same of rankings, about 100 bytes each."""
OF_ITSELF: Final = 100
"""As so many members counts a group or a ranking by itself, so that empty ones have a bound too."""
Key = tuple[str, str, int, str]
"""Kind, period, its first day, and the service type or the company."""


class Group:
    """How all subjects of a kind and service type stand in a period."""

    def __init__(self, badness: Sequence[float]) -> None:
        self._ascending = array("d", sorted(badness))

    def __len__(self) -> int:
        return len(self._ascending)

    def percentile(self, badness: float) -> float | None:
        """Of a member, by its badness now; it may have had another when the group was read."""
        last = bisect_right(self._ascending, badness)
        equal = max(last - bisect_left(self._ascending, badness), 1)
        worse = min(len(self) - last, len(self) - equal)
        return trends.percentile(group=len(self), worse=worse, equal=equal)


class Ranking:
    """A company's vehicles or drivers in a period, the best first; of equal ones the smaller id."""

    def __init__(self, badness: dict[str, float]) -> None:
        self._subjects = sorted(badness, key=lambda subject: (badness[subject], subject))
        self._badness = array("d", (badness[subject] for subject in self._subjects))

    def __len__(self) -> int:
        return len(self._subjects)

    def behind(self, subject: str) -> int:
        """The place behind a subject. Raises `ValueError` when it has none."""
        return self._subjects.index(subject) + 1

    def places(self, begin: int, limit: int) -> list[tuple[str, float, int]]:
        """Subject, badness and rank of some from a place on; ranks are from 1, equal ones share one."""
        chosen = zip(self._subjects[begin : begin + limit], self._badness[begin : begin + limit], strict=True)
        return [(subject, badness, bisect_left(self._badness, badness) + 1) for subject, badness in chosen]


Read = TypeVar("Read", Group, Ranking)


class Lately(Generic[Read]):
    """What was read up to a minute ago, up to so many members. For any thread."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._free = most
        self._known: dict[Key, tuple[int, Read]] = {}
        self._lock = Lock()

    def of(self, key: Key, *, now_ms: int) -> Read | None:
        """What was read under this key; None: nothing within the last minute."""
        with self._lock:
            at_ms, found = self._known.get(key, (0, None))
        return found if 0 <= now_ms - at_ms < LIFE_MS else None

    def keep(self, key: Key, read: Read, *, now_ms: int) -> Read:
        """Keep it in place of what is there, unless it has too many members by itself."""
        with self._lock:
            self._forget(key)
            if _size(read) <= self._most:
                while self._free < _size(read):
                    self._forget(next(iter(self._known)))
                self._known[key] = now_ms, read
                self._free -= _size(read)
        return read

    def _forget(self, key: Key) -> None:
        if key in self._known:
            self._free += _size(self._known.pop(key)[1])


def _size(read: Group | Ranking) -> int:
    return len(read) + OF_ITSELF


class Standings:
    """Groups and rankings of a process."""

    def __init__(self) -> None:
        self.groups: Lately[Group] = Lately(MOST_OF_GROUPS)
        self.rankings: Lately[Ranking] = Lately(MOST_OF_RANKINGS)

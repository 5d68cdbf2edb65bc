"""Sets how many bus frames make a batch: as many as take about a second to look up and place.

A worker that loses a partition waits for the batch under way, and an attempt that the store gave up begins anew. So a
batch is bounded in time: after a slow one the next are smaller, and there is progress however slow look-ups are. What
a commit takes does not count: it hardly depends on the size, and smaller batches would make the drain slower.
"""

from typing import Final

AIM_S: Final = 1.0
"""How long a batch should take before its transaction: below what is logged as slow (`steps.SLOW_S`), and a fraction of
what a partition that moves waits for it (`adapters/kafka/reader.GIVE_UP_S`)."""
LEAST: Final = 8
"""Smaller batches are slower still: each costs a few round trips to the store."""


class Pace:
    """The `size` of the next batch."""

    def __init__(self, *, most: int) -> None:
        self._most = most
        self._least = min(LEAST, most)
        self.size = most

    def took(self, number: int, worked_s: float) -> None:
        """So many frames were stored after so much work."""
        if worked_s > AIM_S:
            self.size = max(self._least, min(self.size, int(number * AIM_S / worked_s)))
        elif worked_s < AIM_S / 2:
            self.size = min(self._most, self.size * 2)

    def failed(self) -> None:
        """The store gave up or was away: perhaps half of it is what can be done in the time that there is."""
        self.size = max(self._least, self.size // 2)

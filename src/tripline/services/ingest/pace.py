"""Choose how many bus frames make a batch: as many as take about a second to look up and place.

A worker that loses a partition waits for the current batch, and a batch that the store gave up starts over. So batches
are bounded in time: after a slow one the next are smaller, and slow lookups still make progress. The commit does not
count: its duration hardly depends on the size, and smaller batches would slow the drain down.
"""

from typing import Final

AIM_S: Final = 1.0
"""Target duration of a batch before its transaction: below the limit for slow batches (`steps.SLOW_S`), and a fraction
of the time that a moving partition allows (`adapters/kafka/reader.GIVE_UP_S`)."""
LEAST: Final = 8
"""Smaller batches are slower overall: each costs a few round trips to the store."""


class Pace:
    """The `size` of the next batch."""

    def __init__(self, *, most: int) -> None:
        self._most = most
        self._least = min(LEAST, most)
        self.size = most

    def took(self, number: int, worked_s: float) -> None:
        if worked_s > AIM_S:
            self.size = max(self._least, min(self.size, int(number * AIM_S / worked_s)))
        elif worked_s < AIM_S / 2:
            self.size = min(self._most, self.size * 2)

    def failed(self) -> None:
        """Halve the size, because the store gave up or was down."""
        self.size = max(self._least, self.size // 2)

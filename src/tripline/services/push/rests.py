"""Rests between requests to a receiver: messages of several sensors failed in a row, or it asked for a pause.

Only values: `now_ms` comes in. Not here: the pauses of each message (`schedule.py`).
"""

from typing import Final

from tripline.domain.ids import SensorId

DOWN_AFTER: Final = 3
"""Failures in a row, each of another lane, after which the receiver counts as down."""
RESTS_MS: Final = (1_000, 5_000, 30_000)
"""Rest between requests to a receiver that is down; the last one repeats. Each message has its own pauses besides."""


class Rests:
    """The failures of one receiver since its last success."""

    def __init__(self) -> None:
        self.failures = 0
        """In a row, of any lanes."""
        self._lanes: set[SensorId] = set()
        """Lanes that failed since the last success; `DOWN_AFTER` of them at most."""
        self._rests = 0
        """Failures since the receiver is down."""
        self._until_ms = 0
        self.held_ms = 0
        """The receiver asked for no request until this instant (`Retry-After`)."""

    @property
    def down(self) -> bool:
        """Messages of several sensors failed in a row."""
        return len(self._lanes) >= DOWN_AFTER

    @property
    def until_ms(self) -> int:
        """The receiver gets no request before this instant."""
        return max(self._until_ms if self.down else 0, self.held_ms)

    def fail(self, sensor_id: SensorId, now_ms: int) -> None:
        """Count a failure."""
        self.failures += 1
        if not self.down:
            self._lanes.add(sensor_id)
        if self.down:
            self._until_ms = now_ms + RESTS_MS[min(self._rests, len(RESTS_MS) - 1)]
            self._rests += 1

    def end(self) -> None:
        """Forget all failures."""
        self.failures = self._rests = self._until_ms = 0
        self._lanes.clear()

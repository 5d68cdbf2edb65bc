"""Rests between requests to a receiver, after failures across sensors, or a pause that it requested.

No clock: `now_ms` is an argument. Not here: the pauses of each message (`schedule.py`).
"""

from typing import Final

from tripline.domain.ids import SensorId

DOWN_AFTER: Final = 3
"""Consecutive failures, each in another lane, after which the receiver counts as down."""
RESTS_MS: Final = (1_000, 5_000, 30_000)
"""Rests between requests to a receiver that is down; the last one repeats. Each message also has its own pauses."""


class Rests:
    """The failures of one receiver since its last success."""

    def __init__(self) -> None:
        self.failures = 0
        """Consecutive failures in any lanes."""
        self._lanes: set[SensorId] = set()
        """Lanes that failed since the last success; at most `DOWN_AFTER` of them."""
        self._rests = 0
        """Failures since the receiver went down."""
        self._until_ms = 0
        self.held_ms = 0
        """The receiver requested a pause until this instant (`Retry-After`)."""

    @property
    def down(self) -> bool:
        """Messages of several sensors failed in a row."""
        return len(self._lanes) >= DOWN_AFTER

    @property
    def until_ms(self) -> int:
        """Send no request before this instant."""
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

"""Time the steps of a batch, and log a slow batch with its slowest step.

Not here: the steps themselves (`pipeline.py`, `services/bus/batches.py`).
"""

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from time import monotonic
from typing import Final

from tripline import observe

SLOW_S: Final = 2.0
"""A batch that takes longer is logged: usual ones take milliseconds, and devices wait for them."""
IDLE: Final = "idle"
TURN: Final = "turn"
TRACKS: Final = "tracks"
DECODE: Final = "decode"
REDELIVERY: Final = "redelivery"
PLACE: Final = "place"
COMMIT: Final = "commit"
LOCKS: Final = "locks"
RERUNS: Final = "reruns"
STEPS: Final = (TURN, TRACKS, DECODE, REDELIVERY, PLACE, LOCKS, COMMIT, RERUNS)
"""Steps of a batch in this order; `docs/operating.md` describes them."""
_log = observe.logger("ingest")


class Steps:
    """Steps of one pipeline, which processes one batch at a time. `doing` is thread-safe."""

    def __init__(self, *, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self.doing = IDLE
        self._took: dict[str, float] = defaultdict(float)
        self._since_s = 0.0

    @contextlib.contextmanager
    def batch(self, kind: str, bodies: Iterable[bytes], *, waited_s: float = 0.0) -> Iterator[None]:
        """Time a batch while the block runs. `bodies` of its messages, only looked at if it is slow; `waited_s`: time
        spent waiting for another batch."""
        self._took = defaultdict(float, {TURN: waited_s})
        self._since_s = self._clock()
        self.doing = DECODE
        try:
            yield
        finally:
            self.at(IDLE)
            took_s = sum(self._took.values())
            if took_s > SLOW_S:
                sizes = [len(body) for body in bodies]
                reason, most_s = max(self._took.items(), key=itemgetter(1))
                _log.warning(
                    "ingest.slow",
                    kind=kind,
                    reason=reason,
                    reason_s=round(most_s, 1),
                    took_s=round(took_s, 1),
                    messages=len(sizes),
                    bytes=sum(sizes),
                )

    @property
    def worked_s(self) -> float:
        """Duration of the latest batch in the steps that grow with its size."""
        return sum(self._took[step] for step in (TRACKS, DECODE, REDELIVERY, PLACE))

    def at(self, step: str) -> None:
        """End the current step and begin this one."""
        now_s = self._clock()
        self._took[self.doing] += now_s - self._since_s
        self._since_s = now_s
        self.doing = step

    def again(self) -> None:
        """Count the time so far as a rerun: the batch is placed again."""
        self.at(RERUNS)
        waited_s = self._took.pop(TURN, 0.0)
        self._took = defaultdict(float, {TURN: waited_s, RERUNS: sum(self._took.values())})

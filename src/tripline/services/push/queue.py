"""What waits for one receiver, as far as it is in memory: which message is sent next, and what an attempt's end means.

Messages of one sensor form a lane: one after the other, in the order of their numbers. Lanes go side by side. A message
that fails holds up its lane alone; the rest of the lane is then dropped from memory and read again when it is its turn.
A receiver that fails again and again is down: it is asked one message at a time, with rests between, and nothing more
is read for it; the first answer from it makes everything due.

Only values: `now_ms` comes in, nothing is awaited. Not here: reading and sending (`pusher.py`), pauses (`schedule.py`).
"""

import heapq
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from tripline.domain.ids import RowNo, SensorId, ms_of_no
from tripline.services.push import schedule
from tripline.services.push.schedule import Outcome
from tripline.store.push_queue import Row

WINDOW: Final = 500
"""Messages of one receiver in memory."""
BATCH: Final = 250
"""Messages read at once."""
DOWN_AFTER: Final = 3
"""Failures in a row, of any lanes, after which the receiver counts as down."""
UNPROVEN: Final = 2
"""Requests at the same time to a receiver that has not answered yet, or whose last request failed."""
RESTS_MS: Final = (1_000, 5_000, 30_000)
"""Rest between requests to a receiver that is down; the last one repeats. Each message has its own pauses besides."""
LOST_HOPE: Final = 5
"""Attempts of a message after which those as old are given up with it while the receiver is down."""


@dataclass(slots=True, eq=False)
class _Lane:
    sensor_id: SensorId
    rows: deque[Row] = field(default_factory=deque)
    failing: bool = False
    """Whether the first message failed before: nothing else of the lane is in memory."""
    cut_no: RowNo | None = None
    """The first message of the lane that was left out of memory, and with it all that follow."""
    waits: int = 0
    """Tells the heap's present entry of this lane from former ones; 0 when it does not wait."""

    def put(self, row: Row) -> None:
        """Put a message in its place; not before the first one, which may be under way."""
        place = len(self.rows)
        while place > 1 and self.rows[place - 1].no > row.no:
            place -= 1
        self.rows.insert(place, row)


class Queue:
    """The messages of one receiver."""

    def __init__(self, *, patience_ms: int) -> None:
        self._patience_ms = patience_ms
        self._lanes: dict[SensorId, _Lane] = {}
        self._ready: deque[_Lane] = deque()
        self._waiting: list[tuple[int, int, _Lane]] = []
        self._entries = 0
        self._known: set[RowNo] = set()
        self._forgotten: list[RowNo] = []
        self._after = RowNo(0)
        self._reading = False
        self._rewound = False
        self._more = True
        self._failures = 0
        self._proven = False
        self._rest_until_ms = 0
        self.running = 0
        """Messages under way."""

    @property
    def down(self) -> bool:
        """Whether the receiver failed too often in a row."""
        return self._failures >= DOWN_AFTER

    @property
    def idle(self) -> bool:
        """Whether nothing is in memory, as far as is known nothing waits, and nothing is under way."""
        return not (self._lanes or self._more or self._reading or self._known or self.running)

    @property
    def slots(self) -> int:
        """Requests at the same time that the receiver's behaviour allows; the settings allow fewer."""
        if self.down:
            return 1
        return WINDOW if self._proven and not self._failures else UNPROVEN

    # Reading: `wants_more`, then `reading`, then `admit` or `not_read`.

    @property
    def wants_more(self) -> bool:
        """Whether messages may wait that are not in memory, and there is room for them."""
        if not self._more or self._reading or len(self._known) > WINDOW - BATCH:
            return False
        return not (self.down and self._lanes)

    def more(self) -> None:
        """Something was put into the outbox for this receiver."""
        self._more = True

    def anew(self) -> None:
        """Look at everything that waits once more, unless it is being read anyway."""
        if not self._more and not self._reading:
            self._more, self._after = True, RowNo(0)

    def reading(self) -> RowNo:
        """The number after which to read `BATCH` messages now."""
        self._reading, self._more = True, False
        return self._after

    def not_read(self) -> None:
        """The reading failed."""
        self._reading, self._more, self._rewound = False, True, False
        self._drop_forgotten()

    def known_behind(self, no: int) -> list[RowNo]:
        """Messages with greater numbers that need not be read, up to what was read already."""
        return [known for known in self._known if known > no]

    def admit(self, rows: Sequence[Row], *, now_ms: int, late: Sequence[Row] = ()) -> None:
        """Take in what was read, in the order of numbers; `late` are those that were committed after greater ones."""
        if self._rewound:
            # Meanwhile a lane went on whose next message stands before what was read: read again from there.
            self.not_read()
            return
        self._reading = False
        for row in late:
            if row.no not in self._known:
                self._admit(row, now_ms)
        for row in rows:
            self._after = row.no
            if row.no not in self._known:
                self._admit(row, now_ms)
        if len(rows) == BATCH:
            self._more = True
        self._drop_forgotten()

    def forget(self, numbers: Iterable[RowNo]) -> None:
        """These were delivered or given up, and that is written down."""
        if self._reading:
            self._forgotten.extend(numbers)  # what is being read may still show them
        else:
            self._known.difference_update(numbers)

    # Sending: `take`, then `settle` or `put_back`.

    def due_ms(self, now_ms: int) -> int | None:
        """When `take` may have something: now or later; None while nothing waits."""
        if self.down and self.running:
            return None
        rest_ms = self._rest_until_ms if self.down else 0
        if self._ready:
            return max(now_ms, rest_ms)
        while self._waiting and self._waiting[0][1] != self._waiting[0][2].waits:
            heapq.heappop(self._waiting)
        return max(self._waiting[0][0], rest_ms) if self._waiting else None

    def take(self, now_ms: int) -> Row | None:
        """The next message to send now; its lane waits until it is settled."""
        if self.down and (self.running or now_ms < self._rest_until_ms):
            return None
        self._wake(now_ms)
        if not self._ready:
            return None
        self.running += 1
        return self._ready.popleft().rows[0]

    def put_back(self, row: Row, *, due_ms: int) -> None:
        """It could not be tried, for a reason of our own; it is due again at this instant."""
        self.running -= 1
        self._wait(self._lanes[row.sensor_id], due_ms)

    def vanished(self, row: Row) -> None:
        """It waits no longer: somebody deleted it or gave it up."""
        self.running -= 1
        self._known.discard(row.no)
        self._go_on(self._lanes[row.sensor_id])

    def give_up(self, row: Row) -> None:
        """It is given up without an attempt."""
        self.running -= 1
        self._go_on(self._lanes[row.sensor_id])

    def settle(self, row: Row, outcome: Outcome, *, now_ms: int) -> int | None:
        """An attempt ended so: when the message is due again, or None when it was delivered or is given up."""
        self.running -= 1
        row.attempts += 1
        if outcome is Outcome.FAILED:
            self._failures += 1
            if self.down:
                self._rest_until_ms = now_ms + RESTS_MS[min(self._failures - DOWN_AFTER, len(RESTS_MS) - 1)]
        else:
            self._answered(now_ms)
        lane = self._lanes[row.sensor_id]
        due_ms = None
        if outcome is not Outcome.DELIVERED:
            due_ms = schedule.next_due_ms(
                outcome,
                attempts=row.attempts,
                no=row.no,
                since_ms=ms_of_no(row.no),
                now_ms=now_ms,
                patience_ms=self._patience_ms,
            )
        if due_ms is None:
            self._go_on(lane)
        else:
            self._hold(lane)
            self._wait(lane, due_ms)
        return due_ms

    def hopeless(self, row: Row) -> bool:
        """Whether a message that was just given up takes all that are as old with it: the receiver has been down."""
        return self.down and row.attempts >= LOST_HOPE

    def _admit(self, row: Row, now_ms: int) -> None:
        lane = self._lanes.get(row.sensor_id)
        if lane is None:
            lane = self._lanes[row.sensor_id] = _Lane(row.sensor_id)
            if row.attempts and row.due_ms > now_ms and not self._proven:
                lane.failing = True
                self._wait(lane, row.due_ms)
            else:
                self._ready.append(lane)
        elif lane.cut_no is not None or lane.failing:
            lane.cut_no = row.no if lane.cut_no is None else min(lane.cut_no, row.no)
            return
        lane.put(row)
        self._known.add(row.no)

    def _hold(self, lane: _Lane) -> None:
        """Keep of a lane nothing but its first message, which failed."""
        lane.failing = True
        while len(lane.rows) > 1:
            lane.cut_no = lane.rows.pop().no
            self._known.discard(lane.cut_no)

    def _wait(self, lane: _Lane, due_ms: int) -> None:
        self._entries += 1
        lane.waits = self._entries
        heapq.heappush(self._waiting, (due_ms, lane.waits, lane))

    def _go_on(self, lane: _Lane) -> None:
        """The lane's first message is done with."""
        lane.rows.popleft()
        lane.failing = False
        if lane.rows:
            self._ready.append(lane)
            return
        del self._lanes[lane.sensor_id]
        if lane.cut_no is not None:
            self._after = min(self._after, RowNo(lane.cut_no - 1))
            self._more = True
            self._rewound = self._reading

    def _answered(self, now_ms: int) -> None:
        """The receiver is there: what failed before is due at once, when it had been down or is heard for the first
        time."""
        if self.down or not self._proven:
            self._wake(now_ms, everything=True)
        self._failures, self._proven = 0, True

    def _wake(self, now_ms: int, *, everything: bool = False) -> None:
        while self._waiting and (everything or self._waiting[0][0] <= now_ms):
            _, entry, lane = heapq.heappop(self._waiting)
            if entry == lane.waits:
                lane.waits = 0
                self._ready.append(lane)

    def _drop_forgotten(self) -> None:
        self._known.difference_update(self._forgotten)
        self._forgotten.clear()

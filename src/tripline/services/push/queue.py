"""The messages that wait for one receiver, as loaded in memory: choose the next one, and apply outcomes.

Messages of one sensor form a lane: they are sent one at a time, in the order of their numbers. Lanes run in parallel. A
failed message blocks only its lane; the rest of the lane is then dropped from memory and read again in its turn. A
receiver with repeated failures across sensors is down: it gets one message at a time, with rests between, and nothing
more is read for it; its first answer makes everything due. One sensor whose messages fail blocks no other.

A receiver that takes a message twice and answers neither time is mute (spec/push M1 to M3): from then on each message
is sent once and counts as delivered, unconfirmed. Other unanswered messages wait for the outcome of the second attempt.
The first status line ends the state, and all unconfirmed messages are queued again before anything else is sent
(`released`). A success before that confirms nothing (`early`): older messages of the same sensor may be unconfirmed,
and newer ones must not overtake them. When the receiver was away or has another address, its oldest unconfirmed message
goes first (`sounding`).

No I/O, no clock: `now_ms` is an argument.
"""

import heapq
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from tripline.domain.ids import RowNo, SensorId
from tripline.services.push import schedule
from tripline.services.push.schedule import Outcome
from tripline.store.push.queue import Row

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
        self.failures += 1
        if not self.down:
            self._lanes.add(sensor_id)
        if self.down:
            self._until_ms = now_ms + RESTS_MS[min(self._rests, len(RESTS_MS) - 1)]
            self._rests += 1

    def end(self) -> None:
        self.failures = self._rests = self._until_ms = 0
        self._lanes.clear()


class Lane(msgspec.Struct, eq=False):
    """A sensor's messages in memory."""

    sensor_id: SensorId
    rows: deque[Row] = msgspec.field(default_factory=deque)
    failing: bool = False
    """True if the first message failed before: then no other message of the lane is in memory."""
    cut_no: RowNo | None = None
    """The first message of the lane that is not in memory; all later ones are missing, too."""
    waits: int = 0
    """Distinguishes the lane's current heap entry from outdated ones; 0 if it is not waiting."""

    def put(self, row: Row) -> None:
        """Insert a message in order, but not before the first one, which may be under way."""
        place = len(self.rows)
        while place > 1 and self.rows[place - 1].no > row.no:
            place -= 1
        self.rows.insert(place, row)


WINDOW: Final = 500
"""Most messages of one receiver in memory."""
BATCH: Final = 250
"""Messages read at once."""
UNPROVEN: Final = 2
"""Concurrent requests to a receiver that has not answered yet, or whose last request failed."""
LOST_HOPE: Final = 5
"""Attempts after which a parked message takes equally old ones with it, while the receiver is down."""


class Queue:
    """The messages of one receiver."""

    def __init__(self, *, patience_ms: int) -> None:
        self._patience_ms = patience_ms
        self._lanes: dict[SensorId, Lane] = {}
        self._ready: deque[Lane] = deque()
        self._waiting: list[tuple[int, int, Lane]] = []
        self._entries = 0
        self._known: set[RowNo] = set()
        self._forgotten: list[RowNo] = []
        self._after = RowNo(0)
        self._reading = False
        self._rewound = False
        self._more = True
        self._rests = Rests()
        self._proven = False
        self._hurried_ms = 0
        """Messages tried before this instant are due at once."""
        self._doubt: RowNo | None = None
        """The first unanswered message; its next attempt decides if the receiver is mute."""
        self._suspended: list[tuple[Lane, int]] = []
        """Lanes with an unanswered message since then, and when it is due unless the receiver is mute."""
        self.mute = False
        """The receiver takes messages and never answers."""
        self._owed = False
        """The receiver has unconfirmed messages."""
        self.sounding = False
        """Send the oldest unconfirmed message before anything else: another server may answer now."""
        self.releasing = False
        """Queue the unconfirmed messages again before anything is sent."""
        self.running = 0
        """Messages under way."""

    @property
    def down(self) -> bool:
        return self._rests.down

    @property
    def idle(self) -> bool:
        """True if no message is in memory, known to wait, or under way.

        A mute receiver is never idle: an answer may still arrive.
        """
        busy = self._lanes or self._more or self._reading or self._known or self.running
        return not (busy or self.mute or self.releasing)

    @property
    def owed(self) -> bool:
        """Unconfirmed messages have to be sent again before a success counts."""
        return self._owed or self.releasing

    @property
    def unwell(self) -> bool:
        """Messages wait for the end of a pause or failed lately, or the receiver is mute."""
        return bool(self._waiting or self._rests.failures or self.mute)

    @property
    def slots(self) -> int:
        """Concurrent requests that the receiver's behaviour allows; the settings allow fewer."""
        if self.down or self.sounding:
            return 1
        # A mute receiver never answers, so its capacity is unknown.
        return WINDOW if self.mute or (self._proven and not self._rests.failures) else UNPROVEN

    # Stored facts about the receiver, and the events that end its pauses.

    def begin(self, *, mute: bool, owed: bool, hurried_ms: int, held_ms: int = 0) -> None:
        """Restore the state left by another process or an earlier run; call it before `admit`."""
        self.mute, self._owed, self._hurried_ms = mute, owed, hurried_ms
        self.sounding = owed and not mute
        self._rests.held_ms = held_ms

    def hurry(self, now_ms: int, *, readdressed: bool) -> None:
        """End every pause, on request or because the receiver has a new address, which may behave differently."""
        self._rests.end()
        self._rests.held_ms = 0
        self._hurried_ms = now_ms
        if readdressed:
            self.mute = self._proven = False
            self.sounding = self._owed
        self._dispel_doubt()
        self._wake(now_ms, everything=True)

    def hold(self, row: Row, *, now_ms: int, pause_ms: int) -> int:
        """Pause the receiver, at most until the last attempt at this message; return the end of the pause."""
        self._rests.held_ms = max(self._rests.held_ms, min(now_ms + pause_ms, row.began_ms + self._patience_ms))
        return self._rests.held_ms

    def heard(self, now_ms: int, *, well: bool) -> None:
        """Record an answer: the receiver is not mute. If it is well, and was down or answers for the first time,
        earlier failures are due at once."""
        self._dispel_doubt()
        if self.mute or self._owed:
            self.mute, self._owed, self.releasing = False, False, True
        self.sounding = False
        if not well:
            return
        if self.down or not self._proven:
            self._wake(now_ms, everything=True)
        self._rests.end()
        self._proven = True

    def released(self) -> None:
        """Read everything again, after unconfirmed messages were queued in order. No request is under way."""
        self._lanes.clear()
        self._ready.clear()
        self._waiting.clear()
        self._known.clear()
        self._suspended.clear()
        self._doubt = None
        self.releasing, self._rewound = False, self._reading
        self._more, self._after = True, RowNo(0)

    # Reading: `wants_more`, then `reading`, then `admit` or `not_read`.

    @property
    def wants_more(self) -> bool:
        """True if messages may be waiting outside memory, and there is room for them."""
        if self.releasing or not self._more or self._reading or len(self._known) > WINDOW - BATCH:
            return False
        return not (self.down and self._lanes)

    def more(self) -> None:
        self._more = True

    def anew(self) -> None:
        """Read all waiting messages again, unless a read is under way or due."""
        if not self._more and not self._reading:
            self._more, self._after = True, RowNo(0)

    def reading(self) -> RowNo:
        """Begin a read; return the number after which to read `BATCH` messages."""
        self._reading, self._more = True, False
        return self._after

    def not_read(self) -> None:
        self._reading, self._more, self._rewound = False, True, False
        self._drop_forgotten()

    def known_behind(self, no: int) -> list[RowNo]:
        """Messages in memory with greater numbers, which need not be read."""
        return [known for known in self._known if known > no]

    def admit(self, rows: Sequence[Row], *, now_ms: int, late: Sequence[Row] = ()) -> None:
        """Add the messages read, in order of their numbers; `late`: rows committed after greater ones."""
        if self._rewound:
            # A lane advanced meanwhile whose next message precedes this read: read again from there.
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
        """Forget messages whose delivery or parking has been written."""
        if self._reading:
            self._forgotten.extend(numbers)  # the current read may still include them
        else:
            self._known.difference_update(numbers)

    # Sending: `take`, then `settle` or `put_back`.

    def due_ms(self, now_ms: int) -> int | None:
        """When `take` may return a message: now or later; None: no message is waiting."""
        if self.releasing or ((self.down or self.sounding) and self.running):
            return None
        rest_ms = self._rests.until_ms
        if self._ready:
            return max(now_ms, rest_ms)
        while self._waiting and self._waiting[0][1] != self._waiting[0][2].waits:
            heapq.heappop(self._waiting)
        return max(self._waiting[0][0], rest_ms) if self._waiting else None

    def take(self, now_ms: int) -> Row | None:
        """Return the next message to send now; its lane waits until it is settled."""
        if self.releasing or ((self.down or self.sounding) and self.running):
            return None
        if now_ms < self._rests.until_ms:
            return None
        self._wake(now_ms)
        if not self._ready:
            return None
        self.running += 1
        return self._ready.popleft().rows[0]

    def put_back(self, row: Row, *, due_ms: int) -> None:
        """Postpone a message that was not tried for an internal reason; it is due again at this instant."""
        self.running -= 1
        self._wait(self._lanes[row.sensor_id], due_ms)

    def vanished(self, row: Row) -> None:
        """Drop a message that was deleted or parked elsewhere."""
        self._known.discard(row.no)
        self.give_up(row)

    def give_up(self, row: Row) -> None:
        """Drop a message that is parked without an attempt."""
        self.running -= 1
        if row.no == self._doubt:
            self._dispel_doubt()
        self._go_on(self._lanes[row.sensor_id])

    def settle(self, row: Row, outcome: Outcome, *, now_ms: int) -> int | None:
        """Apply the outcome of an attempt; return when the message is due again, None: it was delivered or is
        parked."""
        self.running -= 1
        row.attempts += 1
        if outcome in (Outcome.FAILED, Outcome.LOST):
            self._rests.fail(row.sensor_id, now_ms)
        if outcome is Outcome.LOST:
            self.sounding = self._owed
        if outcome.answered:
            self.heard(now_ms, well=outcome is not Outcome.FAILED)
        elif row.no == self._doubt:
            self._dispel_doubt()
        lane = self._lanes[row.sensor_id]
        due_ms = None if outcome is Outcome.DELIVERED else self._next_due_ms(row, outcome, now_ms)
        if due_ms is None:
            self._go_on(lane)
        else:
            self._hold(lane)
            self._wait(lane, due_ms)
        return due_ms

    def early(self, row: Row, *, now_ms: int) -> Row:
        """Count a success as unconfirmed while others are `owed`: the message is resent in order after them."""
        self.running -= 1
        row.attempts += 1
        self.heard(now_ms, well=True)
        return self._unconfirmed(self._lanes[row.sensor_id])

    def unanswered(self, row: Row, *, now_ms: int) -> tuple[int | None, list[Row]]:
        """Apply an unanswered attempt: return when the message is due again, and the messages that now count as
        delivered.

        Neither: its time is over, and it is parked.
        """
        self.running -= 1
        row.attempts += 1
        lane = self._lanes[row.sensor_id]
        if self.mute or self.releasing:
            self._owed = self._owed or self.mute
            return None, [self._unconfirmed(lane)]
        if row.no == self._doubt:
            self.mute = self._owed = True
            self._rests.end()
            suspended, self._suspended, self._doubt = self._suspended, [], None
            return None, [self._unconfirmed(each) for each in (lane, *(each for each, _ in suspended))]
        due_ms = self._next_due_ms(row, Outcome.UNANSWERED, now_ms)
        if due_ms is None:
            self._go_on(lane)
            return None, []
        self._hold(lane)
        if self._doubt is None:
            self._doubt = row.no
            if row.since_ms is None:
                due_ms = min(due_ms, now_ms + schedule.PAUSES_MS[0])
            self._wait(lane, due_ms)
        else:
            self._suspended.append((lane, due_ms))
        return due_ms, []

    def hopeless(self, row: Row) -> bool:
        """Return true to park all messages as old as this parked one, too: the receiver has been down."""
        return self._rests.failures >= DOWN_AFTER and row.attempts >= LOST_HOPE

    def _next_due_ms(self, row: Row, outcome: Outcome, now_ms: int) -> int | None:
        return schedule.next_due_ms(
            outcome,
            attempts=row.attempts,
            no=row.no,
            since_ms=row.began_ms,
            now_ms=now_ms,
            patience_ms=self._patience_ms,
            not_before_ms=self._rests.held_ms,
        )

    def _admit(self, row: Row, now_ms: int) -> None:
        lane = self._lanes.get(row.sensor_id)
        if lane is None:
            lane = self._lanes[row.sensor_id] = Lane(row.sensor_id)
            # A receiver that answers has recovered: earlier failures are due at once.
            if row.attempts and row.due_ms > now_ms and not self._proven and not self._is_hurried(row):
                lane.failing = True
                self._wait(lane, row.due_ms)
            else:
                self._ready.append(lane)
        # Messages of the lane are missing in memory, and later ones must not overtake them.
        elif lane.cut_no is not None or lane.failing:
            lane.cut_no = row.no if lane.cut_no is None else min(lane.cut_no, row.no)
            return
        lane.put(row)
        self._known.add(row.no)

    def _is_hurried(self, row: Row) -> bool:
        """True if the message was tried before all pauses were ended."""
        return row.due_ms - schedule.pause_ms(row.attempts, no=row.no) < self._hurried_ms

    def _unconfirmed(self, lane: Lane) -> Row:
        """Count the lane's first message as delivered."""
        row = lane.rows[0]
        self._go_on(lane)
        return row

    def _dispel_doubt(self) -> None:
        """Stop suspecting the receiver of being mute: its unanswered messages wait like failed ones."""
        self._doubt = None
        suspended, self._suspended = self._suspended, []
        for lane, due_ms in suspended:
            self._wait(lane, due_ms)

    def _hold(self, lane: Lane) -> None:
        """Drop all messages of a lane from memory except the first, which failed."""
        lane.failing = True
        while len(lane.rows) > 1:
            lane.cut_no = lane.rows.pop().no
            self._known.discard(lane.cut_no)

    def _wait(self, lane: Lane, due_ms: int) -> None:
        self._entries += 1
        lane.waits = self._entries
        heapq.heappush(self._waiting, (due_ms, lane.waits, lane))

    def _go_on(self, lane: Lane) -> None:
        """Finish the lane's first message and continue with the next."""
        lane.rows.popleft()
        lane.failing = False
        if lane.rows:
            self._ready.append(lane)
            return
        del self._lanes[lane.sensor_id]
        if lane.cut_no is not None:
            self._after = min(self._after, RowNo(lane.cut_no - 1))
            self._more = True
            # The current read begins after that point; read again from there.
            self._rewound = self._reading

    def _wake(self, now_ms: int, *, everything: bool = False) -> None:
        while self._waiting and (everything or self._waiting[0][0] <= now_ms):
            _, entry, lane = heapq.heappop(self._waiting)
            # Outdated entries stay in the heap: skipping them costs less than removing them.
            if entry == lane.waits:
                lane.waits = 0
                self._ready.append(lane)

    def _drop_forgotten(self) -> None:
        self._known.difference_update(self._forgotten)
        self._forgotten.clear()

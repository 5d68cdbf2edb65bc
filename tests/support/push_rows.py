"""Rows of messages that wait for one receiver, and its queue, which reads them as the pusher does."""

from copy import copy

from tripline.domain.ids import RowNo, SensorId, first_no
from tripline.services.push.queue import BATCH, Queue
from tripline.services.push.schedule import Outcome
from tripline.store.push.queue import Row

NOW_MS = 1_760_000_000_000
FIRST = first_no(NOW_MS)
DAY_MS = 86_400_000
DELIVERED, GONE, REFUSED, FAILED = Outcome.DELIVERED, Outcome.GONE, Outcome.REFUSED, Outcome.FAILED


def row(place, sensor="a", *, attempts=0, due_ms=NOW_MS):
    return Row(RowNo(FIRST + place), f"id {place}", SensorId(sensor), attempts, due_ms)


class Outbox:
    """The rows that wait, and a queue that reads them like the pusher."""

    def __init__(self, *rows):
        self.rows = {each.no: each for each in rows}
        self.queue = Queue(patience_ms=DAY_MS)
        self.now_ms = NOW_MS
        self.read_rows = 0
        self.sent = []

    def read(self):
        while self.queue.wants_more:
            after = self.queue.reading()
            found = [
                Row(each.no, each.id, each.sensor_id, each.attempts, each.due_ms)
                for no, each in sorted(self.rows.items())
                if no > after
            ]
            self.read_rows += len(found[:BATCH])
            self.queue.admit(found[:BATCH], now_ms=self.now_ms)

    def attempt(self, outcome_of=lambda _: DELIVERED):
        """One attempt at whatever is due; its place, or None when nothing is."""
        self.read()
        taken = self.queue.take(self.now_ms)
        if taken is None:
            return None
        outcome = outcome_of(taken)
        due_ms = self.queue.settle(taken, outcome, now_ms=self.now_ms)
        place = taken.no - FIRST
        if due_ms is None:
            del self.rows[taken.no]
            self.queue.forget([taken.no])
            self.sent.append((place, outcome))
        else:
            self.rows[taken.no].attempts = taken.attempts
            self.rows[taken.no].due_ms = due_ms
        return place

    def drain(self, outcome_of=lambda _: DELIVERED):
        """Attempts until nothing is due; their places."""
        places = []
        while (place := self.attempt(outcome_of)) is not None:
            places.append(place)
        return places


class Silence:
    """Messages of several sensors, their queue, and a receiver that may fall silent: as the pusher works through them,
    with several requests under way."""

    def __init__(self):
        self.now_ms = NOW_MS
        self.waiting, self.unconfirmed = {}, {}
        self.confirmed = []
        """Places, in the order in which they were confirmed."""
        self.under_way, self.listening = [], 0
        self.places = 0
        self.begin(mute=False)

    def begin(self, *, mute):
        """A process that sends from now on."""
        self.queue = Queue(patience_ms=10 * DAY_MS)
        self.queue.begin(mute=mute, owed=bool(self.unconfirmed), hurried_ms=0)

    def restart(self):
        """Let another process go on; what was under way is sent again."""
        self.under_way.clear()
        self.listening = 0
        self.begin(mute=self.queue.mute or self.queue.releasing)

    def put(self, sensor):
        self.waiting[FIRST + self.places] = row(self.places, f"s{sensor}")
        self.places += 1
        self.queue.more()

    def take(self):
        while self.queue.wants_more:
            after = self.queue.reading()
            found = [copy(each) for no, each in sorted(self.waiting.items()) if no > after]
            self.queue.admit(found[:BATCH], now_ms=self.now_ms)
        if len(self.under_way) < self.queue.slots and (taken := self.queue.take(self.now_ms)) is not None:
            self.under_way.append(taken)

    def end(self, which, outcome):
        """One of the requests under way ends so."""
        if not self.under_way:
            return
        taken = self.under_way.pop(which % len(self.under_way))
        if self.queue.sounding and self.unconfirmed and outcome is not Outcome.LOST:
            self._sound(taken, outcome)
        elif outcome is Outcome.UNANSWERED:
            self.listening += self.queue.mute
            due_ms, unconfirmed = self.queue.unanswered(taken, now_ms=self.now_ms)
            self._keep(taken, due_ms)
            self._move(unconfirmed)
        elif outcome is Outcome.DELIVERED and self.queue.owed:
            self._move([self.queue.early(taken, now_ms=self.now_ms)])
        else:
            due_ms = self.queue.settle(taken, outcome, now_ms=self.now_ms)
            if outcome is Outcome.DELIVERED:
                self._confirm(self.waiting.pop(taken.no))
            else:
                self._keep(taken, due_ms)
        self._release()

    def hear(self):
        """A connection that listened is answered."""
        if self.listening:
            self.listening -= 1
            self.queue.heard(self.now_ms, well=True)
            self._release()

    def _sound(self, taken, outcome):
        oldest = min(self.unconfirmed)
        if outcome is Outcome.UNANSWERED:
            self.queue.sounding = False
        else:
            if outcome is Outcome.DELIVERED:
                self._confirm(self.unconfirmed.pop(oldest))
            self.queue.heard(self.now_ms, well=outcome is not Outcome.FAILED)
        self.queue.put_back(taken, due_ms=self.now_ms)

    def _confirm(self, each):
        self.confirmed.append((each.sensor_id, each.no - FIRST))
        self.queue.forget([each.no])

    def _keep(self, taken, due_ms):
        if due_ms is not None:
            self.waiting[taken.no].attempts = taken.attempts
            self.waiting[taken.no].due_ms = due_ms

    def _move(self, rows):
        for each in rows:
            self.unconfirmed[each.no] = self.waiting.pop(each.no)
            self.queue.forget([each.no])

    def _release(self):
        if self.queue.releasing and not self.under_way:
            for no, each in self.unconfirmed.items():
                each.due_ms, each.since_ms = self.now_ms, self.now_ms
                self.waiting[no] = each
            self.unconfirmed.clear()
            self.queue.released()

"""Rows of messages that wait for one receiver, and its queue, which reads them as the pusher does."""

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

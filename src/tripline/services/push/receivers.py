"""A receiver as the pusher sees it: its queue, where it is, what was written down of it, and its requests under way.

Not here: what waits (`queue.py`), the rows (`store/push/receiver_state.py`).
"""

import asyncio

import msgspec

from tripline.services.push.queue import Queue
from tripline.services.push.secrets import Sign
from tripline.store.push.queue import Key
from tripline.store.push.receiver_state import Facts


class Receiver(msgspec.Struct, eq=False):
    """A receiver that something waits for, as far as it is in memory."""

    key: Key
    queue: Queue
    workers: int = 0
    url: str | None = None
    sign: Sign | None = None
    known_until_ms: int = 0
    """Until when address and secret need not be read again. What was read before the latest of `changes` is no good."""
    changes: int = 0
    facts: Facts | None = None
    """As they were read last; None before the first time."""
    facts_of: int = -1
    """Which of `changes` they tell of."""
    dropped: bool = False
    """Whether nothing waits for it any more, or others send to it."""
    attempts: set[asyncio.Timeout] = msgspec.field(default_factory=set)
    """Requests under way, each of which can be broken off."""
    releasing: bool = False
    """Whether what nobody confirmed is being put in line again."""

    @property
    def unsure(self) -> bool:
        """Whether its facts are to be read again."""
        return self.facts_of != self.changes

    def forget(self) -> None:
        """Have address, secret and facts read again."""
        self.known_until_ms = 0
        self.changes += 1

    def hurry(self, *, now_ms: int, readdressed: bool) -> None:
        """End its pauses. Requests to another address, or to a server that is down, are not waited for."""
        if readdressed or self.queue.down:
            while self.attempts:
                self.attempts.pop().reschedule(0.0)
        self.queue.hurry(now_ms, readdressed=readdressed)

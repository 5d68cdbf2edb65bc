"""A receiver as the pusher sees it: its queue, its address, its stored facts, and its requests under way.

Not here: waiting messages (`queue.py`), the rows (`store/push/receiver_state.py`).
"""

import asyncio

import msgspec

from tripline.services.push.queue import Queue
from tripline.services.push.secrets import Sign
from tripline.store.push.queue import Key
from tripline.store.push.receiver_state import Facts


class Receiver(msgspec.Struct, eq=False):
    """A receiver with waiting messages, as loaded in memory."""

    key: Key
    queue: Queue
    workers: int = 0
    url: str | None = None
    sign: Sign | None = None
    known_until_ms: int = 0
    """Expiry of the cached address and secret. Anything read before the latest of `changes` is invalid."""
    changes: int = 0
    facts: Facts | None = None
    """As read last; None: never read."""
    facts_of: int = -1
    """The value of `changes` when they were read."""
    dropped: bool = False
    """True if it has no waiting messages any more, or another process sends to it."""
    attempts: set[asyncio.Timeout] = msgspec.field(default_factory=set)
    """Requests under way, for cancelling."""
    releasing: bool = False
    """True while unconfirmed messages are being queued again."""

    @property
    def unsure(self) -> bool:
        """True if its facts must be read again."""
        return self.facts_of != self.changes

    def forget(self) -> None:
        """Reload address, secret and facts."""
        self.known_until_ms = 0
        self.changes += 1

    def hurry(self, *, now_ms: int, readdressed: bool) -> None:
        """End its pauses, and cancel requests to an outdated address or a server that is down."""
        if readdressed or self.queue.down:
            while self.attempts:
                self.attempts.pop().reschedule(0.0)
        self.queue.hurry(now_ms, readdressed=readdressed)

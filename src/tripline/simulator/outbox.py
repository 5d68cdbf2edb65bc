"""The outbox of a careful device: messages in order, each kept until it is acknowledged, then never sent again.

Pure: it neither sends nor waits. Not here: the connection (`link.py`).
"""

from collections import deque

import msgspec
from msgspec.structs import replace


class Tally(msgspec.Struct, frozen=True):
    """The progress of a replay. `sent` counts every publish, `resent` the repeated ones."""

    total: int
    sent: int = 0
    acknowledged: int = 0
    resent: int = 0

    @property
    def complete(self) -> bool:
        """True if every message is acknowledged."""
        return self.acknowledged == self.total


class Outbox:
    """Numbers of messages (0 to total - 1): waiting, in flight, or acknowledged."""

    def __init__(self, total: int) -> None:
        self.tally = Tally(total)
        self._waiting = deque(range(total))
        self._under_way: dict[int, None] = {}
        self._never_sent = 0

    @property
    def next(self) -> int | None:
        """The next message to send; None if all are in flight or acknowledged."""
        return self._waiting[0] if self._waiting else None

    @property
    def under_way(self) -> int:
        """The number of messages in flight."""
        return len(self._under_way)

    def sending(self) -> int:
        """Take the next message; it is in flight from now on."""
        number = self._waiting.popleft()
        self._under_way[number] = None
        again = number < self._never_sent
        self._never_sent = max(self._never_sent, number + 1)
        self.tally = replace(self.tally, sent=self.tally.sent + 1, resent=self.tally.resent + again)
        return number

    def acknowledged(self, number: int) -> None:
        """Remove a message that the platform has stored."""
        del self._under_way[number]
        self.tally = replace(self.tally, acknowledged=self.tally.acknowledged + 1)

    def connection_lost(self) -> None:
        """Queue the messages in flight again, in order, before all later ones."""
        self._waiting.extendleft(sorted(self._under_way, reverse=True))
        self._under_way.clear()

"""The bus: reading from it, writing to it, and what is known of a topic."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec


class BusPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


class BusMessage(NamedTuple):
    """A message that was read from the bus; topic, partition and offset name it for ever."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes
    timestamp_ms: int
    """When it was written, epoch ms; 0 when nobody said so."""

    @property
    def of(self) -> BusPartition:
        """The partition that it is in."""
        return BusPartition(self.topic, self.partition)


class BusMark(NamedTuple):
    """What a batch has of a partition, for its reader."""

    since: int
    """Since when the partition is the reader's."""
    behind: int
    """The offset behind its last message in the batch."""


class BusBatch(msgspec.Struct, frozen=True):
    """Messages, those of a partition in their order. It goes back to the reader that it came from."""

    messages: Sequence[BusMessage]
    number: int
    """The reader's own: which batch this is, also with fewer messages."""
    marks: Mapping[BusPartition, BusMark]
    """The reader's own."""
    came: bool = False
    """Whether it is the first with messages of a partition that came to this reader: others may have stored them."""


class BusReader(Protocol):
    """One member of a consumer group. Every message is read at least once; again, when its batch was not `done`.

    Whoever cannot store (the store is away) keeps the batch and tries again: a reader that is not read pauses, stays in
    its group, and drops nothing. A partition that moves to another member is let go only when the batches with
    messages of it are done, or after five seconds; then it is theirs, and `kept` says so.
    """

    async def read(self, most: int | None = None) -> BusBatch:
        """The next messages, at least one and so many at most; waits for them. One batch is read ahead, no more."""

    def kept(self, batch: BusBatch) -> BusBatch:
        """The batch without messages of partitions that are another member's by now. Ask before each try to store."""

    def done(self, batch: BusBatch) -> None:
        """The batch is stored: the group goes on behind it, once those read before it are done. Cheap, never blocks."""

    def skip(self, offsets: Mapping[BusPartition, int]) -> None:
        """What lies before these offsets is stored: go on there. Cheap, never blocks."""

    def explain(self, doing: Callable[[], str]) -> None:
        """Where to ask what happens to the batch that was read, for the log; may be called on any thread."""


class BusLog(Protocol):
    """What is known of one topic beside its messages."""

    async def identity(self) -> str:
        """The topic's name with the id that brokers gave it: another one for a topic made anew. Raises `Outage`."""

    async def ends(self) -> dict[int, int]:
        """Partition -> the offset that its next message will have. Raises `Outage`."""


class Receipts(Protocol):
    """Told on the event loop what became of messages that it sent; each ticket is in one call, once."""

    def delivered(self, tickets: list[Any]) -> None:
        """Every replica that must have them has these messages."""

    def failed(self, tickets: list[Any]) -> None:
        """It is not known whether these messages will be read by anybody."""


class BusNote(NamedTuple):
    """A message to write to the bus."""

    topic: str
    key: bytes | None
    value: bytes


class BusMessageRefusedError(Exception):
    """The brokers will never take this message (too long, say); the text says why."""


class BusWriter(Protocol):
    """Writes to the bus, each message once, messages of one key in their order."""

    def send(self, note: BusNote, told: Receipts, ticket: Any) -> None:
        """Queue a message; `told` hears of it. Cheap, never blocks. Raises `Outage` when no more may wait."""

    async def deliver(self, notes: Sequence[BusNote]) -> None:
        """Write messages; all are kept when this returns. Raises `Outage`, or `BusMessageRefusedError`."""

    async def reach(self, topic: str) -> None:
        """See whether brokers answer, asking about this topic. Raises `Outage`."""

    @property
    def crowded(self) -> bool:
        """Whether so much waits that senders should stop for now."""

    @property
    def away(self) -> bool:
        """Whether messages are not taken: the latest that was settled failed."""

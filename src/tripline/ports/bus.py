"""The bus: reading messages, writing messages, and the state of a topic."""

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
    """When it was written, epoch ms; 0 when unknown."""

    @property
    def of(self) -> BusPartition:
        """The partition that it is in."""
        return BusPartition(self.topic, self.partition)


class BusMark(NamedTuple):
    """How far a batch reaches into one partition. Only the reader that made the batch interprets it."""

    since: int
    """Which assignment of the partition to the reader the batch belongs to; counted by the reader."""
    behind: int
    """The offset after the last message of the partition in this batch."""


class BusBatch(msgspec.Struct, frozen=True):
    """Messages, in order within each partition. It goes back to the reader that it came from."""

    messages: Sequence[BusMessage]
    number: int
    """Identifies the batch to its reader. `BusReader.kept` returns fewer messages under the same number."""
    marks: Mapping[BusPartition, BusMark]
    """How far the batch reaches into each of its partitions; for the reader."""
    came: bool = False
    """True for the first batch after a partition was assigned to this reader: another member may already have stored
    some of these messages."""


class BusReader(Protocol):
    """One member of a consumer group. Every message is read at least once; again, when its batch was not `done`.

    While the store is away the caller keeps the batch and retries: a reader that is not read pauses, stays in its
    group, and drops nothing. A partition that moves to another member is released only when the batches with messages
    of it are done, or after five seconds; then `kept` leaves its messages out.
    """

    async def read(self, most: int | None = None) -> BusBatch:
        """Wait for the next messages: at least one, at most `most`. At most one batch is read ahead."""

    def kept(self, batch: BusBatch) -> BusBatch:
        """The batch without the partitions that another member has taken over. Call it before each attempt to store."""

    def done(self, batch: BusBatch) -> None:
        """Say that the batch is stored. Offsets are committed once all earlier batches are done too. Cheap, never
        blocks."""

    def skip(self, offsets: Mapping[BusPartition, int]) -> None:
        """Say that everything before these offsets is stored: continue reading there. Cheap, never blocks."""

    def explain(self, doing: Callable[[], str]) -> None:
        """Set the function that describes, for the log, the work on the last batch. Any thread may call it."""


class BusLog(Protocol):
    """The state of one topic: its identity and how far it reaches."""

    async def identity(self) -> str:
        """The topic's name with the brokers' id for it, which changes when a topic is made anew. Raises `Outage`."""

    async def ends(self) -> dict[int, int]:
        """Partition -> the offset that its next message will have. Raises `Outage`."""


class Receipts(Protocol):
    """Learns, on the event loop, which messages were written. Each ticket is reported exactly once."""

    def delivered(self, tickets: list[Any]) -> None:
        """These messages are on every replica that must have them."""

    def failed(self, tickets: list[Any]) -> None:
        """These messages may or may not have been written."""


class BusNote(NamedTuple):
    """A message to write to the bus."""

    topic: str
    key: bytes | None
    value: bytes


class BusMessageRefusedError(Exception):
    """The brokers will never accept this message (too long, say); the text gives the reason."""


class BusWriter(Protocol):
    """Writes to the bus, each message once, messages of one key in their order."""

    def send(self, note: BusNote, told: Receipts, ticket: Any) -> None:
        """Queue a message; `told` receives its outcome. Cheap, never blocks. Raises `Outage` when the queue is full."""

    async def deliver(self, notes: Sequence[BusNote]) -> None:
        """Write messages and return when all of them are durable. Raises `Outage` or `BusMessageRefusedError`."""

    async def reach(self, topic: str) -> None:
        """See whether brokers answer, asking about this topic. Raises `Outage`."""

    @property
    def crowded(self) -> bool:
        """True when the queue is so long that senders should pause."""
